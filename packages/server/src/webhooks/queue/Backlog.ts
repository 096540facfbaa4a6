/**
 * The destinations of a lane with deliveries that are due and wait for a claim.
 *
 * Guarantees:
 * - Turns go round by account, then by destination: however many destinations of one account wait, another account's are
 *   in the next claim.
 * - Memory is bounded. Sweeps find what is beyond the bounds.
 */
import { accountOf } from "../deliveries/Delivery.ts"
import { first, inTurns, those } from "./Turns.ts"

export const makeBacklog = () => {
  // Accounts and destinations are in the order of their turns.
  const accounts = new Map<string, Set<string>>()
  let size = 0

  const remove = (destination: string) => {
    const account = accountOf(destination)
    const ofAccount = accounts.get(account)
    if (ofAccount?.delete(destination) === true) size--
    if (ofAccount?.size === 0) accounts.delete(account)
  }
  const moveToEnd = (destination: string) => {
    const account = accountOf(destination)
    const ofAccount = accounts.get(account)!
    ofAccount.delete(destination)
    ofAccount.add(destination)
    accounts.delete(account)
    accounts.set(account, ofAccount)
  }

  return {
    add: (destination: string) => {
      const account = accountOf(destination)
      const ofAccount = accounts.get(account) ?? new Set<string>()
      const limit = size < MAX_DESTINATIONS ? MAX_PER_ACCOUNT : MIN_PER_ACCOUNT
      if (ofAccount.has(destination) || ofAccount.size >= limit) return
      accounts.set(account, ofAccount.add(destination))
      size++
    },
    remove,
    has: (destination: string): boolean => accounts.get(accountOf(destination))?.has(destination) === true,
    /** Whether there is a destination for which this holds. */
    hasNext: (isFree: (destination: string) => boolean): boolean =>
      first(1, inTurns([...accounts.values()].map((ofAccount) => those(ofAccount, isFree)))).length > 0,
    /** The next destinations for which this holds, at most `limit`. They are last in the turns that follow. */
    next: (isFree: (destination: string) => boolean, limit: number): ReadonlyArray<string> => {
      const taken = first(limit, inTurns([...accounts.values()].map((ofAccount) => those(ofAccount, isFree))))
      taken.forEach(moveToEnd)
      return taken
    }
  }
}

/** Destinations of one account. */
const MAX_PER_ACCOUNT = 200

/** Destinations of all accounts; beyond it an account still has a few. */
const MAX_DESTINATIONS = 10_000
const MIN_PER_ACCOUNT = 4
