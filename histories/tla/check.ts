/**
 * Checks `Money.tla` in all states within a bound: `node histories/tla/check.ts [small|large]`. Large also checks each planted fault.
 */
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { join } from "node:path"
import { check_spec_with_config, initSync } from "tla-checker"

export interface Bound {
  readonly processes: number
  readonly orders: ReadonlyArray<"payout" | "refund" | "return">
  readonly payments: number
  readonly sends: number
  readonly hasMed: boolean
}

export interface Checked {
  readonly success: boolean
  /** False where the checker itself failed. */
  readonly isViolation: boolean
  readonly states: number
  /** Why not: the invariant, and the states that lead there. */
  readonly trace: string
}

/** With a fault, the checker must find it. */
export const PLANTED = ["a refusal ends it", "another id", "no claim", "no guard of states"] as const

export const check = (
  { hasMed, orders, payments, processes, sends }: Bound,
  fault: string = "none",
  maxStates = 5_000_000
): Checked => {
  load()
  const constants = {
    Processes: Array.from({ length: processes }, (_, index) => `p${index}`),
    Orders: orders,
    Payments: payments,
    Sends: sends,
    HasMed: hasMed,
    Fault: fault
  }
  const answer = JSON.parse(check_spec_with_config(SPEC, JSON.stringify(constants), maxStates, 1000, true, false))
  return {
    success: answer.success,
    isViolation: answer.error_type === "InvariantViolation",
    states: answer.states_explored,
    trace: [answer.error_type, answer.error_message, ...(answer.trace ?? [])].filter(Boolean).join("\n")
  }
}

export const SMALL: ReadonlyArray<Bound> = [
  { processes: 2, orders: ["payout"], payments: 1, sends: 2, hasMed: false },
  { processes: 1, orders: ["return"], payments: 2, sends: 2, hasMed: false },
  { processes: 1, orders: [], payments: 2, sends: 0, hasMed: true }
]

const LARGE: ReadonlyArray<Bound> = [
  { processes: 2, orders: ["payout"], payments: 2, sends: 2, hasMed: true },
  { processes: 2, orders: ["refund"], payments: 1, sends: 2, hasMed: true },
  { processes: 2, orders: ["return"], payments: 2, sends: 2, hasMed: true },
  { processes: 2, orders: ["payout", "refund"], payments: 1, sends: 2, hasMed: false },
  { processes: 1, orders: ["payout", "refund", "return"], payments: 2, sends: 1, hasMed: true }
]

/** Each planted fault shows itself within it. */
export const PLANTED_BOUND: Bound = { processes: 2, orders: ["payout"], payments: 1, sends: 2, hasMed: true }

const SPEC = readFileSync(join(import.meta.dirname, "Money.tla"), "utf8")

let isLoaded = false
const load = () => {
  if (isLoaded) return
  const { resolve } = createRequire(import.meta.url)
  initSync({ module: readFileSync(resolve("tla-checker/tla_checker_bg.wasm")) })
  isLoaded = true
}

if (import.meta.main) {
  const say = (text: string) => process.stdout.write(`${text}\n`)
  const isLarge = process.argv[2] === "large"
  for (const bound of isLarge ? LARGE : SMALL) {
    const before = performance.now()
    const { states, success, trace } = check(bound)
    say(
      `${success ? "holds" : "FAILS"} in ${states} states, ${Math.round(performance.now() - before)} ms: ${JSON.stringify(bound)}`
    )
    if (!success) say(trace)
    if (!success) process.exitCode = 1
  }
  for (const fault of PLANTED) {
    const { isViolation, states, trace } = check(PLANTED_BOUND, fault)
    say(`${isViolation ? "found" : "NOT FOUND"} after ${states} states: ${fault}: ${trace.split("\n")[1] ?? ""}`)
    if (!isViolation) process.exitCode = 1
  }
}
