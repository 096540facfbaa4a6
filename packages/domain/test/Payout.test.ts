import { assert, describe, it } from "@effect/vitest"
import { initialPayout, PayoutStatus, payoutTransition, payoutTransitions } from "../src/Payout.ts"

describe("the transitions of a payout", () => {
  it("PAY-4: are those of the contract", () => {
    const moves = payoutTransitions.flatMap(({ from, to }) => from.map((state) => `${state} to ${to}`))
    assert.sameMembers(moves, [
      "pending to processing",
      "pending to canceled",
      "processing to completed",
      "processing to failed"
    ])
  })

  it("PAY-4: leave a finished payout as it is", () => {
    for (const { report } of payoutTransitions) {
      for (const status of ["completed", "failed", "canceled"] as const) {
        assert.isUndefined(payoutTransition(report, status))
      }
    }
  })

  it("PAY-3, EVT-12: begin with `processing` in automatic mode, else with `pending`", () => {
    assert.deepStrictEqual(initialPayout(true), { status: "processing", events: ["created", "processing"] })
    assert.deepStrictEqual(initialPayout(false), { status: "pending", events: ["created"] })
    assert.deepStrictEqual(payoutTransition("approved", "pending")?.events, ["processing"])
  })
})

it("PAY-23: a payout has five states", () => {
  assert.sameMembers([...PayoutStatus.literals], ["pending", "processing", "completed", "failed", "canceled"])
})
