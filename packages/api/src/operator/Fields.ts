/** Fields and parameters that several resources of the operator interface share. */
import { MAX_CENTS } from "@pix-payments/domain/Cents"
import { InstantInput, parseInstant } from "@pix-payments/domain/Instant"
import { listOf } from "@pix-payments/domain/List"
import { personal } from "@pix-payments/domain/PersonalData"
import { wholeNumber } from "@pix-payments/domain/Request"
import { text } from "@pix-payments/domain/Text"
import * as Schema from "effect/Schema"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"

export const Id = Schema.String.annotate({ format: "uuid" })

/** A day of the installation's time zone, `2026-11-25`. */
export const Day = Schema.String.annotate({ format: "date" })

/** A day that a request names: one of the calendar. */
export const DayInput = Schema.String.check(
  // PostgreSQL has no year 0.
  Schema.makeFilter(
    (value) => /^(?!0000)\d{4}-\d{2}-\d{2}$/.test(value) && parseInstant(`${value}T00:00:00Z`) !== undefined,
    {
      expected: "a day, as 2026-11-21",
      toJsonSchema: () => [{ format: "date" }, true]
    }
  )
).annotate({ format: "date" })

/** What a program that reads OFX finds an account by (OPR-259). */
export const StatementAccount = Schema.Struct({
  bank: Schema.String,
  branch: Schema.String,
  number: Schema.String.annotate(personal("document"))
}).annotate({ identifier: "StatementAccount" })
export type StatementAccount = typeof StatementAccount.Type

/** The same in a request. */
export const StatementAccountInput = Schema.Struct({
  bank: Schema.String.check(Schema.isPattern(/^\d{3}$/)).annotate({ description: "`BANKID`: the code of the bank." }),
  branch: Schema.String.check(Schema.isPattern(/^[\dXx-]{0,22}$/)).annotate({
    description: "`BRANCHID`; may be empty."
  }),
  number: Schema.String.check(Schema.isPattern(/^[\dXx-]{1,22}$/)).annotate({ description: "`ACCTID`." })
}).annotate({ identifier: "StatementAccountInput" })

export const Count = Schema.Int.check(Schema.isGreaterThanOrEqualTo(0))

export const byId = { id: Schema.String.annotate({ format: "uuid" }) }

/** The query of a resource with personal data. */
export const revealQuery = {
  reveal: Schema.optionalKey(Schema.Literals(["true", "false"])).annotateKey({
    description:
      "`true` shows personal data that the role sees masked, and is recorded in the audit log. Not for viewers."
  })
}

export const idFilter = Schema.optionalKey(Schema.String.check(Schema.isUUID()).annotate({ format: "uuid" }))

export const textFilter = Schema.optionalKey(text(1, 255))

export const instantFilter = Schema.optionalKey(InstantInput)

/** When the items of a list were created. */
export const createdFilters = { created_after: instantFilter, created_before: instantFilter }

/** When a charge or payout failed, and why: a provider's text has up to 300 characters. */
export const failureFilters = {
  failed_after: instantFilter,
  failed_before: instantFilter,
  failure_reason: Schema.optionalKey(text(1, 300))
}

/** The order of a list by time. */
export const orderQuery = {
  order: Schema.optionalKey(Schema.Literals(["asc", "desc"])).annotateKey({
    description: "By time of creation: the newest first (`desc`) unless it is `asc`."
  })
}

const centsFilter = Schema.optionalKey(wholeNumber(1, MAX_CENTS, "cents").annotate({ description: "Cents, included." }))

export const amountFilters = { amount_min: centsFilter, amount_max: centsFilter }

/** Beginnings of words of a name or a reference. */
export const wordsFilter = Schema.optionalKey(
  text(2, 255).annotate({ description: "Words of a name or a reference, or their beginnings, in any case." })
)

/** A page of a list whose filters may be checked row by row (OPR-290). */
export const walkedListOf = <S extends Schema.Constraint>(item: S) =>
  Schema.Struct({
    ...listOf(item).fields,
    next: Schema.NullOr(Id).annotate({
      description: "The `starting_after` of the next page; null at the end. It need not be an item of this page."
    }),
    looked_at: Count.annotate({ description: "How many rows were looked at for this page." })
  })

const counted = {
  object: Schema.Literal("summary"),
  count: Count,
  at_least: Schema.Boolean.annotate({ description: "There are more: one request counts some thousands." }),
  looked_at: Count.annotate({ description: "How many rows were looked at." })
}

const countedState = {
  status: Schema.String.annotate({ description: "As the rows show it; of requests the class of the status: `4xx`." }),
  count: Count
}

const statesOf = <Fields extends Schema.Struct.Fields>(fields: Fields) =>
  Schema.Array(Schema.Struct(fields)).annotate({ description: "The same of each state that a row has." })

/** The count of what filters leave, of rows without an amount (OPR-291). */
export const CountSummary = Schema.Struct({ ...counted, states: statesOf(countedState) }).annotate({
  identifier: "CountSummary"
})
export type CountSummary = typeof CountSummary.Type

/** Count and sum of what filters leave (OPR-291). */
export const Summary = Schema.Struct({
  ...counted,
  amount: Schema.Int.annotate({ description: "Cents." }),
  states: statesOf({ ...countedState, amount: Schema.Int.annotate({ description: "Cents." }) })
}).annotate({ identifier: "Summary" })
export type Summary = typeof Summary.Type

/** The rows of an export. */
export const MAX_CSV_ROWS = 100_000

/** A file of comma-separated values (OPR-292). */
export const csvFile = Schema.String.pipe(HttpApiSchema.asText({ contentType: "text/csv; charset=utf-8" }))

export const CSV_DESCRIPTION = `CSV with semicolons and decimal commas, as spreadsheets in Brazil open it. The last line says how many rows there are; without it the file is incomplete. At most ${MAX_CSV_ROWS} rows.`

/** Marks the body of an operation as optional. */
export const optionalBody = (operation: Record<string, unknown>) => ({
  ...operation,
  requestBody: { ...Object(operation["requestBody"]), required: false }
})
