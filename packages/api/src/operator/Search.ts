/** The search over everything that an operator may see: OPR-125, OPR-126. */
import { open } from "@pix-payments/domain/OpenEnum"
import { text } from "@pix-payments/domain/Text"
import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { OperatorAuthentication, RequestErrors } from "../Security.ts"
import { ValidationError } from "../WireErrors.ts"
import { Access } from "./Access.ts"
import { Id } from "./Fields.ts"

export const SearchKind = Schema.Literals([
  "account",
  "application",
  "charge",
  "delivery",
  "dispute",
  "endpoint",
  "exception",
  "payout",
  "refund",
  "request"
])
export type SearchKind = typeof SearchKind.Type

export const SearchResults = Schema.Struct({
  object: Schema.Literal("search"),
  data: Schema.Array(
    Schema.Struct({
      kind: open(SearchKind),
      id: Id,
      account_id: Schema.NullOr(Id),
      title: Schema.String.annotate({ description: "The amount and a name, without documents, e-mails or Pix keys." })
    })
  )
}).annotate({ identifier: "SearchResults" })
export type SearchResults = typeof SearchResults.Type

export const searchQuery = {
  q: text(1, 255).annotateKey({
    description: "An id, txid, end-to-end id, reference, request id, document or e-mail address, as a whole."
  })
}

export class SearchGroup extends HttpApiGroup.make("search")
  .add(
    HttpApiEndpoint.get("find", "/", { query: searchQuery, success: SearchResults, error: ValidationError })
      .annotate(Access, { roles: ["viewer"], accounts: "filtered" })
      .annotate(OpenApi.Summary, "Find what an id, reference, document or e-mail address leads to")
      .annotate(
        OpenApi.Description,
        "At most 50 results. Documents and e-mail addresses lead to nothing for roles that see personal data masked."
      )
  )
  .prefix("/operator/v1/search")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors) {}
