/**
 * The cell that the database is of: the first `CELL` that a program was started with.
 *
 * Guarantee: no server and no program runs with another `CELL`, or migrates the database then.
 *
 * Rules: OPR-390.
 */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { SqlClient } from "effect/sql/SqlClient"
import { Settings } from "../base/Settings.ts"

/** The database is of another cell. */
export class AnotherCell extends Schema.TaggedError<AnotherCell>()("AnotherCell", { message: Schema.String }) {}

/** Fails where the database is of another cell. */
export const requireCell = Effect.gen(function* () {
  const sql = yield* SqlClient
  const { cell } = yield* Settings
  // Before the first migration there is no table, or no privilege.
  const [table] = yield* sql<{ readonly readable: boolean | null }>`
    SELECT has_table_privilege(to_regclass('installation')::oid, 'SELECT') AS readable`
  if (table?.readable !== true) return
  const [row] = yield* sql<{ readonly value: string }>`SELECT value FROM installation WHERE name = 'cell'`
  if (row === undefined || Option.contains(cell, row.value)) return
  return yield* new AnotherCell({
    message:
      `The database is of cell ${row.value}, and ${Option.match(cell, { onNone: () => "CELL is not set", onSome: (name) => `CELL is ${name}` })}. ` +
      `Start it with CELL=${row.value}, or with the database of its own cell.`
  })
})

/** Names the cell of a database that has none yet. Of several names at the same time one is stored, and the others are refused. */
export const storeCell = Effect.gen(function* () {
  const sql = yield* SqlClient
  const { cell } = yield* Settings
  if (Option.isNone(cell)) return
  yield* sql`INSERT INTO installation (name, value) VALUES ('cell', ${cell.value}) ON CONFLICT DO NOTHING`
  yield* requireCell
})
