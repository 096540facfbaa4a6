/** How exceptions are resolved: by operators, and by the rule of their connection. */
import { assert, layer } from "@effect/vitest"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { AcquirerNotifications } from "../../../src/reports/AcquirerNotifications.ts"
import { assertRefused, created, retrieve, until } from "../../support/ChargeRequests.ts"
import {
  type Exception,
  exceptionOf,
  movedTo,
  newConnection,
  notified,
  paymentOf,
  resolved,
  unallocated
} from "../../support/Exceptions.ts"
import {
  assertLedgerHolds,
  entriesOf,
  eventStatusesOf,
  ledgerBalancesOf,
  operated,
  paidCharge
} from "../../support/Money.ts"
import { type Fields, newKey, TestService, whenFree } from "../../support/TestService.ts"

const settings = { acquirerTimeoutMs: 300, simulatorSettleMs: 0 }

const caller = Effect.flatMap(TestService, ({ makeCaller }) => makeCaller())

/** The exception of a payment that was just notified. */
const raised = (chargeId: string, fields: Fields = {}) =>
  Effect.gen(function* () {
    const payment = paymentOf(chargeId, { amount: 1000, ...fields })
    assert.strictEqual(yield* notified(payment), "exception")
    return yield* exceptionOf(payment.endToEndId)
  })

layer(TestService.layer({ settings }), { excludeTestServices: true })("An operator", (it) => {
  it.effect("BAL-12, OPR-82: accepts a second payment: available is credited, the charge and its events stay", () =>
    Effect.gen(function* () {
      const { accountId, key } = yield* caller
      const { id } = yield* paidCharge(key, 1000)
      const before = yield* unallocated()
      const exception = yield* raised(id, { amount: 700 })
      const events = yield* eventStatusesOf(id)
      assert.deepInclude(yield* resolved(exception.id, { action: "accept", reason: "agreed" }), {
        status: "resolved",
        action: "accept",
        reason: "agreed",
        unallocated: 0
      })
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 1700 })
      assert.strictEqual(yield* unallocated(), before)
      assert.deepStrictEqual(yield* eventStatusesOf(id), events)
      assert.deepStrictEqual((yield* entriesOf(exception.id)).toSorted(), [
        "exception.accepted acquirer>available 700",
        "exception.accepted unallocated>acquirer 700",
        "exception.received acquirer>unallocated 700"
      ])
      yield* assertLedgerHolds
    })
  )

  it.effect.each([{ release_delay: 0 }, { release_delay: 60 }])(
    "BAL-12: accepts a payment for a charge that waits for it: the charge is paid (release delay $release_delay)",
    ({ release_delay }) =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { accountId, key } = yield* makeCaller({ account: { release_delay } })
        const sql = yield* SqlClient
        const [pending, expired] = [yield* created(key, { amount: 1000 }), yield* created(key, { amount: 1000 })]
        yield* sql`UPDATE charges SET expires_at = now() - interval '1 day' WHERE id = ${expired.id}::uuid`
        for (const { id } of [pending, expired]) {
          const exception = yield* raised("", { atMs: Date.UTC(2026, 10, 19) })
          yield* resolved(exception.id, { action: "accept", charge_id: id })
          const { body: charge } = yield* retrieve(key, id)
          assert.deepInclude(charge, { status: "paid", paid_at: "2026-11-19T00:00:00.000Z" })
          assert.strictEqual(charge.pix.end_to_end_id, exception.end_to_end_id)
          assert.deepStrictEqual((yield* eventStatusesOf(id)).slice(2), ["charge.pix.paid paid"])
        }
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 2000, pending: 0 })
        // Another amount credits the account, and the charge waits on.
        const { id } = yield* created(key, { amount: 1000 })
        const exception = yield* raised(id, { amount: 999 })
        yield* resolved(exception.id, { action: "accept" })
        assert.strictEqual((yield* retrieve(key, id)).body.status, "pending")
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 2999 })
        yield* assertLedgerHolds
      })
  )

  it.effect("OPR-82: names a charge of the exception's connection", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { key } = yield* caller
      const exception = yield* raised("")
      const { id } = yield* created(key, { amount: 1000 })
      yield* movedTo(yield* newConnection(), id)
      for (const charge_id of [undefined, exception.id, id]) {
        const answer = yield* operate("POST", `/operator/v1/exceptions/${exception.id}/resolve`, {
          body: { action: "accept", charge_id }
        })
        assertRefused(answer, "VALIDATION_ERROR", ["charge_id"])
      }
      assert.deepInclude(yield* exceptionOf(exception.end_to_end_id ?? ""), { status: "open", unallocated: 1000 })
    })
  )

  it.effect("BAL-12, OPR-83: returns the money to the payer, also if the provider reports it too", () =>
    Effect.gen(function* () {
      const { key } = yield* caller
      const { id } = yield* paidCharge(key, 1000)
      const before = yield* unallocated()
      const exception = yield* raised(id)
      assert.deepInclude(yield* resolved(exception.id, { action: "return" }), {
        status: "resolved",
        action: "return",
        unallocated: 0,
        failure_reason: null
      })
      const sql = yield* SqlClient
      const [order] = yield* sql<{ id: string }>`
        SELECT id FROM acquirer_orders WHERE exception_id = ${exception.id}::uuid`
      const { receive } = yield* AcquirerNotifications
      for (const report of [
        { _tag: "return.completed", orderId: order!.id },
        { _tag: "charge.refunded", txid: "", endToEndId: exception.end_to_end_id!, externalId: order!.id, amount: 1000 }
      ] as const) {
        assert.include(["ignored", "unknown"], yield* receive(report))
      }
      assert.strictEqual(yield* unallocated(), before)
      assert.strictEqual((yield* retrieve(key, id)).body.status, "paid")
      yield* assertLedgerHolds
    })
  )

  it.effect("BAL-12, OPR-84, OPR-85: dismisses with a reason: nothing moves; a return of nothing is refused", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const exception = yield* raised("")
      const before = yield* unallocated()
      const path = `/operator/v1/exceptions/${exception.id}/resolve`
      assertRefused(yield* operate("POST", path, { body: { action: "dismiss" } }), "VALIDATION_ERROR", ["reason"])
      assert.deepInclude(yield* resolved(exception.id, { action: "dismiss", reason: "known" }), {
        status: "resolved",
        action: "dismiss",
        unallocated: 1000
      })
      assert.strictEqual(yield* unallocated(), before)
      const med = { _tag: "med.opened", txid: "", endToEndId: newKey(), amount: 5, reason: "fraud" } as const
      yield* notified(med)
      const { id } = yield* exceptionOf(med.endToEndId)
      const { id: chargeId } = yield* created((yield* caller).key)
      for (const body of [{ action: "return" }, { action: "accept", charge_id: chargeId }]) {
        assertRefused(yield* operate("POST", `/operator/v1/exceptions/${id}/resolve`, { body }), "INVALID_STATE")
      }
      yield* resolved(id, { action: "dismiss", reason: "not ours" })
    })
  )

  it.effect("OPR-81, OPR-88: of a hundred resolutions at once one is done, and audited", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { accountId, key } = yield* caller
      const { id } = yield* paidCharge(key, 1000)
      const exception = yield* raised(id)
      const actions = [{ action: "accept" }, { action: "return" }, { action: "dismiss", reason: "x" }]
      const answers = yield* Effect.all(
        Array.from({ length: 99 }, (_, n) =>
          whenFree(
            operate<Exception>("POST", `/operator/v1/exceptions/${exception.id}/resolve`, { body: actions[n % 3] })
          )
        ),
        { concurrency: "unbounded" }
      )
      assert.isAtMost(answers.filter(({ status }) => status === 200).length, 1)
      for (const answer of answers) if (answer.status !== 200) assertRefused(answer, "INVALID_STATE")
      const sql = yield* SqlClient
      const audited = yield* sql`SELECT action FROM audit WHERE resource_id = ${exception.id}::uuid`
      assert.deepStrictEqual(audited, [{ action: "exceptionActions.resolve" }])
      const { action } = yield* exceptionOf(exception.end_to_end_id ?? "")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: action === "accept" ? 2000 : 1000 })
      yield* assertLedgerHolds
    })
  )

  it.effect("OPR-80, OPR-89: lists exceptions by status and kind; the metrics count them", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const exception = yield* raised("")
      const list = yield* operated<{ data: ReadonlyArray<Exception> }>(
        "GET",
        "/exceptions?status=open&kind=unidentified_payment"
      )
      assert.strictEqual(list.data[0]?.id, exception.id)
      for (const { kind, status } of list.data) {
        assert.deepStrictEqual([kind, status], ["unidentified_payment", "open"])
      }
      yield* until(operate("GET", "/metrics"), ({ text }) =>
        /^pix_payments_acquirer_exceptions_open\{[^}]*kind="unidentified_payment"[^}]*\} [1-9]/m.test(text)
      )
      assert.match((yield* operate("GET", "/metrics")).text, /^pix_payments_acquirer_unallocated_cents(\{.*\})? -?\d+/m)
      const { accounts } = yield* operated<{ accounts: ReadonlyArray<{ account: Fields; kept: number }> }>(
        "GET",
        "/ledger/verify"
      )
      const held = accounts.find(
        ({ account }) => account["account_id"] === exception.connection_id && account["name"] === "unallocated"
      )
      assert.strictEqual(held?.kept, yield* unallocated())
    })
  )
})

layer(TestService.layer({ settings }), { excludeTestServices: true })("The rule of a connection", (it) => {
  it.effect("OPR-86: accept: credits the account of the charge, in the commit of the payment; else it waits", () =>
    Effect.gen(function* () {
      const { accountId, key } = yield* caller
      const connectionId = yield* newConnection("accept")
      const { id } = yield* created(key, { amount: 1000 })
      yield* movedTo(connectionId, id)
      assert.deepInclude(yield* raised(id, { amount: 999, connectionId }), {
        kind: "wrong_amount",
        status: "resolved",
        action: "accept",
        resolved_by: "rule",
        unallocated: 0
      })
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 999 })
      assert.strictEqual((yield* retrieve(key, id)).body.status, "pending")
      assert.deepInclude(yield* raised("", { connectionId }), { status: "open", unallocated: 1000 })
      yield* assertLedgerHolds
    })
  )

  it.effect("OPR-86, OPR-83: return: ordered in the commit of the payment, done by the loop", () =>
    Effect.gen(function* () {
      const before = yield* unallocated()
      const sql = yield* SqlClient
      const setRule = (rule: string) => sql`
        UPDATE acquirer_connections SET exception_rule = ${rule} WHERE id = ${SIMULATOR_CONNECTION}::uuid`
      yield* setRule("return")
      const exception = yield* raised("")
      yield* setRule("hold")
      assert.deepInclude(exception, { action: "return", resolved_by: "rule" })
      // The loop may have done it by then. `RepeatedReturns.test.ts` looks at what was only ordered.
      assert.include(["open", "resolved"], exception.status)
      const after = yield* until(
        operated<Exception>("GET", `/exceptions/${exception.id}`),
        ({ status }) => status === "resolved"
      )
      assert.deepInclude(after, { action: "return", unallocated: 0 })
      assert.strictEqual(yield* unallocated(), before)
      yield* assertLedgerHolds
    })
  )

  it.effect(
    "OPR-86: a payment whose txid has the form of ours, of no charge here, is held; another one is returned",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const setRule = (rule: string) => sql`
        UPDATE acquirer_connections SET exception_rule = ${rule} WHERE id = ${SIMULATOR_CONNECTION}::uuid`
        yield* setRule("return")
        const [ours] = yield* sql<{ id: string }>`SELECT uuidv7()::text AS id`
        assert.deepInclude(yield* raised(ours!.id), { kind: "unknown_txid", status: "open", action: null })
        assert.deepInclude(yield* raised("0123456789abcdef0123456789a"), { kind: "unknown_txid", action: "return" })
        yield* setRule("hold")
      })
  )

  it.effect("OPR-83: a return that fails leaves the exception open with the reason, and can be repeated", () =>
    Effect.gen(function* () {
      const exception = yield* raised("")
      const sql = yield* SqlClient
      const [order] = yield* sql<{ id: string }>`
        INSERT INTO acquirer_orders (id, kind, exception_id, connection_id, end_to_end_id, amount, pending, state, attempts,
          due_at, created_at)
        VALUES (uuidv7(), 'return', ${exception.id}::uuid, ${exception.connection_id}::uuid, ${exception.end_to_end_id},
          1000, 0, 'ordered', 1, now() + interval '1 hour', now())
        RETURNING id`
      yield* sql`UPDATE acquirer_exceptions SET action = 'return' WHERE id = ${exception.id}::uuid`
      assert.strictEqual(
        yield* notified({ _tag: "return.failed", orderId: order!.id, reason: "account closed" }),
        "applied"
      )
      assert.deepInclude(yield* operated<Exception>("GET", `/exceptions/${exception.id}`), {
        status: "open",
        action: null,
        failure_reason: "account closed",
        unallocated: 1000
      })
      assert.deepInclude(yield* resolved(exception.id, { action: "return" }), { status: "resolved" })
    })
  )
})
