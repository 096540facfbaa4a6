/** Receipts of money that moved, to print or to send: OPR-270. */
import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { OperatorAuthentication, RequestErrors } from "../Security.ts"
import { InvalidState, NotFound, ValidationError } from "../WireErrors.ts"
import { Access } from "./Access.ts"
import { byId } from "./Fields.ts"

export const receiptQuery = {
  format: Schema.optionalKey(Schema.Literals(["html", "pdf"])).annotateKey({ description: "By default `html`." }),
  language: Schema.optionalKey(Schema.Literals(["pt", "en"])).annotateKey({ description: "By default `pt`." })
}

const receipt = <const Name extends string>(name: Name, path: `/${string}`, summary: string) =>
  HttpApiEndpoint.get(name, path, {
    params: byId,
    query: receiptQuery,
    success: [
      Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/html" })),
      Schema.Uint8Array.pipe(HttpApiSchema.asUint8Array({ contentType: "application/pdf" }))
    ],
    error: [NotFound, ValidationError, InvalidState]
  })
    // Documents are masked to everybody.
    .annotate(Access, { roles: ["viewer"], accounts: "resource" })
    .annotate(OpenApi.Summary, summary)

export class ReceiptsGroup extends HttpApiGroup.make("receipts")
  .add(
    receipt("charge", "/charges/:id/receipt", "Get the receipt of a paid charge"),
    receipt("payout", "/payouts/:id/receipt", "Get the receipt of a completed payout"),
    receipt("refund", "/refunds/:id/receipt", "Get the receipt of a completed refund")
  )
  .prefix("/operator/v1")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors)
  .annotate(
    OpenApi.Description,
    "Receipts of money that moved, as a page or a PDF: the company's, not the bank's. Documents are masked."
  ) {}
