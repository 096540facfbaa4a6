import { describe, expect, it } from "vitest"
import { beyondBounds } from "../judge/Bounds.ts"
import { order, sorted } from "../judge/Search.ts"
import type { Step } from "../judge/Step.ts"

const move = (label: string, from: number, to: number, available: number): Step => ({
  label,
  from,
  to,
  available,
  pending: 0,
  allows: (before) => before + available >= 0
})

const read = (from: number, to: number, shown: number): Step => ({
  label: `read ${shown}`,
  from,
  to,
  available: 0,
  pending: 0,
  allows: (available) => available === shown
})

const verdictOf = (...steps: ReadonlyArray<Step>) => order(sorted(steps))

describe("an order of steps", () => {
  it("exists where a read that overlaps a payment shows the state before it, and a later one the state after it", () => {
    const verdict = verdictOf(move("pay", 0, 10, 5), read(2, 8, 0), read(3, 9, 5))
    expect(verdict._tag).toBe("Ordered")
  })

  it("does not exist where a later read shows the state before", () => {
    const verdict = verdictOf(move("pay", 0, 10, 5), read(2, 4, 5), read(5, 9, 0))
    expect(verdict).toMatchObject({ _tag: "Impossible", available: 5, stuck: { label: "read 0" } })
  })

  it("does not exist where two debits have only enough for one", () => {
    const verdict = verdictOf(move("pay", 0, 1, 5), move("one", 2, 6, -5), move("other", 3, 7, -5))
    expect(verdict._tag).toBe("Impossible")
  })

  it("lets an unanswered debit happen late, or never", () => {
    const unanswered: Step = { ...move("unanswered", 2, Infinity, -5), isOptional: true }
    const paid = move("pay", 0, 1, 5)
    expect(verdictOf(paid, unanswered, read(3, 4, 5), read(8, 9, 0))._tag).toBe("Ordered")
    expect(verdictOf(paid, unanswered, read(3, 4, 5), read(8, 9, 5))._tag).toBe("Ordered")
    expect(verdictOf(paid, unanswered, read(3, 4, 0), read(8, 9, 5))._tag).toBe("Impossible")
  })

  it("is found by the event stream's order, where too many sets of open payments are possible", () => {
    const amounts = Array.from({ length: 60 }, (_, index) => ((index * 7919) % 997) + 1)
    const pays = amounts.map((cents, index) => ({ ...move(`pay ${index}`, 0, 1000, cents), place: index }))
    const reads = [7, 20, 33, 48].map((count, index) => {
      const available = amounts.slice(0, count).reduce((sum, each) => sum + each, 0)
      return { ...read(10 * index + 1, 10 * index + 2, available), shown: { available, pending: 0 } }
    })
    expect(order(sorted([...pays, ...reads]), 1000)._tag).toBe("Ordered")
    const shuffled = pays.map((step, index) => ({ ...step, place: (index * 37) % 60 }))
    expect(order(sorted([...shuffled, ...reads]), 1000)._tag).toBe("Undecided")
  })

  it("says that it is undecided where its bound is reached", () => {
    const many = Array.from({ length: 24 }, (_, index) => move(`pay ${index}`, 0, 10, 2 ** index))
    expect(order(sorted([...many, read(1, 9, 2 ** 24 - 3)]), 1000)).toEqual({ _tag: "Undecided", tried: 1001 })
  })
})

describe("the bounds of a read", () => {
  const shown = (from: number, to: number, available: number) => ({
    ...read(from, to, available),
    shown: { available, pending: 0 }
  })
  const open = Array.from({ length: 24 }, (_, index) => move(`pay ${index}`, 4, Infinity, 2 ** index))

  it("convict what shows less or more than all that may have happened, where a search would not end", () => {
    const steps = [move("fund", 0, 1, 5), ...open]
    expect(beyondBounds([shown(5, 6, 5), shown(7, 8, 2 ** 24 + 4)], steps)).toBeUndefined()
    expect(beyondBounds([shown(5, 6, 4)], steps)).toMatchObject({ part: "available", least: 5, most: 2 ** 24 + 4 })
    expect(beyondBounds([shown(5, 6, 2 ** 24 + 5)], steps)).toMatchObject({ read: { from: 5 }, least: 5 })
  })

  it("hold for what is pending, too", () => {
    const paid: Step = { ...move("pay", 0, 1, 0), pending: 5 }
    const released: Step = { ...move("release", 4, Infinity, 5), pending: -5 }
    const waits = (from: number, pending: number) => ({ ...read(from, from, 0), shown: { available: 0, pending } })
    expect(beyondBounds([waits(2, 5), waits(5, 0)], [paid, released])).toBeUndefined()
    expect(beyondBounds([waits(2, 0)], [paid, released])).toMatchObject({ part: "pending", least: 5, most: 5 })
  })

  it("have what ended before a read, and not what began after it", () => {
    expect(beyondBounds([shown(2, 3, 0)], [move("before", 0, 1, 5)])).toBeDefined()
    expect(beyondBounds([shown(2, 3, 5)], [move("beside", 0, 2, 5)])).toBeUndefined()
    expect(beyondBounds([shown(2, 3, 5)], [move("after", 4, 5, 5)])).toBeDefined()
  })
})
