/**
 * What a process knows of the deliveries that are due: how far in the order of their due times it has looked, and at
 * which destinations more is due than it has claimed.
 *
 * Guarantees: nothing that is due is passed by for good. What a claim looked at and left is at a destination that is
 * behind, and asked for there in turn; what it could not see is found by a sweep, at the latest some time after all that
 * it could see has been looked at.
 */
import { beginning, type Claim, type ClaimedDue, type Due, type Sweep } from "./DeliveryQueue.ts"

/** How far a lane has looked, and which destinations it knows to have more. */
export const makeLookout = (sweepEveryMs: number) => {
  let from = beginning
  let isCaughtUp = false
  let sweepAtMs = 0
  let sweptTo = ""
  // In the order in which they are asked for.
  const behind = new Set<string>()

  const known = (full: ReadonlySet<string>): ReadonlyArray<string> => {
    for (const destination of full) behind.add(destination)
    return [...behind]
  }
  const noteMore = (found: ReadonlyMap<string, number>, perDestination: number) => {
    for (const [destination, count] of found) {
      if (count < perDestination) continue
      behind.delete(destination)
      behind.add(destination)
    }
  }

  return {
    /** What the next claim is about. */
    ask: (full: ReadonlySet<string>): Pick<Claim, "from" | "except" | "behind"> => {
      const except = known(full)
      return { from, except, behind: except.filter((destination) => !full.has(destination)).slice(0, MOST_ASKED) }
    },
    /** `asked`: the destinations behind that the claim was about. */
    claimed: (due: ClaimedDue, asked: ReadonlyArray<string>, { limit, perDestination }: Limits) => {
      from = due.reached
      isCaughtUp = due.isCaughtUp
      for (const destination of asked) {
        const count = due.found.get(destination) ?? 0
        // Where the claim was full, there may be more than was found.
        if (due.count >= limit && count === 0) continue
        behind.delete(destination)
        if (due.count >= limit) behind.add(destination)
      }
      noteMore(due.found, perDestination)
    },
    /** Only of what has been looked at can something have been missed. */
    wantsSweep: (nowMs: number): boolean => isCaughtUp && nowMs >= sweepAtMs,
    sweep: (full: ReadonlySet<string>): Pick<Sweep, "after" | "except"> => ({ after: sweptTo, except: known(full) }),
    swept: (due: Due, { limit, perDestination }: Limits, startedMs: number, endedMs: number) => {
      sweepAtMs = endedMs + Math.max(sweepEveryMs, SWEEP_SHARE * (endedMs - startedMs))
      sweptTo = due.count < limit ? "" : ([...due.found.keys()].at(-1) ?? "")
      noteMore(due.found, perDestination)
      // Much was missed: from the beginning, in the order of due times.
      if (due.count >= limit) {
        from = beginning
        isCaughtUp = false
      }
    }
  }
}

type Limits = Pick<Claim, "limit" | "perDestination">

// A sweep takes one part in so many of the time, however long it takes.
const SWEEP_SHARE = 20
/** Most destinations that a claim asks for what waits there. */
const MOST_ASKED = 20
