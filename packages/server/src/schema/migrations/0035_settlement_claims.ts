/**
 * Installations that begin with this release claim settlements in `charge_settlements` alone
 * (`providers/SettlementClaims.ts`). Others do once an operator ends the upgrade, which copies the claims of before
 * (`schema/StoredForms.ts`, `schema/partitions/ReleaseBefore.ts`).
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

export default Effect.flatMap(
  SqlClient,
  // A new schema is made in one transaction, whose start is the default of `created_at`.
  (sql) => sql`INSERT INTO installation (name, value) SELECT 'claims_settlements_once', 'on'
    FROM effect_sql_migrations WHERE migration_id = 1 AND created_at = now()`
)
