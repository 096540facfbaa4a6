/**
 * Takes items round-robin over accounts: one of each account in turn, accounts in the order of their first item, the
 * items of one account in order.
 */

/** Takes items up to `limit` in size, one at least. `rest` has the others, in order. Each has the size 1 by default. */
export const takeRoundRobin = <A>(
  items: ReadonlyArray<A>,
  limit: number,
  accountOf: (item: A) => string,
  sizeOf?: (item: A) => number
): { readonly taken: ReadonlyArray<A>; readonly rest: Array<A> } => {
  const size = sizeOf === undefined ? items.length : items.reduce((sum, item) => sum + sizeOf(item), 0)
  if (size <= limit) return { taken: items, rest: [] }
  const countByAccount = new Map<string, number>()
  /** Positions of items by their round: how many items of the account come before. */
  const rounds: Array<Array<number>> = []
  for (const [position, item] of items.entries()) {
    const account = accountOf(item)
    const round = countByAccount.get(account) ?? 0
    countByAccount.set(account, round + 1)
    ;(rounds[round] ??= []).push(position)
  }
  const chosen = new Set<number>()
  let left = limit
  for (const position of rounds.flat()) {
    left -= sizeOf === undefined ? 1 : sizeOf(items[position]!)
    if (left < 0 && chosen.size > 0) break
    chosen.add(position)
  }
  return {
    taken: items.filter((_, position) => chosen.has(position)),
    rest: items.filter((_, position) => !chosen.has(position))
  }
}
