import { assert, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { AlertChannelKind, AlertEvent, DEADLINE_HOURS, FAILURES_IN_A_ROW } from "../src/Alert.ts"

it("OPR-317: alerts are of seven kinds", () => {
  const told = [
    "dispute.deadline",
    "approval.waiting",
    "exception.opened",
    "endpoint.failing",
    "certificate.ending",
    "order.unanswered",
    "ledger.differs"
  ]
  assert.sameMembers([...AlertEvent.literals], told)
  assert.isFalse(Schema.is(AlertEvent)("charge.pix.paid"))
})

it("OPR-317: 48, 24 and 6 hours before a deadline, and after 20 failures in a row", () => {
  assert.deepStrictEqual([...DEADLINE_HOURS], [48, 24, 6])
  assert.strictEqual(FAILURES_IN_A_ROW, 20)
})

it("OPR-315: a channel is e-mail, a webhook or Slack", () => {
  for (const kind of ["email", "webhook", "slack"]) assert.isTrue(Schema.is(AlertChannelKind)(kind))
  for (const kind of ["sms", "Slack", ""]) assert.isFalse(Schema.is(AlertChannelKind)(kind))
})
