/**
 * Cursor pagination, used by both clients.
 *
 * Guarantees: iteration ends at the last page, or before a page that was already read. A service that ignores the cursor
 * or repeats cursors cannot cause an endless loop.
 */
import type { Page } from "./generated/Resources.ts"

/** The cursor after a page; `undefined` at the end of the list. */
export interface NextCursor {
  readonly next: string | undefined
}

/**
 * Starts an iteration, at a cursor or at the beginning. Pass the function each page, in order: it returns the cursor of
 * the next one, or `undefined` if the page was already read.
 */
export const startPagination = (cursor?: string): ((page: Page<unknown>) => NextCursor | undefined) => {
  const seen = new Set([cursor])
  return ({ data, has_more }) => {
    const { id } = Object(data.at(-1))
    const last = typeof id === "string" ? id : undefined
    if (last !== undefined) {
      if (seen.has(last)) return undefined
      seen.add(last)
    }
    return { next: has_more ? last : undefined }
  }
}

/** The largest `limit` that the service accepts (LIST-3). */
export const MAX_PAGE_SIZE = 100
