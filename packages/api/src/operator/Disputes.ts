/** Disputes, with their messages: OPR-26. */
import { Dispute, DisputeStatus } from "@pix-payments/domain/Dispute"
import { Instant } from "@pix-payments/domain/Instant"
import { listOf, listQuery } from "@pix-payments/domain/List"
import { open } from "@pix-payments/domain/OpenEnum"
import { decoder } from "@pix-payments/domain/Request"
import { text } from "@pix-payments/domain/Text"
import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { OperatorAuthentication, RequestErrors } from "../Security.ts"
import { InvalidState, NotFound, ValidationError } from "../WireErrors.ts"
import { Access } from "./Access.ts"
import { byId, Id, idFilter, revealQuery } from "./Fields.ts"

export const MessageAuthor = Schema.Literals(["operator", "platform"])
export type MessageAuthor = typeof MessageAuthor.Type

/** A dispute with its messages, oldest first. The defense is a message of the operator. */
export const OperatorDispute = Schema.Struct({
  ...Dispute.fields,
  account_id: Id,
  messages: Schema.Array(Schema.Struct({ author: open(MessageAuthor), text: Schema.String, at: Instant }))
}).annotate({ identifier: "OperatorDispute" })
export type OperatorDispute = typeof OperatorDispute.Type

export const TextBody = Schema.Struct({ text: text(1, 4000) }).annotate({ identifier: "TextBody" })
export type TextBody = typeof TextBody.Type

export const decodeTextBody = decoder(TextBody)

export const disputesQuery = { ...listQuery, charge_id: idFilter, status: Schema.optionalKey(DisputeStatus) }

export class DisputesGroup extends HttpApiGroup.make("disputes")
  .add(
    HttpApiEndpoint.get("list", "/", {
      query: disputesQuery,
      success: listOf(OperatorDispute),
      error: ValidationError
    })
      .annotate(Access, { roles: ["viewer"], accounts: "filtered" })
      .annotate(OpenApi.Summary, "List disputes, newest first"),
    HttpApiEndpoint.get("retrieve", "/:id", {
      params: byId,
      query: revealQuery,
      success: OperatorDispute,
      error: NotFound
    })
      .annotate(Access, { roles: ["viewer"], accounts: "resource", reveals: true })
      .annotate(OpenApi.Summary, "Get a dispute with its messages")
  )
  .prefix("/operator/v1/disputes")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors)
  .annotate(OpenApi.Description, "MEDs against Pix charges.") {}

export class DisputeActionsGroup extends HttpApiGroup.make("disputeActions")
  .add(
    HttpApiEndpoint.post("defense", "/:id/defense", {
      params: byId,
      payload: TextBody,
      success: OperatorDispute,
      error: [NotFound, ValidationError, InvalidState]
    })
      .annotate(Access, { roles: ["operator"], accounts: "resource" })
      .annotate(OpenApi.Summary, "File the defense of an open dispute"),
    HttpApiEndpoint.post("message", "/:id/messages", {
      params: byId,
      payload: TextBody,
      success: OperatorDispute.pipe(HttpApiSchema.status(201)),
      error: [NotFound, ValidationError, InvalidState]
    })
      .annotate(Access, { roles: ["operator"], accounts: "resource" })
      .annotate(OpenApi.Summary, "Send a message to the platform")
      .annotate(OpenApi.Description, "`dispute.pix.message` is emitted when the platform replies.")
  )
  .prefix("/operator/v1/disputes")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors) {}
