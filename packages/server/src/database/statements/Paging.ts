/**
 * Pages of lists: newest first by id.
 *
 * Guarantees:
 * - A page is stable: ids are UUIDv7, so new rows come before every cursor.
 * - A page has one row more than its limit where more exist, for `has_more`.
 * - The cost of a page does not depend on the size of the table: each list names the index that it reads (`Seek.ts`), and
 *   a test checks the plans of all lists.
 *
 * Rules: LIST-1 to LIST-5.
 */
import { lowestIdAt } from "@pix-payments/domain/Uuid"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { UnknownCursor } from "../../base/Errors.ts"
import {
  type AccessPath,
  type Condition,
  isAmong,
  pageStatement,
  recentStatement,
  type Seek,
  type Statement
} from "./Seek.ts"

export interface Page {
  readonly limit: number
  readonly startingAfter: string | undefined
}

/** The accounts whose rows the lists of a request have; `undefined` for all. */
export const LimitedTo = Context.Reference<ReadonlyArray<string> | undefined>("@pix-payments/server/LimitedTo", {
  defaultValue: () => undefined
})

export interface List extends Seek {
  /** Conditions that the row of a cursor must meet. Filters do not apply to it. */
  readonly scope?: ReadonlyArray<Condition> | undefined
  /**
   * All conditions of a list over all accounts. The newest rows of the table are tried first, and `paths` only where
   * they do not fill the page.
   */
  readonly recent?: ReadonlyArray<Condition> | undefined
  /** The column with the account of a row. Without it the list cannot be read under a limit to accounts. */
  readonly account?: string | undefined
  /** The paths to the rows of some accounts, where `paths` would read past the rows of others. */
  readonly pathsOf?: ((accountIds: ReadonlyArray<string>) => ReadonlyArray<AccessPath>) | undefined
}

/** Reads a page, with one more row where there is one. */
export const readPage = Effect.fnUntraced(function* <Row extends object>(ofAll: List, page: Page) {
  const sql = yield* SqlClient
  const limit = yield* LimitedTo
  const list = limit === undefined ? ofAll : limited(ofAll, limit)
  const run = <A extends object>({ parameters, text }: Statement) => sql.unsafe<A>(text, parameters)
  const cursor = page.startingAfter?.toLowerCase()
  if (cursor !== undefined) {
    const rows = yield* run(cursorStatement(list, cursor))
    if (rows.length === 0) return yield* new UnknownCursor()
  }
  const seek: Seek = { ...list, before: lowestOf(cursor, list.before) }
  const count = page.limit + 1
  if (list.recent !== undefined) {
    const rows = yield* run<Row>(recentStatement(seek, list.recent, count))
    if (rows.length === count) return rows
  }
  return yield* run<Row>(pageStatement(seek, count))
})

/** When the items of a list were created: after one instant and before another, in epoch milliseconds, fractions included. */
export interface CreatedBetween {
  readonly createdAfterMs?: number | undefined
  readonly createdBeforeMs?: number | undefined
}

/** Ids carry the millisecond of creation, so that a range of time is a range of ids: at least `from`, and below `before`. */
export const idsBetween = ({ createdAfterMs, createdBeforeMs }: CreatedBetween) => ({
  from: createdAfterMs === undefined ? undefined : lowestIdAt(Math.floor(createdAfterMs) + 1),
  before: createdBeforeMs === undefined ? undefined : lowestIdAt(Math.ceil(createdBeforeMs))
})

/** The lower one of two ids. */
export const lowestOf = (one: string | undefined, other: string | undefined): string | undefined =>
  one === undefined || (other !== undefined && other < one) ? other : one

/** The list with the rows of some accounts only. */
const limited = (list: List, accountIds: ReadonlyArray<string>): List => {
  const { account, filters = [], paths, pathsOf, scope = [] } = list
  if (account === undefined) throw new Error(`the list of ${list.table} has no account to be limited to`)
  const isOfThem = isAmong(account, accountIds)
  return {
    ...list,
    scope: [...scope, isOfThem],
    filters: [...filters, isOfThem],
    paths: pathsOf === undefined ? paths : pathsOf(accountIds),
    recent: undefined
  }
}

// Finds the row by id first, so that the conditions choose no index.
const cursorStatement = ({ scope = [], table }: List, cursor: string): Statement => {
  const parameters: Array<unknown> = [cursor]
  const bind = (value: unknown) => `$${parameters.push(value)}`
  const conditions = scope.map((condition) => condition(bind))
  const text = `WITH named AS MATERIALIZED (SELECT * FROM ${table} WHERE id = $1::uuid)
    SELECT 1 FROM named ${conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`}`
  return { text, parameters }
}
