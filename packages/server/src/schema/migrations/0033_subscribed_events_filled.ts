/**
 * Fills the events that the endpoints of each account subscribe to, so that a change whose events nobody subscribes to needs
 * no outbox row (`events/Outbox.ts`). A trigger writes them with each version, for servers of either release.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"

const CURRENT = "9223372036854775807"

const subscribed = (account: string): string => `ARRAY(
    SELECT DISTINCT e.event FROM webhook_endpoint_versions v CROSS JOIN LATERAL unnest(v.events) AS e(event)
    WHERE v.account_id = ${account} AND v.to_version = ${CURRENT} ORDER BY 1
  )`

const statements = [
  // Until the commit nobody changes an endpoint: a change that had begun would run the function as it was.
  `SELECT set_config('lock_timeout', '2s', true), set_config('statement_timeout', '0', true)`,
  `LOCK TABLE webhook_endpoints IN SHARE ROW EXCLUSIVE MODE`,
  `UPDATE webhook_endpoint_counters c SET events = ${subscribed("c.account_id")}`,
  `CREATE OR REPLACE FUNCTION webhook_endpoint_version() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE
      was boolean := TG_OP = 'UPDATE' AND OLD.deleted_at IS NULL;
      is_now boolean := NEW.deleted_at IS NULL;
      next bigint;
    BEGIN
      IF NOT was AND NOT is_now THEN
        RETURN NULL;
      END IF;
      IF was AND is_now AND OLD.normalized_hash = NEW.normalized_hash AND OLD.events = NEW.events THEN
        RETURN NULL;
      END IF;
      INSERT INTO webhook_endpoint_counters AS c (account_id, version, live) VALUES (NEW.account_id, 1, 1)
        ON CONFLICT (account_id) DO UPDATE
          SET version = c.version + 1, live = c.live + is_now::integer - was::integer
        RETURNING version INTO next;
      IF was THEN
        UPDATE webhook_endpoint_versions SET to_version = next, ended_at = now()
          WHERE endpoint_id = NEW.id AND to_version = ${CURRENT};
      END IF;
      IF is_now THEN
        INSERT INTO webhook_endpoint_versions (endpoint_id, from_version, account_id, application_id, normalized_hash,
          events)
        VALUES (NEW.id, next, NEW.account_id, NEW.application_id, NEW.normalized_hash, NEW.events);
      END IF;
      UPDATE webhook_endpoint_counters SET events = ${subscribed("NEW.account_id")} WHERE account_id = NEW.account_id;
      RETURN NULL;
    END
  $$`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
