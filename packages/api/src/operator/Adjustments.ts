/** Corrections of balances by operators: OPR-262, OPR-263. */
import { MAX_CENTS } from "@pix-payments/domain/Cents"
import { Instant } from "@pix-payments/domain/Instant"
import { decoder } from "@pix-payments/domain/Request"
import { text } from "@pix-payments/domain/Text"
import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { OperatorAuthentication, RequestErrors } from "../Security.ts"
import { IdempotencyKeyReused, InsufficientBalance, ValidationError } from "../WireErrors.ts"
import { Access } from "./Access.ts"
import { waiting } from "./Approvals.ts"
import { Id } from "./Fields.ts"
import { optionalIdempotencyKey } from "./OptionalIdempotencyKey.ts"

/** Money between an account and the installation, moved by operators. */
export const Adjustment = Schema.Struct({
  id: Id,
  object: Schema.Literal("adjustment"),
  account_id: Id,
  amount: Schema.Int.annotate({ description: "Cents, below zero where the account gives them." }),
  reason: Schema.String,
  created_at: Instant
}).annotate({ identifier: "Adjustment" })
export type Adjustment = typeof Adjustment.Type

/** The body of `POST /adjustments`. */
export const CreateAdjustment = Schema.Struct({
  account_id: Schema.String.check(Schema.isUUID()).annotate({ format: "uuid" }),
  amount: Schema.Int.check(Schema.isBetween({ minimum: -MAX_CENTS, maximum: MAX_CENTS }))
    .check(
      Schema.makeFilter((cents) => cents !== 0, {
        expected: "cents other than zero",
        toJsonSchema: () => [{ not: { const: 0 } }, true]
      })
    )
    .annotate({ description: "Cents, below zero where the account gives them." }),
  reason: text(1, 255)
}).annotate({ identifier: "CreateAdjustment" })
export type CreateAdjustment = typeof CreateAdjustment.Type

export const decodeCreateAdjustment = decoder(CreateAdjustment)

export class AdjustmentsGroup extends HttpApiGroup.make("adjustments")
  .add(
    HttpApiEndpoint.post("create", "/", {
      headers: optionalIdempotencyKey,
      payload: CreateAdjustment,
      success: [Adjustment.pipe(HttpApiSchema.status(201)), waiting],
      error: [ValidationError, InsufficientBalance, IdempotencyKeyReused]
    })
      .annotate(Access, { roles: ["operator"], accounts: "installation" })
      .annotate(OpenApi.Summary, "Correct the balance of an account")
      .annotate(
        OpenApi.Description,
        "Moves money between `available` of the account and `fees`, what the installation has earned. With four eyes, once another operator has approved it: 202."
      )
  )
  .prefix("/operator/v1/adjustments")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors)
  .annotate(OpenApi.Description, "Corrections of balances by operators.") {}
