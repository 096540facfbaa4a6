/** Choices by seed. Each caller and the nemesis has its own, so that one's timing does not change the other's choices. */
export interface Random {
  /** At least 0, less than 1. */
  readonly next: () => number
  /** An integer, both ends included. */
  readonly between: (least: number, most: number) => number
  readonly chance: (probability: number) => boolean
  readonly oneOf: <A>(values: ReadonlyArray<A>) => A
  /** Another one, of this name. */
  readonly of: (name: string) => Random
}

export const randomOf = (seed: number): Random => {
  let state = seed >>> 0
  /** mulberry32 */
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (least: number, most: number) => least + Math.floor(next() * (most - least + 1))
  return {
    next,
    between,
    chance: (probability) => next() < probability,
    oneOf: (values) => values[between(0, values.length - 1)]!,
    of: (name) =>
      randomOf(
        [...name].reduce((hash, letter) => Math.imul(hash ^ letter.charCodeAt(0), 0x01000193), seed ^ 0x811c9dc5)
      )
  }
}
