/**
 * A circuit breaker: after failures in a row, calls are refused for a while, then one call probes.
 *
 * Guarantees
 * - While open, no call passes. While half open, one passes at a time.
 * - It is open for `openMs` at most, also after the clock is set back.
 * - A probe that is interrupted leaves the breaker half open.
 */
import { isWaiting } from "./Wait.ts"

export type CircuitState =
  | { readonly _tag: "Closed"; readonly failures: number }
  | { readonly _tag: "Open"; readonly untilMs: number }
  | { readonly _tag: "HalfOpen"; readonly probing: boolean }

export interface CircuitBreaker {
  /** Whether a call may pass. Each admitted call is ended by `record`. */
  readonly admit: (nowMs: number) => boolean
  /** `none`: the call says nothing about the provider. */
  readonly record: (outcome: "success" | "failure" | "none", nowMs: number) => void
  readonly state: (nowMs: number) => CircuitState
}

export interface CircuitSettings {
  readonly failuresToOpen: number
  readonly openMs: number
}

export const makeCircuitBreaker = ({ failuresToOpen, openMs }: CircuitSettings): CircuitBreaker => {
  let current: CircuitState = { _tag: "Closed", failures: 0 }

  const state = (nowMs: number): CircuitState => {
    if (current._tag === "Open" && !isWaiting({ untilMs: current.untilMs, forMs: openMs }, nowMs)) {
      current = { _tag: "HalfOpen", probing: false }
    }
    return current
  }

  return {
    state,
    admit: (nowMs) => {
      const now = state(nowMs)
      if (now._tag === "Closed") return true
      if (now._tag === "Open" || now.probing) return false
      current = { _tag: "HalfOpen", probing: true }
      return true
    },
    record: (outcome, nowMs) => {
      const now = state(nowMs)
      // A call that was admitted before the breaker opened.
      if (now._tag === "Open") return
      if (outcome === "none") {
        if (now._tag === "HalfOpen") current = { _tag: "HalfOpen", probing: false }
        return
      }
      if (outcome === "success") current = { _tag: "Closed", failures: 0 }
      else {
        const failures = now._tag === "Closed" ? now.failures + 1 : failuresToOpen
        current = failures < failuresToOpen ? { _tag: "Closed", failures } : { _tag: "Open", untilMs: nowMs + openMs }
      }
    }
  }
}
