/**
 * The request slots of one listener in one process, shared between accounts; on the operator listener, between operators.
 *
 * Guarantees:
 * - At most `limit` requests are in flight.
 * - An account has at most a quarter of the slots while another account has a request in flight, and at most seven eighths
 *   otherwise. So slow calls of one account leave slots for the others.
 * - Requests whose caller is not known yet (the key has to be looked up) have at most seven eighths.
 * - A slot is released when the answer has left or its connection has closed. So answers that nobody reads are bounded too.
 *
 * Rules: ERR-9, DLV-9.
 */

/** The slot of a request. */
export interface Slot {
  /** The account that it counts for; `undefined` until the caller is known. */
  accountId: string | undefined
}

export interface InFlight {
  /** Takes a slot; `undefined` where none is free. `accountId` is `undefined` for a key that is not cached. */
  readonly take: (accountId: string | undefined) => Slot | undefined
  /** Moves a slot to the caller's account; false where the account's share is used up. */
  readonly moveTo: (slot: Slot, accountId: string) => boolean
  readonly release: (slot: Slot) => void
  readonly isFull: () => boolean
  readonly count: () => number
  readonly countOf: (accountId: string) => number
}

export const make = (limit: number): InFlight => {
  const shared = share(limit, 4)
  const alone = Math.max(1, limit - share(limit, 8))
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
      if (all >= limit) return undefined
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
    moveTo: (slot, accountId) => {
      if (slot.accountId === accountId) return true
      if (slot.accountId === undefined) unknown--
      else remove(byAccount, slot.accountId)
      // Counted for the account even when refused, until the refusal has left.
      const may = mayTake(accountId)
      slot.accountId = accountId
      add(accountId)
      return may
    },
    release: ({ accountId }) => {
      all--
      if (accountId === undefined) unknown--
      else remove(byAccount, accountId)
    },
    isFull: () => all >= limit,
    count: () => all,
    countOf: (accountId) => byAccount.get(accountId) ?? 0
  }
}

const share = (limit: number, parts: number): number => Math.max(1, Math.floor(limit / parts))

const remove = (byAccount: Map<string, number>, accountId: string): void => {
  const own = byAccount.get(accountId) ?? 0
  if (own > 1) byAccount.set(accountId, own - 1)
  else byAccount.delete(accountId)
}
