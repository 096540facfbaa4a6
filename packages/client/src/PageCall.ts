/**
 * A call of a list: a promise of its first page, an async iterator over all items, or an array of the first items.
 *
 * Guarantees: a page is requested when it is needed, one at a time. Iteration ends as `Pagination` describes.
 */
import { Call, type WithResponse } from "./Call.ts"
import { UsageError } from "./Errors.ts"
import type { Page } from "./generated/Resources.ts"
import { MAX_PAGE_SIZE, startPagination } from "./Pagination.ts"

/** The pagination parameters of a list. */
export interface PageQuery {
  /** Items per page, 1 to 100. */
  readonly limit?: number | undefined
  /** The id of the last item of the previous page. */
  readonly starting_after?: string | undefined
}

/** A page, with access to the next one. */
export interface ListPage<Item> extends Page<Item> {
  /** Requests the next page with the same filters; `undefined` on the last page. */
  getNextPage(): PageCall<Item> | undefined
}

/**
 * `await` gives the first page. `for await` gives every item of every page.
 *
 * @example
 * ```ts
 * import { Payments } from "@pix-payments/client"
 *
 * const payments = new Payments({ baseUrl: "https://pix.example.com", apiKey: "pix_…" })
 *
 * for await (const charge of payments.charges.list({ status: "paid" })) {
 *   console.log(charge.id, charge.amount)
 * }
 * const latest = await payments.charges.list().toArray({ limit: 250 })
 * ```
 */
export class PageCall<Item> extends Call<ListPage<Item>> implements AsyncIterable<Item> {
  readonly #query: PageQuery
  readonly #fetchPage: FetchPage<Item>

  /** @internal */
  constructor(query: PageQuery, fetchPage: FetchPage<Item>) {
    let first: Promise<WithResponse<ListPage<Item>>> | undefined
    super(
      () =>
        (first ??= fetchPage(query).then(({ data, response }) => ({
          data: withNextPage(data, query, fetchPage),
          response
        })))
    )
    this.#query = query
    this.#fetchPage = fetchPage
  }

  /** Every page, starting from the first. Pages have 100 items unless the query sets `limit`. */
  async *pages(): AsyncGenerator<Page<Item>, void, undefined> {
    const cursorAfter = startPagination()
    const query: { limit: number; starting_after?: string | undefined } = {
      ...this.#query,
      limit: this.#query.limit ?? MAX_PAGE_SIZE
    }
    while (true) {
      const page = (await this.#fetchPage(query)).data
      const cursor = cursorAfter(page)
      if (cursor) yield page
      if (cursor?.next === undefined) return
      query.starting_after = cursor.next
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for await (const { data } of this.pages()) yield* data
  }

  /**
   * The first `limit` items, from as many pages as needed. `limit` is required because a list may be long.
   *
   * @throws {UsageError} if `limit` is not a whole number above 0
   */
  async toArray({ limit }: { readonly limit: number }): Promise<Array<Item>> {
    if (!Number.isSafeInteger(limit) || limit < 1) {
      throw new UsageError("limit must be a whole number above 0", { operation: "toArray", attempts: 0 })
    }
    const query = { limit: Math.min(limit, MAX_PAGE_SIZE), ...this.#query }
    const items: Array<Item> = []
    for await (const item of new PageCall(query, this.#fetchPage)) {
      items.push(item)
      if (items.length === limit) break
    }
    return items
  }
}

/** Requests one page. */
type FetchPage<Item> = (query: PageQuery) => Promise<WithResponse<Page<Item>>>

/** Adds `getNextPage` to a page. It is not enumerable, so that `JSON.stringify` and comparisons ignore it. */
const withNextPage = <Item>(page: Page<Item>, query: PageQuery, fetchPage: FetchPage<Item>): ListPage<Item> => {
  const { next } = startPagination(query.starting_after)(page) ?? {}
  const getNextPage = () =>
    next === undefined ? undefined : new PageCall({ ...query, starting_after: next }, fetchPage)
  return Object.defineProperty(page, "getNextPage", { value: getNextPage }) as ListPage<Item>
}
