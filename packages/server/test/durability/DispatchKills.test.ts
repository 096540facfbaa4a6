/** Many deliveries by several processes on one database, of which some are killed. */
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { due } from "../support/DueDeliveries.ts"
import { createMigratedDatabase, temporaryFolder } from "../support/Postgres.ts"
import { startProcess } from "../support/Process.ts"
import { eventually, receiver } from "../support/Receiver.ts"
import { newKey } from "../support/TestService.ts"

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
          WEBHOOK_TIMEOUT_MS: "10000",
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
          assert.isTrue(url.endsWith(String(one?.path)), url)
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
