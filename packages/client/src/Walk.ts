/**
 * How a list is gone through, page after page; what both clients do.
 *
 * Guarantees: it ends with the list, and before a page that was seen already: a service that ignores the cursor, or
 * whose cursors go round in a circle, gives each page once.
 */
import type { Page } from "./generated/Resources.ts"

/** A page that is new, and where the next one begins; no `next` at the end. */
export interface Step {
  readonly next: string | undefined
}

/** Judges the pages of one walk, from a cursor on, in their order; `undefined` for one that was seen already. */
export const startWalk = (cursor?: string): ((page: Page<unknown>) => Step | undefined) => {
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

/** The most that a page holds. */
export const LARGEST_PAGE = 100
