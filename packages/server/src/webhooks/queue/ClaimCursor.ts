/**
 * Where a process's next claim and sweep begin, and which destinations have a backlog.
 *
 * Guarantees:
 * - no due delivery is skipped for good: what a claim read and left is at a backlogged destination, which gets a turn; what
 *   no claim read is found by the sweeps, which visit all accounts and destinations;
 * - turns go round by account, then by destination: however many destinations of one account are backlogged, another
 *   account's are in the next claim;
 * - memory and the parameters of a claim are bounded; a destination beyond the bounds is left to the sweeps.
 */
import { accountOf, originOf } from "../deliveries/Delivery.ts"
import { type ClaimResult, now } from "./DeliveryClaims.ts"
import type { Claim, Sweep } from "./DeliveryQueue.ts"
import type { SweepResult } from "./DeliverySweeps.ts"
import type { Capacity } from "./InFlightDeliveries.ts"

export const makeClaimCursor = () => {
  let from = now
  let afterAccount = ""
  // Accounts and destinations are in the order of their turns.
  const backlog = new Map<string, Set<string>>()
  let backlogSize = 0
  /** By account, where the next sweep goes on in an account that one sweep does not finish. */
  const resume = new Map<string, string>()

  const add = (destination: string) => {
    const account = accountOf(destination)
    const ofAccount = backlog.get(account) ?? new Set<string>()
    backlog.set(account, ofAccount)
    const limit = backlogSize < MAX_BACKLOG ? MAX_BACKLOG_PER_ACCOUNT : MIN_BACKLOG_PER_ACCOUNT
    if (ofAccount.has(destination) || ofAccount.size >= limit) return
    ofAccount.add(destination)
    backlogSize++
  }
  const remove = (destination: string) => {
    const account = accountOf(destination)
    const ofAccount = backlog.get(account)
    if (ofAccount?.delete(destination) === true) backlogSize--
    if (ofAccount?.size === 0) backlog.delete(account)
  }
  const moveToEnd = (destination: string) => {
    remove(destination)
    add(destination)
  }
  const moveAccountToEnd = (account: string) => {
    const ofAccount = backlog.get(account)
    if (ofAccount === undefined) return
    backlog.delete(account)
    backlog.set(account, ofAccount)
  }

  const backlogged = (): ReadonlyArray<string> => [...backlog.values()].flatMap((ofAccount) => [...ofAccount])
  const excluded = ({ saturatedDestinations }: Capacity): ReadonlyArray<string> => {
    for (const destination of saturatedDestinations) add(destination)
    return [...new Set([...backlogged(), ...saturatedDestinations])]
  }
  const addFull = (found: ReadonlyMap<string, number>, { perDestination }: Capacity) => {
    for (const [destination, count] of found) if (count >= perDestination) moveToEnd(destination)
  }

  /** The backlogged destinations whose turn it is: one of each account, then the next of each. */
  const turns = (capacity: Capacity): ReadonlyArray<string> => {
    const perAccount = Math.max(1, Math.floor(capacity.perAccount / capacity.perDestination))
    const waiting = [...backlog]
      .filter(([account]) => !capacity.saturatedAccounts.has(account))
      .map(([, ofAccount]) =>
        [...ofAccount]
          .filter(
            (destination) =>
              !capacity.saturatedDestinations.has(destination) && !capacity.saturatedOrigins.has(originOf(destination))
          )
          .slice(0, perAccount)
      )
    const taken: Array<string> = []
    for (let round = 0; round < perAccount && taken.length < MAX_TURNS; round++) {
      for (const ofAccount of waiting) {
        const destination = ofAccount[round]
        if (destination !== undefined && taken.length < MAX_TURNS) taken.push(destination)
      }
    }
    return taken
  }

  return {
    /** Destinations with deliveries that wait for a claim. */
    backlogged,
    /** What the next claim takes. */
    nextClaim: (capacity: Capacity): Pick<Claim, "from" | "excluded" | "backlogged"> => ({
      from,
      excluded: excluded(capacity),
      backlogged: turns(capacity)
    }),
    /** Adds destinations at which deliveries were left for later claims. */
    addBacklogged: (destinations: ReadonlyArray<string>) => destinations.forEach(add),
    /** Advances past a claim with these backlogged destinations. Returns whether there may be more to claim at once. */
    claimed: (result: ClaimResult, backlogged: ReadonlyArray<string>, capacity: Capacity): boolean => {
      from = result.reached
      const isFull = result.count >= capacity.limit
      for (const destination of backlogged) {
        // A full claim may have left some.
        if (!isFull) remove(destination)
        else if (result.found.has(destination)) moveToEnd(destination)
      }
      for (const account of new Set(backlogged.map(accountOf))) moveAccountToEnd(account)
      for (const destination of [...result.truncated, ...result.locked]) add(destination)
      addFull(result.found, capacity)
      return result.count > 0 || !result.isCaughtUp || turns(capacity).length > 0
    },
    /** What the next sweep takes. */
    nextSweep: (capacity: Capacity): Pick<Sweep, "afterAccount" | "excluded" | "resume"> => ({
      afterAccount,
      excluded: excluded(capacity),
      resume: [...resume.values()]
    }),
    /** Advances past a sweep. Returns whether there may be more to claim at once. */
    swept: (result: SweepResult, capacity: Capacity): boolean => {
      const isFull = result.count >= capacity.limit
      const last = isFull ? [...result.found.keys()].toSorted().at(-1) : undefined
      afterAccount = (last === undefined ? result.lastAccount : accountOf(last)) ?? ""
      // A full sweep read nothing of the accounts after its last delivery.
      const isVisited = (account: string) => last === undefined || account < accountOf(last)
      for (const account of result.visitedAccounts.filter(isVisited)) resume.delete(account)
      for (const destination of result.unfinished) {
        const account = accountOf(destination)
        if (isVisited(account) && resume.size < MAX_RESUMED) resume.set(account, destination)
      }
      for (const destination of result.locked) add(destination)
      addFull(result.found, capacity)
      // A full sweep may have left some of its last destination and account.
      if (last !== undefined) {
        moveToEnd(last)
        resume.set(accountOf(last), last)
      }
      return isFull
    }
  }
}

/** Backlogged destinations in one claim. */
const MAX_TURNS = 20

/** Backlogged destinations of one account that are kept. */
const MAX_BACKLOG_PER_ACCOUNT = 200

/** Backlogged destinations of all accounts, which each claim excludes; beyond it an account still has a few. */
const MAX_BACKLOG = 10_000
const MIN_BACKLOG_PER_ACCOUNT = 4

/** Accounts in which a sweep resumes. */
const MAX_RESUMED = 1000
