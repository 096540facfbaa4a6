/** A write that waits for its standby is not canceled: callers get their 503 in time, and the statement continues. */
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, layer } from "@effect/vitest"
import * as EmbeddedPostgres from "@pix-payments/embedded-postgres/EmbeddedPostgres"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { SqlClient } from "effect/sql/SqlClient"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { writeSlotsOf } from "../../src/database/WriteSlots.ts"
import { assertRefused, create, created, retrieve } from "../support/ChargeRequests.ts"
import { temporaryFolder } from "../support/Postgres.ts"
import { eventually } from "../support/Receiver.ts"
import { type Answer, newKey, TestService } from "../support/TestService.ts"

layer(Layer.empty, { excludeTestServices: true })("A synchronous standby that is away", (it) => {
  it.effect("makes callers 503 and cancels nothing: no commit is seen before it is replicated", () =>
    Effect.gen(function* () {
      const database = yield* EmbeddedPostgres.start({ dataDir: yield* temporaryFolder })
      const service = yield* Layer.build(
        Layer.fresh(TestService.layer({ databaseUrl: database.url, settings: { databaseConnections: 16 } }))
      )
      const sql = Context.get(yield* Layer.build(Layer.fresh(PgClient.layer({ url: database.url }))), SqlClient)
      const standby = (names: string) =>
        Effect.andThen(
          sql.unsafe(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`),
          sql`SELECT pg_reload_conf()`
        )
      yield* Effect.gen(function* () {
        const { makeCaller, operate } = yield* TestService
        const { key } = yield* makeCaller()
        const stateReaching = (state: string) =>
          eventually(operate<{ database: string }>("GET", "/health/ready"), ({ body }) => body.database === state)
        yield* created(key)
        yield* standby("nobody")
        // Each connection learns of it by itself, a moment later.
        yield* eventually(create(key), ({ status }) => status === 503)
        const late = newKey()
        assertRefused(yield* create(key, { reference: "late" }, late), "SERVICE_UNAVAILABLE")
        // As long again: what is cancelled with its callers is committed by now, here alone.
        assertRefused(yield* create(key), "SERVICE_UNAVAILABLE")
        const waits = sql`SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep'`
        assert.isNotEmpty(yield* waits, "it still waits")
        yield* stateReaching("commits_wait")
        assert.isEmpty(yield* sql`SELECT FROM charges WHERE reference = 'late'`)
        yield* standby("")
        yield* eventually(waits, ({ length }) => length === 0)
        yield* eventually(sql`SELECT FROM charges WHERE reference = 'late'`, ({ length }) => length === 1)
        const repeated = yield* eventually(create(key, { reference: "late" }, late), ({ status }) => status !== 503)
        assert.strictEqual(repeated.status, 201, repeated.text)
        yield* stateReaching("ok")
      }).pipe(Effect.provide(service))
    }).pipe(Effect.scoped)
  )

  it.effect("cancels no write: routes of both listeners, callers that disconnect, and a stop; reads continue", () =>
    Effect.gen(function* () {
      const dataDir = yield* temporaryFolder
      const database = yield* EmbeddedPostgres.start({ dataDir })
      const running = yield* Scope.fork(yield* Effect.scope)
      const service = yield* Layer.build(
        Layer.fresh(TestService.layer({ databaseUrl: database.url, settings: { databaseConnections: 16 } }))
      ).pipe(Scope.provide(running))
      const sql = Context.get(yield* Layer.build(Layer.fresh(PgClient.layer({ url: database.url }))), SqlClient)
      const standby = (names: string) =>
        Effect.andThen(
          sql.unsafe(`ALTER SYSTEM SET synchronous_standby_names = '${names}'`),
          sql`SELECT pg_reload_conf()`
        )
      const waits = sql`SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'`
      /** Those that have written to a table: a write of the service's own loops may come to wait at any time. */
      const waitsIn = (table: string) =>
        sql`SELECT pid FROM pg_stat_activity JOIN pg_locks USING (pid) WHERE wait_event = 'SyncRep'
          AND relation = ${table}::regclass AND mode = 'RowExclusiveLock'`
      // The server reads its settings a moment later.
      const untilItWaits = Effect.gen(function* () {
        let waited = false
        const write = Effect.suspend(() => sql`INSERT INTO installation (name, value) VALUES (${newKey()}, 'written')`)
        yield* Effect.forkChild(Effect.repeat(write, { until: () => waited }))
        yield* eventually(waits, ({ length }) => length > 0)
        waited = true
      })
      const canceled = Effect.promise(() => readFile(join(dataDir, "postgres.log"), "utf8")).pipe(
        Effect.map((text) =>
          text
            .split("\n")
            .filter((line) => /cancel|terminat/.test(line) && !/due to (statement|lock) timeout/.test(line))
        )
      )
      yield* Effect.gen(function* () {
        const { call, makeCaller, operate } = yield* TestService
        const { accountId, applicationId, key, keyId } = yield* makeCaller()
        const paid = yield* created(key)
        yield* operate("POST", `/operator/v1/simulator/charges/${paid.id}/pay`)
        const canceling = yield* created(key)
        const endpoint = { url: "https://93.184.216.34/hook", events: ["charge.pix.paid"] }
        const { id } = (yield* call<{ id: string }>("POST", "/v1/webhooks", { key, body: endpoint })).body
        yield* standby("nobody")
        yield* untilItWaits
        const name = `after ${newKey()}`
        const writes: ReadonlyArray<Effect.Effect<Answer<unknown>>> = [
          operate("POST", `/operator/v1/keys/${keyId}/revoke`),
          operate("POST", `/operator/v1/accounts/${accountId}/applications`, { body: { name } }),
          operate("PATCH", `/operator/v1/applications/${applicationId}`, { body: { name } }),
          operate("POST", `/operator/v1/charges/${paid.id}/refund`),
          operate("POST", `/operator/v1/charges/${canceling.id}/cancel`),
          call("POST", "/v1/webhooks", { key, body: endpoint }),
          call("PATCH", `/v1/webhooks/${id}`, { key, body: { active: false } })
        ]
        // Their callers close the connection. The first holds the row that every change of a caller replaces.
        const hungUp = [
          ["accounts", operate("PATCH", `/operator/v1/accounts/${accountId}`, { body: { name } })],
          ["webhook_endpoints", call("PATCH", `/v1/webhooks/${id}`, { key, body: { description: name } })]
        ] as const
        yield* Effect.forEach(
          hungUp,
          ([table, write]) =>
            Effect.gen(function* () {
              const fiber = yield* Effect.forkChild(write)
              yield* eventually(waitsIn(table), ({ length }) => length > 0)
              yield* Fiber.interrupt(fiber)
            }),
          { discard: true }
        )
        for (const answer of yield* Effect.all(writes, { concurrency: "unbounded" })) {
          assertRefused(answer, "SERVICE_UNAVAILABLE")
        }
        // As long again, and more of them than there are connections.
        const many = Array.from({ length: 20 }, () =>
          operate("POST", `/operator/v1/accounts/${accountId}/applications`, { body: { name } })
        )
        for (const answer of yield* Effect.all(many, { concurrency: "unbounded" })) {
          assertRefused(answer, "SERVICE_UNAVAILABLE")
        }
        assert.strictEqual((yield* retrieve(key, paid.id)).status, 200)
        assert.isAtMost((yield* waits).length, writeSlotsOf(16) + 1)
        assert.isEmpty(yield* sql`SELECT FROM accounts WHERE name = ${name}`)
        assert.isEmpty(yield* canceled)
        yield* standby("")
        yield* eventually(sql`SELECT FROM accounts WHERE name = ${name}`, ({ length }) => length === 1)
        yield* eventually(sql`SELECT FROM acquirer_orders`, ({ length }) => length > 0)
        yield* eventually(waits, ({ length }) => length === 0)

        yield* standby("nobody")
        yield* untilItWaits
        yield* Effect.forkChild(operate("PATCH", `/operator/v1/accounts/${accountId}`, { body: { name: "at last" } }))
        yield* eventually(waitsIn("accounts"), ({ length }) => length > 0)
      }).pipe(
        Effect.provide(service),
        Effect.onError(() => Effect.ignore(standby("")))
      )
      yield* Scope.close(running, Exit.void)
      assert.isEmpty(yield* canceled)
      assert.isAtLeast((yield* waits).length, 2)
      assert.isEmpty(yield* sql`SELECT FROM accounts WHERE name = 'at last'`)
      yield* standby("")
      yield* eventually(sql`SELECT FROM accounts WHERE name = 'at last'`, ({ length }) => length === 1)
    }).pipe(Effect.scoped)
  )
})
