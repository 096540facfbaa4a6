/**
 * PostgreSQL as simulated processes see it: real tables and statements on one real connection, with virtual time, and
 * with the faults of a network in between.
 *
 * Guarantees:
 * - Statements run one at a time, and those of a transaction with no other between them, so that an order of steps has
 *   one outcome.
 * - What a process had open when it died, when its connection broke, or longer than PostgreSQL lets it be idle, is rolled
 *   back; a statement that was sent may run all the same.
 *
 * Not simulated: two transactions that wait for each other's locks. Tests with real processes cover those.
 */
import * as PgClient from "@effect/sql-pg/PgClient"
import type * as PgConnection from "@effect/sql-pg/PgConnection"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Reactivity from "effect/reactivity/Reactivity"
import * as SqlClient from "effect/sql/SqlClient"
import type { Connection } from "effect/sql/SqlConnection"
import { ConnectionError, DeadlockError, SqlError, StatementTimeoutError } from "effect/sql/SqlError"
import * as Stream from "effect/Stream"
import { withAwaitedTransactions } from "../../../src/database/RunToCompletion.ts"
import type { Database } from "./Database.ts"
import type { Machine, Running, Step } from "./Machine.ts"

/** What processes of one simulation share. */
export interface Server {
  /** The clients of a process: what its stores need. */
  readonly clientsOf: (process: Running) => Layer.Layer<SqlClient.SqlClient | PgClient.PgClient>
  /** An outage of PostgreSQL: nothing is reached, and open transactions are rolled back. */
  readonly goAway: (forMs: number) => Promise<void>
  /** Rolls back what a dead process had open, and one that is frozen for too long. */
  readonly reap: () => Promise<void>
  /** Reads from outside, between two statements of the service; undefined while a transaction is open. */
  readonly isQuiet: () => boolean
}

/** A connection that its process holds. */
interface Session {
  readonly process: Running
  isLost: boolean
  /** In a transaction. */
  hasBegun: boolean
}

interface Statement {
  readonly process: Running
  readonly session: Session | undefined
  readonly sql: string
  readonly params: ReadonlyArray<unknown>
}

export const makeServer = (machine: Machine, database: Database): Server => {
  let open: Session | undefined
  let setMs: number | undefined
  let awayUntilMs = 0
  const listeners: Array<{
    readonly process: Running
    readonly queue: Queue.Queue<PgConnection.Notification, SqlError>
  }> = []

  /** Does a statement as PostgreSQL would. */
  const execute = async ({ process, session, sql, params }: Statement) => {
    const now = machine.nowMs()
    // Sent together with the statement.
    const isSet = open !== undefined || setMs === now ? undefined : database.query(SET_NOW, [String(now)])
    if (isSet !== undefined) setMs = now
    const running = database.run(sql, params)
    await isSet
    const exit = await running
    if (session !== undefined) {
      if (sql === "BEGIN") open = session
      else if (sql === "COMMIT" || sql === "ROLLBACK") open = undefined
      session.hasBegun = open === session
    }
    const outcome = Exit.isFailure(exit) ? String(exit.cause).slice(0, 160) : `${exit.value.rowCount}`
    machine.note(process, `${labelOf(sql)} -> ${outcome}`)
    return Exit.isFailure(exit) || exit.value.rows.length < 2 || isOrdered(sql)
      ? exit
      : Exit.succeed(sorted(exit.value))
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
    if (statement.session?.hasBegun === true || !machine.fault("a statement is done after its sender is gone", 0.5))
      return
    machine.park({
      process: undefined,
      what: `on the wire: ${labelOf(statement.sql)}`,
      isReady: () => open === undefined,
      take: async () => {
        await execute(statement)
      }
    })
  }

  const isReady = (session: Session | undefined) =>
    session?.hasBegun === true ? open === session || session.isLost : open === undefined

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
    if (isClaim(sql, exit) && machine.fault("a process is frozen with what it has claimed", 0.04))
      machine.freeze(process)
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
        isReady: () => machine.nowMs() >= slowUntilMs && isReady(session),
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
      if (open === undefined) return
      const { alive, frozenSinceMs = Infinity } = open.process
      if (!alive || machine.nowMs() >= frozenSinceMs + IDLE_TRANSACTION_MS) await lose(open)
    },

    clientsOf: (process) =>
      Layer.effectContext(
        Effect.gen(function* () {
          const client = yield* SqlClient.make({
            acquirer: Effect.succeed(connectionOf(process, undefined)),
            transactionAcquirer: Effect.sync(() => connectionOf(process, { process, isLost: false, hasBegun: false })),
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
          withAwaitedTransactions(pg)
          return Context.make(SqlClient.SqlClient, client).pipe(Context.add(PgClient.PgClient, pg))
        })
      ).pipe(Layer.provide(Reactivity.layer))
  }
}

/** `idle_in_transaction_session_timeout` of the service's connections. */
const IDLE_TRANSACTION_MS = 15_000

const SET_NOW = "SELECT set_config('simulation.now', $1, false)"

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

/** Some claims answer a row without an id where nothing is due. */
const isClaim = (sql: string, exit: Exit.Exit<PgConnection.Result, SqlError>): boolean =>
  Exit.isSuccess(exit) && sql.includes("SKIP LOCKED") && exit.value.rows.some(hasId)

const hasId = (row: unknown) => ((row as { readonly id?: unknown }).id ?? null) !== null

const ordered = new Map<string, boolean>()

/** Whether a statement orders its result. */
const isOrdered = (sql: string): boolean => {
  const known = ordered.get(sql) ?? /ORDER BY[^()]*(\([^()]*\)[^()]*)*$/.test(sql)
  ordered.set(sql, known)
  return known
}

/** Without `ORDER BY`, the order of rows depends on where they are stored, and so on the seeds before. */
const sorted = (result: PgConnection.Result): PgConnection.Result => {
  const keyed = result.rows.map((row) => ({ row, key: Object.values(row).map(String).join(" ") }))
  keyed.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
  return { ...result, rows: keyed.map(({ row }) => row) }
}

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
