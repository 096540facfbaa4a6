/**
 * The rule that decides which deliveries a process sends now: for first attempts, for retries, for claims and for what the
 * fan-out leases.
 *
 * Guarantees:
 * - Deliveries in flight are bounded in all, by account, by destination and by origin.
 * - An account has at most the capacity divided by the accounts in flight, and at most a third of what is left, but at least
 *   `MIN_PER_ACCOUNT`. So destinations that hang, however many, never take the last capacity from other accounts.
 * - A destination has at most a fifth of what is left. An origin has at most twice that, so that accounts that share a
 *   receiver do not take all capacity when it hangs.
 * - Accounts take turns, and so do the destinations of an account. The deliveries of a destination stay in their order.
 * - No capacity is left over: whatever is refused would exceed a limit, or the limit of the round.
 */
import { accountOf, originOf } from "../deliveries/Delivery.ts"
import { inTurns, those } from "./Turns.ts"

/** In-flight deliveries to one destination. */
export const DESTINATION_LIMIT = 50

/** A delivery that may be sent. */
export interface Candidate {
  readonly destination: string
}

/** Deliveries in flight, by scope: all, those of an account, for a destination, for an origin. */
export interface InFlight {
  readonly most: number
  readonly counts: ReadonlyMap<string, number>
  /** Accounts that have some. */
  readonly accounts: number
}

export interface Admission<C> {
  readonly admitted: ReadonlyArray<C>
  /** The scopes that refused others. */
  readonly full: ReadonlySet<string>
}

/** Which of the candidates are sent, at most `limit`. */
export const admit = <C extends Candidate>(
  candidates: ReadonlyArray<C>,
  inFlight: InFlight,
  limit: number
): Admission<C> => {
  const counters = countersOf(inFlight)
  const full = new Set<string>()
  // A scope that is full stays full: counts only grow here, and limits only shrink.
  const fits = ({ destination }: C) => {
    const scope = fullScope(destination, counters)
    if (scope !== undefined) full.add(scope)
    return scope === undefined
  }
  const turns = inTurns(
    groups(candidates, ({ destination }) => accountOf(destination)).map((ofAccount) =>
      inTurns(groups(ofAccount, ({ destination }) => destination).map((ofDestination) => those(ofDestination, fits)))
    )
  )
  const admitted: Array<C> = []
  while (admitted.length < limit) {
    const { done, value: next } = turns.next()
    if (done === true) break
    admitted.push(next)
    count(counters, scopesOf(next.destination), 1)
  }
  return { admitted, full }
}

const groups = <C>(all: ReadonlyArray<C>, by: (one: C) => string): ReadonlyArray<ReadonlyArray<C>> => [
  ...Map.groupBy(all, by).values()
]

/** The scope in which a delivery to this destination exceeds a limit; undefined if it exceeds none. */
export const fullScope = (destination: string, inFlight: InFlight): string | undefined => {
  const { perAccount, perDestination, perOrigin } = limitsOf(inFlight)
  const [all, account, origin] = scopesOf(destination)
  const countOf = (scope: string) => inFlight.counts.get(scope) ?? 0
  if (countOf(all) >= inFlight.most) return all
  if (countOf(account) >= perAccount) return account
  if (countOf(origin) >= perOrigin) return origin
  return countOf(destination) >= perDestination ? destination : undefined
}

/** How many more deliveries a destination may have, as far as its own limit goes. */
export const roomAt = (destination: string, inFlight: InFlight): number =>
  Math.max(0, limitsOf(inFlight).perDestination - (inFlight.counts.get(destination) ?? 0))

/** Whether half of what a destination may have is in flight. */
export const isHalfFull = (destination: string, inFlight: InFlight): boolean =>
  (inFlight.counts.get(destination) ?? 0) * 2 >= limitsOf(inFlight).perDestination

const limitsOf = ({ accounts, counts, most }: InFlight) => {
  const left = Math.max(0, most - (counts.get(ALL) ?? 0))
  const share = Math.ceil(most / Math.max(1, accounts))
  const perAccount = Math.max(MIN_PER_ACCOUNT, Math.min(share, Math.ceil(left / ACCOUNT_SHARE)))
  const ofOne = Math.min(DESTINATION_LIMIT, Math.ceil(left / DESTINATION_SHARE))
  return { perAccount, perDestination: Math.min(ofOne, perAccount), perOrigin: ACCOUNTS_PER_ORIGIN * ofOne }
}

/** The scopes in which a delivery to this destination counts. */
export const scopesOf = (destination: string): readonly [all: string, account: string, origin: string, of: string] => [
  ALL,
  accountOf(destination),
  `/${originOf(destination)}`,
  destination
]

export interface Counters extends InFlight {
  readonly counts: Map<string, number>
  accounts: number
}

export const countersOf = ({ accounts, counts, most }: InFlight): Counters => ({
  most,
  counts: new Map(counts),
  accounts
})

/** Counts a delivery in these scopes, or no longer. */
export const count = (counters: Counters, scopes: Iterable<string>, by: 1 | -1): void => {
  for (const scope of scopes) {
    const before = counters.counts.get(scope) ?? 0
    const after = before + by
    if (after === 0) counters.counts.delete(scope)
    else counters.counts.set(scope, after)
    if (isAccount(scope) && (before === 0 || after === 0)) counters.accounts += by
  }
}

const ALL = ""

const isAccount = (scope: string): boolean => scope !== ALL && !scope.includes("/")

/** A destination has at most one part in so many of the capacity that is left. */
const DESTINATION_SHARE = 5

/** An account has at most one part in so many of the capacity that is left. */
const ACCOUNT_SHARE = 3

/** An origin has at most so many times the limit of one account there. */
const ACCOUNTS_PER_ORIGIN = 2

/** In-flight deliveries that every account may have, however many accounts there are. */
const MIN_PER_ACCOUNT = 4
