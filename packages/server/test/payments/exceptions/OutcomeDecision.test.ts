/** Late outcomes, decided: whatever a bank says in which order, the books and the contradiction are what it sent. */
import { assert, describe, it } from "@effect/vitest"
import { decideOutcome } from "../../../src/payments/exceptions/OutcomeDecision.ts"
import { randomFrom } from "../../support/Model.ts"

describe("A late outcome", () => {
  it.each([
    {
      what: "completed, where the books have it as failed",
      booked: 0,
      sent: 500,
      held: 0,
      reverses: false,
      raises: -500
    },
    {
      what: "failed, where the books have it as completed",
      booked: 500,
      sent: 0,
      held: 0,
      reverses: false,
      raises: 500
    },
    { what: "completed, of which a part is booked", booked: 300, sent: 500, held: 0, reverses: false, raises: -200 },
    { what: "repeated", booked: 0, sent: 500, held: -500, reverses: false, raises: 0 },
    { what: "as the books have it", booked: 500, sent: 500, held: 0, reverses: false, raises: 0 },
    { what: "as the books have it, again", booked: 0, sent: 0, held: -500, reverses: true, raises: 0 },
    { what: "failed, of which a part is booked", booked: 300, sent: 0, held: -200, reverses: true, raises: 300 }
  ])("BAL-16: $what", ({ booked, held, raises, reverses, sent }) => {
    assert.deepStrictEqual(decideOutcome({ booked, sent, held }), { reverses, raises })
  })

  it("BAL-16: random sequences: the books, less the contradiction, are what the bank sent", () => {
    const random = randomFrom(Math.floor(Math.random() * 2 ** 32))
    for (let history = 0; history < 1000; history += 1) {
      const amount = 1 + Math.floor(random() * 1000)
      let booked = random() < 0.5 ? 0 : amount
      let held = 0
      for (let step = 0; step < 10; step += 1) {
        const sent = random() < 0.5 ? 0 : amount
        // A late completion takes what there is.
        if (sent > booked && random() < 0.3) booked += Math.floor(random() * (amount - booked + 1))
        const { raises, reverses } = decideOutcome({ booked, sent, held })
        if (reverses) held = 0
        assert.isTrue(raises === 0 || held === 0, "one at a time")
        held += raises
        assert.strictEqual(booked - held, sent)
        assert.deepStrictEqual(decideOutcome({ booked, sent, held }), { reverses: false, raises: 0 })
      }
    }
  })
})
