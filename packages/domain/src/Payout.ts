/**
 * The payout: money out. PAY-1 to PAY-23.
 *
 * Guarantees
 * - `payoutTransitions` is the only declaration of the transitions and their events. In events a payout is called
 *   `payment` (EVT-5).
 */
import * as Schema from "effect/Schema"
import { Cents } from "./Cents.ts"
import { AccountType, amountFrom, pixOnly, PixKeyType } from "./Charge.ts"
import { Document } from "./DocumentField.ts"
import { Instant, InstantInput } from "./Instant.ts"
import { listQuery } from "./List.ts"
import { open } from "./OpenEnum.ts"
import { personal } from "./PersonalData.ts"
import { parsePixKey, pixKeyForms } from "./PixKey.ts"
import { WebhookUrl } from "./PublicUrl.ts"
import { MINIMUM_PAYOUT_CENTS } from "./Reason.ts"
import { decoder, nullable, type Violation } from "./Request.ts"
import { isPrintable, text } from "./Text.ts"

export const PayoutStatus = Schema.Literals(["pending", "processing", "completed", "failed", "canceled"])
export type PayoutStatus = typeof PayoutStatus.Type

/** `/v1` creates `pix`, operators both. */
export const PayoutMethod = Schema.Literals(["pix", "ted"])
export type PayoutMethod = typeof PayoutMethod.Type

export const Recipient = Schema.Struct({
  name: Schema.NullOr(Schema.String),
  document: Schema.NullOr(Schema.String.annotate(personal("document"))),
  pix_key_type: Schema.NullOr(open(PixKeyType)).annotateKey({ description: "Null for a TED." }),
  pix_key: Schema.NullOr(Schema.String.annotate(personal("pix_key"))).annotateKey({ description: "Null for a TED." })
}).annotate({ identifier: "Recipient" })

/** The bank account of a TED: the institution by its ISPB or its number, branch and account (PAY-21). */
export const BankAccount = Schema.Struct({
  bank: Schema.String.check(
    Schema.isPattern(/^(?:[0-9]{3}|[0-9A-Z]{8})$/u, { expected: "a bank's number or its ISPB" })
  ).annotate({ description: "Three digits, or the eight characters of an ISPB." }),
  branch: Schema.String.check(Schema.isPattern(/^[0-9]{1,5}(?:-?[0-9X])?$/u, { expected: "a branch" })).annotate({
    description: "Digits, with or without a check digit."
  }),
  account: Schema.String.check(Schema.isPattern(/^[0-9]{1,18}(?:-?[0-9X])?$/u, { expected: "an account" })).annotate({
    description: "Digits, with or without a check digit."
  }),
  account_type: AccountType
})
export type BankAccount = typeof BankAccount.Type

/** Equal for what goes to the same Pix key or bank account, however the account is written. */
export const recipientKeyOf = (to: {
  readonly pix_key: string | null
  readonly bank: string | null
  readonly branch: string | null
  readonly account: string | null
}): string =>
  to.pix_key ??
  [to.bank, to.branch, to.account].map((part) => (part ?? "").replace(/[^0-9A-Z]/g, "").replace(/^0+/, "")).join("/")

/** A payout as the API shows it. */
export const Payout = Schema.Struct({
  id: Schema.String.annotate({ format: "uuid" }),
  object: Schema.Literal("payout"),
  status: open(PayoutStatus),
  method: open(PayoutMethod),
  amount: Cents.annotate({ description: "Cents, without the fee." }),
  fee: Cents.annotate({ description: "Cents; leaves the balance together with the amount." }),
  currency: Schema.Literal("BRL"),
  description: Schema.NullOr(Schema.String),
  reference: Schema.NullOr(Schema.String),
  recipient: Recipient,
  end_to_end_id: Schema.NullOr(Schema.String),
  failure_reason: Schema.NullOr(Schema.String),
  webhook_url: Schema.NullOr(Schema.String),
  processed_at: Schema.NullOr(Instant),
  created_at: Instant,
  sequence: Schema.Int.annotate({
    description:
      "Grows with each state change. A lower one is older: act on its event, but keep a newer state that you have."
  })
}).annotate({ identifier: "Payout" })
export type Payout = typeof Payout.Type

/** The body of `POST /v1/payouts`. */
export const CreatePayout = Schema.Struct({
  amount: amountFrom(MINIMUM_PAYOUT_CENTS),
  pix_key_type: PixKeyType,
  pix_key: text(1, 255),
  method: nullable(pixOnly()),
  recipient_name: nullable(text(1, 200)),
  recipient_document: nullable(Document),
  description: nullable(text(0, 140)),
  reference: nullable(text(0, 255)),
  webhook_url: nullable(WebhookUrl),
  webhook_secret: nullable(text(0, 255))
}).annotate({ identifier: "CreatePayout" })
export type CreatePayout = typeof CreatePayout.Type

/** PAY-11. */
const pixKeyRule = (body: Readonly<Record<string, unknown>>): ReadonlyArray<Violation> => {
  const { pix_key: key, pix_key_type: type } = body
  if (!Schema.is(PixKeyType)(type) || typeof key !== "string" || !isPrintable(key)) return []
  switch (parsePixKey(type, key)._tag) {
    case "Valid":
      return []
    case "Malformed":
      return [{ code: "VALIDATION_ERROR", path: ["pix_key"], expected: pixKeyForms[type] }]
    case "InvalidDocument":
      return [{ code: "INVALID_DOCUMENT", path: ["pix_key"], expected: pixKeyForms[type] }]
  }
}

export const decodeCreatePayout = decoder(CreatePayout, pixKeyRule)

/** The query of `GET /v1/payouts`. */
export const payoutQuery = {
  ...listQuery,
  status: Schema.optionalKey(PayoutStatus),
  method: Schema.optionalKey(PayoutMethod),
  created_after: Schema.optionalKey(InstantInput),
  created_before: Schema.optionalKey(InstantInput)
}

/** An outcome or order that may change the state of a payout. */
export type PayoutReport = "approved" | "canceled" | "completed" | "failed"

export interface PayoutTransition {
  readonly report: PayoutReport
  readonly from: ReadonlyArray<PayoutStatus>
  readonly to: PayoutStatus
  readonly events: ReadonlyArray<string>
}

/** Every transition (PAY-4). Reports without a transition are recorded and ignored. */
export const payoutTransitions: ReadonlyArray<PayoutTransition> = [
  { report: "approved", from: ["pending"], to: "processing", events: ["processing"] },
  { report: "canceled", from: ["pending"], to: "canceled", events: ["canceled"] },
  { report: "completed", from: ["processing"], to: "completed", events: ["completed"] },
  { report: "failed", from: ["processing"], to: "failed", events: ["failed"] }
]

/** The transition of a report from a state, or `undefined` if it changes nothing. */
export const payoutTransition = (report: PayoutReport, from: PayoutStatus): PayoutTransition | undefined =>
  payoutTransitions.find((transition) => transition.report === report && transition.from.includes(from))

/** The state and the events of a new payout, by the account's `auto_payout_enabled` (PAY-3). */
export const initialPayout = (
  autoPayoutEnabled: boolean
): { readonly status: PayoutStatus; readonly events: ReadonlyArray<string> } =>
  autoPayoutEnabled
    ? { status: "processing", events: ["created", "processing"] }
    : { status: "pending", events: ["created"] }
