/**
 * Which steps lead to what the next read of a balance shows. Mostly they are those that the event stream has first; a search that tries them
 * first needs not try all sets. A guess is only where to look: an order that it leads to is checked as any other.
 */
import type { Amounts, Step } from "./Step.ts"

interface Guesses {
  readonly sets: ReadonlyArray<ReadonlyArray<Step>>
  /** How many sums were looked at. */
  readonly looks: number
}

/** Sets of the steps that are left and that lead from a state to what a read shows. */
export const setsBefore = (
  read: { readonly from: number; readonly shown: Amounts },
  state: Amounts,
  candidates: ReadonlyArray<Step>
): Guesses => {
  const forced = candidates.filter(({ to }) => to < read.from)
  const open = candidates.filter(({ to }) => to >= read.from)
  const [releases, moves] = [open.filter(isRelease), open.filter((each) => !isRelease(each))]
  const placed = moves.filter(hasPlace).toSorted(byPlace)
  // Refunds, and what is accepted: nobody says when.
  const others = moves.filter((each) => !hasPlace(each)).toSorted((a, b) => b.from - a.from)
  const prefixes = prefixesOf(releases.toSorted(byPlace))
  const missing = less(less(read.shown, state), sumOf(forced))
  let looks = 0
  for (const [around, beside] of LEVELS) {
    const sets: Array<ReadonlyArray<Step>> = []
    for (let count = 0; count <= placed.length && looks < MOST_LOOKS; count++) {
      const first = placed.slice(0, Math.max(0, count - around))
      const rest = less(missing, sumOf(first))
      const { find, halves } = finderOf([...placed.slice(first.length, count + around), ...others.slice(0, beside)])
      looks += prefixes.length * halves
      for (const released of prefixes) {
        for (const set of find(less(rest, released.sum))) sets.push([...forced, ...first, ...released.steps, ...set])
      }
    }
    if (sets.length > 0) return { sets: sets.slice(0, MOST_SETS), looks }
  }
  return { sets: [], looks }
}

const prefixesOf = (steps: ReadonlyArray<Step>) => {
  let sum: Amounts = { available: 0, pending: 0 }
  const prefixes = [{ sum, steps: steps.slice(0, 0) }]
  for (const [index, step] of steps.entries()) {
    sum = plus(sum, step)
    prefixes.push({ sum, steps: steps.slice(0, index + 1) })
  }
  return prefixes
}

/** How many places a step may be from its turn, and how many of the others are tried: the likely first. */
const LEVELS = [
  [0, 0],
  [0, 2],
  [1, 1],
  [1, 4],
  [2, 4],
  [3, 6],
  [5, 6]
] as const

const isRelease = ({ pending }: Step) => pending < 0
const hasPlace = ({ place }: Step) => place !== undefined
export const byPlace = (a: Step, b: Step) => (a.place ?? Infinity) - (b.place ?? Infinity) || a.from - b.from

const MOST_SETS = 6
const MOST_LOOKS = 200_000

/** Finds subsets with a sum: each half's sums are made, and what the other half has to add is looked up. */
const finderOf = (free: ReadonlyArray<Step>) => {
  const half = free.length >> 1
  const left = sumsOf(free.slice(0, half))
  const right = Map.groupBy(sumsOf(free.slice(half)), ({ available }) => available)
  const find = ({ available, pending }: Amounts) =>
    left.flatMap((one) =>
      (right.get(available - one.available) ?? [])
        .filter((other) => one.pending + other.pending === pending)
        .map((other) => [...one.set, ...other.set])
    )
  return { find, halves: left.length }
}

const sumsOf = (steps: ReadonlyArray<Step>) => {
  const sums: Array<Amounts & { readonly set: ReadonlyArray<Step> }> = [{ available: 0, pending: 0, set: [] }]
  for (const step of steps) {
    const before = sums.length
    for (let at = 0; at < before; at++) sums.push({ ...plus(sums[at]!, step), set: [...sums[at]!.set, step] })
  }
  return sums
}

const plus = (a: Amounts, b: Amounts): Amounts => ({
  available: a.available + b.available,
  pending: a.pending + b.pending
})
const less = (a: Amounts, b: Amounts): Amounts => ({
  available: a.available - b.available,
  pending: a.pending - b.pending
})
const sumOf = (steps: ReadonlyArray<Amounts>): Amounts => steps.reduce(plus, { available: 0, pending: 0 })
