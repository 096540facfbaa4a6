/** "A write that waits for its standby is not cancelled: callers get their 503 in time, the statement goes on." */
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import * as EmbeddedPostgres from "../src/sql/EmbeddedPostgres.ts"
import { assertRefused, create, created } from "./support/Charges.ts"
import { temporaryFolder } from "./support/Postgres.ts"
import { eventually } from "./support/Receiver.ts"
import { newKey, TestService } from "./support/Service.ts"

layer(Layer.empty, { excludeTestServices: true })("A synchronous standby that is away", (it) => {
  it.effect(
    "makes callers 503 and cancels nothing: no commit is seen before it is replicated",
    () =>
      Effect.gen(function* () {
        const database = yield* EmbeddedPostgres.start({ dataDir: yield* temporaryFolder })
        const service = yield* Layer.build(Layer.fresh(TestService.layer({ databaseUrl: database.url })))
        const sql = Context.get(yield* Layer.build(Layer.fresh(PgClient.layer({ url: database.url }))), SqlClient)
        const standby = (names: string) =>
          Effect.andThen(
            sql.unsafe(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`),
            sql`SELECT pg_reload_conf()`
          )
        yield* Effect.gen(function* () {
          const { makeCaller } = yield* TestService
          const { key } = yield* makeCaller()
          yield* created(key)
          yield* standby("nobody")
          const late = newKey()
          assertRefused(yield* create(key, { reference: "late" }, late), "SERVICE_UNAVAILABLE")
          // As long again: what is cancelled with its callers is committed by now, here alone.
          assertRefused(yield* create(key), "SERVICE_UNAVAILABLE")
          const waits = sql`SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'`
          assert.isNotEmpty(yield* waits, "it still waits")
          assert.isEmpty(yield* sql`SELECT FROM charges WHERE reference = 'late'`)
          yield* standby("")
          yield* eventually(waits, ({ length }) => length === 0)
          yield* eventually(sql`SELECT FROM charges WHERE reference = 'late'`, ({ length }) => length === 1)
          const repeated = yield* eventually(create(key, { reference: "late" }, late), ({ status }) => status !== 503)
          assert.strictEqual(repeated.status, 201, repeated.text)
        }).pipe(Effect.provide(service))
      }).pipe(Effect.scoped),
    90_000
  )
})
