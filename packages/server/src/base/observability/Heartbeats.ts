/**
 * The background loops of this process, and when each last completed a round.
 *
 * Guarantee: a loop that works for longer than it may without completing a round is stalled, whether its rounds hang or fail. A
 * loop that waits for work is not.
 */
import type * as Clock from "effect/Clock"
import * as Context from "effect/Context"

export interface Loop {
  readonly name: string
  /** When it last completed a round, in milliseconds since 1970; 0 before that. */
  readonly lastRoundMs: number
  readonly isStalled: boolean
}

/** What a loop says of itself. */
export interface Beat {
  readonly begin: () => void
  /** A round is complete; `isIdle`: the loop waits for work. */
  readonly complete: (isIdle: boolean) => void
  readonly end: () => void
}

export interface Heartbeats {
  readonly start: (name: string, withinMs: number, clock: Clock.Clock) => Beat
  /** By name. */
  readonly all: () => ReadonlyArray<Loop>
}

const make = (): Heartbeats => {
  const loops = new Set<() => Loop>()
  return {
    start: (name, withinMs, clock) => {
      let lastRoundMs = 0
      let workingSince: number | undefined
      const now = () => clock.currentTimeMillisUnsafe()
      const seen = (): Loop => ({
        name,
        lastRoundMs,
        isStalled: workingSince !== undefined && now() - workingSince > withinMs
      })
      loops.add(seen)
      return {
        begin: () => {
          workingSince ??= now()
        },
        complete: (isIdle) => {
          lastRoundMs = now()
          workingSince = isIdle ? undefined : lastRoundMs
        },
        end: () => void loops.delete(seen)
      }
    },
    all: () => [...loops].map((seen) => seen()).toSorted((one, other) => (one.name < other.name ? -1 : 1))
  }
}

export const Heartbeats = Context.Reference<Heartbeats>("@pix-payments/server/Heartbeats", { defaultValue: make })
