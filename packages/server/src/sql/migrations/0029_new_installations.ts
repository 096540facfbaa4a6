/**
 * An installation that begins with this release has nothing that only servers of an earlier one use
 * (`sql/partitions/ReleaseBefore.ts`), so that its charges and payouts are partitioned when the schema is made.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

const statements = [
  // A new schema is made in one transaction, whose start is the default of `created_at`.
  `DO $do$ BEGIN
    IF EXISTS (SELECT FROM effect_sql_migrations WHERE migration_id = 1 AND created_at = now()) THEN
      DROP TRIGGER charge_stores_key ON charges;
      DROP TRIGGER charge_stores_settlement ON charges;
      DROP TRIGGER payout_stores_key ON payouts;
      DROP FUNCTION charge_stores_key(), charge_stores_settlement(), payout_stores_key();
      DROP INDEX charges_idempotency, charges_settlement, payouts_idempotency;
    END IF;
  END $do$`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
