/** Outcomes that contradict the books: what operators see of them, and where the money goes. */
import { assert, layer } from "@effect/vitest"
import type { Refund } from "@pix-payments/domain/Refund"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { assertRefused, created, retrieve } from "../../support/ChargeRequests.ts"
import { type Exception, exceptionOf, notified, paymentOf, resolved, unallocated } from "../../support/Exceptions.ts"
import {
  assertLedgerHolds,
  availableOf,
  entriesOf,
  eventStatusesOf,
  funded,
  holding,
  ledgerBalancesOf,
  operated,
  paidCharge,
  paidOut,
  retrievePayout,
  simulated
} from "../../support/Money.ts"
import { TestService } from "../../support/TestService.ts"

const settings = { acquirerTimeoutMs: 300, simulatorSettleMs: 0 }

layer(TestService.layer({ settings }), { excludeTestServices: true })("A payout that ends otherwise", (it) => {
  const endings = [
    { books: "failed", provider: "completed", money: -5000 },
    { books: "completed", provider: "failed", money: 5000 }
  ] as const
  const report = (id: string, outcome: "completed" | "failed") =>
    simulated(`/payouts/${id}/${outcome === "completed" ? "complete" : "fail"}`, { reason: "account closed" })

  it.effect.each(endings)(
    "BAL-16, OPR-212, OPR-213: $books, then $provider: one exception with its money, which `accept` carries to the account",
    ({ books, money, provider }) =>
      Effect.gen(function* () {
        const { operate } = yield* TestService
        const { accountId, key } = yield* funded(5010, { payout_fee: { fixed: 10, basis_points: 0 } })
        const { id } = yield* paidOut(key, { ...holding, amount: 5000 })
        yield* report(id, books)
        const shown = (yield* retrievePayout(key, id)).body
        const events = yield* eventStatusesOf(id)
        const before = yield* unallocated()
        const balance = yield* availableOf(key)

        assert.deepInclude(yield* report(id, provider), { status: books, provider_outcome: provider })
        const exception = yield* contradictionOf({ payout_id: id })
        assert.deepInclude(exception, {
          kind: "contradictory_outcome",
          status: "open",
          amount: 5000,
          unallocated: money,
          account_id: accountId,
          charge_id: null,
          refund_id: null,
          provider_outcome: provider
        })
        assert.strictEqual(yield* unallocated(), before + money)
        // `/v1` is as before.
        assert.deepStrictEqual((yield* retrievePayout(key, id)).body, shown)
        assert.deepStrictEqual(yield* eventStatusesOf(id), events)
        assert.strictEqual(yield* availableOf(key), balance)

        // A copy is refused, as any copy.
        const copy = yield* operate(
          "POST",
          `/operator/v1/simulator/payouts/${id}/${provider === "failed" ? "fail" : "complete"}`,
          {
            body: { reason: "again" }
          }
        )
        assertRefused(copy, "INVALID_STATE")

        const path = `/operator/v1/exceptions/${exception.id}/resolve`
        const other = yield* created(key)
        const misplaced = yield* operate("POST", path, { body: { action: "accept", charge_id: other.id } })
        assertRefused(misplaced, "VALIDATION_ERROR", ["charge_id"])
        assertRefused(yield* operate("POST", path, { body: { action: "return" } }), "INVALID_STATE")
        assert.deepInclude(yield* resolved(exception.id, { action: "accept" }), {
          status: "resolved",
          action: "accept",
          unallocated: 0
        })
        assert.strictEqual(yield* unallocated(), before)
        assert.strictEqual(yield* availableOf(key), balance + money)
        assert.deepInclude(yield* operated("GET", `/payouts/${id}`), { status: books, provider_outcome: provider })
        yield* assertLedgerHolds
      })
  )

  it.effect.each(["open", "accepted", "dismissed"] as const)(
    "BAL-16, OPR-214: an outcome that agrees with the books again closes an exception that is %s, and its money goes back",
    (state) =>
      Effect.gen(function* () {
        const { key } = yield* funded(5000)
        const { id } = yield* paidOut(key, { ...holding, amount: 5000 })
        yield* report(id, "failed")
        const before = yield* unallocated()
        yield* report(id, "completed")
        const { id: exceptionId } = yield* contradictionOf({ payout_id: id })
        if (state === "accepted") yield* resolved(exceptionId, { action: "accept" })
        if (state === "dismissed") yield* resolved(exceptionId, { action: "dismiss", reason: "known" })
        assert.strictEqual(yield* availableOf(key), state === "accepted" ? 0 : 5000)

        assert.deepInclude(yield* report(id, "failed"), { status: "failed", provider_outcome: null })
        assert.deepInclude(yield* operated<Exception>("GET", `/exceptions/${exceptionId}`), {
          status: "resolved",
          action: null,
          resolved_by: "provider",
          unallocated: 0
        })
        assert.strictEqual(yield* availableOf(key), 5000)
        assert.strictEqual(yield* unallocated(), before)
        assert.strictEqual(
          (yield* entriesOf(exceptionId)).at(-1),
          state === "accepted"
            ? "exception.reversed acquirer>available 5000"
            : "exception.reversed acquirer>unallocated 5000"
        )
        // And once more otherwise: another exception.
        yield* report(id, "completed")
        assert.notStrictEqual((yield* contradictionOf({ payout_id: id })).id, exceptionId)
        yield* assertLedgerHolds
      })
  )

  it.effect("BAL-16: two processes that learn of it at the same moment raise one exception", () =>
    Effect.gen(function* () {
      const { key } = yield* funded(5000)
      const { id } = yield* paidOut(key, { ...holding, amount: 5000 })
      yield* report(id, "failed")
      const before = yield* unallocated()
      const outcomes = yield* Effect.forEach(
        Array.from({ length: 20 }),
        () => notified({ _tag: "payout.completed", payoutId: id }),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(outcomes.toSorted(), ["exception", ...Array.from({ length: 19 }, () => "ignored")])
      assert.deepInclude(yield* contradictionOf({ payout_id: id }), { unallocated: -5000 })
      assert.strictEqual(yield* unallocated(), before - 5000)
      yield* assertLedgerHolds
    })
  )
})

layer(TestService.layer({ settings }), { excludeTestServices: true })("A return that ends otherwise", (it) => {
  const onHold = { description: "hold@simulator.test" }
  const refund = (chargeId: string, body: object) =>
    Effect.map(
      operated<{ refunds: ReadonlyArray<Refund> }>("POST", `/charges/${chargeId}/refund`, body),
      ({ refunds }) => refunds.at(-1)!.id
    )
  const failing = (chargeId: string, amount: number) =>
    Effect.gen(function* () {
      const id = yield* refund(chargeId, { amount, ...onHold })
      yield* simulated(`/refunds/${id}/fail`, { reason: "account closed" })
      return id
    })

  it.effect(
    "BAL-16, OPR-213: a refund that failed and is completed after another one: what left beyond the charge is an exception",
    () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { accountId, key } = yield* makeCaller()
        const { id: chargeId } = yield* paidCharge(key, 1000)
        const first = yield* failing(chargeId, 1000)
        const second = yield* refund(chargeId, { amount: 1000, ...onHold })
        yield* simulated(`/refunds/${second}/complete`)
        const before = yield* unallocated()
        assert.deepInclude(yield* simulated(`/refunds/${first}/complete`), {
          status: "failed",
          provider_outcome: "completed"
        })
        const exception = yield* contradictionOf({ refund_id: first })
        assert.deepInclude(exception, {
          amount: 1000,
          unallocated: -1000,
          charge_id: chargeId,
          account_id: accountId,
          payout_id: null,
          provider_outcome: "completed"
        })
        assert.strictEqual(yield* unallocated(), before - 1000)
        yield* resolved(exception.id, { action: "accept", charge_id: chargeId })
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: -1000, returns_in_transit: 0 })
        assert.strictEqual(yield* unallocated(), before)
        assert.strictEqual((yield* retrieve(key, chargeId)).body.status, "refunded")
        yield* assertLedgerHolds
      })
  )

  it.effect("BAL-16: a late completion takes what its charge still has, and the rest is an exception", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const { id: chargeId } = yield* paidCharge(key, 1000)
      const first = yield* failing(chargeId, 1000)
      const second = yield* refund(chargeId, { amount: 700, ...onHold })
      yield* simulated(`/refunds/${second}/complete`)
      yield* simulated(`/refunds/${first}/complete`)
      assert.deepInclude(yield* contradictionOf({ refund_id: first }), { unallocated: -700 })
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0 })
      assert.strictEqual((yield* retrieve(key, chargeId)).body.status, "refunded")
      // The bank gives all of it back after all: also what the charge gave.
      yield* simulated(`/refunds/${first}/fail`, { reason: "account closed" })
      assert.deepInclude(yield* contradictionOf({ refund_id: first }), { unallocated: 300, provider_outcome: "failed" })
      yield* assertLedgerHolds
    })
  )

  it.effect("BAL-16: a completed refund that the bank gives back is an exception above zero", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const { id: chargeId } = yield* paidCharge(key, 1000)
      const id = yield* refund(chargeId, { amount: 1000, ...onHold })
      yield* simulated(`/refunds/${id}/complete`)
      yield* simulated(`/refunds/${id}/fail`, { reason: "account closed" })
      const exception = yield* contradictionOf({ refund_id: id })
      assert.deepInclude(exception, { unallocated: 1000, failure_reason: "account closed" })
      yield* resolved(exception.id, { action: "accept" })
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 1000 })
      assert.strictEqual((yield* retrieve(key, chargeId)).body.status, "refunded")
      // The same outcome of before, again: the account gives it back.
      yield* simulated(`/refunds/${id}/complete`)
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0 })
      yield* assertLedgerHolds
    })
  )

  it.effect("BAL-16, OPR-213: an exception's return that failed and is completed takes what the exception has", () =>
    Effect.gen(function* () {
      const { orderId, raised } = yield* returned(3000)
      yield* notified({ _tag: "return.failed", orderId, reason: "NAO_REALIZADO" })
      const before = yield* unallocated()
      assert.strictEqual(yield* notified({ _tag: "return.completed", orderId }), "applied")
      assert.deepInclude(yield* operated("GET", `/exceptions/${raised.id}`), {
        status: "resolved",
        action: "return",
        resolved_by: "provider",
        unallocated: 0
      })
      assert.strictEqual(yield* unallocated(), before - 3000)
      // The bank says otherwise again.
      assert.strictEqual(yield* notified({ _tag: "return.failed", orderId, reason: "NAO_REALIZADO" }), "exception")
      assert.deepInclude(yield* contradictionOf({ refund_id: orderId }), { unallocated: 3000 })
      yield* assertLedgerHolds
    })
  )

  it.effect(
    "BAL-16, OPR-213: of an exception that was accepted meanwhile, it is taken from the account that has the money",
    () =>
      Effect.gen(function* () {
        const { accountId, chargeId, orderId, raised } = yield* returned(3000)
        yield* notified({ _tag: "return.failed", orderId, reason: "NAO_REALIZADO" })
        yield* resolved(raised.id, { action: "accept", charge_id: chargeId })
        const before = yield* unallocated()
        assert.strictEqual(yield* notified({ _tag: "return.completed", orderId }), "applied")
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0 })
        assert.strictEqual(yield* unallocated(), before)
        // The bank gives it back after all: it is of the account that had it.
        assert.strictEqual(yield* notified({ _tag: "return.failed", orderId, reason: "NAO_REALIZADO" }), "exception")
        const exception = yield* contradictionOf({ refund_id: orderId })
        assert.deepInclude(exception, { unallocated: 3000, account_id: accountId })
        const { makeCaller, operate } = yield* TestService
        const other = yield* makeCaller()
        const misplaced = yield* operate("POST", `/operator/v1/exceptions/${exception.id}/resolve`, {
          body: { action: "accept", account_id: other.accountId }
        })
        assertRefused(misplaced, "VALIDATION_ERROR", ["account_id"])
        yield* resolved(exception.id, { action: "accept", account_id: accountId })
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 3000 })
        yield* assertLedgerHolds
      })
  )

  /** A payment to the key whose return is accepted by the provider, and a charge that may have its money. */
  const returned = Effect.fnUntraced(function* (amount: number) {
    const { makeCaller } = yield* TestService
    const sql = yield* SqlClient
    const { accountId, key } = yield* makeCaller()
    const { id: chargeId } = yield* created(key)
    const payment = paymentOf("", { amount })
    yield* notified(payment)
    const raised = yield* exceptionOf(payment.endToEndId)
    const { id: orderId } = (yield* sql<{ id: string }>`SELECT uuidv7() AS id`)[0]!
    // As one that waits for its outcome.
    yield* sql`
      INSERT INTO acquirer_orders (id, kind, exception_id, connection_id, end_to_end_id, amount, pending, state, created_at)
      VALUES (${orderId}::uuid, 'return', ${raised.id}::uuid, ${raised.connection_id}::uuid, ${payment.endToEndId!}, ${amount},
        0, 'ordered', now())`
    yield* sql`UPDATE acquirer_exceptions SET action = 'return' WHERE id = ${raised.id}::uuid`
    return { accountId, chargeId, orderId, raised }
  })
})

/** The contradiction of a payout or refund that holds: the newest one. */
const contradictionOf = (of: { readonly payout_id: string } | { readonly refund_id: string }) =>
  Effect.map(
    operated<{ data: ReadonlyArray<Exception> }>("GET", "/exceptions?kind=contradictory_outcome&limit=100"),
    ({ data }) => {
      const found = data.filter((each) =>
        "payout_id" in of ? each.payout_id === of.payout_id : each.refund_id === of.refund_id
      )
      assert.isAtLeast(found.length, 1)
      assert.isAtMost(found.filter(({ status }) => status === "open").length, 1)
      return found[0]!
    }
  )
