/** Many concurrent deliveries: to receivers that hang, fail, or are paused. */
import { assert, layer } from "@effect/vitest"
import { retryDelaysMs } from "@pix-payments/domain/RetryCurve"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { ServerResponse } from "node:http"
import { created } from "../../support/ChargeRequests.ts"
import { due } from "../../support/DueDeliveries.ts"
import { eventually, loopback, receiver } from "../../support/Receiver.ts"
import { TestService } from "../../support/TestService.ts"
import { changed, deliveriesOf, deliveryOf, registered } from "../../support/Webhooks.ts"

const settings = { webhookAllowedNetworks: loopback, webhookTimeoutMs: 600_000 }

layer(TestService.layer({ settings: { ...settings, webhookRetryDelaysMs: Array.from({ length: 7 }, () => 1) } }), {
  excludeTestServices: true
})("A destination", (it) => {
  it.effect("DLV-9: that hangs, or fails, delays no first attempt and no retry of the others", () =>
    Effect.gen(function* () {
      const hanging = yield* receiver(() => {})
      const failing = yield* receiver((_, response) => answer(response, 500))
      const others = yield* Effect.forEach(Array.from({ length: 6 }), () => receiver())
      const sql = yield* SqlClient
      yield* due({ changes: 1000, urls: [hanging.url] })
      yield* due({ changes: 1000, urls: [hanging.url], attemptsMade: 1 })
      yield* eventually(
        Effect.sync(() => hanging.received.length),
        // A fifth of what is left, and at most 50: of 768 first attempts, and of 256 retries.
        (count) => count === 50 + 43
      )
      // More than a look reads.
      yield* due({ changes: 400, urls: [failing.url] })
      yield* due({ changes: 400, urls: [failing.url], attemptsMade: 1 })
      const urls = others.map(({ url }) => url)
      yield* due({ changes: 100, urls })
      yield* due({ changes: 20, urls, attemptsMade: 3 })
      yield* eventually(
        Effect.sync(() => others.reduce((count, { received }) => count + received.length, 0)),
        (count) => count === 6 * 120
      )
      for (const { received } of others) assert.strictEqual(new Set(received.map(({ body }) => body.id)).size, 120)
      // No hanging attempt has ended by then, and no more are in flight than allowed.
      const ended = yield* sql`SELECT id FROM deliveries WHERE url = ${hanging.url} AND attempts_made NOT IN (0, 1)`
      assert.deepStrictEqual(ended, [])
      assert.strictEqual(hanging.received.length, 50 + 43)
      yield* eventually(
        sql`SELECT id FROM deliveries WHERE url = ${failing.url} AND status <> 'failed' LIMIT 1`,
        ({ length }) => length === 0
      )
      assert.strictEqual(failing.received.length, 400 * 8 + 400 * 7)
    })
  )

  it.effect("DLV-9: that is slow and has 5,000 first attempts waiting leaves the others their turns", () =>
    Effect.gen(function* () {
      // It answers one for each that the others get: its count at that point shows turns, not time.
      const waiting: Array<ServerResponse> = []
      let inFlight = 0
      let most = 0
      const slow = yield* receiver((_, response) => {
        waiting.push(response)
        most = Math.max(most, ++inFlight)
      })
      const others = yield* receiver((_, response) => {
        answer(response, 200)
        const next = waiting.shift()
        if (next === undefined) return
        inFlight--
        answer(next, 200)
      })
      yield* due({ changes: 5000, urls: [slow.url] })
      yield* eventually(
        Effect.sync(() => waiting.length),
        (count) => count >= 50
      )
      yield* due({ changes: 300, urls: [others.url] })
      yield* eventually(
        Effect.sync(() => others.received.length),
        (count) => count === 300
      )
      assert.isAtMost(slow.received.length, 300 + 50)
      assert.strictEqual(most, 50)
      // It gets its own turns as well.
      assert.isAbove(slow.received.length, 100)
      const sql = yield* SqlClient
      yield* sql`DELETE FROM deliveries WHERE url = ${slow.url} AND status = 'scheduled'`
      for (const response of waiting) answer(response, 200)
    })
  )

  it.effect("DLV-9: with a large backlog for a paused endpoint delays no other", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const hooks = yield* receiver()
      const paused = yield* Effect.forEach(Array.from({ length: 20 }), (_, index) =>
        Effect.gen(function* () {
          // In the order of destinations these come before every receiver of this test.
          const { id, url } = yield* registered(key, { url: `http://127.0.0.1:${100 + index}/` })
          yield* changed(key, id, { active: false })
          return { changes: 500, urls: [url], endpointId: id }
        })
      )
      const sql = yield* SqlClient
      yield* sql.withTransaction(Effect.forEach([...paused, { changes: 100, urls: [hooks.url] }], due))
      yield* eventually(
        Effect.sync(() => hooks.received.length),
        (count) => count === 100
      )
      yield* eventually(
        sql`SELECT id FROM deliveries WHERE paused_due_at IS NOT NULL AND status = 'scheduled' AND attempts_made = 0`,
        ({ length }) => length === 10_000
      )
      // Transaction ids show the order: the first turn of the others came when few were paused.
      const [before] = yield* sql<{ count: number }>`
        SELECT count(*)::integer AS count FROM deliveries WHERE paused_due_at IS NOT NULL
          AND xmin::text::bigint < (SELECT min(d.xmin::text::bigint) FROM deliveries d
            WHERE d.url = ${hooks.url} AND d.status = 'delivered')`
      assert.isAtMost(before?.count ?? Infinity, 5000)
    })
  )
})

layer(TestService.layer({ settings }), { excludeTestServices: true })("After a failure", (it) => {
  it.effect("DLV-3: it is repeated after 1 minute, 5 minutes, 15 minutes, 1 hour, 3 hours, 6 hours and 12 hours", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const { received, url } = yield* receiver((_, response) => answer(response, 503))
      const endpoint = yield* registered(key, { url, events: ["charge.pix.created"] })
      yield* created(key)
      const sql = yield* SqlClient
      const [{ id }] = yield* eventually(deliveriesOf(`endpoint_id=${endpoint.id}`), ({ length }) => length === 1).pipe(
        Effect.map(([row]) => [row!] as const)
      )
      const minutes = [1, 5, 15, 60, 180, 360, 720]
      assert.deepStrictEqual(
        retryDelaysMs,
        minutes.map((minute) => minute * 60_000)
      )
      for (const [index, minute] of minutes.entries()) {
        const seen = yield* eventually(
          deliveryOf(id),
          ({ attempts_made, status }) => attempts_made === index + 1 && status === "scheduled"
        )
        const attempt = seen.attempts[index]!
        const delay = Date.parse(seen.next_attempt_at ?? "") - Date.parse(attempt.at) - attempt.duration_ms
        // Never before the stated time; up to a tenth of it later, and as long as recording the attempt took.
        assert.isAtLeast(delay, minute * 60_000)
        assert.isAtMost(delay, minute * 66_000 + 10_000)
        yield* sql`UPDATE deliveries SET due_at = now() WHERE id = ${id}::uuid`
      }
      const failed = yield* eventually(deliveryOf(id), ({ status }) => status === "failed")
      assert.deepInclude(failed, { attempts_made: 8, next_attempt_at: null })
      assert.lengthOf(failed.attempts, 8)
      assert.lengthOf(received, 8)
      assert.deepStrictEqual(new Set(received.map(({ body }) => body.id)), new Set([id]))
    })
  )
})

const answer = (response: ServerResponse, status: number) => {
  response.statusCode = status
  response.end()
}
