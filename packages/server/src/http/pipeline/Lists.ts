/**
 * The query and the answer of list routes.
 *
 * Rules: LIST-1, LIST-3, LIST-4, LIST-6.
 */
import { parseDocument } from "@pix-payments/domain/Document"
import { parseInstant } from "@pix-payments/domain/Instant"
import { defaultLimit, pageOf } from "@pix-payments/domain/List"
import type { Page, Sum, WalkedPage } from "../../database/statements/Paging.ts"

export const pageFrom = (query: {
  readonly limit?: number | undefined
  readonly starting_after?: string | undefined
  readonly order?: string | undefined
}): Page => ({
  limit: query.limit ?? defaultLimit,
  startingAfter: query.starting_after,
  isAscending: query.order === "asc"
})

/** The filters by time of creation. */
export const createdBetween = (query: {
  readonly created_after?: string | null | undefined
  readonly created_before?: string | null | undefined
}) => ({
  createdAfterMs: instantFrom(query.created_after),
  createdBeforeMs: instantFrom(query.created_before)
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

/** 200 with a page of a list that may have been walked. */
export const walkedAnswer = <Row, Item>({ lookedAt, next, rows }: WalkedPage<Row>, toItem: (row: Row) => Item) => ({
  status: 200,
  body: {
    object: "list" as const,
    data: rows.map(toItem),
    has_more: next !== undefined,
    next: next ?? null,
    looked_at: lookedAt
  }
})

/** 200 with the count and sum of a list. */
export const sumAnswer = ({ amount, count, isAtLeast, lookedAt, states }: Sum) => ({
  status: 200,
  body: { object: "summary" as const, count, amount, states, at_least: isAtLeast, looked_at: lookedAt }
})

/** 200 with the count of a list whose rows have no amount. */
export const countAnswer = ({ count, isAtLeast, lookedAt, states }: Sum) => ({
  status: 200,
  body: {
    object: "summary" as const,
    count,
    states: states.map((each) => ({ status: each.status, count: each.count })),
    at_least: isAtLeast,
    looked_at: lookedAt
  }
})

/** A filter by a document, in any form; one that is none matches nothing. */
export const documentFrom = (document: string | undefined): string | undefined =>
  document === undefined ? undefined : (parseDocument(document)?.value ?? "")

/** An instant of a query, or of a body, in epoch milliseconds. */
export const instantFrom = (instant: string | null | undefined): number | undefined =>
  typeof instant === "string" ? parseInstant(instant) : undefined
