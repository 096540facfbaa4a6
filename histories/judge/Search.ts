/**
 * Whether operations with times can be put into one order that a model accepts: linearizability as Wing and Gong search it, with the
 * memory of Lowe.
 *
 * Guarantees
 * - An order is found if there is one and the bound is not reached. A verdict without a bound is exact.
 * - Of two operations, one that ended before the other began comes first.
 *
 * Why it stays small: the state is a sum, so one set of operations leads to one state, however they are ordered, and is tried once.
 * A step that moves nothing and is allowed is taken at once, because it is as good now as later. Of the others, few are tried before
 * many, from the state that explains most.
 */
import { byPlace, setsBefore } from "./Guess.ts"
import type { Step } from "./Step.ts"

export type Verdict =
  | { readonly _tag: "Ordered" }
  | { readonly _tag: "Undecided"; readonly tried: number }
  | {
      readonly _tag: "Impossible"
      /** The state after the longest order that was found, and how many operations are in it. */
      readonly available: number
      readonly pending: number
      readonly ordered: number
      /** What no order explains, what was open beside it, and what the order has last. */
      readonly stuck: Step
      readonly open: ReadonlyArray<Step>
      readonly last: ReadonlyArray<Step>
    }

/** The operations before `high` but for those of `undone`, in some order. */
interface Node {
  readonly high: number
  readonly undone: ReadonlyArray<number>
  readonly available: number
  readonly pending: number
  /** How many of them moved nothing, and how many there are. */
  readonly still: number
  readonly size: number
  /** How many choices led here. */
  readonly choices: number
}

/** The steps begin in the order in which they are given: `sorted`. */
export const order = (given: ReadonlyArray<Step>, bound = 200_000): Verdict => {
  const steps = withNeeds(given)
  const seen = new Set<string>()
  const waiting = makeHeap()
  let longest: Node | undefined
  let tried = 0
  waiting.push({ high: 0, undone: [], available: 0, pending: 0, still: 0, size: 0, choices: 0 })
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { node, open } = withoutMoves(steps, next)
    if (isWhole(steps, node)) return { _tag: "Ordered" }
    if (longest === undefined || explainsMore(node, longest)) longest = node
    const { looks, nodes } = guessed(steps, node)
    tried += Math.floor(looks / LOOKS_OF_A_STATE)
    for (const child of [...nodes, ...childrenOf(steps, node, open)]) {
      const name = `${child.high}:${child.undone.join(",")}`
      if (seen.has(name)) continue
      seen.add(name)
      if (++tried > bound) return { _tag: "Undecided", tried }
      waiting.push(child)
    }
  }
  return impossible(steps, longest!)
}

/** A step whose place in the order is known, and that of the step that it needs; -1 for none. */
interface Placed extends Step {
  readonly need: number
}

const withNeeds = (steps: ReadonlyArray<Step>): ReadonlyArray<Placed> => {
  const places = new Map(steps.map(({ label }, index) => [label, index]))
  return steps.map((step) => ({ ...step, need: step.needs === undefined ? -1 : (places.get(step.needs) ?? -1) }))
}

export const sorted = (steps: ReadonlyArray<Step>): ReadonlyArray<Step> =>
  steps.toSorted((a, b) => a.from - b.from || a.to - b.to)

/** Takes all that is allowed and moves nothing; then, what may come next. */
const withoutMoves = (steps: ReadonlyArray<Placed>, from: Node) => {
  let node = from
  for (;;) {
    const open = openIn(steps, node)
    const next = open.find((index) => isStill(steps[index]!) && steps[index]!.allows(node.available, node.pending))
    if (next === undefined) return { node, open: open.filter((index) => !isStill(steps[index]!)) }
    node = taken(steps, node, next)
  }
}

/** What may come next: it began before any other that is left had ended. */
const openIn = (steps: ReadonlyArray<Placed>, { high, undone }: Node): ReadonlyArray<number> => {
  const isDone = (index: number) => index < high && !undone.includes(index)
  let end = Infinity
  for (const index of undone) end = Math.min(end, steps[index]!.to)
  const open = [...undone]
  for (let index = high; index < steps.length && steps[index]!.from <= end; index++) {
    end = Math.min(end, steps[index]!.to)
    open.push(index)
  }
  return open.filter((index) => steps[index]!.from <= end && isDone(steps[index]!.need))
}

const taken = (steps: ReadonlyArray<Step>, node: Node, index: number): Node => {
  const { available, pending } = steps[index]!
  const undone = node.undone.filter((other) => other !== index)
  for (let between = node.high; between < index; between++) undone.push(between)
  return {
    high: Math.max(node.high, index + 1),
    undone,
    available: node.available + available,
    pending: node.pending + pending,
    still: node.still + (isStill(steps[index]!) ? 1 : 0),
    size: node.size + 1,
    choices: node.choices
  }
}

/** One more step; and all that are open at once, because much may have come to pass between two reads. */
const childrenOf = (steps: ReadonlyArray<Placed>, node: Node, open: ReadonlyArray<number>): ReadonlyArray<Node> => {
  const { available, choices, pending } = node
  const children = open
    .filter((index) => steps[index]!.allows(available, pending))
    .map((index) => ({ ...taken(steps, node, index), choices: choices + 1 }))
  if (open.length < 3) return children
  const allOf = (indexes: ReadonlyArray<number>) => ({
    ...indexes.reduce(
      (before, index) =>
        steps[index]!.allows(before.available, before.pending) ? taken(steps, before, index) : before,
      node
    ),
    choices: choices + 1
  })
  const certain = open.filter((index) => steps[index]!.isOptional !== true)
  return [...children, allOf(open), ...(certain.length < open.length ? [allOf(certain)] : [])]
}

/** Where the next read leads to: the sets of steps that explain it, each in an order that is allowed. */
const guessed = (steps: ReadonlyArray<Placed>, node: Node) => {
  const left = [...node.undone.map((index) => steps[index]!), ...steps.slice(node.high, node.high + LOOKS_AHEAD)]
  const read = left
    .filter(({ shown }) => shown !== undefined)
    .reduce<Placed | undefined>((first, each) => (first === undefined || each.to < first.to ? each : first), undefined)
  if (read?.shown === undefined) return { nodes: [], looks: 0 }
  const candidates = left.filter((step) => !isStill(step) && step.from <= read.to)
  const { looks, sets } = setsBefore({ from: read.from, shown: read.shown }, node, candidates)
  const nodes = sets.flatMap(
    (set) => inOrder(steps, node, set.toSorted(byPlace)) ?? inOrder(steps, node, set.toSorted(moneyFirst)) ?? []
  )
  return { nodes, looks }
}

/** What a guess looks at is work, too: so many sums as one state. */
const LOOKS_OF_A_STATE = 1000

/** Steps in which the next read is. */
const LOOKS_AHEAD = 400

const moneyFirst = (a: Step, b: Step) => b.available - a.available

/** Takes all steps of a set, as soon as they are allowed in this order; undefined where one is not. */
const inOrder = (steps: ReadonlyArray<Placed>, from: Node, set: ReadonlyArray<Step>): Node | undefined => {
  const rest = [...set]
  let node: Node = { ...from, choices: from.choices + 1 }
  while (rest.length > 0) {
    const next = withoutMoves(steps, node)
    const open = new Map(next.open.map((index) => [steps[index] as Step, index]))
    node = next.node
    const step = rest.find((each) => open.has(each) && each.allows(node.available, node.pending))
    if (step === undefined) return undefined
    node = taken(steps, node, open.get(step)!)
    rest.splice(rest.indexOf(step), 1)
  }
  return node
}

const isStill = ({ available, pending }: Step): boolean => available === 0 && pending === 0

const isWhole = (steps: ReadonlyArray<Step>, { high, undone }: Node): boolean => {
  if (undone.some((index) => steps[index]!.isOptional !== true)) return false
  for (let index = high; index < steps.length; index++) if (steps[index]!.isOptional !== true) return false
  return true
}

const impossible = (steps: ReadonlyArray<Placed>, node: Node): Verdict => {
  const open = openIn(steps, node).map((index) => steps[index]!)
  // What has ended first explains nothing without what it needs.
  const left = steps.filter((_, index) => index >= node.high || node.undone.includes(index))
  const stuck = left.reduce((first, step) => (step.to < first.to ? step : first))
  return {
    _tag: "Impossible",
    available: node.available,
    pending: node.pending,
    ordered: node.size,
    stuck,
    open: open.filter((step) => step !== stuck),
    last: steps.filter((_, index) => index < node.high && !node.undone.includes(index)).slice(-12)
  }
}

const explainsMore = (a: Node, b: Node): boolean => (a.still === b.still ? a.size > b.size : a.still > b.still)

/** Whether a node explains more reads, or as many with fewer choices. */
const isBefore = (a: Node, b: Node): boolean => (a.still === b.still ? a.choices < b.choices : a.still > b.still)

const makeHeap = () => {
  const nodes: Array<Node> = []
  const swap = (a: number, b: number) => {
    const node = nodes[a]!
    nodes[a] = nodes[b]!
    nodes[b] = node
  }
  return {
    push: (node: Node) => {
      nodes.push(node)
      for (let at = nodes.length - 1; at > 0;) {
        const above = (at - 1) >> 1
        if (!isBefore(nodes[at]!, nodes[above]!)) break
        swap(at, above)
        at = above
      }
    },
    pop: (): Node | undefined => {
      const first = nodes[0]
      const last = nodes.pop()
      if (nodes.length === 0 || last === undefined) return first
      nodes[0] = last
      for (let at = 0; ;) {
        const [left, right] = [2 * at + 1, 2 * at + 2]
        let best = at
        if (left < nodes.length && isBefore(nodes[left]!, nodes[best]!)) best = left
        if (right < nodes.length && isBefore(nodes[right]!, nodes[best]!)) best = right
        if (best === at) return first
        swap(at, best)
        at = best
      }
    }
  }
}
