/**
 * A database that an earlier release began, after the migrations of this one: an operator has not ended its upgrade, and
 * servers of the release before may use it.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Migrator from "effect/sql/Migrator"
import { SqlClient } from "effect/sql/SqlClient"
import * as Migrations from "../../src/sql/Migrations.ts"
import { createDatabase } from "./Postgres.ts"
import { TestService } from "./TestService.ts"

/** Applies all migrations to an empty schema, the first one in a transaction of its own. Large tables are not partitioned. */
export const upgrade = Effect.gen(function* () {
  const { "0001_foundation": first } = Migrations.migrations
  yield* Migrator.make({})({ loader: Migrator.fromRecord({ "0001_foundation": first }) })
  yield* Migrator.make({})({ loader: Migrator.fromRecord(Migrations.migrations) })
})

/** The service on such a database, with the partitions that its start makes. */
export const upgradedService = (options: NonNullable<Parameters<typeof TestService.layer>[0]> = {}) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const databaseUrl = yield* createDatabase()
      const owner = yield* Layer.build(PgClient.layer({ url: databaseUrl }))
      yield* Effect.provideService(upgrade, SqlClient, Context.get(owner, SqlClient))
      return TestService.layer({ ...options, databaseUrl })
    })
  )
