/** Concurrent payouts never spend more than the balance. */
import { assert, layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { assertRefused, created } from "../support/ChargeRequests.ts"
import {
  assertLedgerHolds,
  availableOf,
  failing,
  funded,
  submittedPayout,
  holding,
  ledgerBalancesOf,
  paidCharge,
  paidOut,
  payOut,
  payoutReaching,
  somePayout
} from "../support/Money.ts"
import { createMigratedDatabase, temporaryFolder } from "../support/Postgres.ts"
import { eventually } from "../support/Receiver.ts"
import {
  type Call,
  type Fields,
  newKey,
  TestService,
  type TestServiceOptions,
  whenFree
} from "../support/TestService.ts"

const settings = { acquirerTimeoutMs: 300, simulatorSettleMs: 0 }

/** 100 concurrent payouts, of which the balance covers some. */
const assertOnlyTheAffordable = (calls: ReadonlyArray<Call>, key: string, accountId: string, available: number) =>
  Effect.gen(function* () {
    const lowest = { value: available }
    const answers = yield* Effect.forEach(
      Array.from({ length: 100 }, (_, index) => index),
      (index) =>
        Effect.gen(function* () {
          const call = calls[index % calls.length]!
          const idempotencyKey = newKey()
          const answer = yield* whenFree(
            call<{ id: string; code?: string }>("POST", "/v1/payouts", {
              key,
              idempotencyKey,
              body: { ...somePayout, ...holding, amount: 1000 }
            })
          )
          const { body } = yield* whenFree(call<{ available: number }>("GET", "/v1/balance", { key }))
          lowest.value = Math.min(lowest.value, body.available)
          return answer
        }),
      { concurrency: "unbounded" }
    )
    const affordable = Math.floor(available / 1010)
    assert.isBelow(affordable, 100)
    const accepted = answers.filter(({ status }) => status === 201)
    for (const answer of answers) if (answer.status !== 201) assertRefused(answer, "INSUFFICIENT_BALANCE")
    assert.strictEqual(accepted.length, affordable)
    assert.isAtLeast(lowest.value, 0)
    assert.deepInclude(yield* ledgerBalancesOf(accountId), {
      available: available - affordable * 1010,
      payouts_in_transit: affordable * 1010
    })
    return accepted.map(({ body }) => body.id)
  })

layer(TestService.layer({ settings }), { excludeTestServices: true })(
  "Two payouts can never spend the same cent",
  (it) => {
    const account = { payout_fee: { fixed: 10, basis_points: 0 } }

    it.effect("PAY-1: 100 at once: exactly the affordable ones succeed", () =>
      Effect.gen(function* () {
        const { call } = yield* TestService
        const { accountId, key } = yield* funded(37_777, account)
        yield* assertOnlyTheAffordable([call], key, accountId, 37_777)
        // The rest covers no further payout: 37777 - 37 * 1010 = 407
        yield* paidCharge(key, 500)
        assertRefused(yield* payOut(key, { amount: 898 }), "INSUFFICIENT_BALANCE")
        yield* paidOut(key, { amount: 897, ...holding })
        assert.strictEqual(yield* availableOf(key), 0)
        yield* assertLedgerHolds
      })
    )

    it.effect("one that is too large does not stop a smaller one behind it", () =>
      Effect.gen(function* () {
        const { key } = yield* funded(5000)
        const answers = yield* Effect.forEach(
          [6000, 500, 7000, 500, 5001, 500],
          (amount) => payOut(key, { amount, ...holding }),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(
          answers.map(({ status }) => status),
          [400, 201, 400, 201, 400, 201]
        )
        assert.strictEqual(yield* availableOf(key), 3500)
      })
    )

    it.effect("PAY-1: while charges are paid, returned and contested and payouts fail", () =>
      Effect.gen(function* () {
        const { operate } = yield* TestService
        const { accountId, key } = yield* funded(20_000)
        const charges = yield* Effect.forEach(Array.from({ length: 12 }), () => created(key, { amount: 1000 }), {
          concurrency: 12
        })
        const simulate = (path: string, body?: Fields) =>
          whenFree(operate<{ id: string }>("POST", `/operator/v1/simulator${path}`, { body }))
        const lives = Effect.forEach(
          charges,
          ({ id }, index) =>
            Effect.gen(function* () {
              yield* simulate(`/charges/${id}/pay`)
              if (index % 4 === 0) return
              if (index % 4 === 1) {
                yield* simulate(`/charges/${id}/return`, { as: "refunded" })
                return
              }
              const { body } = yield* simulate(`/charges/${id}/infraction`, { reason: "x" })
              yield* simulate(`/disputes/${body.id}/${index % 4 === 2 ? "win" : "lose"}`)
            }),
          { concurrency: "unbounded", discard: true }
        )
        const payouts = Effect.forEach(
          Array.from({ length: 30 }, (_, index) => index),
          (index) =>
            whenFree(payOut(key, { amount: 500, ...(index % 3 === 0 ? failing : index % 3 === 1 ? holding : {}) })),
          { concurrency: "unbounded" }
        )
        const [, answers] = yield* Effect.all([lives, payouts], { concurrency: 2 })
        for (const { body, status } of answers) {
          assert.strictEqual(status, 201)
          const wanted = { "fail@simulator.test": "failed", "ana@example.com": "completed" }[
            String(body.recipient.pix_key)
          ]
          if (wanted === undefined) yield* submittedPayout(key, body.id)
          else yield* payoutReaching(key, body.id, wanted)
        }
        // 3 undisputed and 3 won of 12 charges; 10 completed and 10 processing of 30 payouts.
        assert.deepStrictEqual(yield* ledgerBalancesOf(accountId), {
          available: 20_000 + 6000 - 10_000,
          pending: 0,
          blocked: 0,
          payouts_in_transit: 5000,
          returns_in_transit: 0
        })
        yield* assertLedgerHolds
      })
    )
  }
)

layer(Layer.empty, { excludeTestServices: true })("Two services on one database", (it) => {
  it.effect("PAY-1, PAY-6: never spend the same cent, answer one key with one payout, and send each once", () =>
    Effect.gen(function* () {
      const databaseUrl = yield* createMigratedDatabase
      const dataDir = yield* temporaryFolder
      const options = { databaseUrl, settings: { ...settings, dataDir } }
      const [first, second] = yield* Effect.all([startService(options), startService(options)], { concurrency: 2 })
      yield* Effect.gen(function* () {
        const one = Context.get(first, TestService)
        const two = Context.get(second, TestService)
        const sql = yield* SqlClient
        const { accountId, key } = yield* funded(55_555, { payout_fee: { fixed: 10, basis_points: 0 } })
        const ids = yield* assertOnlyTheAffordable([one.call, two.call], key, accountId, 55_555)

        for (const id of ids) yield* submittedPayout(key, id)
        // Both notify everything at once: each payout has one outcome.
        const reports = yield* Effect.forEach(
          ids.flatMap((id, index) => {
            const how = index % 2 === 0 ? "complete" : "fail"
            return [one, two, two].map((service) => [service, id, how] as const)
          }),
          ([service, id, how]) =>
            Effect.map(
              whenFree(
                service.operate("POST", `/operator/v1/simulator/payouts/${id}/${how}`, { body: { reason: "x" } })
              ),
              ({ status }) => ({ id, status })
            ),
          { concurrency: "unbounded" }
        )
        // One that happened, and was answered 503, is refused when it is repeated.
        for (const ofOne of Map.groupBy(reports, ({ id }) => id).values()) {
          assert.isAtMost(ofOne.filter(({ status }) => status === 200).length, 1)
          for (const { status } of ofOne) assert.include([200, 409], status)
        }
        assert.deepStrictEqual(yield* sql`SELECT id FROM payouts WHERE status = 'processing'`, [])
        const failed = yield* sql`SELECT id FROM payouts WHERE status = 'failed'`
        assert.deepInclude(yield* ledgerBalancesOf(accountId), {
          available: 55_555 - (ids.length - failed.length) * 1010,
          payouts_in_transit: 0,
          returns_in_transit: 0
        })

        yield* paidCharge(key, 30_000)
        const before = yield* availableOf(key)
        const keys = Array.from({ length: 10 }, () => newKey())
        const answers = yield* Effect.forEach(
          Array.from({ length: 60 }, (_, index) => index),
          (index) =>
            whenFree(
              [one, two][index % 2]!.call<{ id: string }>("POST", "/v1/payouts", {
                key,
                idempotencyKey: keys[index % 10]!,
                body: somePayout
              })
            ),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(new Set(answers.map(({ status }) => status)), new Set([201]))
        assert.strictEqual(new Set(answers.map(({ body }) => body.id)).size, 10)
        assert.strictEqual(yield* availableOf(key), before - 5100)
        yield* eventually(sql`SELECT id FROM payouts WHERE status = 'processing'`, ({ length }) => length === 0)
        assert.deepStrictEqual(
          yield* sql`SELECT resource_id FROM changes WHERE kind = 'payment.pix' AND 'completed' = ANY (actions)
            GROUP BY resource_id HAVING count(*) > 1`,
          []
        )

        // Two at a time, one at each service: no batch is repeated, only the lock decides.
        const bothAsk = (keyOfOne: string, keyOfTwo: string, fields: Fields) =>
          Effect.forEach(
            [
              [one, keyOfOne],
              [two, keyOfTwo]
            ] as const,
            ([service, idempotencyKey]) =>
              service.call<{ id: string }>("POST", "/v1/payouts", {
                key,
                idempotencyKey,
                body: { ...somePayout, ...holding, ...fields }
              }),
            { concurrency: 2 }
          )
        for (let round = 0; round < 25; round++) {
          const same = newKey()
          const [mine, yours] = yield* bothAsk(same, same, {})
          assert.deepStrictEqual([mine!.status, yours!.status], [201, 201])
          assert.strictEqual(mine!.body.id, yours!.body.id)
          // Only one of two can spend the whole balance.
          const rest = yield* availableOf(key)
          const rivals = yield* bothAsk(newKey(), newKey(), { amount: rest - 10 })
          assert.deepStrictEqual(rivals.map(({ status }) => status).toSorted(), [201, 400])
          assert.strictEqual(yield* availableOf(key), 0)
          yield* paidCharge(key, 5000)
        }
        yield* assertLedgerHolds
      }).pipe(Effect.provide(first))
    }).pipe(Effect.scoped)
  )
})

/** One more service in this process; it stops with the scope. */
const startService = (options: TestServiceOptions) =>
  Effect.flatMap(Effect.scope, (scope) =>
    Layer.buildWithMemoMap(TestService.layer(options), Layer.makeMemoMapUnsafe(), scope)
  )
