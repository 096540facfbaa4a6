/**
 * PostgreSQL as simulated processes see it: real tables and statements on one real connection, with virtual time, and
 * with the faults of a wire in between.
 *
 * Guarantees: statements are done one at a time, and a transaction's with no other between them, so that an order of
 * steps has one outcome; `now()` and `uuidv7()` follow the virtual clock; what a process had open when it died, or when
 * its connection broke, is rolled back; what it had sent may be done all the same.
 *
 * What is not here for that: two transactions that wait for each other's locks. Those are tried with real processes.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import * as PgConnection from "@effect/sql-pg/PgConnection"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Reactivity from "effect/reactivity/Reactivity"
import type * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as SqlClient from "effect/sql/SqlClient"
import type { Connection } from "effect/sql/SqlConnection"
import { ConnectionError, DeadlockError, SqlError, StatementTimeoutError } from "effect/sql/SqlError"
import * as Stream from "effect/Stream"
import * as Migrations from "../../../src/sql/Migrations.ts"
import { poison } from "./HostileTenant.ts"
import type { Machine, Running, Step } from "./Machine.ts"

/** The one connection, for whoever looks from outside as well. */
export interface Database {
  readonly query: <A>(sql: string, params?: ReadonlyArray<unknown>) => Promise<ReadonlyArray<A>>
  readonly run: (sql: string, params: ReadonlyArray<unknown>) => Promise<Exit.Exit<PgConnection.Result, SqlError>>
  /** Truncates all tables, as after the migrations. */
  readonly reset: () => Promise<void>
}

/** Migrates an empty database and makes it ready for simulations. */
export const openDatabase = (url: Redacted.Redacted<string>): Effect.Effect<Database, SqlError, Scope.Scope> =>
  Effect.gen(function* () {
    const migrating = yield* Layer.build(PgClient.layer({ url, maxConnections: 3 }))
    yield* Effect.orDie(Effect.provideContext(Migrations.run, migrating))
    const connection = yield* PgConnection.make({
      url,
      startupParameters: {
        search_path: "public, pg_catalog",
        timezone: "UTC",
        // As the service has it.
        enable_seqscan: "off",
        enable_hashjoin: "off",
        enable_mergejoin: "off",
        // The same plan for the same statement, whatever came before; and nobody pulls this plug.
        plan_cache_mode: "force_generic_plan",
        synchronous_commit: "off",
        jit: "off"
      }
    })
    const run: Database["run"] = (sql, params) => Effect.runPromiseExit(connection.query(sql, params))
    const query = async <A>(sql: string, params: ReadonlyArray<unknown> = []) => {
      const exit = await run(sql, params)
      if (Exit.isFailure(exit)) throw new Error(`${sql} fails: ${String(exit.cause)}`)
      return exit.value.rows as unknown as ReadonlyArray<A>
    }
    yield* Effect.promise(async () => {
      for (const statement of preparation) await query(statement)
    })
    const tables = yield* Effect.promise(() =>
      query<{ name: string }>(
        `SELECT quote_ident(relname) AS name FROM pg_class WHERE relnamespace = 'public'::regnamespace
           AND relkind = 'r' AND relname <> 'effect_sql_migrations' ORDER BY relname`
      )
    )
    const truncate = `TRUNCATE ${tables.map(({ name }) => name).join(", ")} RESTART IDENTITY`
    return {
      query,
      run,
      reset: async () => {
        await query("ALTER TABLE ledger_transfers DISABLE TRIGGER ledger_transfers_append_only")
        await query(truncate)
        await query("ALTER TABLE ledger_transfers ENABLE TRIGGER ledger_transfers_append_only")
        await query("SELECT setval('simulation_ids', 1)")
      }
    }
  })

/**
 * What the simulation adds: the virtual clock, and a log, in the order of the commits, of how rows moved and of who was
 * to be told of a change, written by triggers that know nothing of the service.
 */
const preparation = [
  ...poison,
  // Statistics that come at a moment of their own could change a plan, and with it the order of what is made at once.
  `DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema() LOOP
      EXECUTE format('ALTER TABLE %I SET (autovacuum_enabled = off)', name);
    END LOOP; END $$`,
  `CREATE SEQUENCE simulation_ids`,
  `CREATE FUNCTION public.now() RETURNS timestamptz LANGUAGE sql STABLE AS $$
    SELECT to_timestamp(current_setting('simulation.now')::double precision / 1000) $$`,
  `CREATE FUNCTION public.uuidv7() RETURNS uuid LANGUAGE sql VOLATILE AS $$
    SELECT (lpad(to_hex(current_setting('simulation.now')::bigint), 12, '0') || '70008'
      || lpad(to_hex(nextval('simulation_ids')), 15, '0'))::uuid $$`,
  `CREATE TABLE simulation_moves (
    order_no bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, kind text NOT NULL, id uuid NOT NULL, was text,
    is_now text NOT NULL, sequence integer, amount bigint)`,
  // A charge that no acquirer has answered is in `processing`, whatever is stored.
  `CREATE FUNCTION simulation_status(resource jsonb) RETURNS text LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN (resource ->> 'acquirer_answered')::boolean IS FALSE AND resource ->> 'status' = 'pending' THEN 'processing'
      ELSE resource ->> 'status' END $$`,
  `CREATE FUNCTION simulation_move() RETURNS trigger LANGUAGE plpgsql AS $$
    DECLARE is_now text := simulation_status(to_jsonb(NEW));
    BEGIN
      IF TG_OP = 'INSERT' THEN
        INSERT INTO simulation_moves (kind, id, is_now, sequence) VALUES (TG_TABLE_NAME, NEW.id, is_now, NEW.sequence);
      ELSIF is_now <> simulation_status(to_jsonb(OLD)) OR NEW.sequence <> OLD.sequence THEN
        INSERT INTO simulation_moves (kind, id, was, is_now, sequence)
          VALUES (TG_TABLE_NAME, NEW.id, simulation_status(to_jsonb(OLD)), is_now, NEW.sequence);
      END IF;
      RETURN NULL;
    END $$`,
  ...["charges", "payouts", "disputes"].map(
    (table) =>
      `CREATE TRIGGER simulation_move AFTER INSERT OR UPDATE ON ${table} FOR EACH ROW EXECUTE FUNCTION simulation_move()`
  ),
  `CREATE FUNCTION simulation_release() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF NEW.released_at IS NOT NULL AND OLD.released_at IS NULL AND NEW.amount = OLD.amount THEN
        INSERT INTO simulation_moves (kind, id, is_now, amount) VALUES ('releases', NEW.charge_id, 'released', NEW.amount);
      END IF;
      RETURN NULL;
    END $$`,
  `CREATE TRIGGER simulation_release AFTER UPDATE ON releases FOR EACH ROW EXECUTE FUNCTION simulation_release()`,
  // A refund takes its money with the order, before the charge moves.
  `CREATE FUNCTION simulation_order() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF NEW.kind = 'refund' AND (TG_OP = 'INSERT' OR NEW.state <> OLD.state) THEN
        INSERT INTO simulation_moves (kind, id, was, is_now, amount)
          VALUES ('orders', NEW.charge_id, CASE WHEN TG_OP = 'UPDATE' THEN OLD.state END, NEW.state, NEW.amount);
      END IF;
      RETURN NULL;
    END $$`,
  `CREATE TRIGGER simulation_order AFTER INSERT OR UPDATE ON acquirer_orders
    FOR EACH ROW EXECUTE FUNCTION simulation_order()`,
  `CREATE FUNCTION simulation_acceptance() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF NEW.action = 'accept' AND OLD.action IS DISTINCT FROM 'accept' THEN
        INSERT INTO simulation_moves (kind, id, is_now, amount) VALUES ('exceptions', NEW.id, 'accepted', OLD.unallocated);
      END IF;
      RETURN NULL;
    END $$`,
  `CREATE TRIGGER simulation_acceptance AFTER UPDATE ON acquirer_exceptions
    FOR EACH ROW EXECUTE FUNCTION simulation_acceptance()`,
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
  `CREATE TABLE simulation_told (change_id uuid NOT NULL, event text NOT NULL, endpoint_id uuid NOT NULL,
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
            INSERT INTO simulation_told VALUES (NEW.id, NEW.kind || '.' || name, endpoint.id, endpoint.normalized_url);
          END IF;
        END LOOP;
      END LOOP;
      RETURN NULL;
    END $$`,
  `CREATE TRIGGER simulation_tell AFTER INSERT ON changes FOR EACH ROW EXECUTE FUNCTION simulation_tell()`
]

/** What processes of one simulation share. */
export interface Server {
  /** The clients of a process: what its stores need. */
  readonly clientsOf: (process: Running) => Layer.Layer<SqlClient.SqlClient | PgClient.PgClient>
  /** An outage of PostgreSQL: nothing is reached, and open transactions are rolled back. */
  readonly goAway: (forMs: number) => Promise<void>
  /** Rolls back what a dead process had open. */
  readonly reap: () => Promise<void>
  /** Reads from outside, between two statements of the service; undefined while a transaction is open. */
  readonly isQuiet: () => boolean
}

/** A connection that a transaction holds. */
interface Session {
  readonly process: Running
  isLost: boolean
}

interface Statement {
  readonly process: Running
  readonly session: Session | undefined
  readonly sql: string
  readonly params: ReadonlyArray<unknown>
}

export const makeServer = (machine: Machine, database: Database): Server => {
  let open: Session | undefined
  let toldMs: number | undefined
  let awayUntilMs = 0
  const listeners: Array<{
    readonly process: Running
    readonly queue: Queue.Queue<PgConnection.Notification, SqlError>
  }> = []

  /** Does a statement as PostgreSQL would. */
  const execute = async ({ process, session, sql, params }: Statement) => {
    const now = machine.nowMs()
    if (open === undefined && toldMs !== now) {
      await database.query("SELECT set_config('simulation.now', $1, false)", [String(now)])
      toldMs = now
    }
    const exit = await database.run(sql, params)
    if (session !== undefined) {
      if (sql === "BEGIN") open = session
      else if (sql === "COMMIT" || sql === "ROLLBACK") open = undefined
    }
    const outcome = Exit.isFailure(exit) ? String(exit.cause).slice(0, 160) : `${exit.value.rowCount}`
    machine.note(process, `${labelOf(sql)} -> ${outcome}`)
    return exit
  }

  /** The connection is gone, and with it what was not committed. */
  const lose = async (session: Session) => {
    session.isLost = true
    if (open !== session) return
    open = undefined
    await database.query("ROLLBACK")
  }

  /** A statement whose caller is gone: it may run all the same. */
  const onTheWire = (statement: Statement) => {
    if (statement.session !== undefined || !machine.fault("a statement is done after its sender is gone", 0.5)) return
    machine.park({
      process: undefined,
      what: `on the wire: ${labelOf(statement.sql)}`,
      isReady: () => open === undefined,
      take: async () => {
        await execute(statement)
      }
    })
  }

  const isReady = (session: Session | undefined, sql: string) =>
    session === undefined || sql === "BEGIN" ? open === undefined : open === session || session.isLost

  const take = async (statement: Statement, resume: (exit: Exit.Exit<PgConnection.Result, SqlError>) => void) => {
    const { process, session, sql } = statement
    const answer = (exit: Exit.Exit<PgConnection.Result, SqlError>) => machine.as(process, () => resume(exit))
    if (session?.isLost === true) return answer(connectionLost)
    const lost = async (how: string) => {
      machine.note(process, `${labelOf(sql)} -> ${how}`)
      if (session !== undefined) await lose(session)
      answer(connectionLost)
    }
    if (machine.nowMs() < awayUntilMs) return lost("the database is away")
    if (machine.fault("a connection is lost before the statement", 0.012)) return lost("lost before")
    if (sql !== "ROLLBACK" && machine.fault("a statement fails", 0.01)) {
      if (session !== undefined && sql === "COMMIT") await lose(session)
      machine.note(process, `${labelOf(sql)} -> fails`)
      return answer(machine.pick([timedOut, deadlock]))
    }
    const exit = await execute(statement)
    if (machine.fault(sql === "COMMIT" ? "a commit's answer is lost" : "a statement's answer is lost", 0.02)) {
      return lost("its answer is lost")
    }
    answer(exit)
  }

  const statement = (process: Running, session: Session | undefined, sql: string, params: ReadonlyArray<unknown>) =>
    Effect.callback<PgConnection.Result, SqlError>((resume) => {
      const one: Statement = { process, session, sql, params }
      let slowUntilMs = 0
      if (machine.fault("a statement is slow", 0.004)) {
        slowUntilMs = machine.nowMs() + 500 + machine.below(9000)
        machine.after(undefined, slowUntilMs - machine.nowMs(), () => {})
      }
      const step: Step = machine.park({
        process,
        what: labelOf(sql),
        isReady: () => machine.nowMs() >= slowUntilMs && isReady(session, sql),
        take: () => take(one, resume),
        orphaned: () => onTheWire(one)
      })
      return Effect.sync(() => {
        if (machine.withdraw(step)) onTheWire(one)
      })
    })

  const connectionOf = (process: Running, session: Session | undefined): Connection => {
    const raw = (sql: string, params: ReadonlyArray<unknown>) => statement(process, session, sql, params)
    const rows = (sql: string, params: ReadonlyArray<unknown>) => Effect.map(raw(sql, params), (result) => result.rows)
    const never = () => Effect.die(new Error("the service asks for something that this connection does not know"))
    return {
      execute: rows,
      executeUnprepared: rows,
      executeRaw: raw,
      executeValues: never,
      executeValuesUnprepared: never,
      executeStream: () => Stream.die(new Error("nothing is streamed here"))
    }
  }

  return {
    isQuiet: () => open === undefined,

    goAway: async (forMs) => {
      awayUntilMs = machine.nowMs() + forMs
      machine.note(undefined, `the database goes away for ${forMs} ms`)
      if (open !== undefined) await lose(open)
      for (const { process, queue } of listeners.splice(0)) {
        machine.as(process, () => void Queue.failCauseUnsafe(queue, Cause.fail(connectionLostError)))
      }
      await machine.settle()
    },

    reap: async () => {
      if (open?.process.alive === false) await lose(open)
    },

    clientsOf: (process) =>
      Layer.effectContext(
        Effect.gen(function* () {
          const client = yield* SqlClient.make({
            acquirer: Effect.succeed(connectionOf(process, undefined)),
            transactionAcquirer: Effect.sync(() => connectionOf(process, { process, isLost: false })),
            compiler: PgClient.makeCompiler(),
            driver: "pg",
            spanAttributes: [],
            prepareTransactionControls: true,
            releaseSavepoint: (name) => `RELEASE SAVEPOINT ${name}`
          })
          const pg: PgClient.PgClient = Object.assign(client, {
            [PgClient.TypeId]: PgClient.TypeId,
            config: {},
            json: () => {
              throw new Error("nobody asks for this")
            },
            listen: () =>
              Effect.gen(function* () {
                if (machine.nowMs() < awayUntilMs) return yield* connectionLost
                const queue = yield* Queue.make<PgConnection.Notification, SqlError>()
                listeners.push({ process, queue })
                return queue
              }),
            notify: (channel: string, payload: string) =>
              Effect.callback<void, SqlError>((resume) => {
                const step = machine.park({
                  process,
                  what: "NOTIFY",
                  take: () => {
                    const isLost = machine.nowMs() < awayUntilMs || machine.fault("a notification is lost", 0.05)
                    machine.note(process, `NOTIFY -> ${isLost ? "lost" : "sent"}`)
                    for (const listener of isLost ? [] : listeners) {
                      machine.as(listener.process, () =>
                        Queue.offerUnsafe(listener.queue, { processId: 0, channel, payload })
                      )
                    }
                    machine.as(process, () => resume(isLost ? connectionLost : Effect.void))
                  }
                })
                return Effect.sync(() => machine.withdraw(step))
              })
          })
          return Context.make(SqlClient.SqlClient, client).pipe(Context.add(PgClient.PgClient, pg))
        })
      ).pipe(Layer.provide(Reactivity.layer))
  }
}

// As the driver says it.
const connectionLostError = new SqlError({
  reason: new ConnectionError({
    cause: new Error("Connection terminated unexpectedly"),
    message: "PgConnection: Connection terminated unexpectedly",
    operation: "query"
  })
})
const connectionLost = Exit.fail(connectionLostError)
const timedOut = Exit.fail(
  new SqlError({
    reason: new StatementTimeoutError({ cause: { code: "57014" }, message: "canceled", operation: "query" })
  })
)
const deadlock = Exit.fail(
  new SqlError({ reason: new DeadlockError({ cause: { code: "40P01" }, message: "deadlock", operation: "query" }) })
)

const labels = new Map<string, string>()

/** A statement as a history shows it: its verb and its first table. */
const labelOf = (sql: string): string => {
  const known = labels.get(sql)
  if (known !== undefined) return known
  const flat = sql.replace(/\s+/g, " ").trim()
  const [, verb, table] = /(INSERT INTO|UPDATE|DELETE FROM|FROM) ([a-z_]+)/.exec(flat) ?? []
  const label =
    verb === undefined ? flat.slice(0, 60) : `${flat.split(" ")[0]} ${verb} ${table}`.replace(/^(\w+) \1/, "$1")
  labels.set(sql, label)
  return label
}
