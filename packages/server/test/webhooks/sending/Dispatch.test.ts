/** Many concurrent deliveries: by several processes, after a kill, and to receivers that hang, fail, or are paused. */
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, layer } from "@effect/vitest"
import { retryDelaysMs } from "@pix-payments/domain/RetryCurve"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import type { ServerResponse } from "node:http"
import { created } from "../../support/ChargeRequests.ts"
import { createMigratedDatabase, temporaryFolder } from "../../support/Postgres.ts"
import { startProcess } from "../../support/Process.ts"
import { eventually, loopback, receiver } from "../../support/Receiver.ts"
import { newKey, TestService } from "../../support/TestService.ts"
import { changed, deliveriesOf, deliveryOf, registered } from "../../support/Webhooks.ts"

layer(Layer.empty, { excludeTestServices: true })("Three processes on one database", (it) => {
  it.effect(
    "DLV-4: deliver everything though two are killed; only what was in flight at a kill comes twice, with the same bytes",
    () =>
      Effect.gen(function* () {
        const databaseUrl = yield* createMigratedDatabase
        const sql = Context.get(yield* Layer.build(PgClient.layer({ url: databaseUrl })), SqlClient)
        const env = {
          DATABASE_URL: Redacted.value(databaseUrl),
          DATA_DIR: yield* temporaryFolder,
          OPERATOR_TOKEN: newKey(),
          // A lease is three times as long, and five seconds at least.
          WEBHOOK_TIMEOUT_MS: "1500",
          WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8"
        }
        const hooks = yield* Effect.forEach([1, 2, 3], () => receiver())
        const received = () => hooks.flatMap((hook) => hook.received)
        // The first one makes the key that seals secrets.
        const first = yield* startProcess(env)
        const others = yield* Effect.forEach([2, 3], () => startProcess(env), { concurrency: 2 })
        const processes = [first, ...others]
        yield* due({
          changes: 1000,
          urls: Array.from({ length: 10 }, (_, index) => `${hooks[index % 3]!.url}/${index}`)
        }).pipe(Effect.provideService(SqlClient, sql))

        const inFlight = new Set<string>()
        for (const [index, count] of [1500, 4500].entries()) {
          yield* eventually(
            Effect.sync(() => received().length),
            (seen) => seen >= count
          )
          processes[index]!.signal("SIGKILL")
          assert.strictEqual(yield* processes[index]!.ended, "SIGKILL")
          const rows = yield* sql<{ id: string }>`SELECT id FROM deliveries WHERE status = 'delivering'`
          for (const { id } of rows) inFlight.add(id)
        }
        assert.isBelow(received().length, 10_000)
        yield* eventually(sql`SELECT id FROM deliveries WHERE status <> 'delivered'`, ({ length }) => length === 0)

        const byId = Map.groupBy(received(), ({ headers }) => String(headers["x-webhook-delivery"]))
        const rows = yield* sql<{ id: string; url: string }>`SELECT id, url FROM deliveries`
        assert.strictEqual(rows.length, 10_000)
        assert.strictEqual(byId.size, 10_000)
        for (const { id, url } of rows) {
          const [one, ...again] = byId.get(id) ?? []
          assert.strictEqual(one?.path, new URL(url).pathname)
          assert.strictEqual(one?.body.id, id)
          // At most once by each killed process.
          assert.isAtMost(again.length, inFlight.has(id) ? 2 : 0, id)
          for (const { bytes } of again) assert.isTrue(bytes.equals(one!.bytes))
        }
        const attempts = yield* sql<{ made: number; kept: number }>`
          SELECT (SELECT sum(attempts_made)::integer FROM deliveries) AS made,
            (SELECT count(*)::integer FROM delivery_attempts)
              + (SELECT count(first_attempt_at)::integer FROM deliveries) AS kept`
        assert.deepStrictEqual(attempts, [{ made: 10_000, kept: 10_000 }])
        yield* sql`SELECT 1`
        others[1]!.signal("SIGTERM")
        assert.strictEqual(yield* others[1]!.ended, 0)
      })
  )
})

const settings = { webhookAllowedNetworks: loopback, webhookTimeoutMs: 60_000 }

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
      yield* due({ changes: 1000, urls: [failing.url] })
      yield* due({ changes: 1000, urls: [failing.url], attemptsMade: 1 })
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
      assert.strictEqual(failing.received.length, 1000 * 8 + 1000 * 7)
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
        sql`SELECT id FROM deliveries WHERE held_due_at IS NOT NULL AND status = 'scheduled' AND attempts_made = 0`,
        ({ length }) => length === 10_000
      )
      // Transaction ids show the order: the first turn of the others came when few were paused.
      const [before] = yield* sql<{ count: number }>`
        SELECT count(*)::integer AS count FROM deliveries WHERE held_due_at IS NOT NULL
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

/** Inserts changes of charges, each with a delivery to every URL, as the service does. */
const due = (options: {
  readonly changes: number
  readonly urls: ReadonlyArray<string>
  readonly attemptsMade?: number
  readonly endpointId?: string
}) =>
  Effect.flatMap(
    SqlClient,
    (sql) => sql`
      WITH made AS (
        INSERT INTO changes (id, resource_id, account_id, application_id, kind, actions, status, sequence, data,
          created_at)
        SELECT uuidv7(), uuidv7(), o.account_id, NULL, 'charge.pix', '{paid}', 'paid', 3,
          '{"object":"charge","status":"paid","id":"' || uuidv7() || '"}', date_trunc('milliseconds', now())
        FROM generate_series(1, ${options.changes}::integer) CROSS JOIN (SELECT uuidv7() AS account_id) o
        RETURNING id, resource_id, account_id, created_at
      )
      INSERT INTO deliveries (id, change_id, event, resource_id, account_id, endpoint_id, url, destination,
        destination_hash, status, attempts_made, due_at, created_at)
      SELECT uuidv7(), m.id, 'charge.pix.paid', m.resource_id, m.account_id, ${options.endpointId ?? null}::uuid, u.url,
        rtrim(substring(u.url from '^https?://[^/]+'), '/'),
        text_digest(rtrim(substring(u.url from '^https?://[^/]+'), '/')), 'scheduled', ${options.attemptsMade ?? 0}::integer, now(),
        m.created_at
      FROM made m CROSS JOIN json_array_elements_text(${JSON.stringify(options.urls)}::json) AS u(url)`
  )

const answer = (response: ServerResponse, status: number) => {
  response.statusCode = status
  response.end()
}
