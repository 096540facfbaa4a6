/**
 * The database of simulations: migrated, with the virtual clock and a log of what was committed.
 *
 * Guarantees: `now()` and `uuidv7()` follow the virtual clock; a reset leaves what the migrations leave.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import * as PgConnection from "@effect/sql-pg/PgConnection"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import type { SqlError } from "effect/sql/SqlError"
import * as Migrations from "../../../src/schema/Migrations.ts"
import { poison } from "./HostileTenant.ts"

/** The database of a simulation, and the connection of its processes. */
export interface Database {
  readonly query: <A>(sql: string, params?: ReadonlyArray<unknown>) => Promise<ReadonlyArray<A>>
  readonly run: (sql: string, params: ReadonlyArray<unknown>) => Promise<Exit.Exit<PgConnection.Result, SqlError>>
  /** Restores the tables as the migrations leave them. */
  readonly reset: () => Promise<void>
}

/**
 * Migrates an empty database and makes it ready for simulations. `socket` is the path of a Unix socket, which costs less
 * than TCP. Truncated tables make PostgreSQL plan every statement again, so most seeds begin with a deletion.
 */
export const openDatabase = (
  url: Redacted.Redacted<string>,
  socket?: string,
  seedsPerTruncate = 25
): Effect.Effect<Database, SqlError, Scope.Scope> =>
  Effect.gen(function* () {
    const migrating = yield* Layer.build(PgClient.layer({ url, maxConnections: 3 }))
    yield* Effect.orDie(Effect.provideContext(Migrations.run, migrating))
    const connect = (startupParameters: Readonly<Record<string, string>>) =>
      PgConnection.make({
        url,
        path: socket,
        preparedStatementCacheSize: 2000,
        multiplex: true,
        startupParameters: {
          search_path: "public, pg_catalog",
          timezone: "UTC",
          synchronous_commit: "off",
          ...startupParameters
        }
      })
    const connection = yield* connect({
      // As the service has it.
      enable_seqscan: "off",
      enable_hashjoin: "off",
      enable_mergejoin: "off",
      // The same plan for the same statement, whatever came before.
      plan_cache_mode: "force_generic_plan",
      jit: "off"
    })
    // Deletes what triggers and foreign keys would protect. To set the role on the first connection would drop its plans.
    const cleaner = yield* connect({ session_replication_role: "replica" })
    const queryOn =
      (on: PgConnection.PgConnection) =>
      async <A>(sql: string, params: ReadonlyArray<unknown> = []) => {
        const exit = await Effect.runPromiseExit(on.query(sql, params))
        if (Exit.isFailure(exit)) throw new Error(`${sql} fails: ${String(exit.cause)}`)
        return exit.value.rows as unknown as ReadonlyArray<A>
      }
    const query = queryOn(connection)
    const clean = queryOn(cleaner)
    return yield* Effect.promise(async () => {
      for (const statement of preparation) await query(statement)
      const named = (kind: "r" | "S") =>
        query<{ name: string }>(
          `SELECT quote_ident(relname) AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace
             AND relkind = $1 AND relname <> 'effect_sql_migrations' ORDER BY relname`,
          [kind]
        )
      const tables = (await named("r")).map(({ name }) => name)
      const sequences = (await named("S")).map(({ name }) => name)
      // The rows that migrations insert.
      const migrated: Array<string> = []
      for (const name of tables) {
        if ((await query(`SELECT FROM ${name} LIMIT 1`)).length > 0) migrated.push(name)
      }
      await clean("CREATE SCHEMA simulation_migrated")
      for (const name of migrated) await clean(`CREATE TABLE simulation_migrated.${name} AS TABLE ${name}`)
      await clean(`CREATE FUNCTION simulation_empty() RETURNS void LANGUAGE plpgsql AS $$ BEGIN
        ${tables.map((name) => `DELETE FROM ${name};`).join("\n")}
        ${migrated.map((name) => `INSERT INTO ${name} OVERRIDING SYSTEM VALUE TABLE simulation_migrated.${name};`).join("\n")}
        ${sequences.map((name) => `PERFORM setval('${name}', 1, false);`).join("\n")}
      END $$`)
      let resets = 0
      return {
        query,
        run: (sql, params) => Effect.runPromiseExit(connection.query(sql, params)),
        reset: async () => {
          if (resets++ % seedsPerTruncate === 0) await clean(`TRUNCATE ${tables.join(", ")}`)
          await clean("SELECT simulation_empty()")
        }
      } satisfies Database
    })
  })

/**
 * What the simulation adds: the virtual clock, and a log, in the order of the commits, of how rows moved and of the
 * events that each endpoint must get, written by triggers that know nothing of the service.
 */
const preparation = [
  ...poison,
  // Statistics that come at a moment of their own could change a plan, and with it the order of what is made at once.
  `DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r' LOOP
      EXECUTE format('ALTER TABLE %I SET (autovacuum_enabled = off)', name);
    END LOOP; END $$`,
  // Its own counts transactions of the server's other databases; this one has a single connection.
  `CREATE FUNCTION public.pg_snapshot_xmin(snapshot pg_snapshot) RETURNS xid8 LANGUAGE sql STABLE AS $$
    SELECT pg_catalog.pg_snapshot_xmax(snapshot) $$`,
  `CREATE SEQUENCE simulation_ids`,
  `CREATE FUNCTION public.now() RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT to_timestamp(current_setting('simulation.now')::double precision / 1000) $$`,
  `CREATE FUNCTION public.uuidv7() RETURNS uuid LANGUAGE sql VOLATILE AS $$
    SELECT (lpad(to_hex(current_setting('simulation.now')::bigint), 12, '0') || '70008'
      || lpad(to_hex(nextval('simulation_ids')), 15, '0'))::uuid $$`,
  `CREATE TABLE simulation_moves (
    order_no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, kind text NOT NULL, id uuid NOT NULL, was text,
    is_now text NOT NULL, sequence integer)`,
  `CREATE FUNCTION simulation_move() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF TG_OP = 'INSERT' THEN
        INSERT INTO simulation_moves (kind, id, is_now, sequence) VALUES (TG_ARGV[0], NEW.id, NEW.status, NEW.sequence);
      ELSIF NEW.status <> OLD.status OR NEW.sequence <> OLD.sequence THEN
        INSERT INTO simulation_moves (kind, id, was, is_now, sequence)
          VALUES (TG_ARGV[0], NEW.id, OLD.status, NEW.status, NEW.sequence);
      END IF;
      RETURN NULL;
    END $$`,
  ...["charges", "payouts", "disputes"].map(
    (table) =>
      // The trigger's table is the partition.
      `CREATE TRIGGER simulation_move AFTER INSERT OR UPDATE ON ${table}
        FOR EACH ROW EXECUTE FUNCTION simulation_move('${table}')`
  ),
  // Payouts and refunds take no more than is there. The trigger sees the balances after its statement.
  `CREATE FUNCTION simulation_spend() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF (SELECT balance FROM ledger_accounts WHERE owner_id = NEW.account_id AND kind = 'available') < 0 THEN
        INSERT INTO simulation_moves (kind, id, is_now) VALUES ('transfers', NEW.resource_id, NEW.reason);
      END IF;
      RETURN NULL;
    END $$`,
  `CREATE TRIGGER simulation_spend AFTER INSERT ON ledger_transfers FOR EACH ROW
    WHEN (NEW.debit = 'available' AND NEW.credit IN ('payouts_in_transit', 'returns_in_transit'))
    EXECUTE FUNCTION simulation_spend()`,
  // No payout is claimed to be sent while its account, its connection or the installation stops it.
  `CREATE FUNCTION simulation_brake() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF EXISTS (SELECT FROM accounts a WHERE a.id = NEW.account_id AND (a.status <> 'active' OR a.payouts_paused))
        OR EXISTS (SELECT FROM acquirer_connections c WHERE c.id = NEW.connection_id AND (c.paused OR c.payouts_paused))
        OR EXISTS (SELECT FROM installation_settings WHERE payouts_paused) THEN
        INSERT INTO simulation_moves (kind, id, is_now) VALUES ('brakes', NEW.id, 'sent');
      END IF;
      RETURN NULL;
    END $$`,
  `CREATE TRIGGER simulation_brake AFTER UPDATE OF attempts ON payouts FOR EACH ROW
    WHEN (NEW.attempts > OLD.attempts AND NEW.processed_at IS NULL) EXECUTE FUNCTION simulation_brake()`,
  // Only a resend reschedules a finished delivery, and restarts its curve.
  `CREATE FUNCTION simulation_delivery() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF OLD.status IN ('delivered', 'failed', 'canceled') AND NEW.status <> OLD.status
        AND NEW.curve_from = OLD.curve_from THEN
        INSERT INTO simulation_moves (kind, id, was, is_now) VALUES ('deliveries', NEW.id, OLD.status, NEW.status);
      END IF;
      RETURN NULL;
    END $$`,
  `CREATE TRIGGER simulation_delivery AFTER UPDATE ON deliveries FOR EACH ROW EXECUTE FUNCTION simulation_delivery()`,
  `CREATE TABLE simulation_events (change_id uuid NOT NULL, event text NOT NULL, endpoint_id uuid NOT NULL,
    normalized_url text NOT NULL)`,
  `CREATE FUNCTION simulation_tell() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE endpoint record; name text;
    BEGIN
      FOREACH name IN ARRAY NEW.actions LOOP
        FOR endpoint IN SELECT * FROM webhook_endpoints e WHERE e.deleted_at IS NULL LOOP
          IF NEW.kind || '.' || name = ANY (endpoint.events) AND (
            endpoint.application_id = NEW.application_id
            OR (NEW.application_id IS NULL AND endpoint.account_id = NEW.account_id)
          ) THEN
            INSERT INTO simulation_events VALUES (NEW.id, NEW.kind || '.' || name, endpoint.id, endpoint.normalized_url);
          END IF;
        END LOOP;
      END LOOP;
      RETURN NULL;
    END $$`,
  `CREATE TRIGGER simulation_tell AFTER INSERT ON changes FOR EACH ROW EXECUTE FUNCTION simulation_tell()`
]
