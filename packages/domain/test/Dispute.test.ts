import { assert, describe, it } from "@effect/vitest"
import {
  DEFENSE_PERIOD_MS,
  DisputeStatus,
  disputeTransition,
  disputeTransitions,
  medOfReturn,
  returnOfLoss
} from "../src/Dispute.ts"

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

  it("DSP-2: a report changes the states that have a transition for it", () => {
    const changes = (report: "defended" | "won" | "lost") =>
      DisputeStatus.literals.flatMap((from) => {
        const to = disputeTransition(report, from)?.to
        return to === undefined ? [] : [`${from} to ${to}`]
      })
    assert.deepStrictEqual(changes("defended"), ["open to under_review"])
    assert.deepStrictEqual(changes("won"), ["open to won", "under_review to won"])
    assert.deepStrictEqual(changes("lost"), ["open to lost", "under_review to lost", "won to lost"])
  })

  it("DSP-2: `lost` is final", () => {
    for (const { report } of disputeTransitions) assert.isUndefined(disputeTransition(report, "lost"))
  })
})

it("DSP-6: a defense has 7 days", () => assert.strictEqual(DEFENSE_PERIOD_MS, 7 * 24 * 3_600_000))

describe("DSP-7: the MED of a return that names none", () => {
  const AT = 1_000_000
  const lost = (...amounts: ReadonlyArray<number>) => amounts.map((amount) => ({ amount }))
  const open = (amount: number, openedAtMs = AT) => ({ amount, openedAtMs })
  const ofReturn = { amount: 500, atMs: AT }

  it("is one that was lost, of its amount", () => {
    assert.deepStrictEqual(medOfReturn(ofReturn, lost(900, 500, 100), [open(500)]), { lost: { amount: 500 } })
  })

  it("else one that is open, of its amount", () => {
    assert.deepStrictEqual(medOfReturn(ofReturn, lost(900, 100), [open(700), open(500)]), { open: open(500) })
  })

  it("else the largest that was lost", () => {
    for (const amounts of [
      [100, 900, 300],
      [900, 300, 100],
      [100, 300, 900]
    ]) {
      assert.deepStrictEqual(medOfReturn(ofReturn, lost(...amounts), [open(1000)]), { lost: { amount: 900 } })
    }
  })

  it("else the largest that is open", () => {
    for (const amounts of [
      [100, 900, 300],
      [900, 300, 100],
      [100, 300, 900]
    ]) {
      assert.deepStrictEqual(
        medOfReturn(
          ofReturn,
          [],
          amounts.map((amount) => open(amount))
        ),
        { open: open(900) }
      )
    }
  })

  it("is unknown without any", () => assert.deepStrictEqual(medOfReturn(ofReturn, [], []), {}))

  it("was opened before the return, or in its second", () => {
    for (const openedAtMs of [0, AT, AT + 999]) {
      assert.deepStrictEqual(medOfReturn(ofReturn, [], [open(500, openedAtMs)]), { open: open(500, openedAtMs) })
    }
    for (const openedAtMs of [AT + 1000, AT + 1001]) {
      assert.deepStrictEqual(medOfReturn(ofReturn, [], [open(500, openedAtMs), open(100)]), { open: open(100) })
      assert.deepStrictEqual(medOfReturn(ofReturn, [], [open(500, openedAtMs)]), {})
    }
  })

  it("of a return without an instant may have been opened at any", () => {
    const late = open(500, Number.MAX_SAFE_INTEGER)
    assert.deepStrictEqual(medOfReturn({ amount: 500, atMs: undefined }, [], [late]), { open: late })
  })

  it("of a return without an amount is the largest", () => {
    const unknown = { amount: undefined, atMs: AT }
    assert.deepStrictEqual(medOfReturn(unknown, lost(1, 3, 2), [open(5)]), { lost: { amount: 3 } })
    assert.deepStrictEqual(medOfReturn(unknown, [], [open(4), open(5)]), { open: open(5) })
  })
})

describe("The return of a MED that is lost", () => {
  const OPENED = 1_000_000
  const at = (amount: number, atMs = OPENED) => ({ amount, atMs })
  const med = { amount: 500, openedAtMs: OPENED }

  it("is one of its amount, else the largest", () => {
    assert.deepStrictEqual(returnOfLoss(med, [at(900), at(500), at(100)]), at(500))
    for (const amounts of [
      [100, 900, 300],
      [900, 300, 100],
      [100, 300, 900]
    ]) {
      const returns = amounts.map((amount) => at(amount))
      assert.deepStrictEqual(returnOfLoss(med, returns), at(900))
      assert.deepStrictEqual(returnOfLoss({ ...med, amount: undefined }, returns), at(900))
    }
    assert.isUndefined(returnOfLoss(med, []))
  })

  it("is none of before its opening, but for the second of it", () => {
    for (const atMs of [OPENED - 999, OPENED, OPENED + 5000]) {
      assert.deepStrictEqual(returnOfLoss(med, [at(100), at(500, atMs)]), at(500, atMs))
    }
    for (const atMs of [0, OPENED - 1001, OPENED - 1000]) {
      assert.deepStrictEqual(returnOfLoss(med, [at(500, atMs), at(900, atMs), at(100)]), at(100))
      assert.isUndefined(returnOfLoss(med, [at(500, atMs)]))
    }
  })
})
