/**
 * The account that a key acts for: ACC-1 to ACC-3.
 */
import * as Schema from "effect/Schema"
import { DocumentType } from "./DocumentField.ts"
import { Instant } from "./Instant.ts"
import { open } from "./OpenEnum.ts"
import { personal } from "./PersonalData.ts"

export const AccountStatus = Schema.Literals(["active", "inactive"])
export type AccountStatus = typeof AccountStatus.Type

export const OnboardingStatus = Schema.Literals(["pending", "in_review", "completed", "rejected"])
export type OnboardingStatus = typeof OnboardingStatus.Type

/** An account as `GET /v1/account` shows it. */
export const Account = Schema.Struct({
  id: Schema.String.annotate({ format: "uuid" }),
  object: Schema.Literal("account"),
  name: Schema.String.annotate({ description: "Trade name." }),
  legal_name: Schema.String,
  document: Schema.String.annotate({ description: "CPF or CNPJ, without mask.", ...personal("document") }),
  document_type: open(DocumentType),
  phone: Schema.String.annotate(personal("phone")),
  status: open(AccountStatus),
  onboarding_status: open(OnboardingStatus),
  auto_payout_enabled: Schema.Boolean,
  created_at: Instant
}).annotate({ identifier: "Account" })
export type Account = typeof Account.Type

/** CHG-14. It is the default of the central bank's API Pix, too. */
export const DEFAULT_EXPIRES_IN_SECONDS = 86_400
