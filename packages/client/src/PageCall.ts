/**
 * A list: a promise of its first page, an iteration over all its items, or an array of the first so many.
 *
 * Guarantees: pages are asked for one after the other, each when it is needed; the iteration ends as `Walk` says.
 */
import { Call, type WithResponse } from "./Call.ts"
import { UsageError } from "./Errors.ts"
import type { Page } from "./generated/Resources.ts"
import { LARGEST_PAGE, startWalk } from "./Walk.ts"

/** Where a page begins, and how much it holds. */
export interface PageQuery {
  /** Items on a page, 1 to 100. */
  readonly limit?: number | undefined
  /** The id of the last item of the previous page. */
  readonly starting_after?: string | undefined
}

/** A page that leads to the next one. */
export interface ListPage<Item> extends Page<Item> {
  /** The next page, under the same query; `undefined` at the end of the list. */
  getNextPage(): PageCall<Item> | undefined
}

/**
 * `await` gives the first page; `for await` every item of every page.
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
        (first ??= fetchPage(query).then(({ data, response }) => ({ data: linked(data, query, fetchPage), response })))
    )
    this.#query = query
    this.#fetchPage = fetchPage
  }

  /** Every page, the first one first, of 100 items unless the query says otherwise. Each time from the start. */
  async *pages(): AsyncGenerator<Page<Item>, void, undefined> {
    const judge = startWalk()
    const query: { limit: number; starting_after?: string | undefined } = {
      ...this.#query,
      limit: this.#query.limit ?? LARGEST_PAGE
    }
    while (true) {
      const page = (await this.#fetchPage(query)).data
      const step = judge(page)
      if (step) yield page
      if (step?.next === undefined) return
      query.starting_after = step.next
    }
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for await (const { data } of this.pages()) yield* data
  }

  /**
   * The first `limit` items, over as many pages as it takes. The bound is yours to name: a list may be long.
   *
   * @throws {UsageError} when `limit` is not a whole number above 0
   */
  async toArray({ limit }: { readonly limit: number }): Promise<Array<Item>> {
    if (!Number.isSafeInteger(limit) || limit < 1) {
      throw new UsageError("limit must be a whole number above 0", { operation: "toArray", attempts: 0 })
    }
    const size = this.#query.limit ?? Math.min(limit, LARGEST_PAGE)
    const items: Array<Item> = []
    for await (const item of new PageCall({ ...this.#query, limit: size }, this.#fetchPage)) {
      items.push(item)
      if (items.length === limit) break
    }
    return items
  }
}

/** Asks for a page. */
type FetchPage<Item> = (query: PageQuery) => Promise<WithResponse<Page<Item>>>

/** The page, with the way to the next one where `JSON.stringify` and comparisons do not see it. */
const linked = <Item>(page: Page<Item>, query: PageQuery, fetchPage: FetchPage<Item>): ListPage<Item> => {
  const { next } = startWalk(query.starting_after)(page) ?? {}
  const getNextPage = () =>
    next === undefined ? undefined : new PageCall({ ...query, starting_after: next }, fetchPage)
  return Object.defineProperty(page, "getNextPage", { value: getNextPage }) as ListPage<Item>
}
