/**
 * Money in: the charge, its states and what moves it.
 *
 * Guarantees: the transition table below is the only place that says which report moves a charge from
 * where to where and which events tell of it; services, SQL guards and tests read it. `expired` is never
 * stored: it is derived, here, whenever a charge is looked at.
 *
 * Source: payments-api-v1.md "charge", "Charge `status`", "POST /v1/charges"; decisions.md "Charges".
 */
import * as Schema from "effect/Schema"
import { Cents, MAX_CENTS } from "./Cents.ts"
import { Customer, CustomerInput } from "./Customer.ts"
import { failsWith } from "./ErrorCode.ts"
import { Instant, InstantInput } from "./Instant.ts"
import { listQuery } from "./List.ts"
import { open } from "./OpenEnum.ts"
import { PixKeyType } from "./PixKey.ts"
import { WebhookUrl } from "./PublicUrl.ts"
import { decoder, nullable } from "./Request.ts"
import { text } from "./Text.ts"

export const ChargeStatus = Schema.Literals([
  "processing",
  "pending",
  "paid",
  "expired",
  "canceled",
  "failed",
  "refunded",
  "charged_back",
  "infraction"
])
export type ChargeStatus = typeof ChargeStatus.Type

/** `pix` is what `/v1` creates; the hosted checkout creates the others. */
export const ChargeMethod = Schema.Literals(["pix", "boleto", "card"])
export type ChargeMethod = typeof ChargeMethod.Type

export const AccountType = Schema.Literals(["checking", "savings", "payment", "salary"])

/** The account that receives a charge's money, as far as the acquirer tells. */
export const Receiver = Schema.Struct({
  name: Schema.NullOr(Schema.String),
  document: Schema.NullOr(Schema.String),
  pix_key: Schema.NullOr(Schema.String),
  pix_key_type: Schema.NullOr(open(PixKeyType)),
  institution_name: Schema.NullOr(Schema.String),
  institution_ispb: Schema.NullOr(Schema.String),
  branch: Schema.NullOr(Schema.String),
  account: Schema.NullOr(Schema.String),
  account_type: Schema.NullOr(open(AccountType))
}).annotate({ identifier: "Receiver" })
export type Receiver = typeof Receiver.Type

/** A charge as the API shows it. */
export const Charge = Schema.Struct({
  id: Schema.String.annotate({ format: "uuid" }),
  object: Schema.Literal("charge"),
  status: open(ChargeStatus),
  amount: Cents.annotate({ description: "Cents." }),
  currency: Schema.Literal("BRL"),
  method: open(ChargeMethod),
  description: Schema.NullOr(Schema.String),
  reference: Schema.NullOr(Schema.String),
  customer: Schema.NullOr(Customer),
  pix: Schema.Struct({
    br_code: Schema.NullOr(Schema.String).annotate({ description: "Pix copy-and-paste payload (EMV)." }),
    end_to_end_id: Schema.NullOr(Schema.String).annotate({ description: "Settlement identifier, after payment." })
  }),
  receiver: Schema.NullOr(Receiver),
  webhook_url: Schema.NullOr(Schema.String),
  expires_at: Schema.NullOr(Instant),
  paid_at: Schema.NullOr(Instant),
  failure_reason: Schema.NullOr(Schema.String),
  created_at: Instant,
  sequence: Schema.Int.annotate({
    description: "Grows with each state change: drop an event that carries a lower one."
  })
}).annotate({ identifier: "Charge" })
export type Charge = typeof Charge.Type

export const MINIMUM_CHARGE_CENTS = 100

/** What `POST /v1/charges` takes. */
export const CreateCharge = Schema.Struct({
  amount: amountFrom(MINIMUM_CHARGE_CENTS),
  method: nullable(pixOnly()),
  customer: CustomerInput.annotate({ requiredFields: ["name", "email", "document"] }).annotateKey({
    requiredFields: ["name", "email", "document"]
  }),
  description: nullable(text(0, 140)),
  reference: nullable(text(0, 255)),
  expires_in: nullable(Schema.Int.check(Schema.isBetween({ minimum: 60, maximum: 604_800 }))).annotateKey({
    description: "Seconds until the charge stops accepting payment; the account's default when absent."
  }),
  webhook_url: nullable(WebhookUrl),
  webhook_secret: nullable(text(0, 255))
}).annotate({ identifier: "CreateCharge" })
export type CreateCharge = typeof CreateCharge.Type

export const decodeCreateCharge = decoder(CreateCharge)

/** The query of `GET /v1/charges`. */
export const chargeQuery = {
  ...listQuery,
  status: Schema.optionalKey(ChargeStatus),
  method: Schema.optionalKey(ChargeMethod),
  created_after: Schema.optionalKey(InstantInput),
  created_before: Schema.optionalKey(InstantInput)
}

/** What can happen to a charge after it is stored. */
export type ChargeReport =
  | "emitted"
  | "refused"
  | "paid"
  | "failed"
  | "canceled"
  | "refunded"
  | "infraction"
  | "charged_back"
  | "dispute_won"

export interface ChargeTransition {
  readonly report: ChargeReport
  readonly from: ReadonlyArray<ChargeStatus>
  readonly to: Exclude<ChargeStatus, "expired">
  /** The third part of the names of the events that tell of it, in order. */
  readonly events: ReadonlyArray<string>
}

/** Every transition there is. What is not listed is recorded and ignored. */
export const chargeTransitions: ReadonlyArray<ChargeTransition> = [
  { report: "emitted", from: ["processing"], to: "pending", events: ["created", "emitted"] },
  { report: "refused", from: ["processing"], to: "failed", events: ["failed"] },
  // Money that arrived is never refused: a late confirmation pays an expired charge.
  { report: "paid", from: ["pending", "expired"], to: "paid", events: ["paid"] },
  { report: "failed", from: ["pending"], to: "failed", events: ["failed"] },
  { report: "canceled", from: ["pending"], to: "canceled", events: ["canceled"] },
  { report: "refunded", from: ["paid", "infraction"], to: "refunded", events: ["refunded"] },
  { report: "infraction", from: ["paid"], to: "infraction", events: ["infraction"] },
  { report: "charged_back", from: ["paid", "infraction"], to: "charged_back", events: ["charged_back"] },
  // `charge.pix.paid` settles an order and is emitted once in a charge's life.
  { report: "dispute_won", from: ["infraction"], to: "paid", events: [] }
]

/** The transition that a report makes from a state, or `undefined` where it changes nothing. */
export const chargeTransition = (report: ChargeReport, from: ChargeStatus): ChargeTransition | undefined =>
  chargeTransitions.find((transition) => transition.report === report && transition.from.includes(from))

/** The status of a charge at an instant: a pending charge past its expiry is `expired`. */
export const chargeStatusAt = (stored: ChargeStatus, expiresAtMs: number | null, nowMs: number): ChargeStatus =>
  stored === "pending" && expiresAtMs !== null && expiresAtMs <= nowMs ? "expired" : stored

/** An amount of at least `minimum` cents: less is `AMOUNT_BELOW_MINIMUM`, no amount at all `VALIDATION_ERROR`. */
export function amountFrom(minimum: number) {
  return Schema.Int.check(
    Schema.isLessThanOrEqualTo(MAX_CENTS),
    Schema.isGreaterThanOrEqualTo(minimum, failsWith("AMOUNT_BELOW_MINIMUM"))
  ).annotate({ description: `Cents, ${minimum} to ${MAX_CENTS}.` })
}

/** The only method that v1 creates with: another string is `METHOD_NOT_SUPPORTED`. */
export function pixOnly() {
  return Schema.String.check(
    Schema.makeFilter((value) => value === "pix", {
      expected: "pix",
      ...failsWith("METHOD_NOT_SUPPORTED"),
      toJsonSchema: () => ({ enum: ["pix"] })
    })
  ).annotate({ description: "Only `pix`, which is the default." })
}
