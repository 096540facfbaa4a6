/** MEDs, returns and refunds: what happens to a charge after it is paid, and before it is. */
import { assert, layer } from "@effect/vitest"
import type { Charge } from "@pix-payments/domain/Charge"
import { formatInstant } from "@pix-payments/domain/Instant"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { assertRefused, created, instant, listed, retrieve, someCharge, uuid7 } from "../support/ChargeRequests.ts"
import {
  assertLedgerHolds,
  availableOf,
  balanceOf,
  deliveredOf,
  entriesOf,
  eventsOf,
  keptOf,
  operated,
  paidCharge,
  payOut,
  paidOut,
  holding,
  simulated,
  toldOf
} from "../support/Money.ts"
import { loopback, receiver } from "../support/Receiver.ts"
import { type Fields, newKey, TestService } from "../support/TestService.ts"

const settings = { acquirerTimeoutMs: 300, simulatorSettleMs: 0, webhookAllowedNetworks: loopback }

const DAY_MS = 24 * 60 * 60 * 1000

interface Dispute {
  readonly object: string
  readonly id: string
  readonly charge_id: string
  readonly account_id: string
  readonly status: string
  readonly amount: number
  readonly currency: string
  readonly reason: string | null
  readonly reference: string | null
  readonly opened_at: string
  readonly defense_deadline_at: string | null
  readonly resolved_at: string | null
  readonly arrived_resolved: boolean
  readonly sequence: number
  readonly messages: ReadonlyArray<{ author: string; text: string; at: string }>
}

/** A MED against a paid charge. */
const med = (chargeId: string, fields: Fields = {}) =>
  simulated<Dispute>(`/charges/${chargeId}/infraction`, { reason: "fraude", ...fields }, 201)

const statusOf = (key: string, chargeId: string) => Effect.map(retrieve(key, chargeId), ({ body }) => body.status)

const disputesOf = (chargeId: string) =>
  Effect.map(operated<{ data: ReadonlyArray<Dispute> }>("GET", `/disputes?charge_id=${chargeId}`), ({ data }) => data)

const disputeOf = (id: string) => operated<Dispute>("GET", `/disputes/${id}`)

const refusesAll = (disputeId: string, actions: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const { operate } = yield* TestService
    for (const action of actions) {
      const path = action === "defense" || action === "messages" ? `/disputes` : "/simulator/disputes"
      const body = action === "win" || action === "lose" ? undefined : { text: "x" }
      assertRefused(yield* operate("POST", `/operator/v1${path}/${disputeId}/${action}`, { body }), "INVALID_STATE")
    }
  })

/** What `data` of a dispute event has: the dispute as operators see it, without what is theirs alone. */
const shown = ({ account_id, messages, ...dispute }: Dispute): Omit<Dispute, "account_id" | "messages"> => {
  assert.isString(account_id)
  assert.isArray(messages)
  return dispute
}

const paidEvents = ["charge.pix.created pending", "charge.pix.emitted pending", "charge.pix.paid paid"]

layer(TestService.layer({ settings }), { excludeTestServices: true })("Dispute `status`", (it) => {
  it.effect("DSP-1, DSP-6, DSP-11: (none) → `open`: `dispute.pix.opened`; value is blocked awaiting defense", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const charge = yield* paidCharge(key, 1990, { reference: "pedido-1" })
      const dispute = yield* med(charge.id, { reason: "golpe" })
      assert.match(dispute.id, uuid7)
      assert.deepStrictEqual<unknown>(dispute, {
        object: "dispute",
        id: dispute.id,
        charge_id: charge.id,
        account_id: accountId,
        status: "open",
        amount: 1990,
        currency: "BRL",
        reason: "golpe",
        reference: "pedido-1",
        opened_at: dispute.opened_at,
        defense_deadline_at: dispute.defense_deadline_at,
        resolved_at: null,
        arrived_resolved: false,
        sequence: 1,
        messages: []
      })
      assert.match(dispute.opened_at, instant)
      // 7 days after opening, where the acquirer says nothing.
      assert.strictEqual(dispute.defense_deadline_at, formatInstant(Date.parse(dispute.opened_at) + 7 * DAY_MS))
      assert.strictEqual(yield* statusOf(key, charge.id), "infraction")
      assert.deepInclude(yield* keptOf(accountId), { available: 0, blocked: 1990 })
      assert.deepStrictEqual(yield* toldOf(charge.id), [...paidEvents, "charge.pix.infraction infraction"])
      const [opened, ...others] = yield* eventsOf(dispute.id)
      assert.deepStrictEqual(others, [])
      assert.strictEqual(opened?.event, "dispute.pix.opened")
      assert.deepStrictEqual<unknown>(opened?.data, shown(dispute))
    })
  )

  it.effect("DSP-6: `defense_deadline_at` is what the acquirer says", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { key } = yield* makeCaller()
      const { id } = yield* paidCharge(key)
      const path = `/operator/v1/simulator/charges/${id}/infraction`
      const refusals: ReadonlyArray<readonly [Fields, ReadonlyArray<string>]> = [
        [{}, ["reason"]],
        [{ reason: "" }, ["reason"]],
        [{ reason: "x", defense_deadline_at: "tomorrow" }, ["defense_deadline_at"]]
      ]
      for (const [body, details] of refusals) {
        assertRefused(yield* operate("POST", path, { body }), "VALIDATION_ERROR", details)
      }
      const { defense_deadline_at } = yield* med(id, { defense_deadline_at: "2030-01-02T03:04:05-03:00" })
      assert.strictEqual(defense_deadline_at, "2030-01-02T06:04:05.000Z")
    })
  )

  it.effect("DSP-2, OPR-26: `open→under_review` when an operator files the defense", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const { id: chargeId } = yield* paidCharge(key, 1000)
      const { id } = yield* med(chargeId)
      const path = `/operator/v1/disputes/${id}/defense`
      for (const body of [{}, { text: "" }, { text: 5 }, { text: "x".repeat(4001) }]) {
        assertRefused(yield* operate("POST", path, { body }), "VALIDATION_ERROR", ["text"])
      }
      assert.strictEqual((yield* disputeOf(id)).status, "open")
      const { messages, ...defended } = yield* operated<Dispute>("POST", `/disputes/${id}/defense`, {
        text: "entregue"
      })
      assert.deepInclude(defended, { status: "under_review", resolved_at: null, sequence: 2 })
      assert.deepStrictEqual(
        messages.map(({ author, text }) => `${author}: ${text}`),
        ["operator: entregue"]
      )
      assert.deepStrictEqual(yield* toldOf(id), ["dispute.pix.opened open"])
      assert.strictEqual(yield* statusOf(key, chargeId), "infraction")
      assert.deepInclude(yield* keptOf(accountId), { available: 0, blocked: 1000 })
      yield* refusesAll(id, ["defense"])
      assert.strictEqual((yield* disputeOf(id)).messages.length, 1)
    })
  )

  it.effect.each([{ defended: false }, { defended: true }])(
    "DSP-2, DSP-3: → `won`: blocked value returns to balance, the charge to `paid`, and `charge.pix.paid` is not told again (defended: $defended)",
    ({ defended }) =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { accountId, key } = yield* makeCaller()
        const charge = yield* paidCharge(key, 1000)
        const { id } = yield* med(charge.id)
        if (defended) yield* operated("POST", `/disputes/${id}/defense`, { text: "x" })
        const won = yield* simulated<Dispute>(`/disputes/${id}/win`)
        assert.deepInclude(won, { status: "won", arrived_resolved: false, sequence: defended ? 3 : 2 })
        assert.match(String(won.resolved_at), instant)
        const { body } = yield* retrieve(key, charge.id)
        assert.deepStrictEqual(body, { ...withoutOperatorFields(charge), status: "paid", sequence: 5 })
        assert.deepInclude(yield* keptOf(accountId), { available: 1000, blocked: 0 })
        assert.deepStrictEqual(yield* toldOf(charge.id), [...paidEvents, "charge.pix.infraction infraction"])
        const [, told] = yield* eventsOf(id)
        assert.strictEqual(told?.event, "dispute.pix.won")
        assert.deepStrictEqual<unknown>(told?.data, shown(won))
        yield* refusesAll(id, ["win", "defense", "messages"])
      })
  )

  it.effect.each([{ defended: false }, { defended: true }])(
    "DSP-2, DSP-4: → `lost`: value goes back to the payer, the charge is `charged_back` (defended: $defended)",
    ({ defended }) =>
      Effect.gen(function* () {
        const { makeCaller, operate } = yield* TestService
        const { accountId, key } = yield* makeCaller()
        const { id: chargeId } = yield* paidCharge(key, 1000)
        const { id } = yield* med(chargeId)
        if (defended) yield* operated("POST", `/disputes/${id}/defense`, { text: "x" })
        const lost = yield* simulated<Dispute>(`/disputes/${id}/lose`)
        assert.deepInclude(lost, { status: "lost", arrived_resolved: false })
        assert.match(String(lost.resolved_at), instant)
        assert.strictEqual(yield* statusOf(key, chargeId), "charged_back")
        assert.deepInclude(yield* keptOf(accountId), { available: 0, blocked: 0 })
        assert.deepStrictEqual(yield* toldOf(chargeId), [
          ...paidEvents,
          "charge.pix.infraction infraction",
          "charge.pix.charged_back charged_back"
        ])
        assert.deepStrictEqual(yield* toldOf(id), ["dispute.pix.opened open", "dispute.pix.lost lost"])
        const [, told] = yield* eventsOf(id)
        assert.deepStrictEqual<unknown>(told?.data, shown(lost))
        // `lost` is final.
        yield* refusesAll(id, ["win", "lose", "defense", "messages"])
        for (const [action, body] of [
          ["pay", undefined],
          ["fail", undefined],
          ["refund", undefined],
          ["infraction", { reason: "x" }],
          ["return", { as: "refunded" }]
        ] as const) {
          const refused = yield* operate("POST", `/operator/v1/simulator/charges/${chargeId}/${action}`, { body })
          assertRefused(refused, "INVALID_STATE")
        }
        assert.deepInclude(yield* keptOf(accountId), { available: 0, blocked: 0 })
      })
  )

  it.effect("DSP-2, DSP-4: `won` → `lost`: late return; `lost` is final even after a `won`", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const { id: chargeId } = yield* paidCharge(key, 1000)
      yield* paidCharge(key, 150)
      const { id } = yield* med(chargeId)
      const won = yield* simulated<Dispute>(`/disputes/${id}/win`)
      const lost = yield* simulated<Dispute>(`/disputes/${id}/lose`)
      assert.strictEqual(lost.status, "lost")
      assert.isTrue(lost.resolved_at! >= won.resolved_at!)
      assert.strictEqual(yield* statusOf(key, chargeId), "charged_back")
      assert.deepInclude(yield* keptOf(accountId), { available: 150, blocked: 0 })
      assert.deepStrictEqual(yield* toldOf(id), [
        "dispute.pix.opened open",
        "dispute.pix.won won",
        "dispute.pix.lost lost"
      ])
      yield* refusesAll(id, ["win", "lose"])
      yield* assertLedgerHolds
    })
  )

  it.effect.each([{ as: "refunded" }, { as: "charged_back" }])(
    "DSP-5: (none) → `lost`: only `dispute.pix.lost` arrives, with `arrived_resolved: true`; the charge gets `charge.pix.$as`",
    ({ as }) =>
      Effect.gen(function* () {
        const { makeCaller, operate } = yield* TestService
        const { accountId, key } = yield* makeCaller()
        const { id } = yield* paidCharge(key, 1000, { reference: "r" })
        const refused = yield* operate("POST", `/operator/v1/simulator/charges/${id}/return`, { body: { as: "lost" } })
        assertRefused(refused, "VALIDATION_ERROR", ["as"])
        const { status } = yield* simulated<Charge>(`/charges/${id}/return`, { as })
        assert.strictEqual(status, as)
        assert.strictEqual(yield* statusOf(key, id), as)
        assert.deepStrictEqual(yield* toldOf(id), [...paidEvents, `charge.pix.${as} ${as}`])
        const [dispute, ...others] = yield* disputesOf(id)
        assert.deepStrictEqual(others, [])
        assert.deepInclude(dispute!, {
          status: "lost",
          amount: 1000,
          reference: "r",
          arrived_resolved: true,
          defense_deadline_at: null
        })
        assert.match(String(dispute!.resolved_at), instant)
        const [told, ...more] = yield* eventsOf(dispute!.id)
        assert.deepStrictEqual(more, [])
        assert.strictEqual(told?.event, "dispute.pix.lost")
        assert.deepStrictEqual<unknown>(told?.data, shown(dispute!))
        assert.strictEqual(yield* availableOf(key), 0)
        assert.deepInclude(yield* keptOf(accountId), { available: 0, blocked: 0 })
        yield* refusesAll(dispute!.id, ["win", "lose", "defense", "messages"])
      })
  )

  it.effect("DSP-7: A refund of a charge in `infraction` takes from `blocked` and ends the dispute as `lost`", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const { id: chargeId } = yield* paidCharge(key, 1000)
      yield* paidCharge(key, 130)
      const { id } = yield* med(chargeId)
      // An operator refunds what is paid, and only that.
      assertRefused(yield* operate("POST", `/operator/v1/charges/${chargeId}/refund`), "INVALID_STATE")
      assert.strictEqual((yield* simulated<Charge>(`/charges/${chargeId}/refund`)).status, "refunded")
      assert.deepInclude(yield* keptOf(accountId), { available: 130, blocked: 0 })
      assert.deepInclude(yield* disputeOf(id), { status: "lost", arrived_resolved: false })
      assert.deepStrictEqual(yield* toldOf(id), ["dispute.pix.opened open", "dispute.pix.lost lost"])
      assert.deepStrictEqual(yield* toldOf(chargeId), [
        ...paidEvents,
        "charge.pix.infraction infraction",
        "charge.pix.refunded refunded"
      ])
      assert.strictEqual((yield* disputesOf(chargeId)).length, 1)
      yield* assertLedgerHolds
    })
  )

  it.effect("DSP-7: a return of a charge in `infraction` ends its dispute, and makes no second one", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const { id: chargeId } = yield* paidCharge(key, 1000)
      const { id } = yield* med(chargeId)
      yield* operated("POST", `/disputes/${id}/defense`, { text: "x" })
      yield* simulated(`/charges/${chargeId}/return`, { as: "charged_back" })
      assert.deepStrictEqual(
        (yield* disputesOf(chargeId)).map(({ arrived_resolved, status }) => ({ arrived_resolved, status })),
        [{ arrived_resolved: false, status: "lost" }]
      )
      assert.deepInclude(yield* keptOf(accountId), { available: 0, blocked: 0 })
    })
  )

  it.effect("DSP-7: A second MED on a charge is a new dispute", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const { id: chargeId } = yield* paidCharge(key, 1000)
      const first = yield* med(chargeId)
      const during = yield* operate("POST", `/operator/v1/simulator/charges/${chargeId}/infraction`, {
        body: { reason: "again" }
      })
      assertRefused(during, "INVALID_STATE")
      yield* simulated(`/disputes/${first.id}/win`)
      const second = yield* med(chargeId, { reason: "again" })
      assert.notStrictEqual(second.id, first.id)
      assert.deepStrictEqual(
        (yield* disputesOf(chargeId)).map(({ id, status }) => ({ id, status })),
        [
          { id: second.id, status: "open" },
          { id: first.id, status: "won" }
        ]
      )
      assert.deepInclude(yield* keptOf(accountId), { available: 0, blocked: 1000 })
      // The first is lost late, while the second is open: the money goes back once, and both end.
      yield* simulated(`/disputes/${first.id}/lose`)
      assert.deepStrictEqual(
        (yield* disputesOf(chargeId)).map(({ status }) => status),
        ["lost", "lost"]
      )
      yield* refusesAll(second.id, ["win", "lose"])
      assert.deepInclude(yield* keptOf(accountId), { available: 0, blocked: 0 })
      assert.deepStrictEqual(yield* toldOf(second.id), ["dispute.pix.opened open", "dispute.pix.lost lost"])
      assert.deepStrictEqual(yield* entriesOf(chargeId), [
        "charge.paid acquirer>available 1000",
        "charge.infraction available>blocked 1000",
        "charge.dispute_won blocked>available 1000",
        "charge.infraction available>blocked 1000",
        "charge.charged_back blocked>acquirer 1000"
      ])
      yield* assertLedgerHolds
    })
  )

  it.effect("DSP-10: a late outcome of a charge whose money went back already changes nothing", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const { id: chargeId } = yield* paidCharge(key, 1000)
      const { id } = yield* med(chargeId)
      yield* simulated(`/disputes/${id}/win`)
      yield* operated("POST", `/charges/${chargeId}/refund`)
      yield* refusesAll(id, ["lose", "win"])
      assert.strictEqual(yield* statusOf(key, chargeId), "refunded")
      assert.deepInclude(yield* keptOf(accountId), { available: 0, blocked: 0 })
    })
  )

  it.effect("DSP-2: won and lost at the same moment end in one state, and the money is in one place", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      for (let round = 0; round < 5; round++) {
        const { id: chargeId } = yield* paidCharge(key, 1000)
        const { id } = yield* med(chargeId)
        const actions = ["win", "lose", "win", "lose", "lose", "win"]
        yield* Effect.forEach(actions, (action) => operate("POST", `/operator/v1/simulator/disputes/${id}/${action}`), {
          concurrency: "unbounded"
        })
        // lost follows won, and nothing follows lost.
        assert.strictEqual((yield* disputeOf(id)).status, "lost")
        assert.strictEqual(yield* statusOf(key, chargeId), "charged_back")
        assert.deepInclude(yield* keptOf(accountId), { available: 0, blocked: 0 })
        const lost = (yield* toldOf(id)).filter((told) => told === "dispute.pix.lost lost")
        assert.strictEqual(lost.length, 1)
      }
      yield* assertLedgerHolds
    })
  )

  it.effect(
    "DSP-8, DSP-11, OPR-26: `dispute.pix.message` goes out when the platform replies; its text is `data.message`",
    () =>
      Effect.gen(function* () {
        const { makeCaller, operate } = yield* TestService
        const { key } = yield* makeCaller()
        const { id: chargeId } = yield* paidCharge(key)
        const { id } = yield* med(chargeId)
        const written = yield* operated<Dispute>("POST", `/disputes/${id}/messages`, { text: "qual o prazo?" }, 201)
        assert.deepStrictEqual(
          written.messages.map(({ author }) => author),
          ["operator"]
        )
        assert.deepStrictEqual(yield* toldOf(id), ["dispute.pix.opened open"])
        yield* simulated(`/disputes/${id}/message`, { text: "sete dias\n😀" })
        yield* operated("POST", `/disputes/${id}/defense`, { text: "defesa" })
        yield* simulated(`/disputes/${id}/message`, { text: "recebida" })
        const { messages, status } = yield* disputeOf(id)
        assert.strictEqual(status, "under_review")
        assert.deepStrictEqual(
          messages.map(({ author, text }) => `${author}: ${text}`),
          ["operator: qual o prazo?", "platform: sete dias\n😀", "operator: defesa", "platform: recebida"]
        )
        for (const { at } of messages) assert.match(at, instant)
        const told = yield* eventsOf(id)
        assert.deepStrictEqual(
          told.map(({ data, event }) => [event, data["status"], data["message"]]),
          [
            ["dispute.pix.opened", "open", undefined],
            ["dispute.pix.message", "open", "sete dias\n😀"],
            ["dispute.pix.message", "under_review", "recebida"]
          ]
        )
        assert.deepStrictEqual<unknown>(told[2]?.data, { ...shown(yield* disputeOf(id)), message: "recebida" })
        for (const path of [`/disputes/${id}/messages`, `/simulator/disputes/${id}/message`]) {
          assertRefused(yield* operate("POST", `/operator/v1${path}`, { body: {} }), "VALIDATION_ERROR", ["text"])
        }
      })
  )

  it.effect("DSP-9: its events go to registered endpoints, not to the charge's `webhook_url`", () =>
    Effect.gen(function* () {
      const { call, makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const own = yield* receiver()
      const registered = yield* receiver()
      const events = ["opened", "message", "won", "lost"].map((action) => `dispute.pix.${action}`)
      const endpoint = yield* call("POST", "/v1/webhooks", { key, body: { url: registered.url, events } })
      assert.strictEqual(endpoint.status, 201, endpoint.text)
      const { id: chargeId } = yield* paidCharge(key, 1000, { webhook_url: own.url })
      const { id } = yield* med(chargeId)
      yield* simulated(`/disputes/${id}/message`, { text: "oi" })
      yield* simulated(`/disputes/${id}/win`)
      yield* simulated(`/disputes/${id}/lose`)
      assert.deepStrictEqual(yield* deliveredOf(id), events.map((event) => `${event} endpoint`).toSorted())
      assert.deepStrictEqual(
        yield* deliveredOf(chargeId),
        ["charged_back", "created", "emitted", "infraction", "paid"].map((action) => `charge.pix.${action} webhook_url`)
      )
    })
  )

  it.effect("BAL-5: `available` may go below zero; payouts are then refused until it recovers", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const { id: chargeId } = yield* paidCharge(key, 5000)
      yield* paidOut(key, { amount: 4000, ...holding })
      const { id } = yield* med(chargeId)
      assert.deepStrictEqual<unknown>(yield* balanceOf(key), {
        object: "balance",
        currency: "BRL",
        available: -4000,
        pending: 0,
        total: -4000
      })
      const account = yield* operated<{ balance: Fields }>("GET", `/accounts/${accountId}`)
      assert.deepInclude(account.balance, { available: -4000 })
      assertRefused(yield* payOut(key), "INSUFFICIENT_BALANCE")
      yield* paidCharge(key, 4499)
      assertRefused(yield* payOut(key), "INSUFFICIENT_BALANCE")
      yield* paidCharge(key, 100)
      assertRefused(yield* payOut(key, { amount: 600 }), "INSUFFICIENT_BALANCE")
      yield* paidOut(key, { amount: 599, ...holding })
      assert.strictEqual(yield* availableOf(key), 0)
      yield* simulated(`/disputes/${id}/lose`)
      assert.deepInclude(yield* keptOf(accountId), { available: 0, blocked: 0, payouts_in_transit: 4599 })
      yield* assertLedgerHolds
    })
  )

  it.effect("CHG-7: Anything else that the acquirer reports is recorded and ignored", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const sql = yield* SqlClient
      const { accountId, key } = yield* makeCaller()
      const failed = yield* created(key)
      yield* simulated(`/charges/${failed.id}/fail`)
      const canceled = yield* created(key)
      yield* operated("POST", `/charges/${canceled.id}/cancel`)
      const refunded = yield* paidCharge(key)
      yield* simulated(`/charges/${refunded.id}/refund`)
      const cases: ReadonlyArray<readonly [string, ReadonlyArray<string>]> = [
        [failed.id, ["pay", "fail", "refund", "infraction", "return"]],
        [canceled.id, ["pay", "fail", "refund", "infraction", "return"]],
        [refunded.id, ["pay", "fail", "refund", "infraction", "return"]]
      ]
      const bodies: Readonly<Record<string, Fields>> = { infraction: { reason: "x" }, return: { as: "refunded" } }
      for (const [id, actions] of cases) {
        const before = yield* retrieve(key, id)
        for (const action of actions) {
          const path = `/operator/v1/simulator/charges/${id}/${action}`
          assertRefused(yield* operate("POST", path, { body: bodies[action] }), "INVALID_STATE")
        }
        assert.deepStrictEqual((yield* retrieve(key, id)).body, before.body)
        const ignored = yield* sql`SELECT id FROM acquirer_reports
          WHERE subject = ${id.replaceAll("-", "")} AND outcome = 'ignored'`
        assert.strictEqual(ignored.length, actions.length)
        assert.deepStrictEqual(yield* disputesOf(id), [])
      }
      assert.deepInclude(yield* keptOf(accountId), { available: 0, blocked: 0 })
    })
  )

  it.effect("unknown disputes are NOT_FOUND; the list filters by charge and status, newest first", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { key } = yield* makeCaller()
      const unknown = "0198c0de-0000-7000-8000-000000000000"
      for (const id of [unknown, "x"]) {
        assertRefused(yield* operate("GET", `/operator/v1/disputes/${id}`), "NOT_FOUND")
        for (const path of [
          `/disputes/${id}/defense`,
          `/disputes/${id}/messages`,
          `/simulator/disputes/${id}/message`
        ]) {
          assertRefused(yield* operate("POST", `/operator/v1${path}`, { body: { text: "x" } }), "NOT_FOUND")
        }
        for (const action of ["win", "lose"]) {
          assertRefused(yield* operate("POST", `/operator/v1/simulator/disputes/${id}/${action}`), "NOT_FOUND")
        }
      }
      const { id: chargeId } = yield* paidCharge(key)
      const first = yield* med(chargeId)
      yield* simulated(`/disputes/${first.id}/win`)
      const second = yield* med(chargeId)
      const idsOf = (query: string) =>
        Effect.map(
          operated<{ data: ReadonlyArray<Dispute> }>("GET", `/disputes?charge_id=${chargeId}${query}`),
          ({ data }) => data.map(({ id }) => id)
        )
      assert.deepStrictEqual(yield* idsOf(""), [second.id, first.id])
      assert.deepStrictEqual(yield* idsOf("&status=won"), [first.id])
      assert.deepStrictEqual(yield* idsOf("&status=lost"), [])
      assert.deepStrictEqual(yield* idsOf(`&starting_after=${second.id}`), [first.id])
      assertRefused(yield* operate("GET", "/operator/v1/disputes?status=x"), "VALIDATION_ERROR", ["status"])
    })
  )
})

layer(TestService.layer({ settings }), { excludeTestServices: true })("Operators and charges", (it) => {
  it.effect("CHG-7, OPR-11, OPR-20: cancel: `pending` only; expired → 409", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const sql = yield* SqlClient
      const { key } = yield* makeCaller()
      const pending = yield* created(key)
      const canceled = yield* operated<Charge>("POST", `/charges/${pending.id}/cancel`)
      assert.deepInclude(canceled, { status: "canceled", failure_reason: null, paid_at: null, sequence: 3 })
      assert.deepStrictEqual(yield* toldOf(pending.id), [
        "charge.pix.created pending",
        "charge.pix.emitted pending",
        "charge.pix.canceled canceled"
      ])
      const expired = yield* created(key)
      yield* sql`UPDATE charges SET expires_at = ${formatInstant(yield* Clock.currentTimeMillis)}::timestamptz
        WHERE id = ${expired.id}::uuid`
      const paid = yield* paidCharge(key)
      const failed = yield* created(key)
      yield* simulated(`/charges/${failed.id}/fail`)
      const processing = yield* created(key, {
        customer: { ...someCharge.customer, email: "timeout@simulator.test" }
      })
      yield* sql`UPDATE charge_recoveries SET due_at = now() + interval '1 hour'
        WHERE ${processing.id}::uuid = ANY (charge_ids)`
      for (const { id } of [pending, expired, paid, failed, processing]) {
        const before = yield* statusOf(key, id)
        assertRefused(yield* operate("POST", `/operator/v1/charges/${id}/cancel`), "INVALID_STATE")
        assert.strictEqual(yield* statusOf(key, id), before)
      }
      assertRefused(yield* operate("POST", "/operator/v1/charges/x/cancel"), "NOT_FOUND")
    })
  )

  it.effect("CHG-7, CHG-26, OPR-20: refund: `paid` only; sent to the acquirer; the money goes back once", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const sql = yield* SqlClient
      const { accountId, key } = yield* makeCaller()
      const { id } = yield* paidCharge(key, 1000)
      yield* paidCharge(key, 101)
      const refunded = yield* operated<Charge>("POST", `/charges/${id}/refund`)
      assert.strictEqual(refunded.status, "refunded")
      assert.deepStrictEqual(yield* toldOf(id), [...paidEvents, "charge.pix.refunded refunded"])
      // What the acquirer says of it as well is heard, and changes nothing.
      yield* Effect.repeat(Effect.delay(sql`SELECT id FROM simulator_reports WHERE reported_at IS NULL`, "20 millis"), {
        until: (rows) => rows.length === 0
      })
      assert.deepInclude(yield* keptOf(accountId), { available: 101, blocked: 0 })
      assert.deepStrictEqual(yield* disputesOf(id), [])
      const pending = yield* created(key)
      const contested = yield* paidCharge(key)
      yield* med(contested.id)
      for (const other of [id, pending.id, contested.id]) {
        assertRefused(yield* operate("POST", `/operator/v1/charges/${other}/refund`), "INVALID_STATE")
      }
      assertRefused(
        yield* operate("POST", "/operator/v1/charges/0198c0de-0000-7000-8000-000000000000/refund"),
        "NOT_FOUND"
      )
      yield* assertLedgerHolds
    })
  )

  it.effect("CHG-26: many refunds at once return the money once", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const { id } = yield* paidCharge(key, 1000)
      const answers = yield* Effect.forEach(
        Array.from({ length: 10 }),
        () => operate<Charge>("POST", `/operator/v1/charges/${id}/refund`),
        { concurrency: "unbounded" }
      )
      // Who comes while it is under way is told that it is done; who comes after it, that it cannot be done.
      assert.isTrue(answers.some(({ status }) => status === 200))
      for (const { body, status } of answers) {
        if (status === 200) assert.strictEqual(body.status, "refunded")
        else assert.strictEqual(status, 409)
      }
      assert.deepInclude(yield* keptOf(accountId), { available: 0 })
      assert.deepStrictEqual(yield* toldOf(id), [...paidEvents, "charge.pix.refunded refunded"])
      yield* assertLedgerHolds
    })
  )

  it.effect("CHG-7: cancel and pay at the same moment: one wins", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const made = yield* Effect.forEach(Array.from({ length: 15 }), () => created(key, { amount: 1000 }), {
        concurrency: 15
      })
      const outcomes = yield* Effect.forEach(
        made,
        ({ id }) =>
          Effect.all(
            [
              operate("POST", `/operator/v1/charges/${id}/cancel`),
              operate("POST", `/operator/v1/simulator/charges/${id}/pay`)
            ],
            { concurrency: 2 }
          ),
        { concurrency: "unbounded" }
      )
      const statuses = yield* Effect.forEach(made, ({ id }) => statusOf(key, id))
      for (const [index, [cancel, pay]] of outcomes.entries()) {
        assert.deepStrictEqual([cancel.status, pay.status], statuses[index] === "canceled" ? [200, 409] : [409, 200])
      }
      const paid = statuses.filter((status) => status === "paid").length
      assert.deepInclude(yield* keptOf(accountId), { available: paid * 1000 })
    })
  )
})

layer(TestService.layer({ settings }), { excludeTestServices: true })("Charges of the checkout", (it) => {
  it.effect.each([
    { method: "pix", first: ["created", "emitted"] },
    { method: "boleto", first: ["created", "emitted"] },
    // There is no `charge.card.emitted`.
    { method: "card", first: ["created"] }
  ])(
    "CHG-2, CHG-19, EVT-8, OPR-22: $method: invisible under /v1, with events to registered endpoints, on the same balance",
    ({ first, method }) =>
      Effect.gen(function* () {
        const { call, makeCaller } = yield* TestService
        const { accountId, applicationId, key } = yield* makeCaller()
        const { url } = yield* receiver()
        const events = [...first, "paid", "refunded"].map((action) => `charge.${method}.${action}`)
        const endpoint = yield* call("POST", "/v1/webhooks", { key, body: { url, events } })
        assert.strictEqual(endpoint.status, 201, endpoint.text)
        const charge = yield* operated<Charge & Fields>(
          "POST",
          `/applications/${applicationId}/checkout-charges`,
          { ...someCharge, amount: 1000, method },
          201
        )
        assert.deepInclude<unknown>(charge, {
          object: "charge",
          status: "pending",
          method,
          origin: "checkout",
          account_id: accountId,
          application_id: applicationId
        })
        assert.strictEqual(charge.pix.br_code === null, method !== "pix")
        assertRefused(yield* retrieve(key, charge.id), "CHARGE_NOT_FOUND")
        assert.deepStrictEqual((yield* listed(key)).data, [])
        assert.deepStrictEqual((yield* listed(key, `?method=${method}`)).data, [])
        assertRefused(yield* call("GET", `/v1/charges?starting_after=${charge.id}`, { key }), "VALIDATION_ERROR", [
          "starting_after"
        ])
        yield* simulated(`/charges/${charge.id}/pay`)
        assert.strictEqual(yield* availableOf(key), 1000)
        yield* operated("POST", `/charges/${charge.id}/refund`)
        assert.strictEqual(yield* availableOf(key), 0)
        assert.deepStrictEqual(yield* toldOf(charge.id), [
          ...first.map((action) => `charge.${method}.${action} pending`),
          `charge.${method}.paid paid`,
          `charge.${method}.refunded refunded`
        ])
        assert.deepStrictEqual(yield* deliveredOf(charge.id), events.map((event) => `${event} endpoint`).toSorted())
        yield* assertLedgerHolds
      })
  )

  it.effect("DSP-1: a MED is opened against a Pix charge, and against no other", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { accountId, applicationId, key } = yield* makeCaller()
      for (const method of ["boleto", "card"]) {
        const { id } = yield* operated<Charge>(
          "POST",
          `/applications/${applicationId}/checkout-charges`,
          { ...someCharge, method },
          201
        )
        yield* simulated(`/charges/${id}/pay`)
        const path = `/operator/v1/simulator/charges/${id}/infraction`
        assertRefused(yield* operate("POST", path, { body: { reason: "x" } }), "INVALID_STATE")
        // A card is contested with the issuer: the charge says so, and there is no dispute of Pix.
        yield* simulated(`/charges/${id}/return`, { as: "charged_back" })
        assert.deepStrictEqual(yield* disputesOf(id), [])
        const told = yield* toldOf(id)
        assert.strictEqual(told.includes("charge.card.charged_back charged_back"), method === "card")
        assert.isEmpty(told.filter((event) => event.startsWith("dispute")))
      }
      assert.deepInclude(yield* keptOf(accountId), { available: 0, blocked: 0 })
      assert.strictEqual(yield* availableOf(key), 0)
      yield* assertLedgerHolds
    })
  )

  it.effect("IDEM-10, OPR-22: take an optional `Idempotency-Key`, of their own scope", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { applicationId, key } = yield* makeCaller()
      const ask = (idempotencyKey?: string) =>
        operate<Charge>("POST", `/operator/v1/applications/${applicationId}/checkout-charges`, {
          idempotencyKey,
          body: someCharge
        })
      const idempotencyKey = newKey()
      const first = yield* ask(idempotencyKey)
      const again = yield* ask(idempotencyKey)
      assert.strictEqual(again.body.id, first.body.id)
      assert.strictEqual(again.headers["idempotent-replayed"], "true")
      const api = yield* created(key, {}, idempotencyKey)
      assert.strictEqual(new Set([first.body.id, api.id, (yield* ask()).body.id, (yield* ask()).body.id]).size, 4)
    })
  )
})

/** The simulator answers with the operator's view of a charge: `/v1` shows less. */
const withoutOperatorFields = (charge: Charge): Charge => {
  const shownFields: Record<string, unknown> = { ...charge }
  for (const field of ["account_id", "application_id", "origin"]) delete shownFields[field]
  return shownFields as unknown as Charge
}
