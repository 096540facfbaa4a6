/**
 * A list with filters, in three operations: its pages, what the filters leave in numbers, and the same rows as a file.
 *
 * Rules: OPR-290 to OPR-292.
 */
import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as OpenApi from "effect/http-api/OpenApi"
import { ValidationError } from "../WireErrors.ts"
import { Access } from "./Access.ts"
import { CountSummary, CSV_DESCRIPTION, csvFile, Summary, walkedListOf } from "./Fields.ts"

/** `sum` is `Summary` where the items have an amount. `title` is that of the pages, `items` the word for several. */
export const filteredList = <
  const Item extends Schema.Constraint,
  const Query extends Schema.Struct.Fields,
  const Filters extends Schema.Struct.Fields,
  const Sum extends typeof Summary | typeof CountSummary
>(of: {
  readonly item: Item
  readonly query: Query
  readonly filters: Filters
  readonly sum: Sum
  readonly title: string
  readonly items: string
}) =>
  [
    HttpApiEndpoint.get("list", "/", { query: of.query, success: walkedListOf(of.item), error: ValidationError })
      .annotate(Access, { roles: ["viewer"], accounts: "filtered" })
      .annotate(OpenApi.Summary, of.title),
    HttpApiEndpoint.get("summary", "/summary", { query: of.filters, success: of.sum, error: ValidationError })
      .annotate(Access, { roles: ["viewer"], accounts: "filtered" })
      .annotate(
        OpenApi.Summary,
        `Count ${Object.is(of.sum, Summary) ? "and sum " : ""}the ${of.items} that filters leave`
      ),
    HttpApiEndpoint.get("export", "/export", { query: of.filters, success: csvFile, error: ValidationError })
      .annotate(Access, { roles: ["viewer"], accounts: "filtered" })
      .annotate(OpenApi.Summary, `Export the ${of.items} that filters leave as CSV`)
      .annotate(OpenApi.Description, CSV_DESCRIPTION)
  ] as const
