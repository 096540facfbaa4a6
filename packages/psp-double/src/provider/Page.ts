/** One page of a list, as the API Pix counts them: from 0, with the number of pages at least 1. */

export interface Range {
  readonly fromMs: number
  readonly toMs: number
}

export interface PageRequest {
  readonly page: number
  readonly size: number
  readonly newestFirst?: boolean
}

export interface Page<A> extends PageRequest {
  readonly items: ReadonlyArray<A>
  readonly pages: number
  readonly total: number
}

/** `items` are in the order of their creation. */
export const pageOf = <A>(items: ReadonlyArray<A>, { page, size, newestFirst }: PageRequest): Page<A> => ({
  items: (newestFirst === true ? items.toReversed() : items).slice(page * size, (page + 1) * size),
  page,
  size,
  pages: Math.max(1, Math.ceil(items.length / size)),
  total: items.length
})

/** Both ends belong to the range. */
export const isWithin = ({ fromMs, toMs }: Range, atMs: number): boolean => fromMs <= atMs && atMs <= toMs
