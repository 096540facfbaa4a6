import { assert, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import {
  BalanceName,
  BalanceTransactionType,
  portugueseTitles,
  SourceObject,
  type TransferReason,
  typeOfReason
} from "../src/BalanceTransaction.ts"

it("each type of line has its own title", () => {
  const titles = BalanceTransactionType.literals.map((type) => portugueseTitles[type])
  for (const title of titles) assert.match(title, /^\p{Lu}[\p{L} ]+$/u)
  assert.strictEqual(new Set(titles).size, titles.length)
})

it("each type of line has a reason, but for the fee, which is a part of a payout", () => {
  const reached = new Set<BalanceTransactionType>(Object.values(typeOfReason))
  const others = BalanceTransactionType.literals.filter((type) => !reached.has(type))
  assert.deepStrictEqual(others, ["payout_fee"])
})

it("DSP-12: a MED of accepted money is called as that of a charge", () => {
  for (const what of ["infraction", "dispute_won", "charged_back"] as const) {
    assert.strictEqual(typeOfReason[`exception.${what}`], typeOfReason[`charge.${what}`])
  }
})

it("money that comes back is not called as it was when it went", () => {
  const pairs: ReadonlyArray<readonly [TransferReason, TransferReason]> = [
    ["charge.refund_ordered", "charge.refund_failed"],
    ["payout.created", "payout.failed"],
    ["payout.created", "payout.canceled"],
    ["charge.infraction", "charge.dispute_won"]
  ]
  for (const [went, came] of pairs) assert.notStrictEqual(typeOfReason[went], typeOfReason[came])
})

it("a line is of one of three balances, and about a resource", () => {
  for (const name of ["available", "pending", "blocked"]) assert.isTrue(Schema.is(BalanceName)(name))
  for (const name of ["unallocated", "payouts_in_transit"]) assert.isFalse(Schema.is(BalanceName)(name))
  for (const reason of Object.keys(typeOfReason)) assert.isTrue(Schema.is(SourceObject)(reason.split(".")[0]), reason)
})
