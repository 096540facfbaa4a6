/** Accounts, with their settings and their balances: OPR-13 to OPR-18. */
import { Account, AccountStatus, OnboardingStatus } from "@pix-payments/domain/Account"
import { Balance } from "@pix-payments/domain/Balance"
import { ExpiresIn } from "@pix-payments/domain/Charge"
import { MAX_CENTS } from "@pix-payments/domain/Cents"
import { Document } from "@pix-payments/domain/DocumentField"
import { LimitChanges, Limits } from "@pix-payments/domain/Limits"
import { listOf, listQuery } from "@pix-payments/domain/List"
import { open } from "@pix-payments/domain/OpenEnum"
import { decoder, nullable, wholeNumber } from "@pix-payments/domain/Request"
import { text } from "@pix-payments/domain/Text"
import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { OperatorAuthentication, RequestErrors } from "../Security.ts"
import { InvalidDocument, InvalidState, NotFound, ValidationError } from "../WireErrors.ts"
import { Access } from "./Access.ts"
import { waiting } from "./Approvals.ts"
import { byId, Count, Id, StatementAccount, StatementAccountInput } from "./Fields.ts"

/** The fee of a payout: `fixed + round_half_up(amount * basis_points / 10000)` (PAY-9). */
export const PayoutFee = Schema.Struct({
  fixed: wholeNumber(0, MAX_CENTS, "cents").annotate({ description: "Cents." }),
  basis_points: wholeNumber(0, 10_000).annotate({
    description: "Hundredths of a percent of the amount."
  })
}).annotate({ identifier: "PayoutFee" })
export type PayoutFee = typeof PayoutFee.Type

/** `moved`: it moves to another cell, or lives there. */
const OperatorAccountStatus = Schema.Literals([...AccountStatus.literals, "moved"])

/** An account with its settings and its balance. */
export const OperatorAccount = Schema.Struct({
  ...Account.fields,
  status: open(OperatorAccountStatus),
  moved_to: Schema.NullOr(Schema.String).annotateKey({
    description: "The cell that the account moves to, or has moved to. Null: it lives in this one."
  }),
  payout_fee: PayoutFee,
  default_expires_in: Schema.Int.annotate({ description: "Seconds until a charge without `expires_in` expires." }),
  release_delay: Count.annotate({ description: "Seconds between a payment and its release to `available`." }),
  payout_duplicate_window: Count.annotate({
    description:
      "Seconds during which a payout with the same recipient and amount, but another idempotency key, waits for approval. 0 turns this off."
  }),
  payouts_paused: Schema.Boolean.annotate({
    description: "True while payouts can be created and approved, but are not sent."
  }),
  charges_paused: Schema.Boolean.annotate({ description: "True while no charge can be created." }),
  connection_id: Schema.NullOr(Id).annotate({
    description: "The connection of new charges and payouts; null: the installation's default one."
  }),
  approval_limit: Schema.NullOr(Schema.Int).annotate({
    description: "Cents that one operator may approve with four eyes; null: any amount."
  }),
  statement_account: Schema.NullOr(StatementAccount).annotateKey({
    description: "The bank account that its statements in OFX are of; null: `000` and the account's id."
  }),
  limits: Limits,
  balance: Balance
}).annotate({ identifier: "OperatorAccount" })
export type OperatorAccount = typeof OperatorAccount.Type

export const Name = text(1, 200)

export const Phone = text(1, 32)

const DuplicateWindow = wholeNumber(0, 86_400, "seconds")

const ReleaseDelay = wholeNumber(0, 31_536_000, "seconds")

/** The body of `POST /accounts`. */
export const CreateAccount = Schema.Struct({
  name: Name,
  legal_name: Name,
  document: Document.annotateKey({ description: "CPF or CNPJ, with or without mask." }),
  phone: Phone,
  status: nullable(AccountStatus),
  onboarding_status: nullable(OnboardingStatus),
  auto_payout_enabled: nullable(Schema.Boolean),
  payout_fee: nullable(PayoutFee),
  default_expires_in: nullable(ExpiresIn),
  release_delay: nullable(ReleaseDelay),
  payout_duplicate_window: nullable(DuplicateWindow)
}).annotate({ identifier: "CreateAccount" })
export type CreateAccount = typeof CreateAccount.Type

/** The body of `PATCH /accounts/{id}`: everything but the document (OPR-14). */
export const UpdateAccount = Schema.Struct({
  name: Schema.optionalKey(Name),
  legal_name: Schema.optionalKey(Name),
  phone: Schema.optionalKey(Phone),
  status: Schema.optionalKey(AccountStatus),
  onboarding_status: Schema.optionalKey(OnboardingStatus),
  auto_payout_enabled: Schema.optionalKey(Schema.Boolean),
  payout_fee: Schema.optionalKey(PayoutFee),
  default_expires_in: Schema.optionalKey(ExpiresIn),
  release_delay: Schema.optionalKey(ReleaseDelay),
  payout_duplicate_window: Schema.optionalKey(DuplicateWindow),
  payouts_paused: Schema.optionalKey(Schema.Boolean),
  charges_paused: Schema.optionalKey(Schema.Boolean),
  connection_id: Schema.optionalKey(Schema.NullOr(Schema.String.check(Schema.isUUID()).annotate({ format: "uuid" }))),
  approval_limit: Schema.optionalKey(Schema.NullOr(wholeNumber(0, MAX_CENTS, "cents"))),
  statement_account: Schema.optionalKey(Schema.NullOr(StatementAccountInput)),
  limits: Schema.optionalKey(LimitChanges)
}).annotate({ identifier: "UpdateAccount" })
export type UpdateAccount = typeof UpdateAccount.Type

/** The body of `POST /accounts/{id}/move`. */
export const MoveAccount = Schema.Struct({
  target: text(1, 20).annotateKey({ description: "The name of the cell that it moves to, as its `CELL` says." })
}).annotate({ identifier: "MoveAccount" })
export type MoveAccount = typeof MoveAccount.Type

export const decodeMoveAccount = decoder(MoveAccount)

export const decodeCreateAccount = decoder(CreateAccount)

export const decodeUpdateAccount = decoder(UpdateAccount)

export class AccountsGroup extends HttpApiGroup.make("accounts")
  .add(
    HttpApiEndpoint.post("create", "/", {
      payload: CreateAccount,
      success: OperatorAccount.pipe(HttpApiSchema.status(201)),
      error: [ValidationError, InvalidDocument]
    })
      .annotate(Access, { roles: ["admin"], accounts: "installation" })
      .annotate(OpenApi.Summary, "Open an account")
      .annotate(
        OpenApi.Description,
        "By default the account is `active`, its onboarding is `completed`, payouts are automatic and free, charges expire after 86400 seconds, and there is no release delay."
      ),
    HttpApiEndpoint.get("list", "/", {
      query: listQuery,
      success: listOf(OperatorAccount),
      error: ValidationError
    })
      .annotate(Access, { roles: ["viewer"], accounts: "filtered" })
      .annotate(OpenApi.Summary, "List accounts with their balances, newest first"),
    HttpApiEndpoint.get("retrieve", "/:id", { params: byId, success: OperatorAccount, error: NotFound })
      .annotate(Access, { roles: ["viewer"], accounts: "resource" })
      .annotate(OpenApi.Summary, "Get an account with its balance"),
    HttpApiEndpoint.patch("update", "/:id", {
      params: byId,
      payload: UpdateAccount,
      success: [OperatorAccount, waiting],
      error: [NotFound, InvalidState, ValidationError]
    })
      .annotate(Access, { roles: ["admin"], accounts: "resource" })
      .annotate(OpenApi.Summary, "Change an account's settings")
      .annotate(
        OpenApi.Description,
        "With four eyes, another `connection_id` or `approval_limit`, and a higher limit, is 202. Of `limits`, a field that is absent stays; null removes the limit."
      ),
    HttpApiEndpoint.post("move", "/:id/move", {
      params: byId,
      payload: MoveAccount,
      success: [OperatorAccount.pipe(HttpApiSchema.status(202)), waiting],
      error: [NotFound, InvalidState, ValidationError]
    })
      .annotate(Access, { roles: ["admin"], accounts: "resource" })
      .annotate(OpenApi.Summary, "Freeze an account that moves to another cell")
      .annotate(
        OpenApi.Description,
        "With four eyes, the answer is the approval, and this begins once another operator has approved it. From then on its requests to `/v1` are 503. The owner of the databases runs `move`, which brings it there, or `move --undo`."
      )
  )
  .prefix("/operator/v1/accounts")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors)
  .annotate(OpenApi.Description, "The companies that use the service.") {}
