/** The decisions of a charge and its money, without a database. */
import { assert, describe, it } from "@effect/vitest"
import type { ChargeReport, ChargeStatus } from "@pix-payments/domain/Charge"
import { noFunds } from "@pix-payments/domain/ChargeMoney"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import {
  type ChargeRequest,
  type ChargeStep,
  decideChange,
  decideMove,
  type LockedCharge,
  newCharge
} from "../../../src/payments/charges/ChargeDecision.ts"
import type { StoredCharge } from "../../../src/payments/charges/ChargeTable.ts"
import { CREATED, createdCharge, merchant, movementsOf, requestOf } from "../../support/NewCharge.ts"

const EXPIRES = CREATED + 86_400_000

/** Ids that count, of one instant. */
const counting = () => {
  let count = 0
  return { next: () => ({ id: `id-${++count}`, epochMs: CREATED }) }
}

const created = createdCharge()

const chargeIn = (status: ChargeStatus, more: Partial<StoredCharge> = {}): StoredCharge => ({
  ...created,
  status,
  sequence: 2,
  ...more
})

const change = (
  charge: StoredCharge,
  report: ChargeReport,
  facts: Parameters<typeof decideChange>[2] = {},
  at: { readonly nowMs?: number; readonly releaseDelayMs?: number } = {}
) => decideChange(charge, report, facts, { ids: counting(), nowMs: CREATED + 1000, releaseDelayMs: 0, ...at })

const move = (charge: StoredCharge, step: ChargeStep, locked: Partial<LockedCharge> = {}) =>
  decideMove({ charge, funds: { ...noFunds, available: 1000 }, order: undefined, ...locked }, step, {
    ids: counting(),
    nowMs: CREATED + 1000
  })

describe("A new charge", () => {
  it("CHG-1, CHG-14: waits for the acquirer, and expires after the account's time unless the request names one", () => {
    assert.strictEqual(created.status, "processing")
    assert.strictEqual(created.sequence, 1)
    assert.strictEqual(created.expiresAtMs, EXPIRES)
    const short = newCharge(
      "charge",
      CREATED,
      created,
      merchant,
      { ...requestOf(1000), expires_in: 60 },
      "sealed",
      null
    )
    assert.strictEqual(short.expiresAtMs, CREATED + 60_000)
    assert.strictEqual(short.sealedWebhookSecret, "sealed")
  })

  it("CHG-12, CHG-13, CHG-24: keeps what the request says, and has null for what it leaves out", () => {
    const { customer } = requestOf(1000)
    const said = { description: "Two shirts", reference: "order-7", webhook_url: "https://loja.example/hook" }
    const of = (request: ChargeRequest) => newCharge("charge", CREATED, created, merchant, request, null, null)
    assert.deepInclude(of({ ...requestOf(1000), ...said, customer: { ...customer, phone: "+5511999990000" } }), {
      description: "Two shirts",
      reference: "order-7",
      webhookUrl: "https://loja.example/hook",
      customerPhone: "+5511999990000"
    })
    const absent = { description: null, reference: null, webhookUrl: null, customerPhone: null }
    assert.deepInclude(of(requestOf(1000)), absent)
  })

  it("CHG-11, CHG-20: is a Pix unless the request names a boleto or a card", () => {
    const methodOf = (named: object) =>
      newCharge("charge", CREATED, created, merchant, { ...requestOf(1000), ...named }, null, null).method
    assert.strictEqual(methodOf({}), "pix")
    assert.strictEqual(methodOf({ method: "pix" }), "pix")
    assert.strictEqual(methodOf({ method: "boleto" }), "boleto")
    assert.strictEqual(methodOf({ method: "card" }), "card")
  })

  it("is emitted through the account's connection, where it has one", () => {
    const connectionOf = (connectionId: string | null | undefined) =>
      newCharge("charge", CREATED, created, { ...merchant, connectionId }, requestOf(1000), null, null).connectionId
    assert.strictEqual(connectionOf("bank-1"), "bank-1")
    assert.isNull(connectionOf(undefined))
  })
})

describe("The change of a charge", () => {
  it("CHG-2: an emission makes it pending, with both events in one entry", () => {
    const decided = change(chargeIn("processing", { sequence: 1 }), "emitted", {
      emitted: { brCode: "br code", receiver: null }
    })
    assert.deepInclude(decided?.charge, { status: "pending", brCode: "br code", sequence: 2 })
    assert.deepInclude(decided?.outbox.row, { kind: "charge.pix", actions: ["created", "emitted"], status: "pending" })
    assert.deepStrictEqual(decided?.transfers, [])
  })

  it("CHG-3: a refusal makes it failed with the acquirer's reason", () => {
    const decided = change(chargeIn("processing"), "refused", { reason: "no" })
    assert.deepInclude(decided?.charge, { status: "failed", failureReason: "no" })
    assert.deepStrictEqual(decided?.outbox.row.actions, ["failed"])
  })

  it("CHG-16, BAL-2: a payment credits `available`, or `pending` until the release", () => {
    const now = change(chargeIn("pending"), "paid", { endToEndId: "E1" }, { nowMs: CREATED + 5 })
    assert.deepInclude(now?.charge, { status: "paid", endToEndId: "E1", paidAtMs: CREATED + 5, sequence: 3 })
    assert.deepStrictEqual(movementsOf(now?.transfers), ["acquirer > available: 1000"])
    assert.isUndefined(now?.releaseInMs)
    const later = change(chargeIn("pending"), "paid", {}, { releaseDelayMs: 60_000 })
    assert.deepStrictEqual(movementsOf(later?.transfers), ["acquirer > pending: 1000"])
    assert.strictEqual(later?.releaseInMs, 60_000)
    assert.isNull(later?.charge.endToEndId)
  })

  it("CHG-5, CHG-6: a charge that has expired is paid, and fails no more", () => {
    const expired = { nowMs: EXPIRES }
    assert.strictEqual(change(chargeIn("pending"), "paid", {}, expired)?.charge.status, "paid")
    assert.isUndefined(change(chargeIn("pending"), "failed", {}, expired))
    assert.strictEqual(change(chargeIn("pending"), "failed", {}, { nowMs: EXPIRES - 1 })?.charge.status, "failed")
  })

  it("CHG-3: a refusal and a failure always have a reason, and the acquirer's comes first", () => {
    for (const [status, report] of [["processing", "refused"] as const, ["pending", "failed"] as const]) {
      assert.strictEqual(change(chargeIn(status), report)?.charge.failureReason, "refused by the provider")
      assert.strictEqual(change(chargeIn(status), report, { reason: "no" })?.charge.failureReason, "no")
    }
  })

  it("CHG-7, CHG-16: a canceled charge keeps its Pix, and was not paid", () => {
    const emitted = chargeIn("pending", { brCode: "br code" })
    const facts = { endToEndId: "E1", reason: "no", paidAtMs: CREATED, payer: { name: "Ana", document: null } }
    const canceled = change(emitted, "canceled", facts, { releaseDelayMs: 60_000 })
    assert.deepStrictEqual(canceled?.charge, { ...emitted, status: "canceled", sequence: 3 })
    assert.deepStrictEqual([canceled?.transfers, canceled?.payer, canceled?.releaseInMs], [[], undefined, undefined])
  })

  it("the money of a payment moves at the bank of the charge's connection, the simulator's where it has none", () => {
    const bankOf = (connectionId: string | null) =>
      change(chargeIn("pending", { connectionId }), "paid")?.transfers.map((transfer) => transfer.connection_id)
    assert.deepStrictEqual(bankOf("bank-1"), ["bank-1"])
    assert.deepStrictEqual(bankOf(null), [SIMULATOR_CONNECTION])
  })

  it("CHG-7, CHG-8: a report that the transition table does not list decides nothing", () => {
    const stored: ReadonlyArray<ChargeStatus> = [
      "processing",
      "pending",
      "paid",
      "canceled",
      "failed",
      "refunded",
      "charged_back",
      "infraction"
    ]
    const statesOf = (report: ChargeReport) => stored.filter((status) => change(chargeIn(status), report) !== undefined)
    assert.deepStrictEqual(statesOf("emitted"), ["processing"])
    assert.deepStrictEqual(statesOf("refused"), ["processing"])
    assert.deepStrictEqual(statesOf("paid"), ["pending"])
    assert.deepStrictEqual(statesOf("failed"), ["pending"])
  })
})

describe("The move of a charge's money", () => {
  const blocking = [
    { debit: "pending", credit: "blocked", amount: 300 },
    { debit: "available", credit: "blocked", amount: 700 }
  ] as const

  it("BAL-4: the state changes with the money, which is then where it went", () => {
    const funds = { ...noFunds, pending: 300, available: 700 }
    const decided = move(
      chargeIn("paid"),
      { report: "infraction", reason: "charge.infraction", movements: blocking },
      { funds }
    )
    assert.strictEqual(decided?.after.charge.status, "infraction")
    assert.deepStrictEqual(movementsOf(decided?.change?.transfers), [
      "pending > blocked: 300",
      "available > blocked: 700"
    ])
    assert.deepStrictEqual(decided?.after.funds, { ...noFunds, blocked: 1000 })
  })

  it("BAL-10: money moves without a change of the state", () => {
    const part = [{ debit: "returns_in_transit", credit: "acquirer", amount: 400 }] as const
    const decided = move(
      chargeIn("paid"),
      { reason: "charge.refunded", movements: part },
      { funds: { ...noFunds, inTransit: 400 } }
    )
    assert.isUndefined(decided?.change)
    assert.deepStrictEqual(movementsOf(decided?.transfers), ["returns_in_transit > acquirer: 400"])
    assert.deepStrictEqual(decided?.after.funds, noFunds)
  })

  it("CHG-26: `refunded_amount` grows by what goes back to the payer, and by nothing that stays at the bank", () => {
    const refundedAfter = (step: ChargeStep) =>
      move(chargeIn("paid", { refundedAmount: 100 }), step)?.after.charge.refundedAmount
    const part = [{ debit: "available", credit: "acquirer", amount: 400 }] as const
    assert.strictEqual(refundedAfter({ reason: "charge.refunded", movements: part }), 500)
    const corrected = [{ debit: "acquirer", credit: "available", amount: 30 }] as const
    assert.strictEqual(refundedAfter({ reason: "charge.charged_back", movements: corrected }), 70)
    assert.strictEqual(refundedAfter({ reason: "charge.infraction", movements: blocking }), 100)
  })

  it("what goes back leaves the bank of the charge's connection, the simulator's where it has none", () => {
    const part = [{ debit: "available", credit: "acquirer", amount: 400 }] as const
    const bankOf = (connectionId: string | null) =>
      move(chargeIn("paid", { connectionId }), { reason: "charge.refunded", movements: part })?.transfers.map(
        (transfer) => transfer.connection_id
      )
    assert.deepStrictEqual(bankOf("bank-1"), ["bank-1"])
    assert.deepStrictEqual(bankOf(null), [SIMULATOR_CONNECTION])
  })

  it("DSP-3: a won dispute emits no `charge.pix.paid`", () => {
    const won = move(chargeIn("infraction"), { report: "dispute_won", movements: [] })
    assert.strictEqual(won?.after.charge.status, "paid")
    assert.deepStrictEqual(won?.change?.outbox.row.actions, [], "charge.pix.paid is emitted once in a charge's life")
  })

  it("a canceled charge has no money that could move", () => {
    const canceled = move(chargeIn("pending"), { report: "canceled", movements: [] }, { funds: noFunds })
    assert.strictEqual(canceled?.after.charge.status, "canceled")
    assert.deepStrictEqual(canceled?.transfers, [])
  })

  it("CHG-7: nothing is decided where the state does not allow the report", () => {
    assert.isUndefined(move(chargeIn("pending"), { report: "refunded", movements: [] }))
    assert.isUndefined(move(chargeIn("refunded"), { report: "infraction", movements: [] }))
    assert.isUndefined(move(chargeIn("paid"), { report: "dispute_won", movements: [] }))
  })
})
