/** What banks' statements have of a day, and the connections of a bank account. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { startOf } from "../database/statements/Days.ts"
import { statement, texts, value } from "../database/statements/Statement.ts"
import { orUnavailable, type Unavailable } from "../database/Unavailable.ts"
import { type BankLine, DAYS_AROUND } from "./FourLegs.ts"

/** What a bank's statement has of a day. */
export interface BankDay {
  /** Of the day, and of `DAYS_AROUND` days around it. */
  readonly lines: ReadonlyArray<BankLine>
  readonly isKnown: boolean
  /** Whether a statement has a later day. */
  readonly isLaterDayKnown: boolean
  readonly opening: number | null
  readonly closing: number | null
}

export class BankDays extends Context.Service<
  BankDays,
  {
    /** The connections of a bank account. */
    readonly connectionsOf: (bankAccount: string) => Effect.Effect<ReadonlyArray<string>, Unavailable>
    /** Undefined where it has more than `most` lines. */
    readonly day: (bankAccount: string, day: string, most: number) => Effect.Effect<BankDay | undefined, Unavailable>
    /** The lines of any day that have one of these ids. */
    readonly named: (
      bankAccount: string,
      ids: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlyArray<BankLine>, Unavailable>
    /**
     * Seconds since the end of the oldest day, of the last 90, on which the books have a movement and no statement of the bank account
     * is, after the first day of its statements; 0: none. Where none was ever imported, none is missing.
     */
    readonly missingSeconds: Effect.Effect<number, Unavailable>
  }
>()("@pix-payments/server/BankDays") {
  static readonly layer = Layer.effect(
    BankDays,
    Effect.gen(function* () {
      const sql = yield* SqlClient

      /**
       * The balance at the end of a day, as the newest file says it. One that was stored before the day's end, or is of a day that its file
       * does not have, is that of another moment.
       */
      const closingAfter = (day: string, days: number) => sql`
        (array_agg(closing ORDER BY id DESC) FILTER (WHERE closing IS NOT NULL AND closing_day = ${day}::date + ${days}::integer
          AND closing_day <= to_day AND created_at >= ${sql.literal(startOf("(closing_day + 1)"))}))[1]`

      return BankDays.of({
        connectionsOf: (bankAccount) =>
          Effect.map(orUnavailable(sql.unsafe<{ id: string }>(...findConnections({ bankAccount }))), (found) =>
            found.map(({ id }) => id)
          ),

        day: Effect.fnUntraced(function* (bankAccount, day, most) {
          const found = yield* sql<BankLineRow>`
            SELECT id, day::text AS day, amount, end_to_end_id, description FROM bank_statement_lines
            WHERE connection_id = ${bankAccount}::uuid AND day BETWEEN ${day}::date - ${DAYS_AROUND}::integer
              AND ${day}::date + ${DAYS_AROUND}::integer
            LIMIT ${most + 1}::integer`
          if (found.length > most) return undefined
          const [known] = yield* sql<KnownRow>`
            SELECT coalesce(bool_or(${day}::date BETWEEN from_day AND to_day), false) AS is_known,
              EXISTS (SELECT FROM bank_statements later
                WHERE later.connection_id = ${bankAccount}::uuid AND later.to_day > ${day}::date) AS is_later_known,
              ${closingAfter(day, 0)} AS closing,
              coalesce(
                (array_agg(opening ORDER BY id DESC) FILTER (WHERE opening_day = ${day}::date AND opening IS NOT NULL))[1],
                ${closingAfter(day, -1)}) AS opening
            FROM bank_statements
            WHERE connection_id = ${bankAccount}::uuid AND to_day >= ${day}::date - 1 AND from_day <= ${day}::date + 1`
          return {
            lines: found.map(lineOf),
            // Banks write days in the header that their lines leave.
            isKnown: (known?.is_known ?? false) || found.some((line) => line.day === day),
            isLaterDayKnown: known?.is_later_known ?? false,
            opening: centsOf(known?.opening),
            closing: centsOf(known?.closing)
          }
        }, orUnavailable),

        named: Effect.fnUntraced(function* (bankAccount, asked) {
          const ids = [...new Set(asked.flatMap((id) => [id, id.toUpperCase()]))]
          const all: Array<BankLine> = []
          for (let at = 0; at < ids.length; at += NAMES) {
            const some = ids.slice(at, at + NAMES)
            const found = yield* orUnavailable(sql.unsafe<BankLineRow>(...findNamed({ bankAccount, ids: some })))
            for (const row of found) all.push(lineOf(row))
          }
          return all
        }),

        missingSeconds: Effect.map(orUnavailable(sql.unsafe<{ seconds: number }>(findMissing)), ([row]) =>
          Math.floor(row?.seconds ?? 0)
        )
      })
    })
  )
}

const lineOf = ({ amount, end_to_end_id: endToEndId, ...line }: BankLineRow): BankLine => ({
  ...line,
  amount: Number(amount),
  endToEndId
})

const centsOf = (stored: bigint | null | undefined): number | null =>
  stored === null || stored === undefined ? null : Number(stored)

interface BankLineRow {
  readonly id: string
  readonly day: string
  readonly amount: bigint
  readonly end_to_end_id: string | null
  readonly description: string
}

interface KnownRow {
  readonly is_known: boolean
  readonly is_later_known: boolean
  readonly opening: bigint | null
  readonly closing: bigint | null
}

/** Ids that are looked up at once. */
const NAMES = 1000

/** A day with a movement has a close. Lines are looked for first: their index has the day. */
const findMissing = `
  SELECT coalesce(max(extract(epoch FROM now() - ${startOf("(missing.day + 1)")})), 0)::float8 AS seconds
  FROM acquirer_connections c
  CROSS JOIN LATERAL (
    SELECT closes.day FROM closes
    WHERE closes.book = 'bank' AND closes.id > (SELECT uuidv7(interval '-90 days')) AND closes.owner_id = ANY (ARRAY(
      SELECT c.id UNION SELECT other.connection_id FROM connection_keys own JOIN connection_keys other ON other.client = own.client
      WHERE own.connection_id = c.id))
      AND NOT EXISTS (SELECT FROM bank_statement_lines l WHERE l.connection_id = c.id AND l.day = closes.day)
      AND EXISTS (SELECT FROM bank_statements s WHERE s.connection_id = c.id AND s.to_day < closes.day)
      AND NOT EXISTS (
        SELECT FROM bank_statements s WHERE s.connection_id = c.id AND closes.day BETWEEN s.from_day AND s.to_day)
    ORDER BY closes.day LIMIT 1
  ) missing`

const findNamed = statement(
  { bankAccount: value("uuid"), ids: texts },
  ({ bankAccount, ids }) => `
  SELECT id, day::text AS day, amount, end_to_end_id, description FROM bank_statement_lines
  WHERE connection_id = ${bankAccount} AND end_to_end_id IS NOT NULL AND end_to_end_id = ANY (${ids}) LIMIT 5000`
)

const findConnections = statement(
  { bankAccount: value("uuid") },
  ({ bankAccount }) => `
  SELECT ${bankAccount} AS id
  UNION
  SELECT other.connection_id FROM connection_keys own JOIN connection_keys other ON other.client = own.client
  WHERE own.connection_id = ${bankAccount}`
)
