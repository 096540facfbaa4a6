/**
 * Pages of the charges that an account created through the API, of many callers in one statement.
 *
 * Guarantees:
 * - The statement re-checks each caller, and the cursor of each page.
 * - It reads the rows of the pages and no others, in one index. So a page waits for some hundred rows of others at most. Lists
 *   by status and method may pass over rows: they are statements of their own (`ChargeLists.ts`).
 *
 * Rules: CHG-20, LIST-1 to LIST-5. Measured: see bench/RESULTS.md ("list 20 charges").
 */
import type { Caller } from "@pix-payments/api/Security"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { callersOf, currentCallers, StaleCaller } from "../accounts/CallerCache.ts"
import { UnknownCursor } from "../Errors.ts"
import * as Batching from "../sql/Batching.ts"
import { integer, nullable, type Row, rowOf, uuid } from "../sql/Column.ts"
import { lowestOf, type Page } from "../sql/Paging.ts"
import { HIGHEST, LOWEST, MAX_LIMIT, rangeStatement } from "../sql/Seek.ts"
import { rows, statement } from "../sql/Statement.ts"
import type { Unavailable } from "../sql/Unavailable.ts"
import { type ChargeFilters, idsBetween } from "./ChargeLists.ts"
import { type ShownCharge, shownChargeTable } from "./ChargeTable.ts"

/** Returns the function that reads a page for a cached caller, with one charge more if there are more. */
export const makeChargePages = (
  sql: SqlClient,
  withReceivers: (selected: ReadonlyArray<PageRow>) => Effect.Effect<ReadonlyArray<PageRow>, SqlError>
) =>
  Effect.map(
    Batching.make<Asked, Outcome>({
      maxBatch: MAX_PAGES,
      accountOf: ({ cached }) => cached.account.id,
      run: (asked) => {
        const { callers, numberOf } = callersOf(asked, ({ cached }) => cached)
        const pages = asked.map(({ cached, page, window }, n) => {
          const cursor = page.startingAfter?.toLowerCase()
          return {
            n,
            account_id: cached.account.id,
            cursor,
            from: window.from ?? LOWEST,
            before: lowestOf(cursor, window.before) ?? HIGHEST,
            most: page.limit + 1
          }
        })
        const read = Effect.flatMap(sql.unsafe(...findPages({ pages, callers })).values, (values) =>
          withReceivers(values.map(pageRow))
        )
        return Effect.map(read, (found) => {
          const current = new Set<number | undefined>()
          const charges = new Map<number, Array<ShownCharge>>()
          for (const row of found) {
            if (row.n === null) {
              current.add(row.caller)
              continue
            }
            let page = charges.get(row.n)
            if (page === undefined) charges.set(row.n, (page = []))
            if (row.id !== null) page.push(shownChargeTable.decode(row))
          }
          return asked.map((each, n): Outcome => {
            if (!current.has(numberOf(each))) return Result.fail(new StaleCaller())
            const page = charges.get(n)
            return page === undefined ? Result.fail(new UnknownCursor()) : Result.succeed(page.toSorted(newestFirst))
          })
        })
      }
    }),
    (read) =>
      (cached: Caller, filters: Window, page: Page): Effect.Effect<ReadonlyArray<ShownCharge>, Failure | Unavailable> =>
        Effect.flatMap(read({ cached, page, window: idsBetween(filters) }), Effect.fromResult)
  )

type Window = Pick<ChargeFilters, "createdAfterMs" | "createdBeforeMs">

type Failure = StaleCaller | UnknownCursor

type Outcome = Result.Result<ReadonlyArray<ShownCharge>, Failure>

interface Asked {
  readonly cached: Caller
  readonly window: ReturnType<typeof idsBetween>
  readonly page: Page
}

/** A charge of the page `n`, a page `n` without charges, or the number of a caller that is as cached. */
type PageRow = Row &
  (
    | { readonly id: string | null; readonly n: number; readonly caller: null }
    | { readonly id: null; readonly n: null; readonly caller: number }
  )

const findPages = statement(
  {
    pages: rows({
      n: integer(),
      account_id: uuid(),
      cursor: nullable(uuid()),
      from: uuid("from_id"),
      before: uuid("before_id"),
      most: integer()
    }),
    callers: currentCallers
  },
  ({ callers, pages }) => `WITH ${callers}
  SELECT ${shownChargeTable.columns("page")}, q.n, NULL::integer AS caller
  FROM ${pages} AS q
  LEFT JOIN charges AS named ON named.id = q.cursor
  LEFT JOIN LATERAL (
    SELECT * FROM (${rangeStatement({
      table: "charges",
      select: "*",
      columns: ["account_id", "origin"],
      keys: ["q.account_id", "'api'"],
      from: "q.from_id",
      before: "q.before_id",
      limit: MAX_LIMIT
    })}) AS newest LIMIT q.most
  ) AS page ON true
  WHERE q.cursor IS NULL OR (named.account_id = q.account_id AND named.origin = 'api')
  UNION ALL SELECT ${shownChargeTable.nulls}, NULL, n FROM live`
)

const pageRow = rowOf<PageRow>([...shownChargeTable.selected, "n", "caller"])

const newestFirst = (one: ShownCharge, other: ShownCharge): number => (one.id > other.id ? -1 : 1)

/** Of 101 charges each, some two megabytes. */
const MAX_PAGES = 32
