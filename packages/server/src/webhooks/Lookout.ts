/**
 * What a process knows of the deliveries that are due: how far in the order of their due times it has looked, and at
 * which destinations more is due than it has claimed.
 *
 * Guarantees: nothing that is due is passed by for good. What a claim looked at and left is at a destination that is
 * behind, and asked for there in turn; what no claim saw (what was due before the process began, or was committed late)
 * is found by the sweeps, which go through all destinations.
 */
import { type Claim, type ClaimedDue, now, type Sweep, type SweptDue } from "./DeliveryQueue.ts"
import type { Room } from "./UnderWay.ts"

export const makeLookout = () => {
  let from = now
  let sweptTo = ""
  // In the order in which they are asked for.
  const behind = new Set<string>()

  const passedBy = ({ full }: Room): ReadonlyArray<string> => {
    for (const destination of full) behind.add(destination)
    return [...behind]
  }
  const last = (destination: string) => {
    behind.delete(destination)
    behind.add(destination)
  }
  const noteMore = (found: ReadonlyMap<string, number>, { perDestination }: Room) => {
    for (const [destination, count] of found) if (count >= perDestination) last(destination)
  }

  return {
    /** What the next claim is about. */
    ask: (room: Room): Pick<Claim, "from" | "except" | "behind"> => {
      const except = passedBy(room)
      return { from, except, behind: except.filter((destination) => !room.full.has(destination)).slice(0, MOST_ASKED) }
    },
    /** `asked`: the destinations behind that the claim was about. Whether there is more to claim at once. */
    claimed: (due: ClaimedDue, asked: ReadonlyArray<string>, room: Room): boolean => {
      from = due.reached
      const isFull = due.count >= room.limit
      for (const destination of asked) {
        // Where the claim was full, there may be more than was found.
        if (!isFull) behind.delete(destination)
        else if (due.found.has(destination)) last(destination)
      }
      for (const destination of due.cut) behind.add(destination)
      noteMore(due.found, room)
      return due.count > 0 || !due.isCaughtUp || asked.length === MOST_ASKED
    },
    sweep: (room: Room): Pick<Sweep, "after" | "except"> => ({ after: sweptTo, except: passedBy(room) }),
    /** Whether there is more to sweep at once. */
    swept: (due: SweptDue, room: Room): boolean => {
      const isFull = due.count >= room.limit
      const [end] = [...due.found.keys()].slice(-1)
      sweptTo = (isFull ? end : due.walkedTo) ?? ""
      noteMore(due.found, room)
      // Where the sweep was full, it may have ended in the midst of the last one.
      if (isFull && end !== undefined) last(end)
      return isFull
    }
  }
}

/** Most destinations that a claim asks for what waits there. */
const MOST_ASKED = 20
