/**
 * The generation of what callers and payout terms are cached from (`accounts/Caller.ts`): one row, whose value every change of
 * keys, applications, accounts, connections and settings replaces in its own commit.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

// Deferred: the row is locked in the commit itself, so that an open transaction delays no other change and no two deadlock.
const replacedBy = (change: string) => {
  const table = change.split(" ").at(-1)
  return `CREATE CONSTRAINT TRIGGER ${table}_replace_generation AFTER ${change}
    DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION replace_caller_generation()`
}

const statements = [
  // A random value, and not a counter: after a restore to an earlier moment, no process has a value that comes again.
  `CREATE TABLE caller_generation (
    id boolean PRIMARY KEY DEFAULT true CHECK (id),
    generation uuid NOT NULL DEFAULT gen_random_uuid()
  )`,
  `INSERT INTO caller_generation DEFAULT VALUES`,
  `CREATE FUNCTION replace_caller_generation() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      UPDATE caller_generation SET generation = gen_random_uuid() WHERE id;
      RETURN NULL;
    END
  $$`,
  // All but the time of the last use.
  replacedBy("UPDATE OF application_id, hash, scopes, expires_at, revoked_at OR DELETE ON api_keys"),
  replacedBy("UPDATE OR DELETE ON applications"),
  replacedBy("UPDATE OR DELETE ON accounts"),
  // All but what sweeps and checks write. A new connection may be the default one.
  replacedBy("INSERT OR UPDATE OF charges_paused, is_default, pays_out OR DELETE ON acquirer_connections"),
  replacedBy("UPDATE OR DELETE ON installation_settings")
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
