/**
 * Checkpoints of the ledger: for each ledger account the sum of its transfers up to an id, so that a verification reads only
 * the transfers after it. The service fills them in the background.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

const statements = [
  `CREATE TABLE ledger_checkpoints (
    owner_id uuid NOT NULL,
    kind text NOT NULL,
    balance bigint NOT NULL,
    PRIMARY KEY (owner_id, kind)
  )`,
  `CREATE TABLE ledger_checkpoint_position (
    singleton boolean PRIMARY KEY DEFAULT true CHECK (singleton),
    through_id uuid NOT NULL
  )`,
  `INSERT INTO ledger_checkpoint_position (through_id) VALUES ('00000000-0000-0000-0000-000000000000')`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
