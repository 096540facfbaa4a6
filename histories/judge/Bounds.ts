/**
 * The least and the most that a read of a balance can show: what surely happened before it, and what may have happened by then.
 *
 * Every order of the search is within these bounds, and they cost no search: where too much is open for that, they still convict.
 */
import type { Step } from "./Search.ts"

/** A read of an account's balance. */
export interface BalanceRead extends Step {
  readonly shown: Amounts
}

interface Amounts {
  readonly available: number
  readonly pending: number
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
  for (const read of reads.toSorted((a, b) => a.to - b.to)) {
    const past = steps.filter(({ from }) => from <= read.to)
    const open = past.filter(({ to }) => to >= read.from)
    for (const part of ["available", "pending"] as const) {
      const certain = sumOf(past.filter(({ to }) => to < read.from).map((step) => step[part]))
      const least = certain + sumOf(open.map((step) => Math.min(0, step[part])))
      const most = certain + sumOf(open.map((step) => Math.max(0, step[part])))
      const shown = read.shown[part]
      if (shown < least || shown > most) return { read, part, least, most, open }
    }
  }
  return undefined
}

const sumOf = (amounts: ReadonlyArray<number>): number => amounts.reduce((sum, each) => sum + each, 0)
