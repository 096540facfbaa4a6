/**
 * What a process knows of the deliveries that are due: how far in the order of their due times it has looked, and at
 * which destinations more is due than it has claimed.
 *
 * Guarantees:
 * - nothing that is due is passed by for good: what a claim looked at and left is at a destination that is behind, and
 *   asked for there in turn; what no claim saw is found by the sweeps, which go through all accounts and destinations;
 * - turns go round by account, then by destination: however many destinations of one account are behind, another
 *   account's are asked for in the next claim.
 */
import { accountOf, originOf } from "./Claimed.ts"
import { type Claim, type ClaimedDue, now, type Sweep, type SweptDue } from "./DeliveryQueue.ts"
import type { Room } from "./InFlightDeliveries.ts"

export const makeClaimCursor = () => {
  let from = now
  let sweptTo = ""
  // Both in the order in which they are asked for.
  const behind = new Map<string, Set<string>>()
  let inAll = 0
  /** Where the sweeps of an account that has more than one sweep takes go on. */
  const resume = new Map<string, string>()

  const add = (place: string) => {
    const account = accountOf(place)
    const places = behind.get(account) ?? new Set<string>()
    behind.set(account, places)
    // Beyond the bounds they are left to the sweeps.
    if (places.has(place) || places.size >= (inAll < MOST_BEHIND_IN_ALL ? MOST_BEHIND : LEAST_BEHIND)) return
    places.add(place)
    inAll++
  }
  const remove = (place: string) => {
    const account = accountOf(place)
    const places = behind.get(account)
    if (places?.delete(place) === true) inAll--
    if (places?.size === 0) behind.delete(account)
  }
  const last = (place: string) => {
    remove(place)
    add(place)
  }
  /** The account's next turn comes after all others'. */
  const lastOfAll = (account: string) => {
    const places = behind.get(account)
    if (places === undefined) return
    behind.delete(account)
    behind.set(account, places)
  }

  const passedBy = ({ full }: Room): ReadonlyArray<string> => {
    for (const place of full) add(place)
    return [...new Set([...[...behind.values()].flatMap((places) => [...places]), ...full])]
  }
  const noteMore = (found: ReadonlyMap<string, number>, { perDestination }: Room) => {
    for (const [place, count] of found) if (count >= perDestination) last(place)
  }

  /** Whose turn it is: one destination of each account, then the next of each. */
  const inTurn = (room: Room): ReadonlyArray<string> => {
    const ofOne = Math.max(1, Math.floor(room.perAccount / room.perDestination))
    const waiting = [...behind]
      .filter(([account]) => !room.fullAccounts.has(account))
      .map(([, places]) =>
        [...places].filter((place) => !room.full.has(place) && !room.fullOrigins.has(originOf(place))).slice(0, ofOne)
      )
    const asked: Array<string> = []
    for (let round = 0; round < ofOne && asked.length < MOST_ASKED; round++) {
      for (const places of waiting) {
        const place = places[round]
        if (place !== undefined && asked.length < MOST_ASKED) asked.push(place)
      }
    }
    return asked
  }

  return {
    /** What the next claim is about. */
    ask: (room: Room): Pick<Claim, "from" | "except" | "behind"> => {
      const except = passedBy(room)
      return { from, except, behind: inTurn(room) }
    },
    /** Destinations at which the fan-out left some for later claims. */
    left: (places: ReadonlyArray<string>) => places.forEach(add),
    /** `asked`: the destinations behind that the claim was about. Whether there is more to claim at once. */
    claimed: (due: ClaimedDue, asked: ReadonlyArray<string>, room: Room): boolean => {
      from = due.reached
      const isFull = due.count >= room.limit
      for (const place of asked) {
        // Where the claim was full, there may be more than was found.
        if (!isFull) remove(place)
        else if (due.found.has(place)) last(place)
      }
      for (const account of new Set(asked.map(accountOf))) lastOfAll(account)
      for (const place of [...due.cut, ...due.locked]) add(place)
      noteMore(due.found, room)
      return due.count > 0 || !due.isCaughtUp || inTurn(room).length > 0
    },
    sweep: (room: Room): Pick<Sweep, "after" | "except" | "resume"> => ({
      after: sweptTo,
      except: passedBy(room),
      resume: [...resume.values()]
    }),
    /** Whether there is more to sweep at once. */
    swept: (due: SweptDue, room: Room): boolean => {
      const isFull = due.count >= room.limit
      const end = isFull ? [...due.found.keys()].toSorted().at(-1) : undefined
      sweptTo = (end === undefined ? due.walkedTo : accountOf(end)) ?? ""
      // Accounts behind the end of a full sweep were not looked at.
      const isWalked = (account: string) => end === undefined || account < accountOf(end)
      for (const account of due.walked.filter(isWalked)) resume.delete(account)
      for (const place of due.unfinished) {
        if (isWalked(accountOf(place)) && resume.size < MOST_RESUMED) resume.set(accountOf(place), place)
      }
      for (const place of due.locked) add(place)
      noteMore(due.found, room)
      // Where the sweep was full, it may have ended in the midst of the last one.
      if (end !== undefined) {
        last(end)
        resume.set(accountOf(end), end)
      }
      return isFull
    }
  }
}

/** Most destinations that a claim asks for what waits there. */
const MOST_ASKED = 20

/** Most destinations of one account that are known to be behind. */
const MOST_BEHIND = 200

/** Most of all accounts, which go along with each claim; beyond it an account has a few. */
const MOST_BEHIND_IN_ALL = 10_000
const LEAST_BEHIND = 4

/** Most accounts of which a sweep remembers where it goes on. */
const MOST_RESUMED = 1000
