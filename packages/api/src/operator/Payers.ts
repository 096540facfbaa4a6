/** What the charges have of one payer, and its erasure: OPR-337, OPR-338. */
import { ChargeStatus } from "@pix-payments/domain/Charge"
import { parseDocument } from "@pix-payments/domain/Document"
import { Document } from "@pix-payments/domain/DocumentField"
import { Instant } from "@pix-payments/domain/Instant"
import { open } from "@pix-payments/domain/OpenEnum"
import { personal } from "@pix-payments/domain/PersonalData"
import { decoder, nullable } from "@pix-payments/domain/Request"
import { text } from "@pix-payments/domain/Text"
import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { OperatorAuthentication, RequestErrors } from "../Security.ts"
import { InvalidDocument, ValidationError } from "../WireErrors.ts"
import { Access } from "./Access.ts"
import { waiting } from "./Approvals.ts"
import { Count, Id } from "./Fields.ts"

const payer = {
  document: nullable(Document.annotateKey({ description: "CPF or CNPJ of the payer; or else the e-mail address." })),
  email: nullable(text(1, 254)),
  legal_ground: text(1, 500).annotateKey({ description: "Why it may be done, for the audit log." })
}

/** The body of `POST /payers/export`. */
export const ExportPayer = Schema.Struct({
  ...payer,
  starting_after: nullable(Schema.String.check(Schema.isUUID()).annotate({ format: "uuid" }))
}).annotate({ identifier: "ExportPayer" })

/** The body of `POST /payers/anonymise`. */
export const AnonymisePayer = Schema.Struct(payer).annotate({ identifier: "AnonymisePayer" })

/** One of both names the payer. */
const oneName = ({ document, email }: Readonly<Record<string, unknown>>) =>
  (document ?? null) !== null && (email ?? null) !== null
    ? [{ code: "VALIDATION_ERROR" as const, path: ["email"], expected: "absent beside a document" }]
    : (document ?? email ?? null) === null
      ? [{ code: "VALIDATION_ERROR" as const, path: ["document"], expected: "given, or the e-mail address" }]
      : []

export const decodeExportPayer = decoder(ExportPayer, oneName)
export const decodeAnonymisePayer = decoder(AnonymisePayer, oneName)

/** The document without mask. */
export const documentOf = (document: string | null | undefined): string | null =>
  typeof document === "string" ? (parseDocument(document)?.value ?? document) : null

/** What the charges of a payer have of it, newest first. */
export const PayerExport = Schema.Struct({
  object: Schema.Literal("payer_export"),
  data: Schema.Array(
    Schema.Struct({
      charge_id: Id,
      account_id: Id,
      status: open(ChargeStatus),
      amount: Schema.Int,
      description: Schema.NullOr(Schema.String),
      reference: Schema.NullOr(Schema.String),
      name: Schema.NullOr(Schema.String),
      email: Schema.NullOr(Schema.String).annotate(personal("email")),
      document: Schema.NullOr(Schema.String).annotate(personal("document")),
      phone: Schema.NullOr(Schema.String).annotate(personal("phone")),
      created_at: Instant,
      paid_at: Schema.NullOr(Instant)
    })
  ),
  has_more: Schema.Boolean.annotate({
    description: "More charges: repeat it with the last `charge_id` in `starting_after`."
  })
}).annotate({ identifier: "PayerExport" })
export type PayerExport = typeof PayerExport.Type

export const PayerErasure = Schema.Struct({
  object: Schema.Literal("payer_erasure"),
  anonymised: Count.annotate({ description: "Charges that nobody paid: they have nothing of the payer any more." }),
  kept: Count.annotate({ description: "Charges that were paid: they are kept for fiscal and civil terms." }),
  open: Count.annotate({ description: "Charges that can still be paid. Repeat the request once they have ended." })
}).annotate({ identifier: "PayerErasure" })
export type PayerErasure = typeof PayerErasure.Type

export class PayersGroup extends HttpApiGroup.make("payers")
  .add(
    HttpApiEndpoint.post("export", "/export", {
      payload: ExportPayer,
      success: PayerExport,
      error: [ValidationError, InvalidDocument]
    })
      .annotate(Access, { roles: ["admin"], accounts: "installation" })
      .annotate(OpenApi.Summary, "Get what the charges have of one payer")
      .annotate(OpenApi.Description, "At most 1000 charges. It is an entry of the audit log, with the legal ground."),
    HttpApiEndpoint.post("anonymise", "/anonymise", {
      payload: AnonymisePayer,
      success: [PayerErasure, waiting],
      error: [ValidationError, InvalidDocument]
    })
      .annotate(Access, { roles: ["admin"], accounts: "installation" })
      .annotate(OpenApi.Summary, "Erase what the unpaid charges have of one payer")
      .annotate(
        OpenApi.Description,
        "Name, e-mail address, document, phone and description of charges that were never paid and have ended. Events, deliveries and repeated answers read the charge, and follow. With four eyes, 202. Repeat it after a restore: the audit log has every one."
      )
  )
  .prefix("/operator/v1/payers")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors)
  .annotate(OpenApi.Description, "What people who pay may ask for.") {}
