/** Lists that take turns. */

/** One of each list in turn, until none has more. A list is read only when it is its turn. */
export function* inTurns<A>(lists: ReadonlyArray<Iterable<A>>): Generator<A, undefined> {
  let waiting = lists.map((list) => list[Symbol.iterator]())
  while (waiting.length > 0) {
    const more: typeof waiting = []
    for (const list of waiting) {
      const next = list.next()
      if (next.done === true) continue
      more.push(list)
      yield next.value
    }
    waiting = more
  }
  return undefined
}

/** Those for which this holds when they are read. */
export function* those<A>(list: Iterable<A>, is: (one: A) => boolean): Generator<A, undefined> {
  for (const one of list) if (is(one)) yield one
  return undefined
}

/** The first of a list, without reading more. */
export const first = <A>(count: number, list: Iterable<A>): ReadonlyArray<A> => {
  const taken: Array<A> = []
  if (count <= 0) return taken
  for (const one of list) if (taken.push(one) >= count) break
  return taken
}
