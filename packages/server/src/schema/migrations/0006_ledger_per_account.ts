/**
 * `acquirer` and `fees` of each account, so that no movement of money locks a row of another account. What the
 * installation has is their sum.
 *
 * The release before this one goes on with the two rows of the installation, and knows nothing of those of the accounts:
 * a trigger keeps those true for each transfer that it writes. A process of this release posts both ends itself and says
 * so (`posted`). The installation's two rows stay as that release leaves them: the sum of all transfers that are not
 * `posted`. They and the triggers go with the next release.
 *
 * Notes on charges to recover become one for each charge once they are looked at, so that each has its own pace and its
 * account its share: see `charges/Recoveries.ts`. That release reads both kinds.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

const statements = [
  // Adding up all transfers takes as long as it takes; the transaction is the migration's own.
  `SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true)`,
  // From here to the commit nobody else writes a transfer: what is added up below is all there is.
  `ALTER TABLE ledger_transfers ADD COLUMN posted boolean NOT NULL DEFAULT false`,
  `INSERT INTO ledger_accounts (owner_id, kind, balance)
    SELECT o.owner_id, k.kind, coalesce(s.balance, 0)
    FROM (SELECT DISTINCT owner_id FROM ledger_accounts) o
    CROSS JOIN (VALUES ('acquirer'), ('fees')) AS k(kind)
    LEFT JOIN (
      SELECT account_id, kind, sum(amount)::bigint AS balance FROM (
        SELECT account_id, credit AS kind, amount FROM ledger_transfers WHERE credit IN ('acquirer', 'fees')
        UNION ALL
        SELECT account_id, debit, -amount FROM ledger_transfers WHERE debit IN ('acquirer', 'fees')
      ) ends GROUP BY account_id, kind
    ) s ON s.account_id = o.owner_id AND s.kind = k.kind
    ON CONFLICT (owner_id, kind) DO NOTHING`,

  `CREATE FUNCTION ledger_account_is_whole() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      INSERT INTO ledger_accounts (owner_id, kind) VALUES (NEW.owner_id, 'acquirer'), (NEW.owner_id, 'fees')
        ON CONFLICT (owner_id, kind) DO NOTHING;
      RETURN NULL;
    END
  $$`,
  `CREATE TRIGGER ledger_account_is_whole AFTER INSERT ON ledger_accounts
    FOR EACH ROW WHEN (NEW.kind = 'available') EXECUTE FUNCTION ledger_account_is_whole()`,

  `CREATE FUNCTION ledger_transfer_is_posted() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      UPDATE ledger_accounts
        SET balance = balance + CASE WHEN kind = NEW.credit THEN NEW.amount ELSE -NEW.amount END
        WHERE owner_id = NEW.account_id AND kind IN (NEW.debit, NEW.credit) AND kind IN ('acquirer', 'fees');
      RETURN NULL;
    END
  $$`,
  `CREATE TRIGGER ledger_transfer_is_posted AFTER INSERT ON ledger_transfers
    FOR EACH ROW WHEN (NOT NEW.posted) EXECUTE FUNCTION ledger_transfer_is_posted()`,

  // Of a note on one charge: whose it is, and how often it was tried.
  `ALTER TABLE charge_recoveries ADD COLUMN account_id uuid, ADD COLUMN attempts integer NOT NULL DEFAULT 0`,
  `CREATE UNIQUE INDEX charge_recoveries_of_charge ON charge_recoveries (id) WHERE account_id IS NOT NULL`,
  `CREATE INDEX charge_recoveries_of_account ON charge_recoveries (account_id, due_at) WHERE account_id IS NOT NULL`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
