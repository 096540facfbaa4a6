/**
 * Ids that this process leaves out of its rounds for a while, because a statement failed for each of them alone.
 *
 * What can be set aside in its row is; this is for what cannot, and for what is too slow. Bounded: beyond the bound the
 * oldest is tried again.
 */
import type * as Clock from "effect/Clock"

export const makeSkipped = (clock: Clock.Clock) => {
  const untilMs = new Map<string, number>()
  return {
    add: (id: string) => {
      const [oldest] = untilMs.keys()
      if (untilMs.size >= MOST && oldest !== undefined) untilMs.delete(oldest)
      untilMs.delete(id)
      untilMs.set(id, clock.currentTimeMillisUnsafe() + FOR_MS)
    },
    ids: (): ReadonlyArray<string> => {
      const nowMs = clock.currentTimeMillisUnsafe()
      for (const [id, until] of untilMs) if (until <= nowMs) untilMs.delete(id)
      return [...untilMs.keys()]
    }
  }
}

const MOST = 1000
const FOR_MS = 30_000
