/**
 * The least and the most that a read of a balance can show: what surely happened before it, and what may have happened by then.
 *
 * Every order of the search is within these bounds, and they cost no search: where too much is open for that, they still convict.
 */
import type { Amounts, Step } from "./Step.ts"

/** A read of an account's balance. */
export interface BalanceRead extends Step {
  readonly shown: Amounts
}

export interface BeyondBounds {
  readonly read: BalanceRead
  readonly part: keyof Amounts
  readonly least: number
  readonly most: number
  /** What may have happened by then or not. */
  readonly open: ReadonlyArray<Step>
}

/** The first read that no order can explain; undefined where there is none. */
export const beyondBounds = (
  reads: ReadonlyArray<BalanceRead>,
  steps: ReadonlyArray<Step>
): BeyondBounds | undefined => {
  const inOrder = reads.toSorted((a, b) => a.to - b.to)
  for (const part of ["available", "pending"] as const) {
    const begun = sumsBy(steps, ({ from, to }) => Math.min(from, to), part)
    const ended = sumsBy(steps, ({ to }) => to, part)
    for (const read of inOrder) {
      const maybe = begun((at) => at <= read.to)
      const surely = ended((at) => at < read.from)
      const [least, most] = [surely.gained + maybe.lost, maybe.gained + surely.lost]
      const shown = read.shown[part]
      if (shown >= least && shown <= most) continue
      return { read, part, least, most, open: steps.filter(({ from, to }) => from <= read.to && to >= read.from) }
    }
  }
  return undefined
}

/** What the steps gain and lose whose time is in a range that begins with the first. */
const sumsBy = (steps: ReadonlyArray<Step>, timeOf: (step: Step) => number, part: keyof Amounts) => {
  const sorted = steps.toSorted((a, b) => timeOf(a) - timeOf(b))
  const times = sorted.map(timeOf)
  const sums = [{ gained: 0, lost: 0 }]
  for (const step of sorted) {
    const { gained, lost } = sums.at(-1)!
    sums.push({ gained: gained + Math.max(0, step[part]), lost: lost + Math.min(0, step[part]) })
  }
  return (isIn: (at: number) => boolean) => {
    let [low, high] = [0, times.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (isIn(times[middle]!)) low = middle + 1
      else high = middle
    }
    return sums[low]!
  }
}
