/**
 * Pages of `charges` keep half of their room for updates, where migration 0004 kept two thirds (docs/scaling.md).
 *
 * It holds for new pages only: the table is neither read nor rewritten.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

const statements = [
  // Or its partitions, where an operator has ended the upgrade.
  `DO $do$ DECLARE part regclass; BEGIN
    FOR part IN SELECT c.oid FROM pg_class c LEFT JOIN pg_inherits i ON i.inhrelid = c.oid
      WHERE c.relkind = 'r' AND 'charges'::regclass IN (c.oid, i.inhparent) LOOP
      EXECUTE format('ALTER TABLE %s SET (fillfactor = 50)', part);
    END LOOP;
  END $do$`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
