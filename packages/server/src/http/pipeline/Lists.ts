/**
 * The query and the answer of list routes.
 *
 * Rules: LIST-1, LIST-3, LIST-4, LIST-6.
 */
import { parseInstant } from "@pix-payments/domain/Instant"
import { defaultLimit, pageOf } from "@pix-payments/domain/List"
import type { Page } from "../../database/statements/Paging.ts"

export const pageFrom = (query: {
  readonly limit?: number | undefined
  readonly starting_after?: string | undefined
}): Page => ({ limit: query.limit ?? defaultLimit, startingAfter: query.starting_after })

/** The filters by time of creation. */
export const createdBetween = (query: {
  readonly created_after?: string | undefined
  readonly created_before?: string | undefined
}) => ({
  createdAfterMs: query.created_after === undefined ? undefined : parseInstant(query.created_after),
  createdBeforeMs: query.created_before === undefined ? undefined : parseInstant(query.created_before)
})

/** The filters of the lists of charges and payouts. */
export const filtersFrom = <Status, Method>(
  query: Parameters<typeof createdBetween>[0] & {
    readonly status?: Status | undefined
    readonly method?: Method | undefined
  }
) => ({ status: query.status, method: query.method, ...createdBetween(query) })

/** 200 with a page of a list. `rows` has one more than the page where more exist. */
export const listAnswer = <Row, Item>(rows: ReadonlyArray<Row>, toItem: (row: Row) => Item, page: Page) => ({
  status: 200,
  body: pageOf(rows.map(toItem), page.limit)
})
