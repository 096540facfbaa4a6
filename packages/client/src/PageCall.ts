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
export class PageCall<Item> extends Call<Page<Item>> implements AsyncIterable<Item> {
  readonly #query: PageQuery
  readonly #fetchPage: (query: PageQuery) => Promise<WithResponse<Page<Item>>>

  /** @internal */
  constructor(query: PageQuery, fetchPage: (query: PageQuery) => Promise<WithResponse<Page<Item>>>) {
    let first: Promise<WithResponse<Page<Item>>> | undefined
    super(() => (first ??= fetchPage(query)))
    this.#query = query
    this.#fetchPage = fetchPage
  }

  /** Every page, the first one first. */
  async *pages(): AsyncGenerator<Page<Item>, void, undefined> {
    const judge = startWalk()
    let page: Page<Item> = await this
    while (true) {
      const step = judge(page)
      if (step) yield page
      if (step?.next === undefined) return
      page = (await this.#fetchPage({ ...this.#query, starting_after: step.next })).data
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
    const pages =
      this.#query.limit === undefined
        ? new PageCall({ ...this.#query, limit: Math.min(limit, LARGEST_PAGE) }, this.#fetchPage)
        : this
    const items: Array<Item> = []
    for await (const item of pages) {
      items.push(item)
      if (items.length === limit) break
    }
    return items
  }
}
