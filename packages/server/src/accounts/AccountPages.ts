/**
 * Pages of all charges or all payouts of an account, of many callers in one statement.
 *
 * Guarantees:
 * - The statement proves each caller, and checks the cursor of each page.
 * - It reads the rows of the pages and no others, in one index, and `MAX_ROWS` at most. A list by status or method may pass
 *   over rows: it is a statement of its own, for a confirmed caller.
 *
 * Rules: CHG-20, KEY-4, LIST-1 to LIST-5. Why: docs/decisions/0013-lists-walk-an-index.md.
 */
import { defaultLimit } from "@pix-payments/domain/List"
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { UnknownCursor } from "../base/Errors.ts"
import * as Batching from "../database/batching/Batching.ts"
import { type Columns, integer, nullable, type Row, type RowOf, rowOf, uuid } from "../database/statements/Column.ts"
import { type CreatedBetween, idsBetween, lowestOf, type Page } from "../database/statements/Paging.ts"
import { HIGHEST, LOWEST, MAX_LIMIT, rangeStatement } from "../database/statements/Seek.ts"
import { rows, statement, value } from "../database/statements/Statement.ts"
import type { Table } from "../database/statements/Table.ts"
import type { Unavailable } from "../database/Unavailable.ts"
import { type Caller, isCurrent, NO_PROOF, type Proof, PROOF, proofColumns, staleCaller } from "./Caller.ts"

/** Reads a page of the caller's account, newest first, and one row more if there are more. */
export type ReadPage<A, F extends Filters = Filters> = (
  caller: Caller,
  filters: F,
  page: Page
) => Effect.Effect<ReadonlyArray<A>, UnknownCursor | Unavailable>

interface Filters extends CreatedBetween {
  readonly status?: string | undefined
  readonly method?: string | undefined
}

/** The statement that reads pages of a table by its index on the account, the columns of `fixed` and the id. */
export const pagesOf = <C extends Columns>(
  name: "charges" | "payouts",
  table: Table<C>,
  fixed: Readonly<Record<string, string>> = {}
) => ({
  decode: table.decode,
  toRow: rowOf<PageRow>([...table.selected, "n", ...proofColumns]),
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
      oldestCursor: value("uuid")
    },
    ({ oldestCursor, pages }) => `
  SELECT ${table.columns("page")}, q.n, ${NO_PROOF}
  FROM ${pages} AS q
  LEFT JOIN ${name} AS named ON named.id = q.cursor AND named.id >= ${oldestCursor}
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
  UNION ALL SELECT ${table.nulls}, NULL, ${PROOF}`
  )
})

/** `alone` reads the pages that share no statement. `complete` adds to rows what is stored elsewhere. */
export const makeReadPage = <C extends Columns, F extends Filters>(
  sql: SqlClient,
  { decode, find, toRow }: ReturnType<typeof pagesOf<C>>,
  alone: (
    accountId: string,
    filters: F,
    page: Page
  ) => Effect.Effect<ReadonlyArray<RowOf<C>>, UnknownCursor | Unavailable>,
  complete: (found: ReadonlyArray<PageRow>) => Effect.Effect<ReadonlyArray<PageRow>, SqlError> = Effect.succeed
): Effect.Effect<ReadPage<RowOf<C>, F>> => {
  type Outcome = Effect.Effect<ReadonlyArray<RowOf<C>>, UnknownCursor | Unavailable>

  const outcomes = (asked: ReadonlyArray<Asked>, found: ReadonlyArray<PageRow>) => {
    let proof: Proof | undefined
    const pages = new Map<number, Array<FoundRow>>()
    for (const row of found) {
      if (row.n === null) {
        proof = row
        continue
      }
      let page = pages.get(row.n)
      if (page === undefined) pages.set(row.n, (page = []))
      if (row.id !== null) page.push(row)
    }
    return asked.map(({ caller }, n): Outcome => {
      if (!isCurrent(caller, proof)) return staleCaller
      const page = pages.get(n)
      if (page === undefined) return Effect.fail(new UnknownCursor())
      return Effect.succeed(page.toSorted((one, other) => (one.id > other.id ? -1 : 1)).map(decode))
    })
  }

  const read = Batching.make<Asked, Outcome>({
    maxBatch: MAX_ROWS,
    sizeOf: ({ page }) => page.limit + 1,
    reads: sql,
    accountOf: ({ caller }) => caller.account.id,
    run: (asked) => {
      const pages = asked.map(({ caller, filters, page }, n) => {
        const cursor = page.startingAfter?.toLowerCase()
        const { before, from } = idsBetween(filters)
        return {
          n,
          account_id: caller.account.id,
          cursor,
          from_id: from ?? LOWEST,
          before_id: lowestOf(cursor, before) ?? HIGHEST,
          most: page.limit + 1
        }
      })
      // Without a cursor, no partition is opened for one.
      const oldestCursor = pages.reduce((oldest, { cursor }) => lowestOf(cursor, oldest) ?? oldest, HIGHEST)
      return sql.unsafe(...find({ pages, oldestCursor })).values.pipe(
        Effect.flatMap((values) => complete(values.map(toRow))),
        Effect.map((found) => outcomes(asked, found))
      )
    }
  })
  return Effect.map(read, (ask): ReadPage<RowOf<C>, F> => (caller, filters, page) => {
    if (filters.status === undefined && filters.method === undefined) {
      return Effect.flatten(ask({ caller, filters, page }))
    }
    return caller._tag === "Cached" ? staleCaller : alone(caller.account.id, filters, page)
  })
}

interface Asked {
  readonly caller: Caller
  readonly filters: CreatedBetween
  readonly page: Page
}

/** A row of the page `n`. */
type FoundRow = Row & { readonly id: string; readonly n: number }

/** The same, a page `n` without rows, or the proof. */
type PageRow =
  | FoundRow
  | (Row & { readonly id: null; readonly n: number })
  | (Row & Proof & { readonly id: null; readonly n: null })

/** Rows of all pages of a statement: 32 of the default limit, or 6 of a hundred. */
const MAX_ROWS = 32 * (defaultLimit + 1)
