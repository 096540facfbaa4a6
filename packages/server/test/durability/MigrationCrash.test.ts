/**
 * An upgrade that ends before each of its changes once: the next run continues, and keys and settlements are complete or not
 * there yet.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import * as Migrations from "../../src/schema/Migrations.ts"
import { unpartitioned } from "../../src/schema/partitions/Catalog.ts"
import { partitionedTables } from "../../src/schema/partitions/PartitionedTables.ts"
import { incompleteKeys } from "../support/KeyTables.ts"
import { createDatabase } from "../support/Postgres.ts"
import type { End } from "../support/StatementWire.ts"
import { connected, makeCrashes } from "./partitions/Crashes.ts"
import { fixtures, readFixture } from "./upgrade/Fixture.ts"
import { createSchema } from "./upgrade/Schema.ts"

const SESSIONS = "pix-payments migrations"

/** `MIGRATION_CRASHES=1`: every change of every migration. Otherwise those of the key tables. */
const isAll = process.env["MIGRATION_CRASHES"] !== undefined

const isOfKeyTables = (change: string) =>
  /charge_keys|payout_keys|charge_settlements|(key|settlement)_stored|stores_(key|settlement)|idempotency_digest/.test(
    change
  )

const keysStored = (owner: SqlClient) =>
  Effect.map(
    owner<{ stored: boolean }>`SELECT to_regclass('charge_keys') IS NOT NULL AS stored`,
    ([row]) => row?.stored === true
  )

describe.each(fixtures)("The upgrade of an installation of %s", (name) => {
  it.live.each<End>(["process", "connection"])("is continued, where a %s ends between any two changes", (end) =>
    Effect.gen(function* () {
      const { rows, schema } = readFixture(name)
      const url = yield* createDatabase()
      const owner = yield* connected(url)
      yield* Effect.provideService(createSchema(schema, rows), SqlClient, owner)
      const money = owner`SELECT (SELECT count(*) FROM charges) AS charges, (SELECT count(*) FROM payouts) AS payouts,
        (SELECT sum(amount) FROM ledger_transfers) AS moved,
        (SELECT sum(balance) FROM ledger_accounts WHERE kind = 'available') AS available`
      const before = yield* money
      const crashes = yield* makeCrashes(url, owner, end, {
        sessions: SESSIONS,
        isCovered: (change) => isAll || isOfKeyTables(change)
      })
      const migrated = Effect.gen(function* () {
        const client = yield* Layer.build(
          Layer.fresh(PgClient.layer({ url: crashes.url(), applicationName: SESSIONS, maxConnections: 2 }))
        )
        const sql = Context.get(client, SqlClient)
        yield* Effect.provideService(Migrations.run, SqlClient, sql)
        // A start continues where tables are not partitioned yet.
        assert.deepStrictEqual(
          yield* Effect.provideService(unpartitioned(partitionedTables.map((table) => table.name)), SqlClient, sql),
          []
        )
      }).pipe(Effect.scoped)
      const assertHolds = Effect.gen(function* () {
        assert.deepStrictEqual(yield* money, before)
        if (yield* keysStored(owner)) assert.deepStrictEqual(yield* owner.unsafe(incompleteKeys), [])
      })

      yield* crashes.finished(migrated, assertHolds)

      yield* assertHolds
      assert.isTrue(yield* keysStored(owner))
      assert.isTrue(yield* Effect.provideService(Migrations.areApplied, SqlClient, owner))
      const ended = [...crashes.changes]
      for (const change of [
        /INSERT INTO charge_keys/,
        /INSERT INTO charge_settlements/,
        /CREATE TRIGGER charge_stores_key/
      ]) {
        assert.isTrue(
          ended.some((each) => change.test(each)),
          String(change)
        )
      }
      assert.isAbove(ended.length, isAll ? 100 : 10)
    }).pipe(Effect.scoped)
  )
})
