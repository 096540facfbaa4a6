/**
 * Indexes of `charge_recoveries`, for large backlogs: the waiting charges of an account by their id, which lists read, and
 * recoveries that list their charges, which are few.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

const statements = [
  // Creations write this table, and wait behind this while it waits.
  `SELECT set_config('lock_timeout', '2s', true)`,
  `CREATE INDEX IF NOT EXISTS charge_recoveries_of_account_charges ON charge_recoveries (account_id, id)
    WHERE account_id IS NOT NULL`,
  `CREATE INDEX IF NOT EXISTS charge_recoveries_of_lists ON charge_recoveries (id)
    WHERE account_id IS NULL AND first_id IS NULL`,
  `SELECT set_config('lock_timeout', '0', true)`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
