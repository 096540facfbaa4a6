/**
 * The places for requests of one listener in one process, shared between accounts.
 *
 * Guarantees:
 * - At most `most` requests are in flight.
 * - An account has at most a quarter of them while another account has a request in flight, and all but an eighth while
 *   none has. So one caller's slow calls leave room for the others.
 * - Requests whose caller is not known yet (the key has to be looked up) have all but an eighth.
 * - A place is given back when the work is done and the answer has left, or its connection is closed. Answers that nobody
 *   reads are bounded with it.
 *
 * Rules: ERR-9, DLV-9.
 */

/** A request that has a place. */
export interface Place {
  /** The account whose share it takes; `undefined` until the caller is known. */
  accountId: string | undefined
}

export interface InFlight {
  /** Takes a place, or returns `undefined` where there is none. `accountId` is `undefined` for a key not seen before. */
  readonly take: (accountId: string | undefined) => Place | undefined
  /** Moves a place to the account that the caller turned out to have; false where its share is used up. */
  readonly belongsTo: (place: Place, accountId: string) => boolean
  readonly release: (place: Place) => void
  readonly isFull: () => boolean
  readonly count: () => number
  readonly countOf: (accountId: string) => number
}

export const make = (most: number): InFlight => {
  const shared = share(most, 4)
  const alone = Math.max(1, most - share(most, 8))
  const byAccount = new Map<string, number>()
  let all = 0
  let unknown = 0

  const mayTake = (accountId: string): boolean => {
    const own = byAccount.get(accountId) ?? 0
    if (own < shared) return true
    const others = byAccount.size - (own > 0 ? 1 : 0)
    return others === 0 && own < alone
  }

  const add = (accountId: string) => void byAccount.set(accountId, (byAccount.get(accountId) ?? 0) + 1)

  return {
    take: (accountId) => {
      if (all >= most) return undefined
      if (accountId === undefined) {
        if (unknown >= alone) return undefined
        unknown++
      } else {
        if (!mayTake(accountId)) return undefined
        add(accountId)
      }
      all++
      return { accountId }
    },
    belongsTo: (place, accountId) => {
      if (place.accountId === accountId) return true
      if (place.accountId === undefined) unknown--
      else remove(byAccount, place.accountId)
      // Counted as its own even where it is refused: its refusal still has to leave.
      const may = mayTake(accountId)
      place.accountId = accountId
      add(accountId)
      return may
    },
    release: ({ accountId }) => {
      all--
      if (accountId === undefined) unknown--
      else remove(byAccount, accountId)
    },
    isFull: () => all >= most,
    count: () => all,
    countOf: (accountId) => byAccount.get(accountId) ?? 0
  }
}

const share = (most: number, parts: number): number => Math.max(1, Math.floor(most / parts))

const remove = (byAccount: Map<string, number>, accountId: string): void => {
  const own = byAccount.get(accountId) ?? 0
  if (own > 1) byAccount.set(accountId, own - 1)
  else byAccount.delete(accountId)
}
