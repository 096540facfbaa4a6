/** Figures of charges and payouts: they agree with the tables, and cost what happened since they were counted. */
import { assert, layer } from "@effect/vitest"
import type { Stats } from "@pix-payments/api/operator/Stats"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { StatusCounts } from "../../src/operations/StatusCounts.ts"
import { create, created, withCustomer } from "../support/ChargeRequests.ts"
import { med } from "../support/Disputes.ts"
import { failing, holding, operated, paidCharge, paidOut, payoutReaching, simulated } from "../support/Money.ts"
import { makeOperator } from "../support/Operators.ts"
import { makeExplainer, makeRecorder } from "../support/Plans.ts"
import { asService } from "../support/Postgres.ts"
import { eventually } from "../support/Receiver.ts"
import { TestService } from "../support/TestService.ts"

const recorder = makeRecorder()
const service = TestService.layer({ settings: { simulatorSettleMs: 0 } }).pipe(Layer.provide(recorder.layer))

const statsOf = (accountId: string) => operated<Stats>("GET", `/stats?account_id=${accountId}`)

/** Counts every change that is committed. Other processes of the test's server may hold the watermark back for a moment. */
const counted = Effect.gen(function* () {
  const sql = yield* SqlClient
  const { advance } = yield* StatusCounts
  const left = sql<{ left: boolean }>`SELECT EXISTS (SELECT FROM changes, status_counts_position p
    WHERE (changes.transaction_id, changes.id) > (p.transaction_id, p.change_id)) AS left`
  while ((yield* left)[0]?.left === true) yield* Effect.andThen(advance, Effect.sleep("5 millis"))
})

/** Counted in the tables themselves. */
const inTables = (accountId: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const counts = (table: string, status: string) =>
      Effect.map(
        sql.unsafe<{ status: string; count: number }>(
          `SELECT ${status} AS status, count(*)::integer AS count FROM ${table} WHERE account_id = $1::uuid GROUP BY 1`,
          [accountId]
        ),
        (rows) => Object.fromEntries(rows.map(({ count, status }) => [status, count]))
      )
    const [volume] = yield* sql<{ paid: number; received: number; completed: number; sent: number; returned: number }>`
      SELECT (SELECT count(*)::integer FROM charges WHERE account_id = ${accountId}::uuid AND paid_at IS NOT NULL) AS paid,
        (SELECT coalesce(sum(amount), 0)::integer FROM charges
          WHERE account_id = ${accountId}::uuid AND paid_at IS NOT NULL) AS received,
        (SELECT count(*)::integer FROM payouts WHERE account_id = ${accountId}::uuid AND status = 'completed') AS completed,
        (SELECT coalesce(sum(amount), 0)::integer FROM payouts
          WHERE account_id = ${accountId}::uuid AND status = 'completed') AS sent,
        (SELECT coalesce(sum(amount), 0)::integer FROM refunds
          WHERE account_id = ${accountId}::uuid AND status = 'completed') AS returned`
    return {
      charges: yield* counts(
        "charges",
        "CASE WHEN status = 'pending' AND expires_at <= now() THEN 'expired' ELSE status END"
      ),
      payouts: yield* counts("payouts", "status"),
      volume
    }
  })

/** What `inTables` has, of an answer. A test may run over midnight. */
const figuresOf = ({ charges, payouts, volume_per_day }: Stats) => ({
  charges,
  payouts,
  volume: {
    paid: sumOf(volume_per_day.map((day) => day.charges_paid)),
    received: sumOf(volume_per_day.map((day) => day.received)),
    completed: sumOf(volume_per_day.map((day) => day.payouts_completed)),
    sent: sumOf(volume_per_day.map((day) => day.sent)),
    returned: sumOf(volume_per_day.map((day) => day.returned))
  }
})

const sumOf = (numbers: ReadonlyArray<number>) => numbers.reduce((sum, each) => sum + each, 0)

layer(service, { excludeTestServices: true })("Statistics", (it) => {
  it.effect("OPR-170: every state is counted, before and after each round of the counter", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const agrees = Effect.gen(function* () {
        assert.deepStrictEqual(figuresOf(yield* statsOf(accountId)), yield* inTables(accountId))
      })
      const steps: ReadonlyArray<Effect.Effect<unknown, unknown, TestService | SqlClient>> = [
        created(key),
        create(key, withCustomer({ email: "refuse@simulator.test" })),
        create(key, withCustomer({ email: "slow@simulator.test" })),
        paidCharge(key, 5000),
        Effect.flatMap(paidCharge(key), ({ id }) => simulated(`/charges/${id}/return`, { as: "refunded" })),
        Effect.flatMap(paidCharge(key), ({ id }) => med(id)),
        Effect.flatMap(created(key), ({ id }) => operate("POST", `/operator/v1/charges/${id}/cancel`)),
        paidOut(key, holding),
        Effect.flatMap(paidOut(key, failing), ({ id }) => payoutReaching(key, id, "failed")),
        Effect.flatMap(paidOut(key), ({ id }) => payoutReaching(key, id, "completed"))
      ]
      for (const [index, step] of steps.entries()) {
        yield* step
        yield* agrees
        if (index % 3 !== 0) continue
        yield* counted
        yield* agrees
      }
      yield* counted
      const { charges, payouts } = yield* statsOf(accountId)
      assert.containsAllKeys(charges, ["pending", "failed", "paid", "refunded", "infraction", "canceled"])
      assert.containsAllKeys(payouts, ["processing", "failed", "completed"])
    })
  )

  it.effect("OPR-170: a charge that expires moves from pending to expired, and from there to paid", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const sql = yield* SqlClient
      const { mergeExpired } = yield* StatusCounts
      const { accountId, key } = yield* makeCaller()
      const ids = yield* Effect.forEach([1, 2, 3], () => Effect.map(created(key), ({ id }) => id))
      yield* counted
      assert.deepStrictEqual((yield* statsOf(accountId)).charges, { pending: 3 })
      // Two of them were created two days before.
      for (const table of ["charges", "status_counts"]) {
        yield* sql.unsafe(
          `UPDATE ${table} SET expires_at = expires_at - interval '2 days' WHERE account_id = $1::uuid`,
          [accountId]
        )
      }
      assert.deepStrictEqual((yield* statsOf(accountId)).charges, { expired: 3 })
      yield* mergeExpired
      assert.deepStrictEqual((yield* statsOf(accountId)).charges, { expired: 3 })
      yield* simulated(`/charges/${ids[0]}/pay`)
      assert.deepStrictEqual((yield* statsOf(accountId)).charges, { expired: 2, paid: 1 })
      yield* counted
      yield* mergeExpired
      assert.deepStrictEqual((yield* statsOf(accountId)).charges, { expired: 2, paid: 1 })
      assert.deepStrictEqual(figuresOf(yield* statsOf(accountId)), yield* inTables(accountId))
    })
  )

  it.effect("OPR-170: counting at once in several processes counts each change once", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { advance, mergeExpired } = yield* StatusCounts
      const { accountId, key } = yield* makeCaller()
      yield* Effect.all(
        [
          Effect.forEach(Array.from({ length: 60 }), () => paidCharge(key), { concurrency: 8 }),
          Effect.forEach(Array.from({ length: 100 }), () => Effect.andThen(advance, mergeExpired), { concurrency: 8 })
        ],
        { concurrency: "unbounded" }
      )
      yield* counted
      assert.deepStrictEqual((yield* statsOf(accountId)).charges, { paid: 60 })
    })
  )

  it.effect("OPR-170: a payment late in the evening in Brazil is of that day, which is over in UTC", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const sql = yield* SqlClient
      const { accountId, key } = yield* makeCaller()
      const [day] = yield* sql.withTransaction(
        Effect.gen(function* () {
          // Nothing is counted before its day is another.
          yield* sql`SELECT FROM status_counts_position FOR UPDATE`
          const { id } = yield* paidCharge(key, 4590)
          return yield* sql<{ date: string }>`
            UPDATE charges SET paid_at = ((now() AT TIME ZONE 'America/Sao_Paulo')::date - 3 + time '23:50')
              AT TIME ZONE 'America/Sao_Paulo'
            WHERE id = ${id}::uuid RETURNING ((now() AT TIME ZONE 'America/Sao_Paulo')::date - 3)::text AS date`
        })
      )
      const ofDay = Effect.map(statsOf(accountId), ({ timezone, volume_per_day }) => {
        assert.strictEqual(timezone, "America/Sao_Paulo")
        return volume_per_day.map(({ date, received }) => ({ date, received }))
      })
      assert.deepStrictEqual(yield* ofDay, [{ date: day!.date, received: 4590 }])
      yield* counted
      assert.deepStrictEqual(yield* ofDay, [{ date: day!.date, received: 4590 }])
    })
  )

  it.effect("OPR-170: sent is what was completed, returned what went back, and net the difference", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller({ account: { payout_fee: { fixed: 0, basis_points: 0 } } })
      const charge = yield* paidCharge(key, 100_000)
      yield* operated("POST", `/charges/${charge.id}/refund`, { amount: 3000 })
      const done = yield* paidOut(key, { amount: 40_155 })
      yield* payoutReaching(key, done.id, "completed")
      const failed = yield* paidOut(key, { ...failing, amount: 15_421 })
      yield* payoutReaching(key, failed.id, "failed")
      yield* paidOut(key, { ...holding, amount: 17_476 })
      yield* operated("PATCH", `/accounts/${accountId}`, { auto_payout_enabled: false })
      yield* paidOut(key, { amount: 15_808 })
      const sums = Effect.map(statsOf(accountId), ({ volume_per_day: days }) =>
        ["received", "returned", "sent", "net"].map((name) => sumOf(days.map((day) => day[name as "net"])))
      )
      const expected = [100_000, 3000, 40_155, 56_845]
      const refunded = operated<{ refunded_amount: number }>("GET", `/charges/${charge.id}`)
      yield* eventually(refunded, ({ refunded_amount }) => refunded_amount === 3000)
      assert.deepStrictEqual(yield* sums, expected)
      yield* counted
      assert.deepStrictEqual(yield* sums, expected)
    })
  )

  it.effect("OPR-170: an answer reads the counts and what was not counted yet, however many charges there are", () =>
    Effect.gen(function* () {
      const { databaseUrl, makeCaller } = yield* TestService
      const sql = yield* SqlClient
      const { accountId, key } = yield* makeCaller()
      yield* sql`INSERT INTO changes (id, resource_id, account_id, kind, actions, status, sequence, data, created_at)
        SELECT uuidv7(), uuidv7(), ${accountId}::uuid, 'charge.pix', '{failed}', 'failed', 2, '{}', now()
        FROM generate_series(1, 25000)`
      yield* counted
      yield* created(key)
      yield* sql`ANALYZE changes`
      recorder.take()
      const { charges } = yield* statsOf(accountId)
      assert.deepStrictEqual(charges, { failed: 25_000, pending: 1 })
      const sent = recorder.take().find(({ text }) => text.includes("FROM status_counts "))
      const { explain } = yield* makeExplainer(asService(databaseUrl), recorder.settings())
      const work = yield* explain(sent!)
      assert.deepStrictEqual(
        work.fullScans.filter((table) => /charges|changes|payouts/.test(table)),
        []
      )
      assert.isBelow(work.rows, 500)
    })
  )

  it.effect("OPR-170: a change whose predecessor retention has removed leaves the state that it ended", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const sql = yield* SqlClient
      const { accountId, key } = yield* makeCaller()
      const [refunded, paid] = [yield* paidCharge(key), yield* paidCharge(key)]
      yield* counted
      // Of the first, `pending` is kept, as its delivery may be paused; of the second, nothing.
      yield* sql`DELETE FROM changes WHERE resource_id = ${refunded.id}::uuid AND status = 'paid'`
      yield* sql`DELETE FROM changes WHERE resource_id = ${paid.id}::uuid`
      yield* simulated(`/charges/${refunded.id}/return`, { as: "refunded" })
      yield* med(paid.id)
      assert.deepStrictEqual((yield* statsOf(accountId)).charges, { refunded: 1, infraction: 1 })
      yield* counted
      assert.deepStrictEqual(figuresOf(yield* statsOf(accountId)), yield* inTables(accountId))
    })
  )

  it.effect("OPR-39, OPR-170: an operator who is limited to accounts gets the figures of these", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const other = yield* makeCaller()
      yield* paidCharge(key)
      yield* paidCharge(other.key)
      yield* counted
      yield* created(key)
      const { call } = yield* makeOperator("viewer", [accountId])
      const mine = yield* call<Stats>("GET", "/operator/v1/stats")
      assert.deepStrictEqual(mine.body.charges, { paid: 1, pending: 1 })
      assert.deepStrictEqual(
        mine.body.volume_per_day.map((day) => day.charges_paid),
        [1]
      )
      assert.deepStrictEqual(
        (yield* call<Stats>("GET", `/operator/v1/stats?account_id=${other.accountId}`)).body.charges,
        {}
      )
    })
  )
})
