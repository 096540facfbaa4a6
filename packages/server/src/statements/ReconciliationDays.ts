/**
 * The days of bank accounts that are compared with the books: when each is due.
 *
 * Guarantees:
 * - A day of a bank account is one row. It is compared when asked, after a file with new lines of it, after a file of it where only the
 *   books have something, after the first file of a later day, and daily while it has unmatched lines or no statement, for `DAYS_AGAIN` days.
 * - A day is leased to one process at a time. When its lease has expired, another process compares it.
 *
 * Rules: OPR-280.
 */
import type { DayFailure, LineState, ReconciliationStatus } from "@pix-payments/domain/Reconciliation"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { Ids } from "../base/Ids.ts"
import { runToCompletion } from "../database/RunToCompletion.ts"
import { text, uuid } from "../database/statements/Column.ts"
import { startOf, TODAY } from "../database/statements/Days.ts"
import { rows, statement, uuids } from "../database/statements/Statement.ts"
import type { Unavailable } from "../database/Unavailable.ts"
import { DAYS_AROUND } from "./FourLegs.ts"

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
  readonly unmatched: number
  readonly lines_left_out: number
  readonly balance_at: Date | null
  readonly balance: bigint | null
  readonly balance_books: bigint | null
  readonly balance_before: bigint | null
  readonly balance_problem: string | null
  readonly done_at: Date | null
  readonly created_at: Date
}

/** A day that is due. */
export interface DueDay {
  readonly id: string
  readonly bankAccount: string
  readonly day: string
  /** The moment until which it is claimed: another one when it was asked for, or claimed, since. */
  readonly claimedUntil: string
  /** The last id that was looked up at the provider, where the comparison before left some; null: it left none. */
  readonly lookedUpTo: string | null
}

export class ReconciliationDays extends Context.Service<
  ReconciliationDays,
  {
    /** Makes a day due now. */
    readonly request: (bankAccount: string, day: string) => Effect.Effect<ReconciliationRow, Unavailable>
    /** Makes the days due of which a file has new lines, those of its days on which only the books have something, and the last one before it. */
    readonly requestOf: (statementId: string) => Effect.Effect<void, Unavailable>
    /** One that is due: of the bank account whose turn was longest ago. `recent`: those that had one, the last one last. */
    readonly claim: (recent: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<DueDay>, Unavailable>
    /** Why a day could not be compared, unless it was asked for or claimed since. `isSoon`: it is due again in an hour. */
    readonly failed: (due: DueDay, reason: DayFailure, isSoon: boolean) => Effect.Effect<void, Unavailable>
  }
>()("@pix-payments/server/ReconciliationDays") {
  static readonly layer = Layer.effect(
    ReconciliationDays,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const ids = yield* Ids
      const write = runToCompletion(sql)

      return ReconciliationDays.of({
        request: (bankAccount, day) =>
          write(
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
          write(
            Effect.gen(function* () {
              const days = yield* sql.unsafe<{ connection_id: string; day: string }>(daysOfFile, [statementId])
              yield* sql.unsafe(
                ...insertDays({
                  days: days.map(({ connection_id, day }) => ({ id: ids.next().id, connectionId: connection_id, day }))
                })
              )
            })
          ),

        claim: (recent) => write(sql.unsafe<DueDay>(...claimDue({ recent }))),

        failed: (due, reason, isSoon) =>
          Effect.asVoid(
            write(sql`UPDATE reconciliations SET status = 'failed', reason = ${reason}, done_at = now(),
              due_at = CASE WHEN ${isSoon}::boolean THEN now() + interval '1 hour'
                WHEN day > ${sql.literal(TODAY)} - ${DAYS_AGAIN}::integer THEN now() + interval '24 hours' END
              WHERE id = ${due.id}::uuid AND due_at = ${due.claimedUntil}::timestamptz`)
          )
      })
    })
  )
}

export const columns = `id, connection_id, day::text AS day, status, reason, opening, closing, bank_total, books_total, states, unmatched,
  lines_left_out, balance_at, balance, balance_books, balance_before, balance_problem, done_at, created_at`

/** For how many days a day with unmatched lines, or without a statement, is compared daily. */
export const DAYS_AGAIN = 90

/**
 * A line may change what the days around it pair. Of the last day that the files before it have, what the books alone have is
 * missing there once a later file comes. The newest day has the highest id.
 */
const daysOfFile = `
  SELECT l.connection_id, l.day::text AS day
  FROM (
    SELECT DISTINCT connection_id, day + around AS day
    FROM bank_statement_lines, generate_series(-${DAYS_AROUND}, ${DAYS_AROUND}) AS around
    WHERE statement_id = $1::uuid
    UNION
    SELECT connection_id, to_day FROM bank_statements WHERE id = $1::uuid
    UNION
    SELECT s.connection_id, max(before.to_day)
    FROM bank_statements s JOIN bank_statements before ON before.connection_id = s.connection_id AND before.id <> s.id
    WHERE s.id = $1::uuid GROUP BY s.connection_id
    UNION
    -- Days on which the books alone have something, unless they were compared after they ended, and with the day after them.
    SELECT s.connection_id, d.day::date
    FROM bank_statements s, generate_series(greatest(s.from_day, s.to_day - 366), s.to_day, interval '1 day') AS d (day)
    WHERE s.id = $1::uuid
      AND EXISTS (SELECT FROM ledger_transfers t
        WHERE t.connection_id IS NOT NULL AND t.day = d.day::date AND t.connection_id = ANY (ARRAY(
          SELECT s.connection_id UNION SELECT other.connection_id
          FROM connection_keys own JOIN connection_keys other ON other.client = own.client
          WHERE own.connection_id = s.connection_id)))
      AND NOT EXISTS (SELECT FROM reconciliations r
        WHERE r.connection_id = s.connection_id AND r.day = d.day::date AND r.status = 'done'
          AND r.done_at >= ${startOf("(r.day + 1)")} AND r.states -> 'timing' IS NULL)
  ) l
  WHERE EXISTS (SELECT FROM bank_statements s
    WHERE s.connection_id = l.connection_id AND l.day BETWEEN s.from_day AND s.to_day)
    OR EXISTS (SELECT FROM bank_statement_lines own WHERE own.connection_id = l.connection_id AND own.day = l.day)
  ORDER BY l.day`

const claimDue = statement(
  { recent: uuids },
  ({ recent }) => `
  UPDATE reconciliations SET due_at = now() + interval '1 hour'
  WHERE id IN (
    SELECT id FROM reconciliations WHERE due_at <= now()
    ORDER BY coalesce(array_position(${recent}, connection_id), 0), due_at LIMIT 1 FOR UPDATE SKIP LOCKED
  )
  RETURNING id, connection_id AS "bankAccount", day::text AS day, due_at::text AS "claimedUntil", looked_up_to AS "lookedUpTo"`
)

const insertDays = statement(
  { days: rows({ id: uuid(), connectionId: uuid(), day: text() }) },
  ({ days }) => `
  INSERT INTO reconciliations (id, connection_id, day, status, due_at, created_at)
  SELECT id, connection_id, day::date, 'requested', now(), now() FROM ${days} AS d
  ON CONFLICT (connection_id, day) DO UPDATE SET status = 'requested', due_at = now()`
)
