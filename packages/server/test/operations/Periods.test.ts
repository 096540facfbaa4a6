/** Exceptions, approvals, ledger entries and the audit log by period and account; charges and payouts by when they failed. */
import type { Stats } from "@pix-payments/api/operator/Stats"
import { formatInstant } from "@pix-payments/domain/Instant"
import { assert, layer } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { makeApprovers, payoutAboveLimit } from "../support/Approvals.ts"
import { assertRefused, created } from "../support/ChargeRequests.ts"
import { exceptionOf, notified, paymentOf } from "../support/Exceptions.ts"
import { funded, holding, operated, paidOut, simulated } from "../support/Money.ts"
import { makeOperator } from "../support/Operators.ts"
import { eventually } from "../support/Receiver.ts"
import { type Call, type Fields, TestService } from "../support/TestService.ts"

interface Listed {
  readonly data: ReadonlyArray<{ readonly id: string; readonly created_at: string }>
}

const listed = (by: Call, path: string, query: Fields) =>
  Effect.map(
    by<Listed>("GET", `/operator/v1${path}?${new URLSearchParams(query as Record<string, string>)}`),
    ({ body, status, text }) => {
      assert.strictEqual(status, 200, text)
      return body.data
    }
  )

/** All of `query` was created in the twenty minutes around its newest row: a period has them, and none that ends or begins beside it. */
const assertPeriods = Effect.fnUntraced(function* (by: Call, path: string, query: Fields) {
  const all = yield* listed(by, path, query)
  assert.isAbove(all.length, 0, path)
  const newest = Date.parse(all[0]!.created_at)
  const at = (offsetMs: number) => formatInstant(newest + offsetMs)
  const [before, after] = [at(-600_000), at(600_000)]
  assert.deepStrictEqual(yield* listed(by, path, { ...query, created_after: before, created_before: after }), all, path)
  assert.deepStrictEqual(yield* listed(by, path, { ...query, created_after: after }), [], path)
  assert.deepStrictEqual(yield* listed(by, path, { ...query, created_before: before }), [], path)
  return all.map(({ id }) => id)
})

layer(TestService.layer({ settings: { simulatorSettleMs: 0 } }), { excludeTestServices: true })("Periods", (it) => {
  it.effect("OPR-290: exceptions by account, state, kind and period", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const raised = Effect.fnUntraced(function* () {
        const { accountId, key } = yield* funded(1000)
        const charge = yield* created(key, { amount: 1000 })
        const payment = paymentOf(charge.id, { amount: 700 })
        yield* notified(payment)
        return { accountId, id: (yield* exceptionOf(payment.endToEndId)).id }
      })
      const [one, other] = [yield* raised(), yield* raised()]
      const own = { account_id: one.accountId }
      assert.deepStrictEqual(yield* assertPeriods(operate, "/exceptions", own), [one.id])
      assert.deepStrictEqual(yield* assertPeriods(operate, "/exceptions", { ...own, kind: "wrong_amount" }), [one.id])
      assert.deepStrictEqual(yield* listed(operate, "/exceptions", { ...own, status: "resolved" }), [])
      assert.includeMembers([...(yield* assertPeriods(operate, "/exceptions", { status: "open" }))], [one.id, other.id])
      const { call } = yield* makeOperator("viewer", [other.accountId])
      assert.deepStrictEqual(yield* assertPeriods(call, "/exceptions", {}), [other.id])
      assert.deepStrictEqual(yield* listed(call, "/exceptions", own), [])
    })
  )

  it.effect("OPR-290: requests for approval by account, state and period", () =>
    Effect.gen(function* () {
      const { one } = yield* makeApprovers
      const asked = Effect.fnUntraced(function* () {
        const { accountId, payout } = yield* payoutAboveLimit()
        const { body, status } = yield* one.call<{ id: string }>("POST", `/operator/v1/payouts/${payout.id}/approve`)
        assert.strictEqual(status, 202)
        return { accountId, id: body.id }
      })
      const [first, second] = [yield* asked(), yield* asked()]
      const own = { account_id: first.accountId }
      assert.deepStrictEqual(yield* assertPeriods(one.call, "/approvals", own), [first.id])
      assert.deepStrictEqual(yield* assertPeriods(one.call, "/approvals", { ...own, status: "pending" }), [first.id])
      assert.deepStrictEqual(yield* listed(one.call, "/approvals", { ...own, status: "rejected" }), [])
      const pending = yield* assertPeriods(one.call, "/approvals", { status: "pending" })
      assert.includeMembers([...pending], [first.id, second.id])
    })
  )

  it.effect("OPR-290, OPR-211: ledger entries and the audit log by period; an unknown filter is refused", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { accountId } = yield* funded(1000)
      assert.lengthOf(yield* assertPeriods(operate, "/ledger/entries", { account_id: accountId }), 1)
      yield* assertPeriods(operate, "/ledger/entries", {})
      const { call } = yield* makeOperator("admin")
      yield* assertPeriods(call, "/audit", {})
      yield* assertPeriods(call, "/audit", { action: "operators.create" })
      for (const path of ["/exceptions", "/approvals", "/ledger/entries", "/audit"]) {
        assertRefused(yield* call("GET", `/operator/v1${path}?created_on=2026-11-25`), "VALIDATION_ERROR", [
          "created_on"
        ])
        assertRefused(yield* call("GET", `/operator/v1${path}?created_after=yesterday`), "VALIDATION_ERROR", [
          "created_after"
        ])
      }
    })
  )

  it.effect(
    "OPR-290, OPR-294: what failed in a time is listed by it and by its whole reason, whenever it was created",
    () =>
      Effect.gen(function* () {
        const { operate } = yield* TestService
        const { accountId, key } = yield* funded(90_000, { auto_payout_enabled: false })
        const charge = yield* created(key, { amount: 1200 })
        const payout = yield* paidOut(key, { ...holding, amount: 900 })
        const between = yield* Clock.currentTimeMillis
        const reason = "the account of the payee is closed ".repeat(7).trim()
        yield* operated("POST", `/payouts/${payout.id}/approve`)
        yield* simulated(`/payouts/${payout.id}/fail`, { reason })
        yield* simulated(`/charges/${charge.id}/fail`)
        const found = (list: string, query: Fields) =>
          Effect.map(listed(operate, list, { account_id: accountId, ...query }), (data) => data.map(({ id }) => id))
        const [before, after] = [formatInstant(between), formatInstant(between - 1)]
        for (const [list, id] of [
          ["/charges", charge.id],
          ["/payouts", payout.id]
        ] as const) {
          assert.deepStrictEqual(yield* found(list, { failed_after: after }), [id])
          assert.deepStrictEqual(yield* found(list, { failed_after: after, failed_before: "2100-01-01T00:00:00Z" }), [
            id
          ])
          assert.deepStrictEqual(yield* found(list, { failed_before: before }), [])
          assert.deepStrictEqual(yield* found(list, { failed_after: after, status: "pending" }), [])
          const path = `/operator/v1${list}?failure_reason=`
          assert.strictEqual((yield* operate("GET", path + "x".repeat(300))).status, 200)
          assertRefused(yield* operate("GET", path + "x".repeat(301)), "VALIDATION_ERROR", ["failure_reason"])
        }
        const day = formatInstant(between).slice(0, 10)
        const [from, to] = [-1, 1].map((days) => formatInstant(Date.parse(day) + days * 86_400_000).slice(0, 10))
        const { body } = yield* eventually(
          operate<Stats>("GET", `/operator/v1/stats?account_id=${accountId}&from=${from}&to=${to}`),
          ({ body }) => body.periods.flatMap(({ failed }) => failed).length === 2
        )
        const ofPayout = body.periods.flatMap(({ failed }) => failed).find(({ resource }) => resource === "payout")
        assert.deepStrictEqual(ofPayout, { resource: "payout", reason, count: 1 })
        assert.deepStrictEqual(yield* found("/payouts", { failed_after: after, failure_reason: reason }), [payout.id])
      })
  )
})
