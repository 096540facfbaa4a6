/** Disputes, with their messages and defenses: OPR-26, OPR-74 to OPR-76, OPR-380, OPR-381. */
import { Dispute, DisputeStatus } from "@pix-payments/domain/Dispute"
import { Instant } from "@pix-payments/domain/Instant"
import { listQuery } from "@pix-payments/domain/List"
import { open } from "@pix-payments/domain/OpenEnum"
import { arrayUpTo, decoder } from "@pix-payments/domain/Request"
import { text } from "@pix-payments/domain/Text"
import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { BodyLimit } from "../BodyLimit.ts"
import { OperatorAuthentication, RequestErrors } from "../Security.ts"
import { AcquirerRejected, InvalidState, NotFound, ValidationError } from "../WireErrors.ts"
import { Access } from "./Access.ts"
import {
  amountFilters,
  byId,
  Count,
  createdFilters,
  Id,
  idFilter,
  instantFilter,
  revealQuery,
  Summary
} from "./Fields.ts"
import { filteredList } from "./FilteredList.ts"

export const MessageAuthor = Schema.Literals(["operator", "platform"])
export type MessageAuthor = typeof MessageAuthor.Type

/** A file of a defense, without its content. */
export const DisputeFile = Schema.Struct({
  id: Id,
  name: Schema.String,
  content_type: Schema.String.annotate({ description: "As its sender said it." }),
  size: Count.annotate({ description: "Bytes." })
}).annotate({ identifier: "DisputeFile" })
export type DisputeFile = typeof DisputeFile.Type

/** A dispute with its messages, oldest first. The defense is a message of the operator. */
export const OperatorDispute = Schema.Struct({
  ...Dispute.fields,
  charge_id: Schema.NullOr(Id).annotateKey({ description: "Null: the dispute is of an exception." }),
  exception_id: Schema.NullOr(Id).annotateKey({ description: "Of money that an account accepted." }),
  account_id: Id,
  messages: Schema.Array(
    Schema.Struct({
      author: open(MessageAuthor),
      text: Schema.String,
      at: Instant,
      files: Schema.Array(DisputeFile)
    })
  ),
  defense_in_progress: Schema.Boolean.annotateKey({
    description: "A defense was filed, and the provider has not answered yet."
  })
}).annotate({ identifier: "OperatorDispute" })
export type OperatorDispute = typeof OperatorDispute.Type

export const TextBody = Schema.Struct({ text: text(1, 4000) }).annotate({ identifier: "TextBody" })
export type TextBody = typeof TextBody.Type

export const decodeTextBody = decoder(TextBody)

/** The most bytes of a file of a defense. */
const MAX_FILE_BYTES = 5 * 1024 * 1024
const MAX_FILES = 5

/** Of such a file in base64. */
const MAX_CONTENT_LENGTH = Math.ceil(MAX_FILE_BYTES / 3) * 4

/** True of base64 as in RFC 4648, section 4. Not a regular expression, which would need a stack for megabytes. */
export const isBase64 = (value: string): boolean => {
  if (value.length % 4 !== 0) return false
  const end = value.endsWith("==") ? value.length - 2 : value.endsWith("=") ? value.length - 1 : value.length
  for (let index = 0; index < end; index++) {
    const code = value.charCodeAt(index)
    const isDigit = code >= 48 && code <= 57
    const isLetter = (code >= 65 && code <= 90) || (code >= 97 && code <= 122)
    if (!isDigit && !isLetter && code !== 43 && code !== 47) return false
  }
  return true
}

const decodedLength = (value: string) =>
  (value.length / 4) * 3 - (value.endsWith("==") ? 2 : value.endsWith("=") ? 1 : 0)

const DefenseFile = Schema.Struct({
  name: text(1, 255),
  content_type: text(1, 255),
  content: Schema.String.check(
    Schema.makeFilter((value) => value !== "" && decodedLength(value) <= MAX_FILE_BYTES && isBase64(value), {
      expected: "base64",
      toJsonSchema: () => ({ contentEncoding: "base64", maxLength: MAX_CONTENT_LENGTH })
    })
  )
})

export const DefenseBody = Schema.Struct({
  text: text(1, 4000),
  files: Schema.optionalKey(Schema.NullOr(arrayUpTo(MAX_FILES, DefenseFile))).annotateKey({
    description: "Up to 5 files of 5 MiB, in base64."
  })
}).annotate({ identifier: "DefenseBody" })
export type DefenseBody = typeof DefenseBody.Type

export const decodeDefenseBody = decoder(DefenseBody)

/** The files, and the rest of the body. */
const MAX_DEFENSE_BYTES = MAX_FILES * MAX_CONTENT_LENGTH + 64 * 1024

export const disputeFilters = {
  account_id: idFilter,
  charge_id: idFilter,
  same_payer_as: Schema.optionalKey(
    Schema.String.check(Schema.isUUID()).annotate({
      format: "uuid",
      description: "A dispute: the others of its payer."
    })
  ),
  status: Schema.optionalKey(DisputeStatus),
  ...createdFilters,
  ...amountFilters,
  deadline_before: instantFilter
}

export const disputesQuery = {
  ...listQuery,
  ...disputeFilters,
  order: Schema.optionalKey(Schema.Literal("deadline")).annotateKey({
    description: "`deadline`: those that are not decided, by the end of their defense. So is a filter by deadline."
  })
}

export class DisputesGroup extends HttpApiGroup.make("disputes")
  .add(
    ...filteredList({
      item: OperatorDispute,
      query: disputesQuery,
      filters: disputeFilters,
      sum: Summary,
      title: "List disputes, newest first",
      items: "disputes"
    }),
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

/** Contents are as they were sent, and not masked to anybody who may read them. */
export class DisputeFilesGroup extends HttpApiGroup.make("disputeFiles")
  .add(
    HttpApiEndpoint.get("retrieve", "/:id", {
      params: byId,
      success: Schema.Uint8Array.pipe(HttpApiSchema.asUint8Array({ contentType: "application/octet-stream" })),
      error: NotFound
    })
      .annotate(Access, { roles: ["operator"], accounts: "resource", isClear: true })
      .annotate(OpenApi.Summary, "Get the content of a file")
      .annotate(
        OpenApi.Description,
        "Images and PDF with their type, anything else as a file to store. Messages of disputes have the ids."
      )
  )
  .prefix("/operator/v1/dispute-files")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors)
  .annotate(OpenApi.Description, "Files of defenses, as they were sent.") {}

export class DisputeActionsGroup extends HttpApiGroup.make("disputeActions")
  .add(
    HttpApiEndpoint.post("defense", "/:id/defense", {
      params: byId,
      payload: DefenseBody,
      success: OperatorDispute,
      error: [NotFound, ValidationError, InvalidState, AcquirerRejected]
    })
      .annotate(Access, { roles: ["operator"], accounts: "resource" })
      .annotate(BodyLimit, MAX_DEFENSE_BYTES)
      .annotate(OpenApi.Summary, "File the defense of an open dispute")
      .annotate(
        OpenApi.Description,
        "The defense is stored and sent to the provider. The dispute is `under_review` once the provider has accepted it. Without a clear answer it stays `open` with `defense_in_progress`, and the provider is asked again. A refusal is `ACQUIRER_REJECTED`, and a message of the dispute."
      ),
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
