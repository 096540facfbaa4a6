/** Small histories by hand: one account, and calls that are given shortly. */
import type { Call, Delivery, Fact, History } from "../judge/History.ts"

export const ACCOUNT = "an account"

export const answered = (op: Call["op"], calledAt: number, answeredAt: number, rest: Partial<Call>): Call => ({
  op,
  caller: "Ana",
  server: 0,
  account: ACCOUNT,
  calledAt,
  answeredAt,
  status: 200,
  ...rest
})

export const unanswered = (op: Call["op"], calledAt: number, rest: Partial<Call>): Call => ({
  op,
  caller: "Ana",
  server: 0,
  account: ACCOUNT,
  calledAt,
  ...rest
})

export const historyOf = (
  calls: ReadonlyArray<Call>,
  facts: ReadonlyArray<Fact> = [],
  deliveries: ReadonlyArray<Delivery> = []
): History => ({
  setup: {
    seed: 0,
    accounts: [{ id: ACCOUNT, feeFixed: 10, feeBasisPoints: 0, releaseDelayMs: 0 }],
    endpoints: [],
    clocksShifted: false,
    restedAt: undefined
  },
  calls,
  facts,
  deliveries,
  faults: []
})

export const charge = (id: string, status = "pending", sequence = 1, rest: object = {}) => ({
  id,
  object: "charge",
  status,
  sequence,
  amount: 100,
  ...rest
})
