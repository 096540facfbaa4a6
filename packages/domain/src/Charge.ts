/**
 * The charge: money in. CHG-1 to CHG-26.
 *
 * Guarantees
 * - `chargeTransitions` is the only declaration of the transitions and their events. Services, SQL guards and tests
 *   read it.
 * - `expired` is never stored: `chargeStatusAt` derives it at every read.
 */
import * as Schema from "effect/Schema"
import { Cents, MAX_CENTS } from "./Cents.ts"
import { Customer, CustomerInput } from "./Customer.ts"
import { failsWith } from "./ErrorCode.ts"
import { Instant, InstantInput } from "./Instant.ts"
import { listQuery } from "./List.ts"
import { open } from "./OpenEnum.ts"
import { personal } from "./PersonalData.ts"
import { pixKeyTypes } from "./PixKey.ts"
import { WebhookUrl } from "./PublicUrl.ts"
import { AN_AMOUNT, atLeast, atMost, MINIMUM_CHARGE_CENTS } from "./Reason.ts"
import { decoder, nullable, wholeNumber } from "./Request.ts"
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

/** `/v1` creates `pix`, the hosted checkout all three. */
export const ChargeMethod = Schema.Literals(["pix", "boleto", "card"])
export type ChargeMethod = typeof ChargeMethod.Type

export const PixKeyType = Schema.Literals(pixKeyTypes)

export const AccountType = Schema.Literals(["checking", "savings", "payment", "salary"])

/** The receiving account, as far as the acquirer discloses it (CHG-18). */
export const Receiver = Schema.Struct({
  name: Schema.NullOr(Schema.String),
  document: Schema.NullOr(Schema.String.annotate(personal("document"))),
  pix_key: Schema.NullOr(Schema.String.annotate(personal("pix_key"))),
  pix_key_type: Schema.NullOr(open(PixKeyType)),
  institution_name: Schema.NullOr(Schema.String),
  institution_ispb: Schema.NullOr(Schema.String),
  branch: Schema.NullOr(Schema.String),
  account: Schema.NullOr(Schema.String.annotate(personal("document"))),
  account_type: Schema.NullOr(open(AccountType))
}).annotate({ identifier: "Receiver" })
export type Receiver = typeof Receiver.Type

/** A charge as the API shows it. */
export const Charge = Schema.Struct({
  id: Schema.String.annotate({
    format: "uuid",
    description: "Without hyphens it is the txid of the Pix, which banks and fiscal documents name."
  }),
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
  refunded_amount: Cents.annotate({
    description: "Cents that went back to the payer, by refunds or a MED; 0 at first."
  }),
  failure_reason: Schema.NullOr(Schema.String),
  created_at: Instant,
  sequence: Schema.Int.annotate({
    description:
      "Grows with each state change. A lower one is older: act on its event, but keep a newer state that you have."
  })
}).annotate({ identifier: "Charge" })
export type Charge = typeof Charge.Type

/** How long a charge can be paid. */
export const ExpiresIn = wholeNumber(60, 604_800, "seconds")

/** The body of `POST /v1/charges`. */
export const CreateCharge = Schema.Struct({
  amount: amountFrom(MINIMUM_CHARGE_CENTS),
  method: nullable(pixOnly()),
  customer: CustomerInput.annotate({ requiredFields: ["name", "email", "document"] }).annotateKey({
    requiredFields: ["name", "email", "document"]
  }),
  description: nullable(text(0, 140)),
  reference: nullable(text(0, 255)),
  expires_in: nullable(ExpiresIn).annotateKey({
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

/** An outcome or order that may change the state of a charge. */
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
  /** The actions of the emitted events, in order. */
  readonly events: ReadonlyArray<string>
}

/** Every transition (CHG-7). Reports without a transition are recorded and ignored. */
export const chargeTransitions: ReadonlyArray<ChargeTransition> = [
  { report: "emitted", from: ["processing"], to: "pending", events: ["created", "emitted"] },
  { report: "refused", from: ["processing"], to: "failed", events: ["failed"] },
  // CHG-6: a payment after expiry is accepted.
  { report: "paid", from: ["pending", "expired"], to: "paid", events: ["paid"] },
  { report: "failed", from: ["pending"], to: "failed", events: ["failed"] },
  { report: "canceled", from: ["pending"], to: "canceled", events: ["canceled"] },
  { report: "refunded", from: ["paid", "infraction"], to: "refunded", events: ["refunded"] },
  { report: "infraction", from: ["paid"], to: "infraction", events: ["infraction"] },
  { report: "charged_back", from: ["paid", "infraction"], to: "charged_back", events: ["charged_back"] },
  // DSP-3: `charge.pix.paid` is emitted once in a charge's life.
  { report: "dispute_won", from: ["infraction"], to: "paid", events: [] }
]

/** The transition of a report from a state, or `undefined` if it changes nothing. */
export const chargeTransition = (report: ChargeReport, from: ChargeStatus): ChargeTransition | undefined =>
  chargeTransitions.find((transition) => transition.report === report && transition.from.includes(from))

/** The status at an instant: a `pending` charge whose `expires_at` has passed is `expired` (CHG-5). */
export const chargeStatusAt = (stored: ChargeStatus, expiresAtMs: number | null, nowMs: number): ChargeStatus =>
  stored === "pending" && expiresAtMs !== null && expiresAtMs <= nowMs ? "expired" : stored

/** An amount of at least `minimum` cents. Less is `AMOUNT_BELOW_MINIMUM`; anything that is no amount, `VALIDATION_ERROR`. */
export function amountFrom(minimum: number) {
  return Schema.Number.annotate({ expected: AN_AMOUNT })
    .check(
      Schema.isInt({ expected: AN_AMOUNT }),
      Schema.isLessThanOrEqualTo(MAX_CENTS, { expected: atMost(MAX_CENTS) }),
      Schema.isGreaterThanOrEqualTo(minimum, {
        expected: atLeast(minimum),
        ...failsWith("AMOUNT_BELOW_MINIMUM")
      })
    )
    .annotate({ description: `Cents, ${minimum} to ${MAX_CENTS}.` })
}

/** `pix`. Any other string is `METHOD_NOT_SUPPORTED` (CHG-11). */
export function pixOnly() {
  return Schema.String.check(
    Schema.makeFilter((value) => value === "pix", {
      expected: "pix",
      ...failsWith("METHOD_NOT_SUPPORTED"),
      toJsonSchema: () => ({ enum: ["pix"] })
    })
  ).annotate({ description: "Only `pix`, which is the default." })
}
