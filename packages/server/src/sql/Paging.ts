/**
 * Reads one page of a list: newest first by id, one row more than asked for, so that `has_more` is known.
 *
 * Ids are UUIDv7, so that their order is that of creation, and what is created while somebody pages comes
 * before every cursor that was handed out: pages do not shift.
 *
 * What a page costs depends on the page: each list names the index that it walks (see `Seek`), and a test holds the
 * plans of all of them.
 */
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { UnknownCursor } from "../Errors.ts"
import { type Condition, pageStatement, recentStatement, type Seek, type Statement } from "./Seek.ts"

export interface Page {
  readonly limit: number
  readonly startingAfter: string | undefined
}

export interface List extends Seek {
  /** What the list is of: a cursor must be in it. Filters do not matter to the cursor. */
  readonly scope?: ReadonlyArray<Condition> | undefined
  /**
   * All conditions of the list, for one that is of all accounts: what is among the newest rows of the table is found
   * there, whatever number of accounts there is, and the paths are walked for what is not.
   */
  readonly recent?: ReadonlyArray<Condition> | undefined
}

/** A page of a list. */
export const readPage = Effect.fnUntraced(function* <Row extends object>(list: List, page: Page) {
  const sql = yield* SqlClient
  const run = <A extends object>({ parameters, text }: Statement) => sql.unsafe<A>(text, parameters)
  const cursor = page.startingAfter?.toLowerCase()
  if (cursor !== undefined) {
    const found = yield* run(cursorStatement(list, cursor))
    if (found.length === 0) return yield* new UnknownCursor()
  }
  const before = [cursor, list.before].filter((id) => id !== undefined).toSorted()[0]
  const seek: Seek = { ...list, before }
  const count = page.limit + 1
  if (list.recent !== undefined) {
    const rows = yield* run<Row>(recentStatement(seek, list.recent, count))
    if (rows.length === count) return rows
  }
  return yield* run<Row>(pageStatement(seek, count))
})

// The row is found by its id; what else is asked of it is asked of that row alone.
const cursorStatement = ({ scope = [], table }: List, cursor: string): Statement => {
  const parameters: Array<unknown> = [cursor]
  const bind = (value: unknown) => `$${parameters.push(value)}`
  const conditions = scope.map((condition) => condition(bind))
  const text = `WITH named AS MATERIALIZED (SELECT * FROM ${table} WHERE id = $1::uuid)
    SELECT 1 FROM named ${conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`}`
  return { text, parameters }
}
