/**
 * The partitions that were removed, for operators.
 *
 * The tables themselves become partitioned tables after the migrations, each in a transaction of milliseconds
 * (`partitions/Conversion.ts`), because a migration would lock them until all migrations are committed.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

const statements = [
  // from_id is null where the partition had no lower bound. kept: open rows that were copied to the default partition.
  `CREATE TABLE removed_partitions (
    id uuid PRIMARY KEY DEFAULT uuidv7(),
    parent text NOT NULL,
    name text NOT NULL,
    from_id uuid,
    before_id uuid NOT NULL,
    kept bigint NOT NULL,
    removed_at timestamptz NOT NULL DEFAULT now()
  )`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
