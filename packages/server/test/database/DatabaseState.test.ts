/** The state of the database, as its subscribers see it. */
import * as PgClient from "@effect/sql-pg/PgClient"
import * as PgConnection from "@effect/sql-pg/PgConnection"
import { assert, describe, it, layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { SqlError, UnknownError } from "effect/sql/SqlError"
import { Metrics } from "../../src/base/observability/Metrics.ts"
import { DatabaseState } from "../../src/database/DatabaseState.ts"
import { isTransient } from "../../src/database/SqlState.ts"
import { assertRefused, create, created } from "../support/ChargeRequests.ts"
import { asService, createDatabase, createMigratedDatabase, SERVICE_ROLE } from "../support/Postgres.ts"
import { eventually } from "../support/Receiver.ts"
import { TestService } from "../support/TestService.ts"

const stateOver = (config: Parameters<typeof PgClient.layer>[0]) =>
  Effect.flatMap(
    Layer.build(
      Layer.fresh(DatabaseState.layer.pipe(Layer.provide(Layer.merge(PgClient.layer(config), Metrics.layer))))
    ),
    (built) => Context.get(built, DatabaseState).current
  )

describe("The state of the database", () => {
  it.live("is `ok`, `read_only` or `away`", () =>
    Effect.gen(function* () {
      const url = yield* createDatabase()
      assert.strictEqual(yield* stateOver({ url }), "ok")
      const readOnly = { url, startupParameters: { default_transaction_read_only: "on" } }
      assert.strictEqual(yield* stateOver(readOnly), "read_only")
      assert.strictEqual(yield* stateOver({ url: Redacted.make("postgresql://x@127.0.0.1:1/x") }), "away")
    }).pipe(Effect.scoped)
  )

  it.each(["25006", "25P03", "28P01", "57P01", "53300"])("%s passes", (code) => {
    const cause = Object.assign(new Error("as PostgreSQL says it"), { code })
    assert.isTrue(isTransient(new SqlError({ reason: new UnknownError({ cause }) })))
  })
})

layer(TestService.layer(), { excludeTestServices: true })("A primary that becomes read-only", (it) => {
  it.effect("ERR-9: answers SERVICE_UNAVAILABLE, and says so at /health/ready and in the metrics", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { makeCaller, operate } = yield* TestService
      const { key } = yield* makeCaller()
      yield* created(key)
      const [database] = yield* sql<{ name: string }>`SELECT current_database() AS name`
      /** New sessions of the service have the setting, and there are no others. */
      const inNewSessions = (setting: string) =>
        Effect.andThen(
          sql.unsafe(`ALTER ROLE ${SERVICE_ROLE} IN DATABASE "${database!.name}" ${setting}`),
          sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
            WHERE datname = current_database() AND usename = ${SERVICE_ROLE}`
        )
      const stateReaching = (state: string) =>
        Effect.gen(function* () {
          const { body, status } = yield* eventually(
            operate<{ database: string }>("GET", "/health/ready"),
            ({ body }) => body.database === state
          )
          assert.strictEqual(status, 200)
          assert.strictEqual(body.database, state)
          const { text } = yield* operate("GET", "/metrics")
          for (const each of ["ok", "read_only", "commits_wait", "away"])
            assert.match(text, new RegExp(`database_state\\{state="${each}"\\} ${each === state ? 1 : 0}$`, "m"))
        })
      yield* stateReaching("ok")
      yield* inNewSessions("SET default_transaction_read_only = on")
      yield* stateReaching("read_only")
      // More than there are connections that the pool has not yet replaced.
      for (let i = 0; i < 30; i++) assertRefused(yield* create(key), "SERVICE_UNAVAILABLE")
      yield* inNewSessions("RESET default_transaction_read_only")
      yield* stateReaching("ok")
      yield* eventually(create(key), ({ status }) => status === 201)
    })
  )

  it.effect("OPR-311: an old transaction is one of its own database, and not of another installation's", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const open = (url: Redacted.Redacted<string>, ...statements: ReadonlyArray<string>) =>
        Effect.gen(function* () {
          const connection = yield* PgConnection.make({ url: asService(url) })
          for (const each of ["BEGIN", ...statements]) yield* connection.queryValues(each, [], false)
          return Effect.map(
            connection.queryValues("SELECT extract(epoch FROM clock_timestamp() - now())::text", [], false),
            (rows) => Number((rows as ReadonlyArray<ReadonlyArray<unknown>>)[0]?.[0])
          )
        })
      const seconds = Effect.map(operate("GET", "/metrics"), ({ text }) =>
        Number(/^pix_payments_database_oldest_transaction_seconds (\S+)$/m.exec(text)?.[1])
      )
      yield* Effect.asVoid(open(yield* createMigratedDatabase, "SELECT pg_sleep(4)"))
      const ageOfOwn = yield* open((yield* TestService).databaseUrl)
      yield* eventually(Effect.all([seconds, ageOfOwn]), ([value, own]) => value > 1 && value <= own)
    }).pipe(Effect.scoped)
  )
})
