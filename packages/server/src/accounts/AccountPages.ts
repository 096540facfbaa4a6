/**
 * Pages of all charges or all payouts of an account, of many callers in one statement.
 *
 * Guarantees:
 * - The statement re-checks each caller, and the cursor of each page.
 * - It reads the rows of the pages and no others, in one index. So a page waits for some hundred rows of others at most. Lists
 *   with filters may pass over rows: each is a statement of its own.
 *
 * Rules: CHG-20, KEY-4, LIST-1 to LIST-5. Why: docs/decisions/0038-shared-pages.md.
 */
import type { Caller } from "@pix-payments/api/Security"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { SqlError } from "effect/sql/SqlError"
import { UnknownCursor } from "../Errors.ts"
import * as Batching from "../sql/Batching.ts"
import { type Columns, integer, nullable, type Row, type RowOf, rowOf, uuid } from "../sql/Column.ts"
import { type CreatedBetween, idsBetween, lowestOf, type Page } from "../sql/Paging.ts"
import { HIGHEST, LOWEST, MAX_LIMIT, rangeStatement } from "../sql/Seek.ts"
import { rows, statement } from "../sql/Statement.ts"
import type { Table } from "../sql/Table.ts"
import type { Unavailable } from "../sql/Unavailable.ts"
import { callersOf, currentCallers, StaleCaller } from "./CallerCache.ts"

/** Reads a page of the account of a cached caller, newest first, and one row more if there are more. */
export type ReadPage<A> = (
  cached: Caller,
  filters: CreatedBetween,
  page: Page
) => Effect.Effect<ReadonlyArray<A>, UnknownCursor | StaleCaller | Unavailable>

/** The statement that reads pages of a table by its index on the account, the columns of `fixed` and the id. */
export const pagesOf = <C extends Columns>(
  name: "charges" | "payouts",
  table: Table<C>,
  fixed: Readonly<Record<string, string>> = {}
) => ({
  decode: table.decode,
  toRow: rowOf<PageRow>([...table.selected, "n", "caller"]),
  find: statement(
    {
      pages: rows({
        n: integer(),
        account_id: uuid(),
        cursor: nullable(uuid()),
        from_id: uuid(),
        before_id: uuid(),
        most: integer()
      }),
      callers: currentCallers
    },
    ({ callers, pages }) => `WITH ${callers}
  SELECT ${table.columns("page")}, q.n, NULL::integer AS caller
  FROM ${pages} AS q
  LEFT JOIN ${name} AS named ON named.id = q.cursor
  LEFT JOIN LATERAL (
    SELECT * FROM (${rangeStatement({
      table: name,
      select: "*",
      columns: ["account_id", ...Object.keys(fixed)],
      keys: ["q.account_id", ...Object.values(fixed)],
      from: "q.from_id",
      before: "q.before_id",
      limit: MAX_LIMIT
    })}) AS newest LIMIT q.most
  ) AS page ON true
  WHERE q.cursor IS NULL OR (${[
    "named.account_id = q.account_id",
    ...Object.entries(fixed).map(([column, value]) => `named.${column} = ${value}`)
  ].join(" AND ")})
  UNION ALL SELECT ${table.nulls}, NULL, n FROM live`
  )
})

/** `select` runs a statement and gives its rows as arrays of values. `complete` adds to rows what is stored elsewhere. */
export const makeReadPage = <C extends Columns>(
  { decode, find, toRow }: ReturnType<typeof pagesOf<C>>,
  select: (
    text: string,
    parameters: ReadonlyArray<unknown>
  ) => Effect.Effect<ReadonlyArray<ReadonlyArray<unknown>>, SqlError>,
  complete: (found: ReadonlyArray<PageRow>) => Effect.Effect<ReadonlyArray<PageRow>, SqlError> = Effect.succeed
): Effect.Effect<ReadPage<RowOf<C>>> => {
  type Outcome = Result.Result<ReadonlyArray<RowOf<C>>, UnknownCursor | StaleCaller>

  const outcomes = (asked: ReadonlyArray<Asked>, { numberOf }: Callers, found: ReadonlyArray<PageRow>) => {
    const current = new Set<number | undefined>()
    const pages = new Map<number, Array<FoundRow>>()
    for (const row of found) {
      if (row.n === null) {
        current.add(row.caller)
        continue
      }
      let page = pages.get(row.n)
      if (page === undefined) pages.set(row.n, (page = []))
      if (row.id !== null) page.push(row)
    }
    return asked.map((each, n): Outcome => {
      if (!current.has(numberOf(each))) return Result.fail(new StaleCaller())
      const page = pages.get(n)
      if (page === undefined) return Result.fail(new UnknownCursor())
      return Result.succeed(page.toSorted((one, other) => (one.id > other.id ? -1 : 1)).map(decode))
    })
  }

  const read = Batching.make<Asked, Outcome>({
    maxBatch: MAX_PAGES,
    accountOf: ({ cached }) => cached.account.id,
    run: (asked) => {
      const callers = callersOf(asked, ({ cached }) => cached)
      const pages = asked.map(({ cached, filters, page }, n) => {
        const cursor = page.startingAfter?.toLowerCase()
        const { before, from } = idsBetween(filters)
        return {
          n,
          account_id: cached.account.id,
          cursor,
          from_id: from ?? LOWEST,
          before_id: lowestOf(cursor, before) ?? HIGHEST,
          most: page.limit + 1
        }
      })
      return select(...find({ pages, callers: callers.callers })).pipe(
        Effect.flatMap((values) => complete(values.map(toRow))),
        Effect.map((found) => outcomes(asked, callers, found))
      )
    }
  })
  return Effect.map(
    read,
    (ask): ReadPage<RowOf<C>> =>
      (cached, filters, page) =>
        Effect.flatMap(ask({ cached, filters, page }), Effect.fromResult)
  )
}

interface Asked {
  readonly cached: Caller
  readonly filters: CreatedBetween
  readonly page: Page
}

type Callers = ReturnType<typeof callersOf<Asked>>

/** A row of the page `n`. */
type FoundRow = Row & { readonly id: string; readonly n: number }

/** The same, a page `n` without rows, or the number of a caller that is as cached. */
type PageRow =
  | FoundRow
  | (Row & { readonly id: null; readonly n: number })
  | (Row & { readonly id: null; readonly n: null; readonly caller: number })

/** Of 101 rows each, some two megabytes. */
const MAX_PAGES = 32
