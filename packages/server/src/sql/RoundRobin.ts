/**
 * Takes items round-robin over accounts: one of each account in turn, accounts in the order of their first item, the
 * items of one account in order.
 */

/** Takes up to `limit` items. `rest` has the others, in order. */
export const takeRoundRobin = <A>(
  items: ReadonlyArray<A>,
  limit: number,
  accountOf: (item: A) => string
): { readonly taken: ReadonlyArray<A>; readonly rest: Array<A> } => {
  if (items.length <= limit) return { taken: items, rest: [] }
  const countByAccount = new Map<string, number>()
  // The round of an item is how many items of its account come before it.
  const rounds = items.map((item) => {
    const account = accountOf(item)
    const round = countByAccount.get(account) ?? 0
    countByAccount.set(account, round + 1)
    return round
  })
  const sizes = new Map<number, number>()
  for (const round of rounds) sizes.set(round, (sizes.get(round) ?? 0) + 1)
  // All rounds before `last` fit; of `last`, the first `left` items do.
  let last = 0
  let left = limit
  for (; left > (sizes.get(last) ?? 0); last++) left -= sizes.get(last) ?? 0
  const taken: Array<A> = []
  const rest: Array<A> = []
  for (const [index, item] of items.entries()) {
    const round = rounds[index]!
    if (round < last || (round === last && left-- > 0)) taken.push(item)
    else rest.push(item)
  }
  return { taken, rest }
}
