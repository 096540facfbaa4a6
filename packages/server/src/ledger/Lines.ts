/**
 * The lines of accounts and of bank accounts: transfers of the ledger, in the order of the books.
 *
 * Guarantees:
 * - An account's lines are in the order of its positions, and `balance_after` is the balance that their posting left. They chain:
 *   each is the one before it and the line's net.
 * - A connection's lines are what its bank moves. They are in the order of days and ids, and have no balance.
 * - A page looks at `MOST_EXAMINED` lines at most, whatever its filters. `next` continues after them.
 *
 * Rules: OPR-250 to OPR-253.
 */
import { type BalanceName, type BalanceTransactionType, typeOfReason } from "@pix-payments/domain/BalanceTransaction"
import { NIL_UUID } from "@pix-payments/domain/Uuid"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { UnknownCursor } from "../base/Errors.ts"
import { inIndexOrder, type Page } from "../database/statements/Paging.ts"
import { DEFAULT_LIMIT, MAX_LIMIT } from "../database/statements/Seek.ts"
import { statement, uuids, value } from "../database/statements/Statement.ts"
import { orUnavailable, type Unavailable } from "../database/Unavailable.ts"
import type { LedgerKind } from "./Ledger.ts"

/** A transfer, as the books have it. */
export interface Movement {
  readonly id: string
  readonly account_id: string
  readonly connection_id: string | null
  readonly resource_id: string
  readonly source_id: string | null
  readonly position: bigint
  readonly amount: bigint
  readonly fee: bigint | null
  readonly created_at: Date
  readonly debit: LedgerKind
  readonly credit: LedgerKind
  readonly debit_after: bigint | null
  readonly credit_after: bigint | null
  /** `yyyy-mm-dd`. */
  readonly day: string
  readonly reason: string
  readonly type: BalanceTransactionType
  /** Of an adjustment: why. Null where its row is not there, or is of another movement. */
  readonly adjusted_because: string | null
}

/** Whose lines: those of a balance of an account, or those of a bank account. */
export type LinesOf = { readonly accountId: string; readonly balance: BalanceName } | { readonly connectionId: string }

/** Days are inclusive, `yyyy-mm-dd`; amounts are cents without a sign. */
export interface LineFilters {
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly type?: BalanceTransactionType | undefined
  readonly amountMin?: number | undefined
  readonly amountMax?: number | undefined
}

export interface LinePage {
  /** Newest first, up to the limit. */
  readonly lines: ReadonlyArray<Movement>
  /** After which line the next page begins; `undefined` where there is none. */
  readonly next: string | undefined
}

/** A place in the books of an owner: after it, lines are read on. */
export interface Place {
  readonly day: string
  /** The position in an account, the id in a connection. */
  readonly at: string
}

export class Lines extends Context.Service<
  Lines,
  {
    readonly page: (
      of: LinesOf,
      filters: LineFilters,
      page: Page
    ) => Effect.Effect<LinePage, UnknownCursor | Unavailable>
    /** All transfers of an account, or all of a bank account, oldest first, up to a day: the `count` after a place. */
    readonly after: (
      of: BooksOf,
      place: Place,
      to: string,
      count: number
    ) => Effect.Effect<ReadonlyArray<Movement>, Unavailable>
    /** What the banks of connections moved of these resources: `count` transfers at most, in the order of their ids, after one. */
    readonly atBankOf: (
      connectionIds: ReadonlyArray<string>,
      resourceIds: ReadonlyArray<string>,
      after: string,
      count: number
    ) => Effect.Effect<ReadonlyArray<Movement>, Unavailable>
  }
>()("@pix-payments/server/Lines") {
  static readonly layer = Layer.effect(
    Lines,
    Effect.map(SqlClient, (sql) => {
      const ranged = <A>(read: Effect.Effect<A, SqlError>) =>
        orUnavailable(Effect.provideService(inIndexOrder(read), SqlClient, sql))

      return Lines.of({
        page: Effect.fnUntraced(function* (of, filters, page) {
          const cursor = page.startingAfter === undefined ? undefined : yield* placeOf(sql, of, page.startingAfter)
          const limit = page.limit + 1
          const { parameters, text } = pageOf(of, filters, cursor, limit)
          const rows = yield* ranged(sql.unsafe<Movement & { examined: string | null }>(text, parameters))
          const lines = rows.filter(({ examined }) => examined === null)
          const last = rows.find(({ examined }) => examined !== null)?.examined ?? undefined
          return lines.length === limit
            ? { lines: lines.slice(0, page.limit), next: lines[page.limit - 1]!.id }
            : { lines, next: last }
        }),
        after: (of, place, to, count) => {
          const { parameters, text } = afterOf(of, place, to, count)
          return ranged(sql.unsafe<Movement>(text, parameters))
        },
        atBankOf: (connectionIds, resourceIds, after, count) =>
          resourceIds.length === 0
            ? Effect.succeed([])
            : orUnavailable(sql.unsafe<Movement>(...findAtBank({ connectionIds, resourceIds, after, count })))
      })
    })
  )
}

/** The books of an account, with all its balances, or of a bank account. */
export type BooksOf = { readonly accountId: string } | { readonly connectionId: string }

/** Before all lines of a day. */
export const startOf = (of: BooksOf, day: string): Place => ({ day, at: lowest(of) })

export const placeAfter = (of: BooksOf, { day, id, position }: Movement): Place => ({
  day,
  at: "accountId" in of ? String(position) : id
})

/** Lines that one page looks at. */
export const MOST_EXAMINED = 1000

const type = `CASE
    WHEN debit = 'blocked' AND credit = 'available' THEN 'dispute_release'
    WHEN debit = 'payouts_in_transit' AND credit = 'fees' THEN 'payout_fee'
    ELSE CASE reason ${Object.entries(typeOfReason)
      .map(([reason, of]) => `WHEN '${reason}' THEN '${of}'`)
      .join(" ")} END END`

const adjustedBecause = `CASE WHEN reason = 'adjustment' THEN (
    SELECT a.reason FROM adjustments a WHERE a.id = t.resource_id AND a.account_id = t.account_id
      AND a.created_at = t.created_at AND a.amount = CASE t.credit WHEN 'available' THEN t.amount ELSE -t.amount END
  ) END`

/** Of `ledger_transfers t`. */
const columns = `id, account_id, connection_id, resource_id, source_id, position, amount, fee, created_at, debit, credit,
  debit_after, credit_after, day::text AS day, reason, ${type} AS type, ${adjustedBecause} AS adjusted_because`

/** The index that has an owner's lines in order, and what it is called there. */
const booksOf = (of: BooksOf) =>
  "accountId" in of
    ? { owner: "account_id", order: "position", type: "bigint", id: of.accountId }
    : { owner: "connection_id", order: "id", type: "uuid", id: of.connectionId }

const findAtBank = statement(
  { connectionIds: uuids, resourceIds: uuids, after: value("uuid"), count: value("integer") },
  (p) => `
  SELECT ${columns} FROM ledger_transfers t
  WHERE resource_id = ANY (${p.resourceIds}) AND connection_id IS NOT NULL AND connection_id = ANY (${p.connectionIds})
    AND id > ${p.after}
  ORDER BY id LIMIT ${p.count}`
)

const lowest = (of: BooksOf): string => ("accountId" in of ? "0" : NIL_UUID)

/** The condition of the index. */
const isIndexed = (owner: string) => (owner === "connection_id" ? "connection_id IS NOT NULL" : "position > 0")

// The lines are a range of one index; filters only choose among those that were read, as many as the page needs. Limits are literals, so that the planner
// does not expect a tenth of the table.
const pageOf = (of: LinesOf, filters: LineFilters, cursor: Place | undefined, count: number) => {
  const { id, order, owner, type: orderType } = booksOf(of)
  const parameters: Array<unknown> = []
  const bind = (value: unknown, as: string) => `$${parameters.push(value)}::${as}`
  const key = `(${owner}, day, ${order})`
  const account = bind(id, "uuid")
  const from = `(${account}, ${bind(filters.from ?? "-infinity", "date")}, ${bind(lowest(of), orderType)})`
  // One upper bound, the lower of both: of two, PostgreSQL begins at one and reads all down to the other.
  const isCursorLower = cursor !== undefined && (filters.to === undefined || cursor.day <= filters.to)
  const before = isCursorLower
    ? `${key} < (${account}, ${bind(cursor.day, "date")}, ${bind(cursor.at, orderType)})`
    : `(${owner}, day) <= (${account}, ${bind(filters.to ?? "infinity", "date")})`
  const conditions = [
    ...("balance" in of ? [`'${of.balance}' IN (debit, credit)`] : []),
    ...(filters.type === undefined ? [] : [`type = ${bind(filters.type, "text")}`]),
    ...(filters.amountMin === undefined ? [] : [`amount >= ${bind(filters.amountMin, "bigint")}`]),
    ...(filters.amountMax === undefined ? [] : [`amount <= ${bind(filters.amountMax, "bigint")}`])
  ]
  const asked = bind(count, "integer")
  // Qualified: `day` alone is the column of the result.
  const backwards = `ORDER BY t.${owner} DESC, t.day DESC, t.${order} DESC`
  return {
    parameters,
    text: `WITH examined AS MATERIALIZED (
      SELECT ${columns} FROM ledger_transfers t
      WHERE ${isIndexed(owner)} AND ${key} >= ${from} AND ${before}
      ${backwards} LIMIT ${conditions.length > 0 ? MOST_EXAMINED : count <= DEFAULT_LIMIT ? DEFAULT_LIMIT : MAX_LIMIT}
    ), lines AS MATERIALIZED (
      SELECT * FROM examined WHERE ${["true", ...conditions].join(" AND ")} LIMIT ${asked}
    )
    SELECT *, NULL::uuid AS examined FROM lines
    UNION ALL
    (SELECT last.*, last.id FROM (SELECT * FROM examined OFFSET ${MOST_EXAMINED - 1}) AS last
    WHERE (SELECT count(*) FROM lines) < ${asked})`
  }
}

const afterOf = (of: BooksOf, place: Place, to: string, count: number) => {
  const { id, order, owner, type: orderType } = booksOf(of)
  return {
    parameters: [id, place.day, place.at, to],
    text: `SELECT ${columns} FROM ledger_transfers t
      WHERE ${isIndexed(owner)} AND (${owner}, day, ${order}) > ($1::uuid, $2::date, $3::${orderType})
        AND (${owner}, day) <= ($1::uuid, $4::date)
      ORDER BY t.${owner}, t.day, t.${order} LIMIT ${count}`
  }
}

/** The place of a line. The id of another's line is unknown. */
const placeOf = (sql: SqlClient, of: LinesOf, id: string) => {
  const { id: ownerId, order, owner } = booksOf(of)
  return Effect.flatMap(
    orUnavailable(
      sql.unsafe<Place>(
        `SELECT day::text AS day, ${order}::text AS at FROM ledger_transfers
         WHERE id = $1::uuid AND ${owner} IS NOT DISTINCT FROM $2::uuid`,
        [id.toLowerCase(), ownerId]
      )
    ),
    ([place]): Effect.Effect<Place, UnknownCursor> =>
      place === undefined ? Effect.fail(new UnknownCursor()) : Effect.succeed(place)
  )
}
