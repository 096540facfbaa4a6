/**
 * Pages of lists: newest first by id, or oldest first.
 *
 * Guarantees:
 * - A page is stable: ids are UUIDv7, so new rows come before every cursor, or after all rows.
 * - A page has one row more than its limit where more exist, for `has_more`.
 * - The cost of a page does not depend on the size of the table: each list names the index that it reads (`Seek.ts`), and
 *   a test checks the plans of all lists.
 *
 * Rules: LIST-1 to LIST-5.
 */
import { idBeside, lowestIdAt } from "@pix-payments/domain/Uuid"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { UnknownCursor } from "../../base/Errors.ts"
import { type Condition, isAmong } from "./Condition.ts"
import {
  type AccessPath,
  type Counted,
  pageStatement,
  recentStatement,
  type Seek,
  type Statement,
  sumStatement,
  type Walk,
  walkStatement
} from "./Seek.ts"

export interface Page {
  readonly limit: number
  readonly startingAfter: string | undefined
  readonly isAscending?: boolean | undefined
}

/** The accounts whose rows the lists of a request have; `undefined` for all. */
export const LimitedTo = Context.Reference<ReadonlyArray<string> | undefined>("@pix-payments/server/LimitedTo", {
  defaultValue: () => undefined
})

/** Reads a list of one account only, as for an operator who is limited to it. */
export const ofAccount =
  (accountId: string | undefined) =>
  <A, E, R>(read: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    accountId === undefined
      ? read
      : Effect.flatMap(LimitedTo, (limit) => {
          const id = accountId.toLowerCase()
          return Effect.provideService(read, LimitedTo, limit === undefined || limit.includes(id) ? [id] : [])
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

/** The list of operators, with filters that no index serves. */
export interface Walkable extends List {
  /** The same rows as a walk. */
  readonly walk: Pick<Walk, "paths" | "overlaps" | "conditions">
  /** The same for some accounts, where `walk` would look at the rows of others. */
  readonly walkOf?: ((accountIds: ReadonlyArray<string>) => Walk["paths"]) | undefined
  readonly counted: Counted
  /** An index serves all filters: pages are read by `paths`. */
  readonly isServed: boolean
}

/** A page of a walk. */
export interface WalkedPage<Row> {
  readonly rows: ReadonlyArray<Row>
  /** The `starting_after` of the next page; undefined at the end. It need not be a row of the page. */
  readonly next: string | undefined
  /** How many rows of the table were looked at. */
  readonly lookedAt: number
}

/** How many statements of a walk a request may run. */
const WALKS = 10

/** Reads a page of at most `page.limit` rows, by the index that serves the filters, else by a bounded walk. */
export const readWalked = Effect.fnUntraced(function* <Row extends object>(list: Walkable, page: Page) {
  const idOf = (row: Row) => (row as unknown as { readonly id: string }).id
  if (list.isServed) {
    const rows = yield* readPage<Row>(list, page)
    const shown = rows.slice(0, page.limit)
    const next = rows.length > page.limit ? idOf(shown.at(-1)!) : undefined
    return { rows: shown, next, lookedAt: shown.length }
  }
  const { cursor, run, walk } = yield* walkOf({ ...list, isAscending: page.isAscending }, page.startingAfter)
  return yield* inIndexOrder(walkPage<Row>(page, { cursor, run, walk }))
})

/** What a walk reads. */
interface Walking {
  readonly cursor: string | undefined
  readonly run: <A extends object>(statement: Statement) => Effect.Effect<ReadonlyArray<A>, SqlError>
  readonly walk: Walk
}

/** The planner's settings of `inIndexOrder`. */
export const WALK_PLANNER =
  "SELECT set_config('enable_bitmapscan', 'off', true), set_config('enable_sort', 'off', true)"

/**
 * Runs statements that read many rows of a range. Their limits are about as many rows as the planner expects of the range: it would
 * read the whole range, and sort it.
 */
export const inIndexOrder = <A, E, R>(walks: Effect.Effect<A, E, R>) =>
  Effect.flatMap(SqlClient, (sql) => sql.withTransaction(Effect.andThen(sql.unsafe(WALK_PLANNER), walks)))

const walkPage = Effect.fnUntraced(function* <Row extends object>(page: Page, walking: Walking) {
  const { cursor, run, walk } = walking
  const idOf = (row: Row) => (row as unknown as { readonly id: string }).id
  const rows: Array<Row> = []
  let lookedAt = 0
  let last = cursor
  for (let walks = 0; walks < WALKS; walks += 1) {
    const found = yield* run<WalkRow>(
      walkStatement(
        { ...walk, ...idsAfter(last, walk) },
        page.limit + 1 - rows.length,
        walks === 0 ? "first" : "further"
      )
    )
    const [first] = found
    rows.push(...(found.filter(({ id }) => id !== null) as unknown as ReadonlyArray<Row>))
    lookedAt += first?.walk_looked_at ?? 0
    if (rows.length > page.limit) {
      const shown = rows.slice(0, page.limit)
      return { rows: shown, next: idOf(shown.at(-1)!), lookedAt }
    }
    last = first?.walk_horizon ?? undefined
    if (last === undefined) break
  }
  return { rows, next: last, lookedAt }
})

/** Count and sum of a list, of the rows that a request may look at. */
export interface Sum {
  readonly count: number
  /** 0 where the rows have none. */
  readonly amount: number
  /** The same of each state that a row has. */
  readonly states: ReadonlyArray<{ readonly status: string; readonly count: number; readonly amount: number }>
  readonly lookedAt: number
  /** There are more. */
  readonly isAtLeast: boolean
}

/** Counts and sums the rows of a list. */
export const readSum = Effect.fnUntraced(function* (list: Walkable) {
  const walking = yield* walkOf(list, undefined)
  return yield* inIndexOrder(walkSum(list, walking))
})

const walkSum = Effect.fnUntraced(function* (list: Walkable, { run, walk }: Walking) {
  const states = new Map<string, Sum["states"][number]>()
  let [count, total, lookedAt] = [0, 0, 0]
  let before = list.before
  for (let walks = 0; walks < WALKS; walks += 1) {
    const rows = yield* run<SumRow>(sumStatement({ ...walk, before }, list.counted))
    for (const { amount, count: more, state } of rows) {
      if (state === null) continue
      const known = states.get(state) ?? { status: state, count: 0, amount: 0 }
      states.set(state, { ...known, count: known.count + more, amount: known.amount + Number(amount) })
      count += more
      total += Number(amount)
    }
    before = rows[0]?.walk_horizon ?? undefined
    lookedAt += rows[0]?.walk_looked_at ?? 0
    if (before === undefined || count > MOST_COUNTED) break
  }
  return { count, amount: total, states: [...states.values()], lookedAt, isAtLeast: before !== undefined } satisfies Sum
})

/** A sum ends once it has this many rows. */
const MOST_COUNTED = 10_000

interface WalkRow {
  readonly id: string | null
  readonly walk_horizon: string | null
  readonly walk_looked_at: number
}

interface SumRow {
  readonly state: string | null
  readonly count: number
  readonly amount: bigint
  readonly walk_horizon: string | null
  readonly walk_looked_at: number
}

/** The walk of a request, from a cursor that names a row of the list. */
const walkOf = Effect.fnUntraced(function* (list: Walkable, startingAfter: string | undefined) {
  const sql = yield* SqlClient
  const limit = yield* LimitedTo
  const run = <A extends object>({ parameters, text }: Statement) => sql.unsafe<A>(text, parameters)
  const { account, as, before, columns, from, isAscending, join, scope = [], table } = list
  if (limit !== undefined && account === undefined)
    throw new Error(`the list of ${table} has no account to be limited to`)
  const isOfThem = limit === undefined ? [] : [isAmong(account!, limit)]
  const cursor = startingAfter?.toLowerCase()
  if (cursor !== undefined) {
    const rows = yield* run(cursorStatement({ ...list, scope: [...scope, ...isOfThem] }, cursor))
    if (rows.length === 0) return yield* new UnknownCursor()
  }
  const walk: Walk = {
    table,
    as,
    columns,
    join,
    from,
    before,
    isAscending,
    ...list.walk,
    ...(limit !== undefined && list.walkOf !== undefined && { paths: list.walkOf(limit) }),
    conditions: [...list.walk.conditions, ...isOfThem]
  }
  return { cursor, run, walk }
})

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
  const ordered = { ...list, isAscending: page.isAscending }
  const seek: Seek = { ...ordered, ...idsAfter(cursor, ordered) }
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

/** The bounds of the ids that come after one in the order of a list. */
const idsAfter = (
  id: string | undefined,
  { before, from, isAscending }: Pick<Seek, "before" | "from" | "isAscending">
) => {
  if (isAscending !== true) return { from, before: lowestOf(id, before) }
  const next = id === undefined ? undefined : idBeside(id, 1)
  return { from: next === undefined || (from !== undefined && from > next) ? from : next, before }
}

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
