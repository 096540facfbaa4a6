/**
 * Tables of idempotency keys and settlements, narrow and complete: what is unique over all charges and payouts, however
 * these tables are divided.
 *
 * A server of the release before writes no key: triggers write it, before the row, so that both releases claim a key in the
 * same order. Statements of this release set `key_stored` and `settlement_stored`, which skip the triggers. The next release
 * drops the triggers, these columns, and the unique indexes that the tables replace.
 *
 * Why: docs/decisions/0028-key-tables.md.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

/**
 * A function of a trigger, which a role without privileges on the key tables may cause. Its path names `pg_temp` last:
 * otherwise a temporary table of that role would come before the table of its name.
 */
const triggerFunction = (name: string, body: string) =>
  `DO $do$ BEGIN
    CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
      ${body}
    $$;
    EXECUTE format('ALTER FUNCTION ${name}() SET search_path = %I, pg_temp', current_schema());
  END $do$`

const storesKey = (table: string, column: string, scope: string) => `BEGIN
      INSERT INTO ${table} (digest, ${column})
        VALUES (idempotency_digest(${scope}, NEW.origin, NEW.idempotency_key), NEW.id)
        ON CONFLICT DO NOTHING;
      IF NOT FOUND THEN
        RETURN NULL;
      END IF;
      RETURN NEW;
    END`

const statements = [
  // From here to the commit nobody else writes either table: every key is copied. Statements of the service wait behind
  // this one while it waits, so it gives way to a transaction that takes long, such as a dump.
  `SELECT set_config('lock_timeout', '2s', true)`,
  `LOCK TABLE charges, payouts IN ACCESS EXCLUSIVE MODE`,
  // The copies take as long as they take.
  `SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true)`,
  `ALTER TABLE charges
    ADD COLUMN key_stored boolean NOT NULL DEFAULT false,
    ADD COLUMN settlement_stored boolean NOT NULL DEFAULT false`,
  `ALTER TABLE payouts ADD COLUMN key_stored boolean NOT NULL DEFAULT false`,

  // The first 16 bytes of SHA-256. STABLE, as convert_to is, so that PostgreSQL inlines it.
  `CREATE FUNCTION idempotency_digest(scope uuid, origin text, key text) RETURNS uuid LANGUAGE sql STABLE PARALLEL SAFE
    RETURN encode(substr(sha256(convert_to(scope || ' ' || origin || ' ' || key, 'UTF8')), 1, 16), 'hex')::uuid`,

  `CREATE TABLE charge_keys (digest uuid NOT NULL, charge_id uuid NOT NULL)`,
  `INSERT INTO charge_keys (digest, charge_id)
    SELECT idempotency_digest(application_id, origin, idempotency_key), id FROM charges WHERE idempotency_key IS NOT NULL`,
  `ALTER TABLE charge_keys ADD PRIMARY KEY (digest)`,

  `CREATE TABLE payout_keys (digest uuid NOT NULL, payout_id uuid NOT NULL)`,
  `INSERT INTO payout_keys (digest, payout_id)
    SELECT idempotency_digest(coalesce(application_id, account_id), origin, idempotency_key), id
    FROM payouts WHERE idempotency_key IS NOT NULL`,
  `ALTER TABLE payout_keys ADD PRIMARY KEY (digest)`,

  // Text, not a digest: ids of one bank begin with the bank and the time, so that new ones are side by side in the index.
  `CREATE TABLE charge_settlements (end_to_end_id text NOT NULL, charge_id uuid NOT NULL)`,
  `INSERT INTO charge_settlements (end_to_end_id, charge_id)
    SELECT end_to_end_id, id FROM charges WHERE end_to_end_id IS NOT NULL`,
  `ALTER TABLE charge_settlements ADD PRIMARY KEY (end_to_end_id)`,

  triggerFunction("charge_stores_key", storesKey("charge_keys", "charge_id", "NEW.application_id")),
  `CREATE TRIGGER charge_stores_key BEFORE INSERT ON charges FOR EACH ROW
    WHEN (NEW.idempotency_key IS NOT NULL AND NOT NEW.key_stored) EXECUTE FUNCTION charge_stores_key()`,
  triggerFunction(
    "payout_stores_key",
    storesKey("payout_keys", "payout_id", "coalesce(NEW.application_id, NEW.account_id)")
  ),
  `CREATE TRIGGER payout_stores_key BEFORE INSERT ON payouts FOR EACH ROW
    WHEN (NEW.idempotency_key IS NOT NULL AND NOT NEW.key_stored) EXECUTE FUNCTION payout_stores_key()`,
  // Of two charges with one settlement, the unique index of charges has refused the second.
  triggerFunction(
    "charge_stores_settlement",
    `BEGIN
      INSERT INTO charge_settlements (end_to_end_id, charge_id) VALUES (NEW.end_to_end_id, NEW.id)
        ON CONFLICT DO NOTHING;
      RETURN NULL;
    END`
  ),
  `CREATE TRIGGER charge_stores_settlement AFTER INSERT OR UPDATE OF end_to_end_id ON charges FOR EACH ROW
    WHEN (NEW.end_to_end_id IS NOT NULL AND NOT NEW.settlement_stored) EXECUTE FUNCTION charge_stores_settlement()`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
