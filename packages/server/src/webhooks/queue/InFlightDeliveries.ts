/**
 * The deliveries of a lane that are claimed and not recorded yet, and the capacity that is left.
 *
 * Guarantees:
 * - in-flight deliveries are bounded in all, by account, by destination and by origin;
 * - capacity is shared by account first: an account has at most the capacity divided by the active accounts, and at most a
 *   third of what is left, but at least `MIN_PER_ACCOUNT`, so that destinations that hang, however many, never take the
 *   last capacity from other accounts;
 * - a destination has at most a fifth of what is left;
 * - an origin has at most twice what one account may have there, so that accounts that share a receiver do not take all
 *   capacity when it hangs;
 * - a delivery whose endpoint has moved counts at both of its destinations.
 */
import { type ClaimedDelivery, NIL_UUID, originOf } from "../deliveries/Delivery.ts"

/** In-flight deliveries to one destination. */
export const DESTINATION_LIMIT = 50

/** What a claim may take. */
export interface Capacity {
  /** In all, of one account, for one destination and for one origin. */
  readonly limit: number
  readonly perAccount: number
  readonly perOrigin: number
  readonly perDestination: number
  readonly saturatedAccounts: ReadonlySet<string>
  readonly saturatedDestinations: ReadonlySet<string>
  /** Digests of origins. */
  readonly saturatedOrigins: ReadonlySet<string>
}

/**
 * `onCapacityFreed` is called when a claim is worthwhile again: in all, or because an account, destination or origin is no
 * longer saturated.
 */
export const makeInFlightDeliveries = (maxInFlight: number, maxPerClaim: number, onCapacityFreed: () => void) => {
  // By object, not by id: a delivery whose lease expired may be claimed here again while its attempt is in flight.
  const inFlight = new Set<ClaimedDelivery>()
  const byAccount = makeCounts(onCapacityFreed)
  const byDestination = makeCounts(onCapacityFreed)
  const byOrigin = makeCounts(onCapacityFreed)

  const destinationsOf = ({ destination, previousDestination }: ClaimedDelivery) =>
    new Set([destination, previousDestination])
  const originsOf = (delivery: ClaimedDelivery) => {
    const origins = new Set([...destinationsOf(delivery)].map(originOf))
    // Rows without a digest do not share an origin.
    origins.delete(NIL_UUID)
    return origins
  }

  return {
    all: (): ReadonlyArray<ClaimedDelivery> => [...inFlight],
    /** How many there are for a destination. */
    countOf: byDestination.countOf,
    /** Undefined if none is left. */
    capacity: (): Capacity | undefined => {
      const left = maxInFlight - inFlight.size
      if (left <= 0) return undefined
      const share = Math.ceil(maxInFlight / Math.max(1, byAccount.size()))
      const perAccount = Math.max(MIN_PER_ACCOUNT, Math.min(share, Math.ceil(left / ACCOUNT_SHARE)))
      const ofOne = Math.min(DESTINATION_LIMIT, Math.ceil(left / DESTINATION_SHARE))
      const perDestination = Math.min(ofOne, perAccount)
      const perOrigin = ACCOUNTS_PER_ORIGIN * ofOne
      return {
        limit: Math.min(left, maxPerClaim),
        perAccount,
        perDestination,
        perOrigin,
        saturatedAccounts: byAccount.saturated(perAccount),
        saturatedDestinations: byDestination.saturated(perDestination),
        saturatedOrigins: byOrigin.saturated(perOrigin)
      }
    },
    add: (delivery: ClaimedDelivery) => {
      inFlight.add(delivery)
      byAccount.add(delivery.accountId)
      for (const name of destinationsOf(delivery)) byDestination.add(name)
      for (const name of originsOf(delivery)) byOrigin.add(name)
    },
    remove: (delivery: ClaimedDelivery) => {
      if (!inFlight.delete(delivery)) return
      byAccount.remove(delivery.accountId)
      for (const name of destinationsOf(delivery)) byDestination.remove(name)
      for (const name of originsOf(delivery)) byOrigin.remove(name)
      if (inFlight.size === maxInFlight - maxPerClaim) onCapacityFreed()
    }
  }
}

/** Counts by name. */
const makeCounts = (onCapacityFreed: () => void) => {
  const counts = new Map<string, number>()
  /** Names that were returned as saturated, each with the count at which `onCapacityFreed` is called. */
  const thresholds = new Map<string, number>()
  return {
    size: () => counts.size,
    countOf: (name: string): number => counts.get(name) ?? 0,
    add: (name: string) => void counts.set(name, (counts.get(name) ?? 0) + 1),
    remove: (name: string) => {
      const count = (counts.get(name) ?? 1) - 1
      if (count === 0) counts.delete(name)
      else counts.set(name, count)
      if (count > (thresholds.get(name) ?? -1)) return
      thresholds.delete(name)
      onCapacityFreed()
    },
    saturated: (limit: number): ReadonlySet<string> => {
      const saturated = new Set<string>()
      for (const [name, count] of counts) {
        if (count < limit) continue
        saturated.add(name)
        // Once half is done, or as many as one destination may have.
        if (!thresholds.has(name)) thresholds.set(name, Math.max(Math.floor(count / 2), count - DESTINATION_LIMIT))
      }
      return saturated
    }
  }
}

/** A destination has at most one part in so many of the capacity that is left. */
const DESTINATION_SHARE = 5

/** An account has at most one part in so many of the capacity that is left. */
const ACCOUNT_SHARE = 3

/** An origin has at most so many times the limit of one account there. */
const ACCOUNTS_PER_ORIGIN = 2

/** In-flight deliveries that every account may have, however many accounts there are. */
const MIN_PER_ACCOUNT = 4
