/** Old versions of subscriptions are deleted once no change needs them. */
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { removeOldVersions } from "../../../src/webhooks/fan-out/OutboxMaintenance.ts"
import { eventually } from "../../support/Receiver.ts"
import { TestService } from "../../support/TestService.ts"
import { changed, registered, remove } from "../../support/Webhooks.ts"

layer(TestService.layer({}), { excludeTestServices: true })("Versions of subscriptions", (it) => {
  it.effect("are written for what decides who is subscribed, and for nothing else", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const { id } = yield* registered(key, { events: ["charge.pix.paid"] })
      yield* changed(key, id, { description: "x", secret: "a new secret", active: false })
      yield* changed(key, id, { active: true })
      assert.deepStrictEqual(yield* versionsOf(id), ["1 to now: charge.pix.paid"])
      yield* changed(key, id, { events: ["charge.pix.emitted"] })
      yield* registered(key)
      const sql = yield* SqlClient
      yield* sql`UPDATE webhook_endpoints SET deleted_at = now() WHERE id = ${id}::uuid`
      assert.deepStrictEqual(yield* versionsOf(id), ["1 to 2: charge.pix.paid", "2 to 4: charge.pix.emitted"])
      assert.deepStrictEqual(
        yield* sql`SELECT version::integer, live FROM webhook_endpoint_counters WHERE account_id = ${accountId}::uuid`,
        [{ version: 4, live: 1 }]
      )
    })
  )

  it.effect("stay while a transaction that may have read them is open, or an outbox row or a failure names them", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const sql = yield* SqlClient
      const { id } = yield* registered(key, { events: ["charge.pix.paid"] })
      yield* changed(key, id, { events: ["charge.pix.emitted"] })
      assert.strictEqual((yield* versionsOf(id)).length, 2)
      // Ended just now: a statement may be in flight that has read it and has no transaction id yet.
      yield* removeOldVersions
      yield* removeOldVersions
      assert.strictEqual((yield* versionsOf(id)).length, 2)
      yield* sql`UPDATE webhook_endpoint_versions SET ended_at = now() - interval '2 minutes'
        WHERE endpoint_id = ${id}::uuid AND ended_at IS NOT NULL`
      const { databaseUrl } = yield* TestService
      const other = Context.get(yield* Layer.build(PgClient.layer({ url: databaseUrl, maxConnections: 1 })), SqlClient)
      yield* other.withTransaction(
        Effect.gen(function* () {
          yield* other`SELECT pg_current_xact_id()::text`
          yield* removeOldVersions
          yield* removeOldVersions
          assert.strictEqual((yield* versionsOf(id)).length, 2)
        })
      )
      yield* sql`INSERT INTO outbox_failures (id, change_id, account_id, endpoints_version, error, first_failed_at,
        last_failed_at) VALUES (uuidv7(), uuidv7(), ${accountId}::uuid, 1, 'x', now(), now())`
      yield* removeOldVersions
      yield* removeOldVersions
      assert.strictEqual((yield* versionsOf(id)).length, 2)
      // It keeps its own version, not all later ones.
      for (const events of [["charge.pix.refunded"], ["charge.pix.paid"]]) yield* changed(key, id, { events })
      yield* sql`UPDATE webhook_endpoint_versions SET ended_at = now() - interval '2 minutes'
        WHERE endpoint_id = ${id}::uuid AND ended_at IS NOT NULL`
      yield* eventually(Effect.andThen(removeOldVersions, versionsOf(id)), ({ length }) => length === 2)
      assert.deepStrictEqual(yield* versionsOf(id), ["1 to 2: charge.pix.paid", "4 to now: charge.pix.paid"])
      yield* sql`DELETE FROM outbox_failures WHERE account_id = ${accountId}::uuid`
      yield* eventually(Effect.andThen(removeOldVersions, versionsOf(id)), ({ length }) => length === 1)
      yield* remove(key, id)
    })
  )
})

const versionsOf = (endpointId: string) =>
  Effect.flatMap(SqlClient, (sql) =>
    Effect.map(
      sql<{ from: number; to: string; events: ReadonlyArray<string> }>`
        SELECT from_version::integer AS from, CASE WHEN ended_at IS NULL THEN 'now' ELSE to_version::text END AS to, events
        FROM webhook_endpoint_versions WHERE endpoint_id = ${endpointId}::uuid ORDER BY from_version`,
      (rows) => rows.map(({ events, from, to }) => `${from} to ${to}: ${events.join(",")}`)
    )
  )
