/**
 * What every charge passes through made cheaper for PostgreSQL.
 *
 * A charge is stored as `pending` with `acquirer_answered` false, and is `processing` for as long: so the acquirer's
 * answer, which comes for every charge, changes no indexed column, and the update stays within the row's page and out
 * of all indexes (measured: an eighth of the database's work for a charge). The pages have room for it.
 *
 * Which charges are to be recovered stands in notes, one for many charges: see `ChargeStore`.
 *
 * A charge of a release before this one keeps `processing` as its status until it is settled, has no note, and is found
 * through `charges_to_recover`.
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
