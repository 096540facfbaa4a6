/**
 * The deliveries that a lane has claimed and not recorded yet, and the capacity that is left.
 *
 * Guarantees:
 * - bounded in all, for each account and for each destination of an account;
 * - the places are shared by account first: one account gets the places divided by the active accounts, and never more
 *   than a third of those that are left, but at least `LEAST_PER_ACCOUNT`; so that no number of its destinations that hang
 *   takes the last places from other accounts;
 * - within an account they are shared by destination, the fewer the fewer are left;
 * - one origin has at most twice as much under way as one account may have there, so that accounts that share a receiver
 *   do not take all places when it hangs;
 * - a delivery whose endpoint has moved counts at both its destinations: where it was found, and where it goes.
 */
import { type Claimed, NO_DIGEST, originOf } from "./Claimed.ts"

/** Most that are under way to one destination of an account, which is an origin. */
export const DESTINATION_LIMIT = 50

export interface Room {
  /** Most that a claim may take, in all, for one account, for one destination of it and for one origin. */
  readonly limit: number
  readonly perAccount: number
  readonly perOrigin: number
  readonly perDestination: number
  /** Accounts and destinations that have as much under way as they may. */
  readonly fullAccounts: ReadonlySet<string>
  readonly full: ReadonlySet<string>
  /** Digests of origins that have as much under way for all accounts as they may. */
  readonly fullOrigins: ReadonlySet<string>
}

/** `eased` is called when there is room again: in all, for an account or at a destination that was full. */
export const makeInFlightDeliveries = (places: number, atOnce: number, eased: () => void) => {
  // Each claim for itself: one whose lease ran out unseen may be claimed here again while it is still under way.
  const held = new Set<Claimed>()
  const byAccount = makeCounts(eased)
  const byDestination = makeCounts(eased)
  const byOrigin = makeCounts(eased)

  const placesOf = ({ destination, foundAt }: Claimed) => new Set([destination, foundAt])
  const originsOf = (delivery: Claimed) => {
    const origins = new Set([...placesOf(delivery)].map(originOf))
    origins.delete(NO_DIGEST)
    return origins
  }

  return {
    all: (): ReadonlyArray<Claimed> => [...held],
    /** Undefined where all places are taken. */
    room: (): Room | undefined => {
      const left = places - held.size
      if (left <= 0) return undefined
      const share = Math.ceil(places / Math.max(1, byAccount.size()))
      const perAccount = Math.max(LEAST_PER_ACCOUNT, Math.min(share, Math.ceil(left / ACCOUNT_SHARE)))
      const ofOne = Math.min(DESTINATION_LIMIT, Math.ceil(left / SHARE))
      const perDestination = Math.min(ofOne, perAccount)
      const perOrigin = ACCOUNTS_OF_ORIGIN * ofOne
      return {
        limit: Math.min(left, atOnce),
        perAccount,
        perDestination,
        perOrigin,
        fullAccounts: byAccount.reaching(perAccount),
        full: byDestination.reaching(perDestination),
        fullOrigins: byOrigin.reaching(perOrigin)
      }
    },
    add: (delivery: Claimed) => {
      held.add(delivery)
      byAccount.add(delivery.accountId)
      for (const name of placesOf(delivery)) byDestination.add(name)
      for (const name of originsOf(delivery)) byOrigin.add(name)
    },
    remove: (delivery: Claimed) => {
      if (!held.delete(delivery)) return
      byAccount.remove(delivery.accountId)
      for (const name of placesOf(delivery)) byDestination.remove(name)
      for (const name of originsOf(delivery)) byOrigin.remove(name)
      if (held.size === places - atOnce) eased()
    }
  }
}

/** Counts by name; `eased` is called when one that was reported has gone down enough for a claim to be worth it. */
const makeCounts = (eased: () => void) => {
  const counts = new Map<string, number>()
  /** Those that were reported as full, each with the number at which that is over. */
  const reported = new Map<string, number>()
  return {
    size: () => counts.size,
    add: (name: string) => void counts.set(name, (counts.get(name) ?? 0) + 1),
    remove: (name: string) => {
      const count = (counts.get(name) ?? 1) - 1
      if (count === 0) counts.delete(name)
      else counts.set(name, count)
      if (count > (reported.get(name) ?? -1)) return
      reported.delete(name)
      eased()
    },
    reaching: (limit: number): ReadonlySet<string> => {
      const full = new Set<string>()
      for (const [name, count] of counts) {
        if (count < limit) continue
        full.add(name)
        // Claimed for again once half has gone, or as many as one destination may have.
        if (!reported.has(name)) reported.set(name, Math.max(Math.floor(count / 2), count - DESTINATION_LIMIT))
      }
      return full
    }
  }
}

/** A destination may have one part in so many of the places that are left. */
const SHARE = 5

/** An account may have one part in so many of the places that are left. */
const ACCOUNT_SHARE = 3

/** How many times the limit of one account an origin may have under way. */
const ACCOUNTS_OF_ORIGIN = 2

/** What an account may have under way, however many accounts there are. */
const LEAST_PER_ACCOUNT = 4
