/**
 * Reads one page of a list: newest first by id, one row more than asked for, so that `has_more` is known.
 *
 * Ids are UUIDv7, so that their order is that of creation, and what is created while somebody pages comes
 * before every cursor that was handed out: pages do not shift.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import { UnknownCursor } from "../Errors.ts"

export interface Page {
  readonly limit: number
  readonly startingAfter: string | undefined
}

/**
 * A page of `table`. `scope` says what the list is of; a cursor must be in it. `filters` narrow the page and
 * do not matter to the cursor.
 */
export const readPage = Effect.fnUntraced(function* <Row extends object>(options: {
  readonly table: string
  readonly columns: string
  readonly scope: ReadonlyArray<Fragment>
  readonly filters: ReadonlyArray<Fragment>
  readonly page: Page
}) {
  const sql = yield* SqlClient
  const table = sql.literal(options.table)
  const conditions = [...options.scope, ...options.filters]
  if (options.page.startingAfter !== undefined) {
    const cursor = sql`id = ${options.page.startingAfter}::uuid`
    const found = yield* sql`SELECT 1 FROM ${table} WHERE ${sql.and([...options.scope, cursor])}`
    if (found.length === 0) return yield* new UnknownCursor()
    conditions.push(sql`id < ${options.page.startingAfter}::uuid`)
  }
  return yield* sql<Row>`SELECT ${sql.literal(options.columns)} FROM ${table}
    ${conditions.length > 0 ? sql`WHERE ${sql.and(conditions)}` : sql``}
    ORDER BY id DESC LIMIT ${options.page.limit + 1}`
})
