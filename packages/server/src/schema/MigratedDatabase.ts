/**
 * The connection pool with the schema migrated.
 *
 * Guarantees:
 * - Migrations have run before the pool is used. A start waits for the migrations of another process.
 * - The database of another cell is not touched (`InstalledCell.ts`).
 * - With `MIGRATIONS_DATABASE_URL` that role migrates, and the service's role gets its privileges only.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import { SqlClient } from "effect/sql/SqlClient"
import { isSqlError } from "effect/sql/SqlError"
import { DatabaseLocation, layer as pool } from "../database/Database.ts"
import { requireCell, storeCell } from "./InstalledCell.ts"
import * as Migrations from "./Migrations.ts"
import * as Privileges from "./Privileges.ts"

/** The role of `MIGRATIONS_DATABASE_URL` cannot connect, or lacks a privilege. */
export class CannotMigrate extends Schema.TaggedError<CannotMigrate>()("CannotMigrate", { message: Schema.String }) {}

/** Migrates as the role of `MIGRATIONS_DATABASE_URL`, and grants the service's role its privileges. */
const migrateAs = Effect.fnUntraced(
  function* (owner: Redacted.Redacted<string>, serviceRole: string) {
    const ownerClient = yield* Layer.build(
      PgClient.layer({
        url: owner,
        applicationName: "pix-payments migrations",
        maxConnections: 3,
        connectTimeout: "3 seconds"
      })
    )
    yield* Migrations.runWith(Privileges.grantTo(serviceRole)).pipe(Effect.provide(ownerClient))
  },
  Effect.scoped,
  Effect.mapError((error) =>
    isSqlError(error)
      ? new CannotMigrate({
          message: `The schema cannot be migrated with MIGRATIONS_DATABASE_URL (${String(error.reason.cause)}).`
        })
      : error
  )
)

const migrated = Effect.gen(function* () {
  const { migrationsUrl } = yield* DatabaseLocation
  if (migrationsUrl === undefined) return yield* Migrations.runOrCheck
  const sql = yield* SqlClient
  const [service] = yield* sql<{ name: string }>`SELECT current_user AS name`
  return yield* migrateAs(migrationsUrl, service?.name ?? "")
})

/** The pool, migrated. */
export const layer = Layer.effectDiscard(Effect.all([requireCell, migrated, storeCell])).pipe(Layer.provideMerge(pool))
