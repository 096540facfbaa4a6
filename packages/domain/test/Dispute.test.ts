import { assert, describe, it } from "@effect/vitest"
import { DEFENSE_PERIOD_MS, disputeTransition, disputeTransitions } from "../src/Dispute.ts"

describe("the transitions of a dispute", () => {
  it("DSP-2: are those of the contract", () => {
    const moves = disputeTransitions.flatMap(({ from, to }) => from.map((state) => `${state} to ${to}`))
    assert.sameMembers(moves, [
      "open to under_review",
      "open to won",
      "under_review to won",
      "open to lost",
      "under_review to lost",
      "won to lost"
    ])
  })

  it("DSP-2: `lost` is final", () => {
    for (const { report } of disputeTransitions) assert.isUndefined(disputeTransition(report, "lost"))
  })
})

it("DSP-6: a defense has 7 days", () => assert.strictEqual(DEFENSE_PERIOD_MS, 7 * 24 * 3_600_000))
