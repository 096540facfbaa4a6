/** The pages of a provider's list. */
import * as Effect from "effect/Effect"
import { AcquirerUnclear, type Paged, type Range } from "../providers/Acquirer.ts"

export interface TimeRange {
  readonly fromMs: number
  readonly toMs: number
}

/**
 * Reads every page of a list, one after the other, and gives why that is not all of it; undefined where it is. One page is in memory.
 * A provider may answer one page twice, and another one never.
 */
export const everyPage = Effect.fnUntraced(function* <A, E, E2, R>(
  { fromMs, toMs }: TimeRange,
  list: (range: Range) => Effect.Effect<Paged<A>, E>,
  onPage: (page: Paged<A>) => Effect.Effect<void, E2, R>
) {
  let first = 0
  let listed = 0
  let problem: string | undefined
  for (let page = 0; ; page += 1) {
    if (page >= MOST_PAGES) return yield* new AcquirerUnclear({ reason: `a slice has over ${MOST_PAGES} pages` })
    const read = yield* list({ fromMs, toMs, page })
    yield* onPage(read)
    if (read.number === undefined) return problem ?? `the numbers of page ${first + page} of a list cannot be read`
    if (page === 0) first = read.number
    if (read.number !== first + page) problem ??= `page ${read.number} of a list was answered for page ${first + page}`
    listed += read.items.length + read.unreadable.length
    if (read.hasMore) continue
    if (listed < read.total) problem ??= `a list of ${read.total} entries has ${listed}`
    return problem
  }
})

/** Of what is read in one go. */
export const SLICE_MS = 6 * 3_600_000
/** The same of lists that have little. */
export const RETURN_SLICE_MS = 5 * 24 * 3_600_000
/** How old a payment may be that is returned now. */
export const RETURNED_MS = 190 * 24 * 3_600_000
/** The document does not say by which instant disputes are listed. */
export const DISPUTE_MARGIN_MS = 24 * 3_600_000
/** Of one slice: five million facts. A provider that always has more pages does not keep a reader running for ever. */
const MOST_PAGES = 5000
