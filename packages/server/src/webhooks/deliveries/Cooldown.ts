/**
 * Ids that this process skips for 30 s because a statement failed for each of them alone.
 *
 * Guarantees: bounded; beyond the bound the oldest id is tried again.
 *
 * Why: a row that fails alone is normally ended as failed. A row that cannot be ended, or whose statement timed out, is
 * skipped.
 */
import type * as Clock from "effect/Clock"

export const makeCooldown = (clock: Clock.Clock) => {
  const untilMs = new Map<string, number>()
  return {
    add: (id: string) => {
      const [oldest] = untilMs.keys()
      if (untilMs.size >= MAX_IDS && oldest !== undefined) untilMs.delete(oldest)
      untilMs.delete(id)
      untilMs.set(id, clock.currentTimeMillisUnsafe() + COOLDOWN_MS)
    },
    ids: (): ReadonlyArray<string> => {
      const nowMs = clock.currentTimeMillisUnsafe()
      for (const [id, until] of untilMs) if (until <= nowMs) untilMs.delete(id)
      return [...untilMs.keys()]
    }
  }
}

const MAX_IDS = 1000
const COOLDOWN_MS = 30_000
