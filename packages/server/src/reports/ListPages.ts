/** The pages of a provider's list. */
import * as Effect from "effect/Effect"
import { AcquirerUnclear, type Paged, type Range } from "../providers/Acquirer.ts"

export interface TimeRange {
  readonly fromMs: number
  readonly toMs: number
}

/** Reads every page of a list, one after the other. One page is in memory. */
export const everyPage = Effect.fnUntraced(function* <A, E, E2, R>(
  { fromMs, toMs }: TimeRange,
  list: (range: Range) => Effect.Effect<Paged<A>, E>,
  onPage: (page: Paged<A>) => Effect.Effect<void, E2, R>
) {
  for (let page = 0; ; page += 1) {
    if (page >= MOST_PAGES) return yield* new AcquirerUnclear({ reason: `a slice has over ${MOST_PAGES} pages` })
    const read = yield* list({ fromMs, toMs, page })
    yield* onPage(read)
    if (!read.hasMore) return
  }
})

/** Of what is read in one go. */
export const SLICE_MS = 6 * 3_600_000
/** Of one slice: five million facts. A provider that always has more pages does not keep a reader running for ever. */
const MOST_PAGES = 5000
