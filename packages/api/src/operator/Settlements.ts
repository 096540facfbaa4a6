/** Settlements by hand, of orders whose outcome the provider does not say: OPR-215 to OPR-217. */
import { decoder, nullable, type Violation } from "@pix-payments/domain/Request"
import { text } from "@pix-payments/domain/Text"
import * as Schema from "effect/Schema"
import { ProviderOutcome } from "@pix-payments/domain/AcquirerException"

const providerId = Schema.String.check(
  Schema.isPattern(/^[a-zA-Z0-9-]{1,64}$/u, { expected: "the provider's id" })
).annotate({ description: "Required for `completed`." })

/** The body of `POST /payouts/{id}/settle`. */
export const SettlePayout = Schema.Struct({
  outcome: ProviderOutcome,
  end_to_end_id: nullable(providerId),
  reason: text(1, 300)
}).annotate({ identifier: "SettlePayout" })
export type SettlePayout = typeof SettlePayout.Type

/** The body of `POST /refunds/{id}/settle` and `POST /exceptions/{id}/settle`. */
export const SettleReturn = Schema.Struct({
  outcome: ProviderOutcome,
  return_id: nullable(providerId),
  reason: text(1, 300)
}).annotate({ identifier: "SettleReturn" })
export type SettleReturn = typeof SettleReturn.Type

/** What was completed has an id. */
const needs =
  (field: "end_to_end_id" | "return_id") =>
  (body: Readonly<Record<string, unknown>>): ReadonlyArray<Violation> =>
    body["outcome"] === "completed" && (body[field] ?? null) === null
      ? [{ code: "VALIDATION_ERROR", path: [field] }]
      : []

export const decodeSettlePayout = decoder(SettlePayout, needs("end_to_end_id"))
export const decodeSettleReturn = decoder(SettleReturn, needs("return_id"))

export const SETTLE_DESCRIPTION =
  "Only of an order that has no definite answer of the provider 24 hours after its first request; else 409. The money moves as with the provider's own outcome. With four eyes, once another operator has approved it: 202."
