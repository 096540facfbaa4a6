/**
 * What a lane has claimed and not recorded yet, by destination, and what more it may take.
 *
 * Guarantees: bounded in all and for each destination. The fewer places are left, the fewer of them one destination
 * gets, so that no number of destinations that hang takes the last places from the others at once. A delivery whose
 * endpoint has moved counts at both its destinations: where it was found, and where it goes.
 */
import type { Claimed } from "./DeliveryQueue.ts"

/** Most that are under way to one destination, which is an origin. */
export const DESTINATION_LIMIT = 50

export interface Room {
  /** Most that a claim may take, in all and for one destination. */
  readonly limit: number
  readonly perDestination: number
  /** Destinations that have as much under way as they may. */
  readonly full: ReadonlySet<string>
}

/** `eased` is called when there is room again, in all or at a destination that was full. */
export const makeUnderWay = (places: number, atOnce: number, eased: () => void) => {
  // Each claim for itself: one whose lease ran out unseen may be claimed here again while it is still under way.
  const held = new Set<Claimed>()
  const byDestination = new Map<string, number>()
  /** Those that somebody was told were full, each with the number at which that is over. */
  const told = new Map<string, number>()

  const remove = (destination: string) => {
    const count = (byDestination.get(destination) ?? 1) - 1
    if (count === 0) byDestination.delete(destination)
    else byDestination.set(destination, count)
    // Claimed for again once half has gone, so that a claim is worth its statement.
    if (count <= (told.get(destination) ?? -1)) {
      told.delete(destination)
      eased()
    }
  }

  return {
    ids: (): ReadonlyArray<string> => [...new Set([...held].map(({ id }) => id))],
    /** Undefined where all places are taken. */
    room: (): Room | undefined => {
      const left = places - held.size
      if (left <= 0) return undefined
      const perDestination = Math.min(DESTINATION_LIMIT, Math.ceil(left / SHARE))
      const full = new Set<string>()
      for (const [destination, count] of byDestination) {
        if (count < perDestination) continue
        full.add(destination)
        if (!told.has(destination)) told.set(destination, Math.floor(count / 2))
      }
      return { limit: Math.min(left, atOnce), perDestination, full }
    },
    add: (delivery: Claimed) => {
      const { destination, foundAt } = delivery
      held.add(delivery)
      for (const name of new Set([destination, foundAt])) byDestination.set(name, (byDestination.get(name) ?? 0) + 1)
    },
    remove: (delivery: Claimed) => {
      const { destination, foundAt } = delivery
      if (!held.delete(delivery)) return
      for (const name of new Set([destination, foundAt])) remove(name)
      if (held.size === places - atOnce) eased()
    }
  }
}

/** A destination may have one part in so many of the places that are left. */
const SHARE = 5
