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
import * as Migrations from "../../src/schema/Migrations.ts"
import * as ReleaseBefore from "../../src/schema/partitions/ReleaseBefore.ts"
import { createDatabase } from "./Postgres.ts"
import { secretsKeys } from "./StoppableService.ts"
import { TestService } from "./TestService.ts"

/** Applies all migrations to an empty schema, the first one in its own transaction. Large tables are not partitioned. */
export const upgrade = Effect.gen(function* () {
  const { "0001_foundation": first } = Migrations.migrations
  yield* Migrator.make({})({ loader: Migrator.fromRecord({ "0001_foundation": first }) })
  yield* Migrator.make({})({ loader: Migrator.fromRecord(Migrations.migrations) })
})

type Options = NonNullable<Parameters<typeof TestService.layer>[0]>

const upgradedDatabase = Effect.gen(function* () {
  const databaseUrl = yield* createDatabase()
  const owner = Context.get(yield* Layer.build(PgClient.layer({ url: databaseUrl })), SqlClient)
  yield* Effect.provideService(upgrade, SqlClient, owner)
  return { databaseUrl, owner }
})

/** The service on such a database, with the partitions that its start makes; `below` is provided to the service only. */
export const upgradedService = (options: Options = {}, below: Layer.Layer<never> = Layer.empty) =>
  Layer.unwrap(
    Effect.map(upgradedDatabase, ({ databaseUrl }) =>
      TestService.layer({ ...options, databaseUrl }).pipe(Layer.provide(below))
    )
  )

/** Services on one such database, each as it starts, and what ends its upgrade. */
export const upgradedServices = Effect.fnUntraced(function* (settings: Options["settings"] = {}) {
  const { databaseUrl, owner } = yield* upgradedDatabase
  const service = TestService.layer({ databaseUrl, settings: { ...settings, secretsKeys } })
  return {
    start: Layer.build(Layer.fresh(service)),
    endUpgrade: Effect.provideService(ReleaseBefore.drop, SqlClient, owner)
  }
})
