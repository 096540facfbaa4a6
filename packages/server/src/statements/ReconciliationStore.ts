/**
 * Comparisons of bank accounts' days in PostgreSQL: what is due, what they need of the bank's lines, and what they found.
 *
 * Guarantees:
 * - A day of a bank account is one row. It is compared when asked, after a file with new lines of it, after a file of it where only the
 *   books have something, and daily while it has unmatched lines, for `DAYS_AGAIN` days.
 * - A day is leased to one process at a time. When its lease has expired, another process compares it.
 * - What was found replaces what was found before, in one commit.
 *
 * Rules: OPR-277 to OPR-280.
 */
import { type LineState, type ReconciliationStatus, unmatchedStates } from "@pix-payments/domain/Reconciliation"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { NotFoundError, type UnknownCursor } from "../base/Errors.ts"
import { Ids } from "../base/Ids.ts"
import { runToCompletion } from "../database/RunToCompletion.ts"
import { bigint, json, nullable, text, uuid } from "../database/statements/Column.ts"
import { startOf, TODAY } from "../database/statements/Days.ts"
import { type Page, readPage } from "../database/statements/Paging.ts"
import { equals } from "../database/statements/Condition.ts"
import { everyValue, is } from "../database/statements/Seek.ts"
import { rows, statement, value } from "../database/statements/Statement.ts"
import { orUnavailable, type Unavailable } from "../database/Unavailable.ts"
import type { BankDay } from "./BankDays.ts"
import { differenceOf, type Entry } from "./FourLegs.ts"

/** Count and cents of the difference of the lines in a state. */
export type StateSums = Readonly<Partial<Record<LineState, { readonly count: number; readonly difference: number }>>>

export interface ReconciliationRow {
  readonly id: string
  readonly connection_id: string
  readonly day: string
  readonly status: ReconciliationStatus
  readonly reason: string | null
  readonly opening: bigint | null
  readonly closing: bigint | null
  readonly bank_total: bigint
  readonly books_total: bigint
  readonly states: StateSums
  readonly lines_left_out: number
  readonly balance_at: Date | null
  readonly balance: bigint | null
  readonly balance_books: bigint | null
  readonly balance_before: bigint | null
  readonly balance_problem: string | null
  readonly done_at: Date | null
  readonly created_at: Date
}

export interface ReconciliationLineRow {
  readonly id: string
  readonly day: string
  readonly age_days: number
  readonly state: LineState
  readonly difference: bigint
  readonly bank_line_id: string | null
  readonly bank_day: string | null
  readonly bank_amount: bigint | null
  readonly books_day: string | null
  readonly books_amount: bigint | null
  readonly transfer_id: string | null
  readonly source_object: string | null
  readonly source_id: string | null
  readonly account_id: string | null
  readonly end_to_end_id: string | null
  readonly description: string | null
  readonly suggestions: ReadonlyArray<Suggestion>
}

export interface Suggestion {
  readonly object: string
  readonly id: string
  readonly amount: number
  readonly day: string
}

/** A day that is due. */
export interface DueDay {
  readonly id: string
  readonly bankAccount: string
  readonly day: string
  /** The moment until which it is claimed: another one when it was asked for, or claimed, since. */
  readonly claimedUntil: string
}

export interface Unmatched {
  readonly lines: number
  readonly cents: number
  /** Seconds since the end of the oldest day with such a line. */
  readonly oldestSeconds: number
}

export class ReconciliationStore extends Context.Service<
  ReconciliationStore,
  {
    /** Makes a day due now. */
    readonly request: (bankAccount: string, day: string) => Effect.Effect<ReconciliationRow, Unavailable>
    /** Makes the days due of which a file has new lines, and those of its days on which only the books have something. */
    readonly requestOf: (statementId: string) => Effect.Effect<void, Unavailable>
    readonly claim: (limit: number) => Effect.Effect<ReadonlyArray<DueDay>, Unavailable>
    /** What was compared, unless the day was asked for or claimed since. `isSoon`: it is due again in an hour. */
    readonly done: (
      due: DueDay,
      bank: Pick<BankDay, "opening" | "closing">,
      entries: ReadonlyArray<Entry>,
      isSoon: boolean
    ) => Effect.Effect<void, Unavailable>
    readonly failed: (due: DueDay, reason: string, isSoon: boolean) => Effect.Effect<void, Unavailable>
    /** Ids of Pix of the client's other keys, as the day's last comparison found them. */
    readonly otherKeys: (due: DueDay) => Effect.Effect<ReadonlySet<string>, Unavailable>
    readonly get: (id: string) => Effect.Effect<ReconciliationRow, NotFoundError | Unavailable>
    readonly list: (
      bankAccount: string | undefined,
      page: Page
    ) => Effect.Effect<ReadonlyArray<ReconciliationRow>, UnknownCursor | Unavailable>
    readonly lines: (
      reconciliationId: string,
      state: LineState | undefined,
      page: Page
    ) => Effect.Effect<ReadonlyArray<ReconciliationLineRow>, UnknownCursor | Unavailable>
    readonly unmatched: Effect.Effect<Unmatched, Unavailable>
  }
>()("@pix-payments/server/ReconciliationStore") {
  static readonly layer = Layer.effect(
    ReconciliationStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const ids = yield* Ids
      const write = runToCompletion(sql)

      return ReconciliationStore.of({
        ...dueDays(sql, ids),

        done: (due, { closing, opening }, entries, isSoon) => {
          const shown = entries.filter(({ state }) => state !== "matched")
          const stored = shown.slice(0, MOST_LINES)
          const sumOf = (side: "bank" | "books") =>
            entries.reduce((sum, { [side]: of }) => sum + (of?.day === due.day ? of.amount : 0), 0)
          return write(
            sql.withTransaction(
              Effect.gen(function* () {
                const claimed = yield* sql`SELECT id FROM reconciliations
                  WHERE id = ${due.id}::uuid AND due_at = ${due.claimedUntil}::timestamptz FOR UPDATE`
                if (claimed.length === 0) return
                yield* sql`DELETE FROM reconciliation_lines WHERE reconciliation_id = ${due.id}::uuid`
                yield* sql.unsafe(
                  ...insertLines({
                    reconciliationId: due.id,
                    day: due.day,
                    lines: stored.map((entry) => ({ ...storedOf(entry, due.day), id: ids.next().id }))
                  })
                )
                const hasUnmatched = shown.some(({ state }) => isUnmatched.has(state))
                yield* sql`UPDATE reconciliations SET status = 'done', reason = NULL, opening = ${opening}::bigint,
                  closing = ${closing}::bigint, bank_total = ${sumOf("bank")}::bigint, books_total = ${sumOf("books")}::bigint,
                  states = ${JSON.stringify(sumsOf(entries, due.day))}::json, lines_left_out = ${shown.length - stored.length}::integer,
                  done_at = now(),
                  due_at = CASE WHEN ${isSoon}::boolean THEN now() + interval '1 hour'
                    WHEN ${hasUnmatched}::boolean AND day > ${sql.literal(TODAY)} - ${DAYS_AGAIN}::integer
                    THEN now() + interval '24 hours' END
                  WHERE id = ${due.id}::uuid`
              })
            )
          )
        },

        failed: (due, reason, isSoon) =>
          Effect.asVoid(
            write(sql`UPDATE reconciliations SET status = 'failed', reason = ${reason}, done_at = now(),
              due_at = CASE WHEN ${isSoon}::boolean THEN now() + interval '1 hour' WHEN day > ${sql.literal(TODAY)} - ${DAYS_AGAIN}::integer THEN now() + interval '24 hours' END
              WHERE id = ${due.id}::uuid AND due_at = ${due.claimedUntil}::timestamptz`)
          ),

        otherKeys: ({ id }) =>
          Effect.map(
            orUnavailable(sql<{ name: string }>`SELECT end_to_end_id AS name FROM reconciliation_lines
              WHERE reconciliation_id = ${id}::uuid AND state = 'other_key' AND end_to_end_id IS NOT NULL`),
            (rows) => new Set(rows.map(({ name }) => name))
          ),

        ...comparisons(sql)
      })
    })
  )
}

/** Of a day, the lines that are stored beside those that match. */
export const MOST_LINES = 10_000

/** When a day is compared. */
const dueDays = (
  sql: SqlClient,
  ids: Ids["Service"]
): Pick<ReconciliationStore["Service"], "request" | "requestOf" | "claim"> => ({
  request: (bankAccount, day) =>
    runToCompletion(sql)(
      Effect.map(
        sql<ReconciliationRow>`
          INSERT INTO reconciliations (id, connection_id, day, status, due_at, created_at)
          VALUES (${ids.next().id}::uuid, ${bankAccount}::uuid, ${day}::date, 'requested', now(), now())
          ON CONFLICT (connection_id, day) DO UPDATE SET status = 'requested', due_at = now()
          RETURNING ${sql.literal(columns)}`,
        ([row]) => row!
      )
    ),

  requestOf: (statementId) =>
    runToCompletion(sql)(
      Effect.gen(function* () {
        // A line may pair with a movement of the day before or after. The newest day has the highest id.
        const days = yield* sql<{ connection_id: string; day: string }>`
          SELECT l.connection_id, l.day::text AS day
          FROM (
            SELECT DISTINCT connection_id, day + around AS day
            FROM bank_statement_lines, generate_series(-1, 1) AS around
            WHERE statement_id = ${statementId}::uuid
            UNION
            SELECT connection_id, to_day FROM bank_statements WHERE id = ${statementId}::uuid
            UNION
            -- Days on which the books alone have something, unless they were compared after they ended, and with the day after them.
            SELECT s.connection_id, d.day::date
            FROM bank_statements s, generate_series(greatest(s.from_day, s.to_day - 366), s.to_day, interval '1 day') AS d (day)
            WHERE s.id = ${statementId}::uuid
              AND EXISTS (SELECT FROM ledger_transfers t
                WHERE t.connection_id IS NOT NULL AND t.day = d.day::date AND t.connection_id = ANY (ARRAY(
                  SELECT s.connection_id UNION SELECT other.connection_id
                  FROM connection_keys own JOIN connection_keys other ON other.client = own.client
                  WHERE own.connection_id = s.connection_id)))
              AND NOT EXISTS (SELECT FROM reconciliations r
                WHERE r.connection_id = s.connection_id AND r.day = d.day::date AND r.status = 'done'
                  AND r.done_at >= ${sql.literal(startOf("(r.day + 1)"))} AND r.states -> 'timing' IS NULL)
          ) l
          WHERE EXISTS (SELECT FROM bank_statements s
            WHERE s.connection_id = l.connection_id AND l.day BETWEEN s.from_day AND s.to_day)
            OR EXISTS (SELECT FROM bank_statement_lines own WHERE own.connection_id = l.connection_id AND own.day = l.day)
          ORDER BY l.day`
        yield* sql.unsafe(
          ...insertDays({
            days: days.map(({ connection_id, day }) => ({ id: ids.next().id, connectionId: connection_id, day }))
          })
        )
      })
    ),

  claim: (limit) =>
    runToCompletion(sql)(
      sql<DueDay>`
        UPDATE reconciliations SET due_at = now() + interval '1 hour'
        WHERE id IN (
          SELECT id FROM reconciliations WHERE due_at <= now() ORDER BY due_at LIMIT ${limit}::integer FOR UPDATE SKIP LOCKED
        )
        RETURNING id, connection_id AS "bankAccount", day::text AS day, due_at::text AS "claimedUntil"`
    )
})

/** What comparisons found. */
const comparisons = (sql: SqlClient): Pick<ReconciliationStore["Service"], "get" | "list" | "lines" | "unmatched"> => ({
  get: (id) =>
    Effect.flatMap(
      orUnavailable(sql.unsafe<ReconciliationRow>(`SELECT ${columns} FROM reconciliations WHERE id = $1::uuid`, [id])),
      ([row]) => (row === undefined ? Effect.fail(new NotFoundError()) : Effect.succeed(row))
    ),

  list: (bankAccount, page) =>
    readPage<ReconciliationRow>(
      {
        table: "reconciliations",
        columns,
        ...(bankAccount !== undefined && { paths: [{ columns: [is("connection_id", "uuid", bankAccount)] }] })
      },
      page
    ).pipe(Effect.provideService(SqlClient, sql), orUnavailable),

  lines: (reconciliationId, state, page) =>
    readPage<ReconciliationLineRow>(
      {
        table: "reconciliation_lines",
        columns: lineColumns,
        scope: [equals("reconciliation_id", "uuid", reconciliationId)],
        paths: [
          {
            columns: [
              is("reconciliation_id", "uuid", reconciliationId),
              ...(state === undefined ? [everyValue("state", "text")] : [is("state", "text", state)])
            ]
          }
        ]
      },
      page
    ).pipe(Effect.provideService(SqlClient, sql), orUnavailable),

  unmatched: Effect.map(
    orUnavailable(sql.unsafe<{ lines: number; cents: bigint; oldest: number }>(sumUnmatched)),
    ([row]) => ({
      lines: row?.lines ?? 0,
      cents: Number(row?.cents ?? 0),
      oldestSeconds: Math.floor(row?.oldest ?? 0)
    })
  )
})

/**
 * The lines that differ, and the balances by API that changed where no statement says why: until the day's readings have ended, and
 * for a day more. From then on the change is money of the owner.
 */
const sumUnmatched = `
  SELECT count(*)::integer AS lines, coalesce(sum(abs(difference)), 0)::bigint AS cents,
    coalesce(greatest(0, extract(epoch FROM now() - ${startOf("(min(day) + 1)")})), 0)::float8 AS oldest
  FROM (
    (SELECT day, difference FROM reconciliation_lines
    WHERE state IN (${unmatchedStates.map((state) => `'${state}'`).join(", ")}) LIMIT 100000)
    UNION ALL
    SELECT r.day, r.balance - r.balance_books - r.balance_before
    FROM acquirer_connections c JOIN reconciliations r ON r.connection_id = c.id AND r.day >= ${TODAY} - 2
    WHERE r.status = 'failed' AND r.balance - r.balance_books <> r.balance_before
  ) AS unmatched`

/** For how many days a day with unmatched lines is compared daily. */
const DAYS_AGAIN = 90

const isUnmatched: ReadonlySet<LineState> = new Set(unmatchedStates)

const sumsOf = (entries: ReadonlyArray<Entry>, day: string): StateSums => {
  const sums: Partial<Record<LineState, { count: number; difference: number }>> = {}
  for (const entry of entries) {
    const sum = (sums[entry.state] ??= { count: 0, difference: 0 })
    sum.count += 1
    sum.difference += differenceOf(entry, day)
  }
  return sums
}

const storedOf = ({ bank, books, resource, state, suggestions }: Entry, day: string) => {
  const source = books?.source ?? resource
  return {
    state,
    difference: differenceOf({ bank, books }, day),
    bankLineId: bank?.id ?? null,
    bankDay: bank?.day ?? null,
    bankAmount: bank?.amount ?? null,
    booksDay: books?.day ?? null,
    booksAmount: books?.amount ?? null,
    transferId: books?.id ?? null,
    sourceObject: source?.object ?? null,
    sourceId: source?.id ?? null,
    accountId: books?.accountId ?? null,
    endToEndId: bank?.endToEndId ?? books?.ids[0] ?? null,
    description: bank?.description ?? null,
    suggestions: suggestions.map(({ amount, day: of, source: { id, object } }): Suggestion => ({
      object,
      id,
      amount,
      day: of
    }))
  }
}

const columns = `id, connection_id, day::text AS day, status, reason, opening, closing, bank_total, books_total, states, lines_left_out,
  balance_at, balance, balance_books, balance_before, balance_problem, done_at, created_at`

const lineColumns = `id, day::text AS day, ${TODAY} - day AS age_days, state, difference, bank_line_id, bank_day::text AS bank_day,
  bank_amount, books_day::text AS books_day, books_amount, transfer_id, source_object, source_id, account_id, end_to_end_id, description,
  suggestions`

const insertDays = statement(
  { days: rows({ id: uuid(), connectionId: uuid(), day: text() }) },
  ({ days }) => `
  INSERT INTO reconciliations (id, connection_id, day, status, due_at, created_at)
  SELECT id, connection_id, day::date, 'requested', now(), now() FROM ${days} AS d
  ON CONFLICT (connection_id, day) DO UPDATE SET status = 'requested', due_at = now()`
)

const insertLines = statement(
  {
    reconciliationId: value("uuid"),
    day: value("text"),
    lines: rows({
      id: uuid(),
      state: text<LineState>(),
      difference: bigint(),
      bankLineId: nullable(uuid()),
      bankDay: nullable(text()),
      bankAmount: nullable(bigint()),
      booksDay: nullable(text()),
      booksAmount: nullable(bigint()),
      transferId: nullable(uuid()),
      sourceObject: nullable(text()),
      sourceId: nullable(uuid()),
      accountId: nullable(uuid()),
      endToEndId: nullable(text()),
      description: nullable(text()),
      suggestions: json<ReadonlyArray<Suggestion>>()
    })
  },
  ({ day, lines, reconciliationId }) => `
  INSERT INTO reconciliation_lines (id, reconciliation_id, day, state, difference, bank_line_id, bank_day, bank_amount, books_day,
    books_amount, transfer_id, source_object, source_id, account_id, end_to_end_id, description, suggestions)
  SELECT id, ${reconciliationId}, ${day}::date, state, difference, bank_line_id, bank_day::date, bank_amount, books_day::date,
    books_amount, transfer_id, source_object, source_id, account_id, end_to_end_id, description, suggestions
  FROM ${lines} AS l`
)
