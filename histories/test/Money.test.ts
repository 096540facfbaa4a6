/** The machines of money in TLA+, in all states of a small bound. `pnpm run histories:money` checks larger ones. */
import { describe, expect, it } from "vitest"
import { check, PLANTED, PLANTED_BOUND, SMALL } from "../tla/check.ts"

describe("the machines of money", () => {
  it.each(SMALL)("make and lose no money, pay nothing twice and keep final states, with $orders", (bound) => {
    const { states, success, trace } = check(bound)
    expect(trace).toBe("")
    expect(success).toBe(true)
    expect(states).toBeGreaterThan(100)
  })

  it.each(PLANTED)("would not, with the fault that is planted: %s", (fault) => {
    expect(check(PLANTED_BOUND, fault)).toMatchObject({ success: false, isViolation: true })
  })
})
