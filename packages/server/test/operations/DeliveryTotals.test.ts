/** Figures of deliveries: exact for what is open or has failed, and of every attempt that was made. */
import { assert, layer } from "@effect/vitest"
import type { Stats } from "@pix-payments/api/operator/Stats"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { mergeOldDays } from "../../src/webhooks/deliveries/DeliveryTotals.ts"
import { created } from "../support/ChargeRequests.ts"
import { attempted, makeDue, pausedOf } from "../support/Deliveries.ts"
import { operated, paidCharge } from "../support/Money.ts"
import { makeOperator } from "../support/Operators.ts"
import { makeExplainer, makeRecorder } from "../support/Plans.ts"
import { asService } from "../support/Postgres.ts"
import { eventually, loopback, receiver } from "../support/Receiver.ts"
import { TestService } from "../support/TestService.ts"
import { changed, deliveryOf, registered, remove, resend } from "../support/Webhooks.ts"

const recorder = makeRecorder()

// One retry, due after the test has ended unless it makes it due.
const settings = { simulatorSettleMs: 0, webhookAllowedNetworks: loopback, webhookRetryDelaysMs: [3_600_000] }
const service = TestService.layer({ settings }).pipe(Layer.provide(recorder.layer))

const statsOf = (accountId: string) => operated<Stats>("GET", `/stats?account_id=${accountId}`)

layer(service, { excludeTestServices: true })("Figures of deliveries", (it) => {
  it.effect("OPR-200: every state is counted, and every attempt", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      let status = 200
      const { url } = yield* receiver((_, response) => response.writeHead(status).end())
      const figures = Effect.map(statsOf(accountId), (stats) => [stats.deliveries, stats.success_rate])

      assert.deepStrictEqual(yield* figures, [{}, null])
      // To the URL of a charge.
      const { id: succeeding } = yield* created(key, { webhook_url: url })
      const [delivered] = yield* attempted(succeeding, 1, 2)
      assert.deepStrictEqual(yield* figures, [{ delivered: 2 }, 1])
      status = 500
      const { id: failing } = yield* created(key, { webhook_url: url })
      const [failed] = yield* attempted(failing, 1, 2)
      assert.deepStrictEqual(yield* figures, [{ delivered: 2, scheduled: 2 }, 1 / 2])
      yield* makeDue(failed!.id)
      yield* eventually(deliveryOf(failed!.id), (delivery) => delivery.status === "failed")
      assert.deepStrictEqual(yield* figures, [{ delivered: 2, scheduled: 1, failed: 1 }, 2 / 5])
      // A delivery that is sent again leaves its state, and is delivered twice.
      status = 200
      yield* resend(delivered!.id)
      yield* eventually(deliveryOf(delivered!.id), ({ attempts_made }) => attempts_made === 2)
      assert.deepStrictEqual(yield* figures, [{ delivered: 3, scheduled: 1, failed: 1 }, 3 / 6])

      // To endpoints: one is paused, and then deleted.
      const { id: paused } = yield* registered(key, { url })
      yield* changed(key, paused, { active: false })
      yield* paidCharge(key)
      yield* pausedOf(paused, 1)
      const before = yield* statsOf(accountId)
      assert.deepStrictEqual(before.deliveries, { delivered: 3, scheduled: 2, failed: 1 })
      assert.strictEqual(before.deliveries_due, 0)
      yield* remove(key, paused)
      assert.deepStrictEqual(yield* figures, [{ delivered: 3, scheduled: 1, failed: 1, canceled: 1 }, 3 / 6])
    })
  )

  it.effect("OPR-200: the success rate is of seven days, and days of over a month ago are merged", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const sql = yield* SqlClient
      const { accountId } = yield* makeCaller()
      const [today] = yield* sql<{ date: string }>`SELECT (now() AT TIME ZONE 'America/Sao_Paulo')::date::text AS date`
      for (const [daysAgo, attempts, successes] of [
        [0, 10, 9],
        [6, 10, 0],
        [7, 100, 99],
        [40, 1000, 900],
        [400, 1000, 800]
      ]) {
        yield* sql`INSERT INTO delivery_totals (account_id, date, attempts, successes)
          VALUES (${accountId}::uuid, ${today!.date}::date - ${daysAgo}::integer, ${attempts}, ${successes})`
      }
      for (const rows of [5, 4, 4]) {
        const { deliveries, success_rate } = yield* statsOf(accountId)
        assert.deepStrictEqual([deliveries, success_rate], [{ delivered: 1808 }, 9 / 20])
        assert.lengthOf(yield* sql`SELECT FROM delivery_totals WHERE account_id = ${accountId}::uuid`, rows)
        yield* mergeOldDays
      }
    })
  )

  it.effect("OPR-39, OPR-200: an operator who is limited to accounts gets the figures of these", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const [mine, other] = [yield* makeCaller(), yield* makeCaller()]
      const { url } = yield* receiver()
      for (const { key } of [mine, other, other]) {
        const { id } = yield* created(key, { webhook_url: url })
        yield* attempted(id, 1, 2)
      }
      const { call } = yield* makeOperator("viewer", [mine.accountId])
      assert.deepStrictEqual((yield* call<Stats>("GET", "/operator/v1/stats")).body.deliveries, { delivered: 2 })
      const { body } = yield* call<Stats>("GET", `/operator/v1/stats?account_id=${other.accountId}`)
      assert.deepStrictEqual([body.deliveries, body.success_rate], [{}, null])
    })
  )

  it.effect("OPR-200: an answer reads no delivery that has succeeded, however many there are", () =>
    Effect.gen(function* () {
      const { databaseUrl, makeCaller } = yield* TestService
      const sql = yield* SqlClient
      const { accountId } = yield* makeCaller()
      yield* sql`INSERT INTO deliveries (id, change_id, event, resource_id, account_id, url, destination, destination_hash, status, attempts_made,
          created_at)
        SELECT uuidv7(), uuidv7(), 'charge.pix.paid', uuidv7(), ${accountId}::uuid, 'https://1.1.1.1/', 'https://1.1.1.1', text_digest('https://1.1.1.1'),
          'delivered', 1, now()
        FROM generate_series(1, 25000)`
      yield* sql`ANALYZE deliveries`
      recorder.take()
      yield* statsOf(accountId)
      yield* operated<Stats>("GET", "/stats")
      // Loops of the service have no parameter of accounts.
      const sent = recorder
        .take()
        .filter(({ text }) => text.includes("FROM deliver") && text.includes("$1::uuid[] IS NULL"))
      assert.lengthOf(sent, 6)
      const { explain } = yield* makeExplainer(asService(databaseUrl), recorder.settings())
      for (const statement of sent) {
        const work = yield* explain(statement)
        assert.deepStrictEqual(
          work.fullScans.filter((table) => table.startsWith("deliveries")),
          []
        )
        assert.isBelow(work.rows, 500, statement.text)
      }
    })
  )
})
