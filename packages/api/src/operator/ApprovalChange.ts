/** How a long list changes: a person would not find the one entry that is new among a thousand. */

export interface ListDifference {
  readonly removed: ReadonlyArray<unknown>
  readonly added: ReadonlyArray<unknown>
  /** How many there are afterwards. */
  readonly count: number
}

/** What a field of a request adds and removes; `undefined` where it is no list, or one that is short enough to be read. */
export const differenceOf = (before: unknown, after: unknown): ListDifference | undefined => {
  if (!Array.isArray(before) || !Array.isArray(after) || Math.max(before.length, after.length) <= READ_AT_A_GLANCE) {
    return undefined
  }
  return { removed: without(before, after), added: without(after, before), count: after.length }
}

const READ_AT_A_GLANCE = 5

const without = (values: ReadonlyArray<unknown>, others: ReadonlyArray<unknown>): ReadonlyArray<unknown> => {
  const known = new Set(others.map((value) => JSON.stringify(value)))
  return values.filter((value) => !known.has(JSON.stringify(value)))
}
