/**
 * The list envelope and the query parameters of every list: LIST-1 to LIST-8.
 */
import * as Schema from "effect/Schema"
import { wholeNumber } from "./Request.ts"

export const defaultLimit = 20

/** `{ object: "list", data, has_more }` of some resource. */
export const listOf = <S extends Schema.Constraint>(item: S) =>
  Schema.Struct({
    object: Schema.Literal("list"),
    data: Schema.Array(item),
    has_more: Schema.Boolean.annotate({ description: "True while more items exist after this page." })
  })

/** A page whose items are in their wire form. */
export interface Page<A> {
  readonly object: "list"
  readonly data: ReadonlyArray<A>
  readonly has_more: boolean
}

/** The page of up to `limit + 1` items: one more than `limit` means that more exist. */
export const pageOf = <A>(itemsRead: ReadonlyArray<A>, limit: number): Page<A> => ({
  object: "list",
  data: itemsRead.slice(0, limit),
  has_more: itemsRead.length > limit
})

export const Limit = wholeNumber(1, 100).annotate({
  description: "Page size, 1 to 100; 20 when absent.",
  default: defaultLimit
})

export const StartingAfter = Schema.String.check(Schema.isUUID()).annotate({
  description: "The id of the last item of the previous page.",
  format: "uuid"
})

/** The query parameters of a list without filters. */
export const listQuery = {
  limit: Schema.optionalKey(Limit),
  starting_after: Schema.optionalKey(StartingAfter)
}
