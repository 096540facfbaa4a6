/**
 * Makes the acquirer's answer to a new charge cheaper for PostgreSQL.
 *
 * A new charge is stored as `pending` with `acquirer_answered` false, which means `processing`. So the acquirer's answer
 * changes no indexed column, and the update stays within the row's page and out of all indexes, because pages have room
 * for it. Measured: an eighth of PostgreSQL's work for a charge.
 *
 * Rows of `charge_recoveries`, one for several charges, say which charges are recovered: see `RecoveryStore`. A charge of
 * an earlier release keeps `processing` as its status until it is answered, has no such row, and is found through
 * `charges_to_recover`.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

const statements = [
  `ALTER TABLE charges ADD COLUMN acquirer_answered boolean NOT NULL DEFAULT true`,
  `ALTER TABLE charges SET (fillfactor = 35)`,
  `CREATE TABLE charge_recoveries (
    due_at timestamptz NOT NULL,
    id uuid NOT NULL,
    charge_ids uuid[] NOT NULL,
    PRIMARY KEY (due_at, id)
  )`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
