/** Where attempts are stored: a first one that succeeds in its delivery, all others as rows. Operators see no difference. */
import { assert, layer } from "@effect/vitest"
import type { Stats } from "@pix-payments/api/operator/Stats"
import type { Timeline } from "@pix-payments/api/operator/Timelines"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { partitionsOf } from "../../../src/schema/partitions/Catalog.ts"
import { hasRetention, partitionedTables } from "../../../src/schema/partitions/PartitionedTables.ts"
import { timeOf } from "../../../src/database/Period.ts"
import { removeExpired } from "../../../src/schema/partitions/Retention.ts"
import type { CompletedAttempt } from "../../../src/webhooks/deliveries/Delivery.ts"
import { MAX_RESPONSE_BYTES } from "../../../src/webhooks/deliveries/FirstAttempt.ts"
import { created } from "../../support/ChargeRequests.ts"
import type { DeliveryDetail } from "../../support/ChargeDeliveries.ts"
import { attempted, makeDue } from "../../support/Deliveries.ts"
import { attemptNow, inserted, leaseOf, NOWHERE, queue, storedDelivery } from "../../support/Leases.ts"
import { operated } from "../../support/Money.ts"
import { makeOperator } from "../../support/Operators.ts"
import { eventually, loopback, receiver } from "../../support/Receiver.ts"
import { TestService } from "../../support/TestService.ts"
import { deliveryOf, resend } from "../../support/Webhooks.ts"

// Retries are due after the test has ended, unless it makes them due.
const settings = {
  webhookAllowedNetworks: loopback,
  webhookRetryDelaysMs: [3_600_000, 3_600_000],
  simulatorSettleMs: 0
}

/** Where the attempts of a delivery are. */
const stored = (id: string) =>
  Effect.map(
    Effect.flatMap(
      SqlClient,
      (sql) => sql<{ inDelivery: boolean; rows: number }>`SELECT first_attempt_at IS NOT NULL AS "inDelivery",
        (SELECT count(*)::integer FROM delivery_attempts a WHERE a.delivery_id = d.id) AS rows
        FROM deliveries d WHERE id = ${id}::uuid`
    ),
    ([row]) => row!
  )

const inDelivery = { inDelivery: true, rows: 0 }
const inRow = { inDelivery: false, rows: 1 }

const outcomesOf = ({ attempts }: DeliveryDetail) =>
  attempts.map(({ error, response_body, status_code }) => [status_code, error, response_body])

const timelineAttempts = (chargeId: string, deliveryId: string) =>
  Effect.map(
    operated<Timeline>("GET", `/charges/${chargeId}/timeline`),
    ({ deliveries }) => deliveries.data.find(({ id }) => id === deliveryId)!.attempts
  )

layer(TestService.layer({ settings }), { excludeTestServices: true })("A first attempt", (it) => {
  it.effect(
    "OPR-141, DLV-2: is stored in its delivery if it succeeds with a short answer, and shown as every other",
    () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        const fits = "x".repeat(MAX_RESPONSE_BYTES)
        const answers: Readonly<Record<string, readonly [number, string]>> = {
          "/empty": [204, ""],
          "/short": [200, '{"ok":true}'],
          "/fits": [299, fits],
          "/long": [200, `${fits}x`],
          // Fewer characters than the bound has bytes.
          "/wide": [200, "é".repeat(MAX_RESPONSE_BYTES / 2 + 1)],
          "/failing": [503, "later"]
        }
        const { url } = yield* receiver(({ path }, response) => {
          const [status, body] = answers[path]!
          response.writeHead(status).end(body)
        })
        for (const [path, [status, body]] of Object.entries(answers)) {
          const { id: chargeId } = yield* created(key, { webhook_url: `${url}${path}` })
          const deliveries = yield* attempted(chargeId, 1, 2)
          for (const delivery of deliveries) {
            const isStored = ["/empty", "/short", "/fits"].includes(path)
            assert.deepStrictEqual(yield* stored(delivery.id), isStored ? inDelivery : inRow, path)
            const error = status === 503 ? "status 503" : null
            const [{ at, duration_ms }] = delivery.attempts as [DeliveryDetail["attempts"][number]]
            assert.match(at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
            assert.isTrue(Number.isInteger(duration_ms) && duration_ms >= 0)
            assert.deepStrictEqual(delivery.attempts, [
              { at, duration_ms, address: "127.0.0.1", status_code: status, error, response_body: body }
            ])
            assert.deepStrictEqual<unknown>(yield* timelineAttempts(chargeId, delivery.id), delivery.attempts)
          }
        }
      })
  )

  it.effect("DLV-8: stays in its delivery when it is resent, before the attempts that follow", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      let status = 200
      const { url } = yield* receiver((_, response) => response.writeHead(status).end(`answer ${status}`))
      const { id: chargeId } = yield* created(key, { webhook_url: url })
      const [delivered] = yield* attempted(chargeId, 1, 2)
      const id = delivered!.id
      status = 503
      assert.strictEqual((yield* resend(id)).status, 202)
      yield* eventually(deliveryOf(id), ({ attempts_made, status: of }) => attempts_made === 2 && of === "scheduled")
      status = 201
      yield* makeDue(id)
      const again = yield* eventually(deliveryOf(id), ({ status: of }) => of === "delivered")
      assert.deepStrictEqual(outcomesOf(again), [
        [200, null, "answer 200"],
        [503, "status 503", "answer 503"],
        [201, null, "answer 201"]
      ])
      assert.deepStrictEqual(again.attempts[0], delivered!.attempts[0])
      assert.deepStrictEqual<unknown>(yield* timelineAttempts(chargeId, id), again.attempts)
      assert.deepStrictEqual(yield* stored(id), { inDelivery: true, rows: 2 })
    })
  )

  it.effect("that fails is a row, and so is the one that succeeds after it", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      let status = 500
      const { url } = yield* receiver((_, response) => response.writeHead(status).end())
      const { id: chargeId } = yield* created(key, { webhook_url: url })
      const [failed] = yield* attempted(chargeId, 1, 2)
      status = 200
      yield* makeDue(failed!.id)
      const seen = yield* eventually(deliveryOf(failed!.id), ({ status: of }) => of === "delivered")
      assert.deepStrictEqual(outcomesOf(seen), [
        [500, "status 500", ""],
        [200, null, ""]
      ])
      assert.deepStrictEqual(yield* stored(failed!.id), { inDelivery: false, rows: 2 })
    })
  )

  it.effect("DLV-4: whose lease has expired is a row; of two with one lease, one is stored in the delivery", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId } = yield* makeCaller()
      const { record } = yield* queue
      const leased = { accountId, url: NOWHERE, count: 1, status: "delivering", dueInHours: 1 }
      const [[expired], [twice], [failing], [short]] = yield* Effect.all([
        inserted({ ...leased, attemptsMade: 1 }),
        inserted(leased),
        inserted(leased),
        inserted(leased)
      ])
      const completed = (id: string, outcome: CompletedAttempt["outcome"] = { status: "delivered" }) =>
        Effect.flatMap(
          attemptNow(outcome.status === "delivered" ? {} : { statusCode: 500, error: "status 500" }),
          (attempt) => record({ delivery: leaseOf(id, accountId, 0), attempt, outcome })
        )
      yield* Effect.all(
        [
          completed(expired!.id),
          completed(twice!.id),
          completed(twice!.id),
          completed(failing!.id, { status: "failed" }),
          completed(short!.id)
        ],
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(yield* storedDelivery(expired!.id), [expired!])
      assert.deepStrictEqual(yield* stored(expired!.id), inRow)
      assert.deepStrictEqual(yield* stored(failing!.id), inRow)
      assert.deepStrictEqual(yield* stored(short!.id), inDelivery)
      assert.deepStrictEqual(yield* stored(twice!.id), { inDelivery: true, rows: 1 })
      for (const one of [twice!, short!]) {
        assert.deepInclude((yield* storedDelivery(one.id))[0], { status: "delivered", attempts_made: 1, due_at: null })
        assert.lengthOf((yield* deliveryOf(one.id)).attempts, one === twice ? 2 : 1)
      }
    })
  )

  it.effect("OPR-158: that quotes its delivery shows no personal data to viewers", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const { url } = yield* receiver((_, response) => response.end('{"paid_by":"maria.segredo@example.com"}'))
      const { id: chargeId } = yield* created(key, { webhook_url: url })
      const [delivery] = yield* attempted(chargeId, 1, 2)
      assert.deepStrictEqual(yield* stored(delivery!.id), inDelivery)
      assert.include(delivery!.attempts[0]!.response_body, "maria.segredo@example.com")
      const { call } = yield* makeOperator("viewer")
      for (const path of [`deliveries/${delivery!.id}`, `charges/${chargeId}/timeline`]) {
        const shown = yield* call("GET", `/operator/v1/${path}`)
        assert.strictEqual(shown.status, 200, shown.text)
        assert.include(shown.text, "paid_by", path)
        assert.notInclude(shown.text, "maria.segredo@example.com", path)
      }
    })
  )

  it.effect("OPR-190: lives as long as its delivery, and longer than attempts that are rows", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const sql = yield* SqlClient
      let status = 200
      const { url } = yield* receiver((_, response) => response.writeHead(status).end())
      const { id: chargeId } = yield* created(key, { webhook_url: url })
      const [delivered, earlier] = yield* attempted(chargeId, 1, 2)
      yield* sql`UPDATE deliveries SET first_attempt_at = NULL, first_duration_ms = NULL, first_status_code = NULL,
        first_address = NULL, first_response_body = NULL WHERE id = ${earlier!.id}::uuid`
      yield* sql`INSERT INTO delivery_attempts (id, delivery_id, at, duration_ms, status_code, response_body)
        VALUES (uuidv7(), ${earlier!.id}::uuid, now(), 5, 200, '')`
      for (const { id } of [delivered!, earlier!]) {
        assert.deepStrictEqual(outcomesOf(yield* deliveryOf(id)), [[200, null, ""]])
      }
      status = 500
      yield* resend(delivered!.id)
      yield* eventually(deliveryOf(delivered!.id), ({ attempts_made }) => attempts_made === 2)
      const successRate = Effect.map(operated<Stats>("GET", `/stats?account_id=${accountId}`), (of) => of.success_rate)
      assert.strictEqual(yield* successRate, 2 / 3)

      const attempts = partitionedTables.filter(hasRetention).find(({ name }) => name === "delivery_attempts")!
      const [partition] = (yield* partitionsOf(attempts.name))!
      assert.deepStrictEqual(yield* removeExpired(attempts, timeOf(partition!.before)), [partition!.name])
      assert.deepStrictEqual(outcomesOf(yield* deliveryOf(delivered!.id)), [[200, null, ""]])
      assert.deepInclude(yield* deliveryOf(earlier!.id), { attempts_made: 1, attempts: [] })
      // The statistics keep what retention removes.
      assert.strictEqual(yield* successRate, 2 / 3)
    })
  )
})
