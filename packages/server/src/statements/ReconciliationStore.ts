/**
 * What comparisons of bank accounts' days found, in PostgreSQL, and how people explained it.
 *
 * Guarantees:
 * - What was found replaces what was found before, in one commit.
 * - A line of the same sides, in the same state, with the same difference is the same line: it keeps its id, and what a person explained.
 * - At most `MOST_LINES` are kept that somebody has to look at, and as many others.
 *
 * Rules: OPR-277, OPR-278, OPR-282.
 */
import { type LineState, unmatchedStates } from "@pix-payments/domain/Reconciliation"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { InvalidStateError, NotFoundError, type UnknownCursor } from "../base/Errors.ts"
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
import { columns, DAYS_AGAIN, type DueDay, type ReconciliationRow, type StateSums } from "./ReconciliationDays.ts"

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
  readonly explanation: string | null
}

export interface Suggestion {
  readonly object: string
  readonly id: string
  readonly amount: number
  readonly day: string
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
    /**
     * What was compared, unless the day was asked for or claimed since. It is due again in an hour where `isSoon`, or where look-ups are
     * left behind `lookedUpTo`, which has moved.
     */
    readonly done: (
      due: DueDay,
      bank: Pick<BankDay, "opening" | "closing">,
      entries: ReadonlyArray<Entry>,
      left: { readonly isSoon: boolean; readonly lookedUpTo: string | null }
    ) => Effect.Effect<void, Unavailable>
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
    /**
     * Explains a line of a day that does not match; null: it is not explained any more. `record` is in the same commit. Fails with
     * `InvalidStateError` where nobody has to look at the line.
     */
    readonly explain: <R>(
      reconciliationId: string,
      lineId: string,
      explanation: string | null,
      record: (line: ReconciliationLineRow) => Effect.Effect<void, SqlError, R>
    ) => Effect.Effect<ReconciliationLineRow, InvalidStateError | NotFoundError | Unavailable, R>
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
        done: (due, { closing, opening }, entries, { isSoon, lookedUpTo }) => {
          const shown = entries.filter(({ state }) => state !== "matched")
          const most = (isDiffering: boolean) =>
            shown.filter(({ state }) => isUnmatched.has(state) === isDiffering).slice(0, MOST_LINES)
          // The newest id is shown first.
          const stored = [...most(true), ...most(false)].toReversed()
          const sumOf = (side: "bank" | "books") =>
            entries.reduce((sum, { [side]: of }) => sum + (of?.day === due.day ? of.amount : 0), 0)
          return write(
            sql.withTransaction(
              Effect.gen(function* () {
                const claimed = yield* sql`SELECT id FROM reconciliations
                  WHERE id = ${due.id}::uuid AND due_at = ${due.claimedUntil}::timestamptz FOR UPDATE`
                if (claimed.length === 0) return
                const before = new Map(
                  (yield* sql.unsafe<KnownLine>(findKnown, [due.id])).map((line) => [lineKey(line), line])
                )
                const lines = stored
                  .map((entry) => storedOf(entry, due.day))
                  .map((line) => {
                    const { explanation = null, id = ids.next().id } = before.get(lineKey(line)) ?? {}
                    return { ...line, id, explanation }
                  })
                yield* sql`DELETE FROM reconciliation_lines WHERE reconciliation_id = ${due.id}::uuid`
                yield* sql.unsafe(...insertLines({ reconciliationId: due.id, day: due.day, lines }))
                const unmatched =
                  shown.filter(({ state }) => isUnmatched.has(state)).length -
                  lines.filter(({ explanation }) => explanation !== null).length
                yield* sql`UPDATE reconciliations SET status = 'done', reason = NULL, opening = ${opening}::bigint,
                  closing = ${closing}::bigint, bank_total = ${sumOf("bank")}::bigint, books_total = ${sumOf("books")}::bigint,
                  states = ${JSON.stringify(sumsOf(entries, due.day))}::json, unmatched = ${unmatched}::integer,
                  lines_left_out = ${shown.length - stored.length}::integer, done_at = now(), looked_up_to = ${lookedUpTo},
                  due_at = CASE
                    WHEN ${isSoon || (lookedUpTo !== null && lookedUpTo !== due.lookedUpTo)}::boolean THEN now() + interval '1 hour'
                    WHEN ${unmatched > 0}::boolean AND day > ${sql.literal(TODAY)} - ${DAYS_AGAIN}::integer
                    THEN now() + interval '24 hours' END
                  WHERE id = ${due.id}::uuid`
              })
            )
          )
        },

        otherKeys: ({ id }) =>
          Effect.map(
            orUnavailable(sql<{ name: string }>`SELECT end_to_end_id AS name FROM reconciliation_lines
              WHERE reconciliation_id = ${id}::uuid AND state = 'other_key' AND end_to_end_id IS NOT NULL`),
            (rows) => new Set(rows.map(({ name }) => name))
          ),

        explain: (reconciliationId, lineId, explanation, record) =>
          write(
            sql.withTransaction(
              Effect.gen(function* () {
                yield* sql`SELECT FROM reconciliations WHERE id = ${reconciliationId}::uuid FOR UPDATE`
                const [before] = yield* sql<{ state: LineState; explanation: string | null }>`
                  SELECT state, explanation FROM reconciliation_lines
                  WHERE id = ${lineId}::uuid AND reconciliation_id = ${reconciliationId}::uuid`
                if (before === undefined) return yield* new NotFoundError()
                if (!isUnmatched.has(before.state)) return yield* new InvalidStateError({ status: before.state })
                const [line] = yield* sql<ReconciliationLineRow>`
                  UPDATE reconciliation_lines SET explanation = ${explanation}::text WHERE id = ${lineId}::uuid
                  RETURNING ${sql.literal(lineColumns)}`
                const more = Number(explanation === null) - Number(before.explanation === null)
                // A day that nothing was left of to look at is compared again.
                yield* sql`UPDATE reconciliations SET unmatched = unmatched + ${more}::integer,
                  due_at = CASE WHEN ${more > 0}::boolean AND day > ${sql.literal(TODAY)} - ${DAYS_AGAIN}::integer
                    THEN coalesce(due_at, now() + interval '24 hours') ELSE due_at END
                  WHERE id = ${reconciliationId}::uuid`
                yield* record(line!)
                return line!
              })
            )
          ),

        ...comparisons(sql)
      })
    })
  )
}

/** Of a day, the lines that are stored of those that somebody has to look at, and of the others that do not match. */
export const MOST_LINES = 10_000

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
 * The lines that differ and that nobody explained, and the balances by API that changed where no statement says why: until the day's
 * readings have ended, and for a day more. From then on the change is the owner's own money.
 */
const sumUnmatched = `
  SELECT count(*)::integer AS lines, coalesce(sum(abs(difference)), 0)::bigint AS cents,
    coalesce(greatest(0, extract(epoch FROM now() - ${startOf("(min(day) + 1)")})), 0)::float8 AS oldest
  FROM (
    (SELECT day, difference FROM reconciliation_lines
    WHERE state IN (${unmatchedStates.map((state) => `'${state}'`).join(", ")}) AND explanation IS NULL LIMIT 100000)
    UNION ALL
    SELECT r.day, r.balance - r.balance_books - r.balance_before
    FROM acquirer_connections c JOIN reconciliations r ON r.connection_id = c.id AND r.day >= ${TODAY} - 2
    WHERE r.status = 'failed' AND r.balance - r.balance_books <> r.balance_before
  ) AS unmatched`

const isUnmatched: ReadonlySet<LineState> = new Set(unmatchedStates)

/** Of a line: which one it is, also after another comparison. */
interface ComparedLine {
  readonly bankLineId: string | null
  readonly transferId: string | null
  readonly state: LineState
  readonly difference: number | bigint
}

interface KnownLine extends ComparedLine {
  readonly id: string
  readonly explanation: string | null
}

const lineKey = ({ bankLineId, difference, state, transferId }: ComparedLine) =>
  `${bankLineId} ${transferId} ${state} ${difference}`

const findKnown = `
  SELECT id, bank_line_id AS "bankLineId", transfer_id AS "transferId", state, difference, explanation
  FROM reconciliation_lines WHERE reconciliation_id = $1::uuid`

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

const lineColumns = `id, day::text AS day, ${TODAY} - day AS age_days, state, difference, bank_line_id, bank_day::text AS bank_day,
  bank_amount, books_day::text AS books_day, books_amount, transfer_id, source_object, source_id, account_id, end_to_end_id, description,
  suggestions, explanation`

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
      suggestions: json<ReadonlyArray<Suggestion>>(),
      explanation: nullable(text())
    })
  },
  ({ day, lines, reconciliationId }) => `
  INSERT INTO reconciliation_lines (id, reconciliation_id, day, state, difference, bank_line_id, bank_day, bank_amount, books_day,
    books_amount, transfer_id, source_object, source_id, account_id, end_to_end_id, description, suggestions, explanation)
  SELECT id, ${reconciliationId}, ${day}::date, state, difference, bank_line_id, bank_day::date, bank_amount, books_day::date,
    books_amount, transfer_id, source_object, source_id, account_id, end_to_end_id, description, suggestions, explanation
  FROM ${lines} AS l`
)
