/** The decisions of a charge and its money, without a database. */
import { assert, describe, it } from "@effect/vitest"
import type { Cents } from "@pix-payments/domain/Cents"
import type { ChargeReport, ChargeStatus } from "@pix-payments/domain/Charge"
import { decideChange, decideMove, type LockedCharge, newCharge } from "../../src/charges/ChargeDecision.ts"
import type { StoredCharge } from "../../src/charges/ChargeTable.ts"

const CREATED = Date.UTC(2026, 10, 21)
const EXPIRES = CREATED + 86_400_000

/** Ids that count, of one instant. */
const counting = () => {
  let count = 0
  return { next: () => ({ id: `id-${++count}`, epochMs: CREATED }) }
}

const merchant = {
  name: "Loja",
  document: "11222333000181",
  status: "active",
  defaultExpiresInSeconds: 86_400,
  chargesPaused: false,
  connectionId: null
}

const request = {
  amount: 1000 as Cents,
  customer: { name: "Ana", email: "ana@example.com", document: "52998224725" }
}

const created = newCharge(
  "charge",
  CREATED,
  { accountId: "account", applicationId: "application", origin: "api", idempotencyKey: "key" },
  merchant,
  request,
  null
)

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

const move = (charge: StoredCharge, report: ChargeReport, locked: Partial<LockedCharge> = {}) =>
  decideMove({ charge, unreleased: 0, order: undefined, ...locked }, report, { ids: counting(), nowMs: CREATED + 1000 })

/** The transfers as `debit > credit: cents`. */
const movements = (transfers: ReadonlyArray<{ debit: string; credit: string; amount: number }> | undefined) =>
  transfers?.map(({ amount, credit, debit }) => `${debit} > ${credit}: ${amount}`)

const openRefund = {
  id: "order",
  kind: "refund",
  chargeId: "charge",
  accountId: "account",
  amount: 1000,
  pending: 0,
  attempts: 1
} as const

describe("A new charge", () => {
  it("CHG-1, CHG-14: waits for the acquirer, and expires after the account's time unless the request names one", () => {
    assert.strictEqual(created.status, "processing")
    assert.strictEqual(created.sequence, 1)
    assert.strictEqual(created.expiresAtMs, EXPIRES)
    const short = newCharge("charge", CREATED, created, merchant, { ...request, expires_in: 60 }, "sealed")
    assert.strictEqual(short.expiresAtMs, CREATED + 60_000)
    assert.strictEqual(short.sealedWebhookSecret, "sealed")
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
    assert.deepStrictEqual(movements(now?.transfers), ["acquirer > available: 1000"])
    assert.isUndefined(now?.releaseInMs)
    const later = change(chargeIn("pending"), "paid", {}, { releaseDelayMs: 60_000 })
    assert.deepStrictEqual(movements(later?.transfers), ["acquirer > pending: 1000"])
    assert.strictEqual(later?.releaseInMs, 60_000)
    assert.isNull(later?.charge.endToEndId)
  })

  it("CHG-5, CHG-6: a charge that has expired is paid, and fails no more", () => {
    const expired = { nowMs: EXPIRES }
    assert.strictEqual(change(chargeIn("pending"), "paid", {}, expired)?.charge.status, "paid")
    assert.isUndefined(change(chargeIn("pending"), "failed", {}, expired))
    assert.strictEqual(change(chargeIn("pending"), "failed", {}, { nowMs: EXPIRES - 1 })?.charge.status, "failed")
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
  it("BAL-6: a return takes unreleased money first, and the release is reduced by as much", () => {
    const parts = move(chargeIn("paid"), "refunded", { unreleased: 300 })
    assert.strictEqual(parts?.change.charge.status, "refunded")
    assert.deepStrictEqual(movements(parts?.change.transfers), ["pending > acquirer: 300", "available > acquirer: 700"])
    assert.strictEqual(parts?.takenUnreleased, 300)
    const released = move(chargeIn("paid"), "charged_back")
    assert.deepStrictEqual(movements(released?.change.transfers), ["available > acquirer: 1000"])
    assert.strictEqual(released?.takenUnreleased, 0)
  })

  it("DSP-1, DSP-3: a MED blocks the value, and a won dispute gives it back to `available`", () => {
    const blocked = move(chargeIn("paid"), "infraction", { unreleased: 1000 })
    assert.deepStrictEqual(movements(blocked?.change.transfers), ["pending > blocked: 1000"])
    assert.strictEqual(blocked?.takenUnreleased, 1000)
    const won = move(chargeIn("infraction"), "dispute_won", { unreleased: 0 })
    assert.strictEqual(won?.change.charge.status, "paid")
    assert.deepStrictEqual(movements(won?.change.transfers), ["blocked > available: 1000"])
    assert.deepStrictEqual(won?.change.outbox.row.actions, [], "charge.pix.paid is emitted once in a charge's life")
  })

  it("DSP-4, DSP-7: a lost dispute and a refund in `infraction` are taken from `blocked`", () => {
    for (const report of ["charged_back", "refunded"] as const) {
      const decided = move(chargeIn("infraction"), report, { unreleased: 400 })
      assert.deepStrictEqual(movements(decided?.change.transfers), ["blocked > acquirer: 1000"])
      assert.strictEqual(decided?.takenUnreleased, 0, "blocked money waits for no release")
    }
  })

  it("CHG-26: the money of an open refund is out already, and its return finishes the order", () => {
    const returned = move(chargeIn("paid"), "refunded", { order: openRefund })
    assert.deepStrictEqual(returned?.change.transfers, [])
    assert.strictEqual(returned?.finishedOrder, openRefund)
    const contested = move(chargeIn("paid"), "infraction", { order: openRefund, unreleased: 300 })
    assert.deepStrictEqual(contested?.change.transfers, [])
    assert.strictEqual(contested?.takenUnreleased, 0)
    assert.isUndefined(contested?.finishedOrder, "the refund is still open")
  })

  it("a canceled charge has no money that could move", () => {
    const canceled = move(chargeIn("pending"), "canceled", { unreleased: 0 })
    assert.strictEqual(canceled?.change.charge.status, "canceled")
    assert.deepStrictEqual(canceled?.change.transfers, [])
  })

  it("CHG-7: nothing is decided where the state does not allow it", () => {
    assert.isUndefined(move(chargeIn("pending"), "refunded"))
    assert.isUndefined(move(chargeIn("refunded"), "infraction"))
    assert.isUndefined(move(chargeIn("paid"), "dispute_won"))
  })
})
