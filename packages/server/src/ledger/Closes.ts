/**
 * Daily closes of accounts and bank accounts.
 *
 * Guarantees (OPR-255, OPR-256):
 * - Ten minutes after a day ends, each account and connection with transfers of it gets a close. A day without transfers has none: the
 *   next close begins where the last one ended.
 * - A closed day is complete. Before an account's day is read, its row, on which every posting waits, gets a later day. Of a
 *   connection, the transactions that may have read the earlier day are awaited, up to `MOST_WAITS` times: connections are then
 *   closed in a later round. One long transaction, such as a dump of the database, delays no account.
 * - A day that was not closed in its night is closed in the next round, one close for each day. An account with a closed day whose
 *   close is gone is not closed: the new close would hide what changed in it.
 * - One process at a time closes. An owner that fails is logged and delays no other, whichever statement fails on it; one with many
 *   lines occupies one of `CONCURRENCY` places. `OverdueCloses.ts` counts those that stay.
 * - Memory is that of `LINES_AT_ONCE` lines for each place.
 */
import { NIL_UUID } from "@pix-payments/domain/Uuid"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { SqlClient } from "effect/sql/SqlClient"
import { Ids } from "../base/Ids.ts"
import * as BackgroundLoop from "../base/observability/BackgroundLoop.ts"
import { describeCause } from "../base/observability/SafeCause.ts"
import type { UnknownCursor } from "../base/Errors.ts"
import { dayOf, TODAY } from "../database/statements/Days.ts"
import { type Page, readPage } from "../database/statements/Paging.ts"
import { is } from "../database/statements/Seek.ts"
import { rows, statement, texts, uuids, value } from "../database/statements/Statement.ts"
import { orUnavailable, transientAsUnavailable, type Unavailable } from "../database/Unavailable.ts"
import { CLOSING_LOCK, exclusively } from "../database/AdvisoryLocks.ts"
import { attemptWrite, bisect } from "../database/batching/Bisection.ts"
import { runToCompletion } from "../database/RunToCompletion.ts"
import { afterClose, bookOf, type CloseRow, closeColumns, columns, ownerOf, rowOf } from "./CloseRow.ts"
import { type ClosedDay, type DayStart, openDay } from "./DayDigest.ts"
import { type BooksOf, Lines, type Place, placeAfter } from "./Lines.ts"

export class Closes extends Context.Service<
  Closes,
  {
    /** Closes all days that have ended. Returns how many closes were stored; 0 where another process closes. */
    readonly closeDue: Effect.Effect<number, Unavailable>
    /** The last close of an owner, or the last before a day. */
    readonly last: (of: BooksOf, before?: string) => Effect.Effect<CloseRow | undefined, Unavailable>
    /** The closes of an owner from one day to another, oldest first. */
    readonly between: (of: BooksOf, from: string, to: string) => Effect.Effect<ReadonlyArray<CloseRow>, Unavailable>
    /** How far a statement of these days reaches: to today at most, and whether all of its days have ended and are closed. */
    readonly reach: (of: BooksOf, from: string, to: string) => Effect.Effect<Reach, Unavailable>
    /** The closes of an owner, newest first. */
    readonly list: (of: BooksOf, page: Page) => Effect.Effect<ReadonlyArray<CloseRow>, UnknownCursor | Unavailable>
    /**
     * Days of an owner with transfers, in their order, after a start and up to a day, with their sums and hashes. `each` returns what
     * the next day begins with.
     */
    readonly days: <E, R>(
      of: BooksOf,
      after: { readonly place: Place; readonly start: DayStart },
      through: string,
      each: (closed: ClosedDay) => Effect.Effect<DayStart, E, R>
    ) => Effect.Effect<void, E | Unavailable, R>
  }
>()("@pix-payments/server/Closes") {
  static readonly layer = Layer.effect(
    Closes,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const days = daysOf(yield* Lines)
      const last = lastOf(sql)
      const accounts = yield* closeAccounts
      const connections = yield* closeConnections

      return Closes.of({
        closeDue: Effect.gen(function* () {
          const through = yield* lastEndedDay(sql)
          const closing = Effect.zipWith(accounts(through), connections(through), (one, other) => one + other)
          const connection = yield* sql.reserve
          return Option.getOrElse(yield* exclusively(connection, closing, CLOSING_LOCK), () => 0)
        }).pipe(Effect.scoped, transientAsUnavailable),
        last,
        between: (of, from, to) =>
          orUnavailable(sql.unsafe<CloseRow>(...findBetween({ owner: ownerOf(of), book: bookOf(of), from, to }))),
        reach: (of, from, to) =>
          Effect.map(orUnavailable(sql.unsafe<Reach>(...findReach({ owner: ownerOf(of), from, to }))), ([row]) => row!),
        list: (of, page) =>
          readPage<CloseRow>(
            {
              table: "closes",
              columns,
              paths: [{ columns: [is("owner_id", "uuid", ownerOf(of)), is("book", "text", bookOf(of))] }],
              scope: [(bind) => `owner_id = ${bind(ownerOf(of))}::uuid AND book = ${bind(bookOf(of))}`]
            },
            page
          ).pipe(Effect.provideService(SqlClient, sql), orUnavailable),
        days
      })
    })
  )
}

/** `until` is `yyyy-mm-dd`. */
export interface Reach {
  readonly until: string
  readonly is_closed: boolean
}

/** Closes in the background. */
export const loop = Layer.effectDiscard(
  Closes.use(({ closeDue }) =>
    Effect.forkScoped(BackgroundLoop.run("daily closes", Effect.as(closeDue, 0), Effect.sleep("1 minute")))
  )
)

const daysOf = (lines: Lines["Service"]): Closes["Service"]["days"] =>
  Effect.fnUntraced(function* (of, after, through, each) {
    const book = bookOf(of)
    let { place, start }: { place: Place; start: DayStart } = after
    let open = undefined as ReturnType<typeof openDay> | undefined
    while (true) {
      const read = yield* lines.after(of, place, through, LINES_AT_ONCE)
      for (let first = 0; first < read.length;) {
        const { day } = read[first]!
        const end = read.findIndex((line, index) => index > first && line.day !== day)
        const ofDay = read.slice(first, end < 0 ? read.length : end)
        if (open !== undefined && open.day !== day) {
          start = yield* each(open.close())
          open = undefined
        }
        open ??= openDay(book, ownerOf(of), day, start)
        open.add(ofDay)
        first += ofDay.length
      }
      if (read.length < LINES_AT_ONCE) break
      place = placeAfter(of, read.at(-1)!)
    }
    if (open !== undefined) yield* each(open.close())
  })

const lastOf =
  (sql: SqlClient): Closes["Service"]["last"] =>
  (of, before = "infinity") =>
    Effect.map(
      orUnavailable(sql.unsafe<CloseRow>(...findLast({ owner: ownerOf(of), book: bookOf(of), before }))),
      ([row]) => row
    )

/** An owner whose days are to be closed. */
interface Due {
  readonly of: BooksOf
  /** Of an account: the first day with transfers that is not closed. A bank account has none. */
  readonly openDay: string | null
}

/** Closes the days of owners, each by itself. */
const closeOwners = Effect.gen(function* () {
  const sql = yield* SqlClient
  const ids = yield* Ids
  const days = daysOf(yield* Lines)
  const lastClose = lastOf(sql)

  /** Closes the days of one owner. Its day is raised already. Days before its open day were closed: none of them is closed anew. */
  const closeOwner = Effect.fnUntraced(function* ({ of, openDay }: Due, through: string) {
    const last = yield* lastClose(of)
    let count = 0
    yield* days(of, afterClose(of, last), through, (closed) =>
      Effect.gen(function* () {
        if (openDay !== null && closed.day < openDay)
          return yield* Effect.die(new Error(`${closed.day} was closed, and its close is gone`))
        const { epochMs, id } = ids.next()
        const row = rowOf(closed, { id, owner_id: ownerOf(of), book: bookOf(of), closed_at: epochMs })
        const stored = yield* runToCompletion(sql)(sql.unsafe(...insertClose({ closes: [row] })))
        count += stored.length
        return closed
      })
    )
    if ("accountId" in of) yield* runToCompletion(sql)(sql.unsafe(...reopen({ owner: of.accountId, through })))
    return count
  })

  const closeAll = (owners: ReadonlyArray<Due>, through: string) =>
    Effect.map(
      Effect.forEach(
        owners,
        (due) =>
          Effect.catchCause(closeOwner(due, through), (cause) =>
            Effect.as(logFailure(ownerOf(due.of), describeCause(cause)), 0)
          ),
        { concurrency: CONCURRENCY }
      ),
      (counts) => counts.reduce((sum, count) => sum + count, 0)
    )

  /** Those of the owners whose later postings get a later day. A locked one waits for the next round. */
  const raise = (owners: ReadonlyArray<string>, through: string) =>
    Effect.map(
      bisect(
        owners,
        (some) =>
          attemptWrite(
            sql,
            sql.unsafe<{ owner_id: string; open_day: string | null }>(...raiseDays({ owners: some, through }))
          ),
        (owner, { code }) => logFailure(owner, code)
      ),
      (raised) => raised.flat()
    )

  return { closeAll, raise }
})

const closeAccounts = Effect.gen(function* () {
  const sql = yield* SqlClient
  const { closeAll, raise } = yield* closeOwners

  return Effect.fnUntraced(function* (through: string) {
    let count = 0
    let after = { day: "-infinity", id: NIL_UUID }
    while (true) {
      const due = yield* orUnavailable(
        sql.unsafe<{ owner_id: string; open_day: string }>(...findDue({ through, ...after }))
      )
      if (due.length === 0) return count
      const last = due.at(-1)!
      after = { day: last.open_day, id: last.owner_id }
      const raised = yield* raise(
        due.map(({ owner_id }) => owner_id),
        through
      )
      count += yield* closeAll(
        raised.map(({ open_day, owner_id }) => ({ of: { accountId: owner_id }, openDay: open_day })),
        through
      )
    }
  })
})

const closeConnections = Effect.gen(function* () {
  const sql = yield* SqlClient
  const { closeAll, raise } = yield* closeOwners

  return Effect.fnUntraced(function* (through: string) {
    const due = yield* orUnavailable(sql.unsafe<{ id: string }>(...findDueConnections({ through })))
    if (due.length === 0) return 0
    const raised = yield* raise(
      due.map(({ id }) => id),
      through
    )
    if (!(yield* earlierTransactionsEnd(sql))) {
      yield* Effect.logWarning("bank accounts are closed later: a transaction has been open since before the day ended")
      return 0
    }
    return yield* closeAll(
      raised.map(({ owner_id }) => ({ of: { connectionId: owner_id }, openDay: null })),
      through
    )
  })
})

/** Waits for the transactions that are open now: they may have read the day before it was raised. False where one stays. */
const earlierTransactionsEnd = Effect.fnUntraced(function* (sql: SqlClient) {
  const open = yield* orUnavailable(sql.unsafe<{ id: string }>(openTransactions))
  const ids = open.map(({ id }) => id)
  if (ids.length === 0) return true
  for (let waits = 0; waits < MOST_WAITS; waits++) {
    const [row] = yield* orUnavailable(sql.unsafe<{ some: boolean }>(...areOpen({ ids })))
    if (row?.some !== true) return true
    yield* Effect.sleep("100 millis")
  }
  return false
})

const LINES_AT_ONCE = 5000
const CONCURRENCY = 4
const OWNERS_AT_ONCE = 200
/** 100 ms each. Transactions that post end within 5 s. */
const MOST_WAITS = 60

const logFailure = (ownerId: string, reason: string) =>
  Effect.annotateLogs(Effect.logError("a day could not be closed", reason), { owner_id: ownerId })

/** The last day that had ended at a time, in milliseconds since 1970. */
const lastDayAt = statement(
  { ms: value("double precision") },
  ({ ms }) => `SELECT (${dayOf(`to_timestamp(${ms} / 1000)`)} - 1)::text AS day`
)

/** A day is closed this long after its end. */
export const CLOSED_AFTER_MS = 600_000

/** The last day of the installation's zone that is to be closed now, or was a while ago, which is in milliseconds. */
export const lastEndedDay = Effect.fnUntraced(function* (sql: SqlClient, agoMs = 0) {
  const ms = (yield* Clock.currentTimeMillis) - CLOSED_AFTER_MS - agoMs
  const [row] = yield* orUnavailable(sql.unsafe<{ day: string }>(...lastDayAt({ ms })))
  return row!.day
})

/** Accounts, and connections with money of nobody, that have transfers of ended days. */
const findDue = statement(
  { through: value("text"), day: value("text"), id: value("uuid") },
  ({ day, id, through }) => `
  SELECT owner_id, open_day::text AS open_day FROM ledger_accounts
  WHERE open_day IS NOT NULL AND open_day <= ${through}::date AND (open_day, owner_id) > (${day}::date, ${id})
  ORDER BY open_day, owner_id LIMIT ${OWNERS_AT_ONCE}`
)

/** Connections whose bank moved money after their last close, with the first day of it. */
export const dueConnections = (through: string) => `
  SELECT c.id, due.day FROM acquirer_connections c
  LEFT JOIN LATERAL (
    SELECT day FROM closes WHERE owner_id = c.id AND book = 'bank' ORDER BY owner_id DESC, book DESC, day DESC LIMIT 1
  ) last ON true
  CROSS JOIN LATERAL (
    SELECT t.day FROM ledger_transfers t
    WHERE t.connection_id IS NOT NULL AND (t.connection_id, t.day) > (c.id, coalesce(last.day, '-infinity'))
      AND (t.connection_id, t.day) <= (c.id, ${through}::date)
    ORDER BY t.connection_id, t.day LIMIT 1
  ) due`

const findDueConnections = statement({ through: value("text") }, ({ through }) => dueConnections(through))

/** From its commit on, no posting of these owners, or through these connections, gets a day that is to be closed. */
const raiseDays = statement(
  { owners: uuids, through: value("text") },
  ({ owners, through }) => `
  WITH locked AS MATERIALIZED (
    SELECT owner_id, kind FROM ledger_accounts
    WHERE owner_id = ANY (${owners}) AND kind IN ('available', 'unallocated')
    ORDER BY owner_id FOR NO KEY UPDATE SKIP LOCKED
  )
  UPDATE ledger_accounts l SET day = greatest(l.day, ${through}::date + 1)
  FROM locked WHERE l.owner_id = locked.owner_id AND l.kind = locked.kind
  RETURNING l.owner_id, l.open_day::text AS open_day`
)

/** Of others than this session. An autovacuum, which may last for hours, has no user. */
export const openTransactions = `
  SELECT l.virtualxid AS id FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
  WHERE l.locktype = 'virtualxid' AND l.granted AND l.pid <> pg_backend_pid() AND a.datname = current_database()
    AND a.usesysid IS NOT NULL`

const areOpen = statement(
  { ids: texts },
  ({ ids }) =>
    `SELECT EXISTS (SELECT FROM pg_locks WHERE locktype = 'virtualxid' AND virtualxid = ANY (${ids})) AS some`
)

const insertClose = statement(
  { closes: rows(closeColumns) },
  ({ closes }) => `
  INSERT INTO closes (${Object.keys(closeColumns).join(", ")})
  SELECT ${Object.keys(closeColumns).join(", ")} FROM ${closes} AS c
  ON CONFLICT (owner_id, book, day) DO NOTHING RETURNING id`
)

/** The first day that may have transfers after the closes of an owner. */
const reopen = statement(
  { owner: value("uuid"), through: value("text") },
  ({ owner, through }) => `
  UPDATE ledger_accounts l SET open_day = CASE
    WHEN l.position > coalesce((
      SELECT last_position FROM closes WHERE owner_id = l.owner_id AND book = 'ledger'
      ORDER BY owner_id DESC, book DESC, day DESC LIMIT 1
    ), 0) THEN ${through}::date + 1 END
  WHERE l.owner_id = ${owner} AND l.open_day IS NOT NULL`
)

const findLast = statement(
  { owner: value("uuid"), book: value("text"), before: value("text") },
  ({ before, book, owner }) => `
  SELECT ${columns} FROM closes WHERE owner_id = ${owner} AND book = ${book} AND day < ${before}::date
  ORDER BY owner_id DESC, book DESC, closes.day DESC LIMIT 1`
)

const findBetween = statement(
  { owner: value("uuid"), book: value("text"), from: value("text"), to: value("text") },
  ({ book, from, owner, to }) => `
  SELECT ${columns} FROM closes WHERE owner_id = ${owner} AND book = ${book} AND day >= ${from}::date AND day <= ${to}::date
  ORDER BY owner_id, book, closes.day`
)

const findReach = statement(
  { owner: value("uuid"), from: value("text"), to: value("text") },
  ({ from, owner, to }) => `
  SELECT greatest(${from}::date, least(${to}::date, ${TODAY}))::text AS until,
    ${to}::date < ${TODAY}
      AND NOT EXISTS (SELECT FROM ledger_accounts WHERE owner_id = ${owner} AND kind = 'available' AND open_day <= ${to}::date)
      AND NOT EXISTS (SELECT FROM (${dueConnections(`${to}`)}) c WHERE c.id = ${owner}) AS is_closed`
)
