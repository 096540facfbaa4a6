/** Payouts that the bank refuses at first: a later request of the same payout is accepted. */
import type { Machine } from "./Machine.ts"

export interface Denials {
  /** Whether the request of a payout, by the name of the caller's operation, is refused at this moment. */
  readonly denies: (operation: string) => boolean
  /** The operations of which a request was refused. */
  readonly denied: ReadonlySet<string>
}

export const makeDenials = (machine: Machine): Denials => {
  const lastsMs = machine.pick([[1, 10_000], [10_000], [400_000]])
  const endsAtMs = new Map<string, number>()
  const denied = new Set<string>()
  return {
    denied,
    denies: (operation) => {
      const endMs =
        endsAtMs.get(operation) ?? (machine.random() < 0.3 ? machine.nowMs() + machine.pick(lastsMs) : machine.nowMs())
      endsAtMs.set(operation, endMs)
      if (machine.nowMs() >= endMs) return false
      machine.count("requests of payouts that are refused")
      denied.add(operation)
      return true
    }
  }
}
