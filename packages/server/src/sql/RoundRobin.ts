/**
 * Who comes first, where more wait than fit: one of each account in turn, in the order in which the accounts came. Those
 * of one account keep their order.
 */

/** Takes up to `most`; `rest` waits on, in the order in which it came. */
export const takeRoundRobin = <A>(
  waiting: ReadonlyArray<A>,
  most: number,
  accountOf: (one: A) => string
): { readonly taken: ReadonlyArray<A>; readonly rest: Array<A> } => {
  if (waiting.length <= most) return { taken: waiting, rest: [] }
  const places = new Map<string, number>()
  // The turn of each: how many of its account came before it.
  const turns = waiting.map((one) => {
    const account = accountOf(one)
    const turn = places.get(account) ?? 0
    places.set(account, turn + 1)
    return turn
  })
  const inTurn = new Map<number, number>()
  for (const turn of turns) inTurn.set(turn, (inTurn.get(turn) ?? 0) + 1)
  // All of the turns before `last` fit, and so many of the last one.
  let last = 0
  let left = most
  for (; left > (inTurn.get(last) ?? 0); last++) left -= inTurn.get(last) ?? 0
  const taken: Array<A> = []
  const rest: Array<A> = []
  for (const [index, one] of waiting.entries()) {
    const turn = turns[index]!
    if (turn < last || (turn === last && left-- > 0)) taken.push(one)
    else rest.push(one)
  }
  return { taken, rest }
}
