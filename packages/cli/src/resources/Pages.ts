/** Lists in pages: as the service sends one page, or item by item up to a limit or the end. CLI-17. */
import * as Effect from "effect/Effect"
import { call, type Service } from "../OperatorClient.ts"
import { showTable, type Row, writeJson } from "../Output.ts"
import { drained, isTerminal, jsonOf, notice, progress, write } from "../Terminal.ts"

/** The most items of a page. */
export const PAGE = 100

/** Items without `--limit`. */
export const DEFAULT_LIMIT = 20

export interface Page {
  readonly data: ReadonlyArray<Row>
  readonly has_more: boolean
  /** From where to go on, where it is not the last item (OPR-290). */
  readonly next?: string | null
}

export interface Listing {
  readonly operation: string
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, unknown>>
  readonly limit: number | undefined
  readonly isAll: boolean
  readonly json: boolean
}

/** Reads pages until `limit` items or while `onPage` wants more, one page in memory at a time. */
export const eachPage = Effect.fnUntraced(function* <E>(
  service: Service,
  { operation, params, query }: Pick<Listing, "operation" | "params" | "query">,
  limit: number,
  onPage: (items: ReadonlyArray<Row>, hasMore: boolean) => Effect.Effect<boolean, E>
) {
  let left = limit
  let after = query["starting_after"]
  while (left > 0) {
    const { body } = yield* call(service, operation, {
      params,
      query: {
        ...query,
        limit: Math.min(PAGE, left),
        ...(after === undefined ? {} : { starting_after: after })
      }
    })
    const { data, has_more: hasMore, next } = body as Page
    const wantsMore = yield* onPage(data, hasMore)
    left -= data.length
    after = next ?? data.at(-1)?.["id"]
    if (!wantsMore || !hasMore || after === undefined) return
  }
})

/** Shows a list. One page as JSON is the service's own; more are lines, one for each item. */
export const showList = Effect.fnUntraced(function* (service: Service, listing: Listing) {
  const limit = listing.isAll ? Infinity : (listing.limit ?? DEFAULT_LIMIT)
  const isOnePage = limit <= PAGE
  let count = 0
  yield* eachPage(service, listing, limit, (items, hasMore) =>
    Effect.suspend(() => {
      if (listing.json && isOnePage) writeJson({ object: "list", data: items, has_more: hasMore })
      else if (listing.json) for (const item of items) write(`${jsonOf(item)}\n`)
      else if (items.length > 0) showTable(items, "", count === 0)
      count += items.length
      // On a terminal, the items themselves show how far it is.
      if (!isOnePage && !isTerminal()) progress(hasMore && count < limit ? `${count} items` : "")
      if (!listing.json && count === 0) notice("None.")
      if (!listing.json && hasMore && count >= limit) notice(`There are more: --limit ${count * 2}, or --all.`)
      return Effect.as(drained, true)
    })
  )
})
