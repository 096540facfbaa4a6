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
  q: text(1, 1000).annotateKey({
    description:
      "An id or its short form, txid, end-to-end id, id of a return, request id, document, e-mail address or phone; words of a name or a reference, or their beginnings; an amount (`352,21`), also of a day (`352,21 25/11`); a Copia e Cola."
  })
}

export class SearchGroup extends HttpApiGroup.make("search")
  .add(
    HttpApiEndpoint.get("find", "/", { query: searchQuery, success: SearchResults, error: ValidationError })
      .annotate(Access, { roles: ["viewer"], accounts: "filtered" })
      .annotate(OpenApi.Summary, "Find what a text leads to")
      .annotate(
        OpenApi.Description,
        "At most 50 results. Documents, addresses, phones and codes lead to nothing for roles that see personal data masked."
      )
  )
  .prefix("/operator/v1/search")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors) {}
