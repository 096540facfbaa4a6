/** What operators are alerted of, and by which kind of channel. OPR-315. */
import * as Schema from "effect/Schema"

export const AlertEvent = Schema.Literals([
  "dispute.deadline",
  "approval.waiting",
  "exception.opened",
  "endpoint.failing",
  "certificate.ending",
  "order.unanswered",
  "ledger.differs"
])
export type AlertEvent = typeof AlertEvent.Type

export const AlertChannelKind = Schema.Literals(["email", "webhook", "slack"])
export type AlertChannelKind = typeof AlertChannelKind.Type

/** Hours before the deadline of a dispute at which it is an alert. The last one disregards quiet hours. */
export const DEADLINE_HOURS = [48, 24, 6] as const

/** Failed attempts in a row, after which an endpoint is an alert. */
export const FAILURES_IN_A_ROW = 20
