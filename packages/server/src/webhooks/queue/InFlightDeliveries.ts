/**
 * The deliveries of a lane that are in flight: admitted, and not recorded yet.
 *
 * Guarantees:
 * - Whatever `admit` returns is in flight at once, so that a claim and the fan-out never admit into the same capacity.
 * - A delivery whose endpoint has moved counts at both of its destinations.
 */
import {
  admit,
  type Candidate,
  count,
  countersOf,
  DESTINATION_LIMIT,
  fullScope,
  isHalfFull,
  roomAt,
  scopesOf
} from "./Admission.ts"

/** A delivery that counts. */
interface Counted extends Candidate {
  /** Another destination if its endpoint has moved. */
  readonly previousDestination?: string
}

export type InFlightDeliveries = ReturnType<typeof makeInFlightDeliveries>

export const makeInFlightDeliveries = (most: number) => {
  const counters = countersOf({ most, counts: new Map(), accounts: 0 })
  // By object, not by id: a delivery whose lease expired may be claimed here again while its attempt is in flight.
  const inFlight = new Set<Counted>()
  /** Scopes that refused a delivery, each with the count at which a round is worthwhile again. */
  const thresholds = new Map<string, number>()

  const scopesOfBoth = ({ destination, previousDestination = destination }: Counted): Iterable<string> =>
    destination === previousDestination
      ? scopesOf(destination)
      : new Set([...scopesOf(destination), ...scopesOf(previousDestination)])

  const add = (delivery: Counted) => {
    inFlight.add(delivery)
    count(counters, scopesOfBoth(delivery), 1)
  }
  /** A round is worthwhile once half of what is in flight has ended, or as many as one destination may have. */
  const awaitCapacity = (scope: string) => {
    const now = counters.counts.get(scope) ?? 0
    if (!thresholds.has(scope)) thresholds.set(scope, Math.max(Math.floor(now / 2), now - DESTINATION_LIMIT))
  }

  return {
    /** Admits some of these, at most `limit`. */
    admit: <C extends Counted>(candidates: ReadonlyArray<C>, limit: number): ReadonlyArray<C> => {
      const { admitted, full } = admit(candidates, counters, limit)
      admitted.forEach(add)
      full.forEach(awaitCapacity)
      return admitted
    },
    /** The scope that refuses deliveries to this destination, if any. `remove` reports when it has capacity again. */
    fullScope: (destination: string): string | undefined => {
      const scope = fullScope(destination, counters)
      if (scope !== undefined) awaitCapacity(scope)
      return scope
    },
    roomAt: (destination: string): number => roomAt(destination, counters),
    isHalfFull: (destination: string): boolean => isHalfFull(destination, counters),
    add,
    /** Returns whether a scope that refused deliveries has enough capacity again. */
    remove: (delivery: Counted): boolean => {
      if (!inFlight.delete(delivery)) return false
      const scopes = scopesOfBoth(delivery)
      count(counters, scopes, -1)
      const freed = [...scopes].filter((scope) => (counters.counts.get(scope) ?? 0) <= (thresholds.get(scope) ?? -1))
      for (const scope of freed) thresholds.delete(scope)
      return freed.length > 0
    }
  }
}
