/** The recipient of a payout, as operators see it. */
import { AccountType } from "@pix-payments/domain/Charge"
import { open } from "@pix-payments/domain/OpenEnum"
import { Recipient } from "@pix-payments/domain/Payout"
import { personal } from "@pix-payments/domain/PersonalData"
import * as Schema from "effect/Schema"

/** The recipient of a payout. That of a TED has a bank account. */
export const OperatorRecipient = Schema.Struct({
  ...Recipient.fields,
  bank: Schema.NullOr(Schema.String).annotateKey({ description: "Null for a Pix, like the fields below." }),
  branch: Schema.NullOr(Schema.String),
  account: Schema.NullOr(Schema.String.annotate(personal("document"))),
  account_type: Schema.NullOr(open(AccountType))
}).annotate({ identifier: "OperatorRecipient" })
export type OperatorRecipient = typeof OperatorRecipient.Type
