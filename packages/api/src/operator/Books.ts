/** The books: balance transactions of accounts and of bank accounts. OPR-250 to OPR-253. */
import { BalanceName, BalanceTransactionType, SourceObject } from "@pix-payments/domain/BalanceTransaction"
import { Cents } from "@pix-payments/domain/Cents"
import { Instant } from "@pix-payments/domain/Instant"
import { listOf, listQuery } from "@pix-payments/domain/List"
import { open } from "@pix-payments/domain/OpenEnum"
import { personal } from "@pix-payments/domain/PersonalData"
import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { OperatorAuthentication, RequestErrors } from "../Security.ts"
import { NotFound, ValidationError } from "../WireErrors.ts"
import { Access } from "./Access.ts"
import { byId, Day, DayInput, Id, idFilter, revealQuery } from "./Fields.ts"

/** A line of an account's statement, or of a bank account's. */
export const BalanceTransaction = Schema.Struct({
  id: Id.annotate({ description: "The ledger entry." }),
  object: Schema.Literal("balance_transaction"),
  account_id: Schema.NullOr(Id).annotateKey({ description: "Null of money that is no account's." }),
  connection_id: Schema.NullOr(Id).annotateKey({ description: "Of a movement at the bank: its connection." }),
  type: open(BalanceTransactionType),
  amount: Schema.Int.annotate({ description: "Cents, below zero where they left, without the fee." }),
  fee: Schema.Int.annotate({ description: "Cents; below zero where a fee came back." }),
  net: Schema.Int.annotate({ description: "`amount - fee`: what the balance changed by." }),
  balance_after: Schema.NullOr(Schema.Int).annotateKey({
    description: "The balance after it, in cents. Null of a bank account."
  }),
  day: Day.annotate({ description: "Of the installation's time zone. Never before that of the line before." }),
  position: Schema.Int.annotate({ description: "The place of the ledger entry among those of its owner." }),
  available_on: Instant,
  source: Schema.Struct({ object: open(SourceObject), id: Id }),
  end_to_end_id: Schema.NullOr(Schema.String),
  return_id: Schema.NullOr(Schema.String).annotateKey({ description: "Of a return: the provider's id of it." }),
  txid: Schema.NullOr(Schema.String),
  reference: Schema.NullOr(Schema.String).annotateKey({ description: "Of an adjustment, its reason." }),
  counterparty: Schema.NullOr(
    Schema.Struct({
      name: Schema.NullOr(Schema.String),
      document: Schema.NullOr(Schema.String.annotate(personal("document")))
    })
  ),
  payment_code: Schema.NullOr(Schema.String).annotateKey({
    description: "`17` of a dynamic Pix, `20` of a static one."
  }),
  order_fee: Schema.NullOr(Schema.Int).annotateKey({
    description:
      "Cents of the fee of the payout behind it, also of a line that does not move the fee. Null where the order has no fee: a charge has none."
  }),
  dispute_id: Schema.NullOr(Id).annotateKey({
    description: "The dispute (MED) that moved it, else the newest one of its payment. A later one replaces it."
  }),
  created_at: Instant
}).annotate({ identifier: "BalanceTransaction" })
export type BalanceTransaction = typeof BalanceTransaction.Type

const listOfTransactions = Schema.Struct({
  ...listOf(BalanceTransaction).fields,
  next: Schema.NullOr(Id).annotateKey({
    description:
      "`starting_after` of the next page. A page with filters looks at 1,000 lines: it may have fewer than `limit`, also none, while more exist."
  })
})

const lineFilters = {
  ...listQuery,
  type: Schema.optionalKey(BalanceTransactionType),
  from: Schema.optionalKey(DayInput).annotateKey({ description: "The first day." }),
  to: Schema.optionalKey(DayInput).annotateKey({ description: "The last day, inclusive." }),
  amount_min: Schema.optionalKey(Cents).annotateKey({ description: "Cents, whichever way they moved, with the fee." }),
  amount_max: Schema.optionalKey(Cents),
  ...revealQuery
}

export const transactionsQuery = {
  ...lineFilters,
  balance: Schema.optionalKey(BalanceName).annotateKey({ description: "Whose lines: `available` by default." })
}

export const bankTransactionsQuery = lineFilters

/** A closed day of an account, or of a bank account (OPR-255, OPR-256). */
export const Close = Schema.Struct({
  id: Id,
  object: Schema.Literal("close"),
  account_id: Schema.NullOr(Id),
  connection_id: Schema.NullOr(Id),
  day: Day,
  opening: Schema.Int.annotate({
    description:
      "Cents of `available`; of a bank account, the sum of what the service has seen moved since its first line."
  }),
  credits: Schema.Int,
  debits: Schema.Int,
  fees: Schema.Int.annotate({ description: "Cents of the debits that are fees, less those that came back." }),
  closing: Schema.Int.annotate({ description: "`opening + credits - debits`." }),
  lines: Schema.Int.annotate({
    description: "The number of ledger entries of the day, those of other balances included."
  }),
  last_position: Schema.Int.annotate({ description: "Of the last entry; of a bank account, entries so far." }),
  balances: Schema.Record(Schema.String, Schema.Int).annotate({
    description: "Each ledger account of the account at the end of the day. Empty of a bank account."
  }),
  lines_hash: Schema.String.annotate({ description: "SHA-256 of the entries of the day." }),
  previous_hash: Schema.NullOr(Schema.String).annotateKey({ description: "`hash` of the close before it." }),
  hash: Schema.String.annotate({ description: "SHA-256 of this close and `previous_hash`." }),
  created_at: Instant
}).annotate({ identifier: "Close" })
export type Close = typeof Close.Type

/** An account or a bank account with a day that should be closed and is not (OPR-264). */
export const OverdueClose = Schema.Struct({
  object: Schema.Literal("overdue_close"),
  account_id: Schema.NullOr(Id),
  connection_id: Schema.NullOr(Id),
  day: Day.annotate({ description: "The first of its days without a close." })
}).annotate({ identifier: "OverdueClose" })
export type OverdueClose = typeof OverdueClose.Type

export const overdueQuery = { limit: listQuery.limit }

const chart = Schema.optionalKey(Schema.String.check(Schema.isMaxLength(500))).annotateKey({
  description: "Of a journal: the account of the chart for each ledger account, `available=2.1.1.01,acquirer=1.1.1.02`."
})

export const statementQuery = {
  from: DayInput.annotate({ description: "The first day." }),
  to: DayInput.annotate({ description: "The last day, inclusive. It may be in the future." }),
  format: Schema.Literals(["csv", "ofx", "ofx1", "journal", "jsonl"]).annotate({
    description:
      "`ofx1` is OFX 1.02 in Windows-1252, `ofx` OFX 2.2, `journal` debits and credits of a chart of accounts."
  }),
  separator: Schema.optionalKey(Schema.Literals([",", ";", "tab"])).annotateKey({
    description: "Of CSV: `,` by default."
  }),
  decimal: Schema.optionalKey(Schema.Literals([".", ","])).annotateKey({
    description: "Of CSV and journal: `.` by default."
  }),
  bom: Schema.optionalKey(Schema.Literals(["true", "false"])).annotateKey({
    description: "Of CSV and journal: `true` begins with a byte order mark."
  }),
  chart,
  ...revealQuery
}

const statementFile = Schema.String.pipe(HttpApiSchema.asText({ contentType: "application/octet-stream" }))

export class AccountBooksGroup extends HttpApiGroup.make("accountBooks")
  .add(
    HttpApiEndpoint.get("transactions", "/:id/transactions", {
      params: byId,
      query: transactionsQuery,
      success: listOfTransactions,
      error: [NotFound, ValidationError]
    })
      .annotate(Access, { roles: ["viewer"], accounts: "resource", reveals: true })
      .annotate(OpenApi.Summary, "List the balance transactions of an account, newest first"),
    HttpApiEndpoint.get("closes", "/:id/closes", {
      params: byId,
      query: listQuery,
      success: listOf(Close),
      error: [NotFound, ValidationError]
    })
      .annotate(Access, { roles: ["viewer"], accounts: "resource" })
      .annotate(OpenApi.Summary, "List the daily closes of an account, newest first"),
    HttpApiEndpoint.get("statement", "/:id/statement", {
      params: byId,
      query: statementQuery,
      success: statementFile,
      error: [NotFound, ValidationError]
    })
      .annotate(Access, { roles: ["viewer"], accounts: "resource", reveals: true })
      .annotate(OpenApi.Summary, "Export the statement of an account, oldest first")
  )
  .prefix("/operator/v1/accounts")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors) {}

export class ConnectionBooksGroup extends HttpApiGroup.make("connectionBooks")
  .add(
    HttpApiEndpoint.get("transactions", "/:id/transactions", {
      params: byId,
      query: bankTransactionsQuery,
      success: listOfTransactions,
      error: [NotFound, ValidationError]
    })
      .annotate(Access, { roles: ["viewer"], accounts: "installation", reveals: true })
      .annotate(OpenApi.Summary, "List the movements of a bank account, newest first")
      .annotate(
        OpenApi.Description,
        "What the bank received, returned and sent through the connection, with the order behind each line. They have no running balance."
      ),
    HttpApiEndpoint.get("closes", "/:id/closes", {
      params: byId,
      query: listQuery,
      success: listOf(Close),
      error: [NotFound, ValidationError]
    })
      .annotate(Access, { roles: ["viewer"], accounts: "installation" })
      .annotate(OpenApi.Summary, "List the daily closes of a bank account, newest first"),
    HttpApiEndpoint.get("statement", "/:id/statement", {
      params: byId,
      query: statementQuery,
      success: statementFile,
      error: [NotFound, ValidationError]
    })
      .annotate(Access, { roles: ["viewer"], accounts: "installation", reveals: true })
      .annotate(OpenApi.Summary, "Export the statement of a bank account, oldest first")
  )
  .prefix("/operator/v1/connections")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors) {}

export const packageQuery = {
  account_id: idFilter,
  connection_id: idFilter.annotateKey({ description: "Instead of `account_id`: of a bank account." }),
  chart
}

export class ClosesGroup extends HttpApiGroup.make("closes")
  .add(
    HttpApiEndpoint.get("overdue", "/overdue", {
      query: overdueQuery,
      success: listOf(OverdueClose),
      error: [ValidationError]
    })
      .annotate(Access, { roles: ["viewer"], accounts: "filtered" })
      .annotate(OpenApi.Summary, "List accounts and bank accounts with an ended day that is not closed")
      .annotate(OpenApi.Description, "One hour after the end of a day, the oldest day first."),
    HttpApiEndpoint.get("package", "/:month/package", {
      params: { month: Schema.String.annotate({ description: "`yyyy-mm`." }) },
      query: packageQuery,
      success: statementFile,
      error: [NotFound, ValidationError]
    })
      .annotate(Access, { roles: ["viewer"], accounts: "filtered" })
      .annotate(OpenApi.Summary, "Export a month: all statements and the closes, as a zip")
      .annotate(
        OpenApi.Description,
        "CSV as spreadsheets in Brazil read it, OFX 1.02 and 2.2, journal and JSON Lines of the month, and the closes of its days. An archive without its directory is incomplete."
      )
  )
  .prefix("/operator/v1/closes")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors) {}
