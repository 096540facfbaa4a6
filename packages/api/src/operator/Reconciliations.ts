/** The comparison of banks' statements with the books, day by day: OPR-277 to OPR-280. */
import { Instant } from "@pix-payments/domain/Instant"
import { listOf, listQuery } from "@pix-payments/domain/List"
import { open } from "@pix-payments/domain/OpenEnum"
import { lineStates, reconciliationStatuses } from "@pix-payments/domain/Reconciliation"
import { personal } from "@pix-payments/domain/PersonalData"
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
import { byId, Count, Day, DayInput, Id, idFilter } from "./Fields.ts"

const SignedCents = Schema.Int.annotate({ description: "Cents; negative where money left." })

export const LineState = Schema.Literals(lineStates)

const BalanceReading = Schema.Struct({
  at: Instant,
  bank: Schema.NullOr(SignedCents).annotateKey({ description: "What the bank account has, with what is blocked." }),
  books: Schema.NullOr(SignedCents).annotateKey({ description: "What the books had of it then." }),
  difference: Schema.NullOr(SignedCents).annotateKey({
    description: "The first less the second: the owner's own money, and what the books do not know."
  }),
  change: Schema.NullOr(SignedCents).annotateKey({
    description: "The difference less that of the reading before. Null at the first reading."
  }),
  problem: Schema.NullOr(Schema.String).annotateKey({ description: "Why the balance could not be read." })
})

export const Reconciliation = Schema.Struct({
  id: Id,
  object: Schema.Literal("reconciliation"),
  connection_id: Id.annotate({ description: "The bank account: the oldest connection of its client." }),
  day: Day,
  status: open(Schema.Literals(reconciliationStatuses)),
  reason: Schema.NullOr(Schema.String).annotateKey({ description: "Why the day could not be compared." }),
  opening: Schema.NullOr(SignedCents),
  closing: Schema.NullOr(SignedCents),
  bank_total: SignedCents.annotate({ description: "What the bank's lines of the day sum up to." }),
  books_total: SignedCents.annotate({ description: "What the movements of the day sum up to." }),
  difference: SignedCents.annotate({ description: "The first less the second: the sum of the lines' differences." }),
  unexplained: Schema.NullOr(SignedCents).annotateKey({
    description:
      "Closing less opening less the bank's lines: what the statement itself lacks. Null where it has no balances."
  }),
  states: Schema.Array(Schema.Struct({ state: open(LineState), count: Count, difference: SignedCents })).annotate({
    description: "Count and difference of the lines by state."
  }),
  unmatched: Count.annotate({ description: "Lines that somebody has to look at, and that nobody has explained." }),
  lines_left_out: Count.annotate({ description: "Lines beyond the most that are kept." }),
  balance: Schema.NullOr(BalanceReading).annotateKey({
    description: "What the bank says by its API after the day. Null where it was not asked, or has none."
  }),
  done_at: Schema.NullOr(Instant),
  created_at: Instant
}).annotate({ identifier: "Reconciliation" })
export type Reconciliation = typeof Reconciliation.Type

const Source = Schema.Struct({ object: Schema.String, id: Id })

export const ReconciliationLine = Schema.Struct({
  id: Id,
  object: Schema.Literal("reconciliation_line"),
  state: open(LineState),
  day: Day,
  age_days: Count,
  difference: SignedCents,
  bank: Schema.NullOr(
    Schema.Struct({
      line_id: Id,
      day: Day,
      amount: SignedCents,
      description: Schema.String.annotate(personal("text"))
    })
  ),
  books: Schema.NullOr(Schema.Struct({ transfer_id: Id, day: Day, amount: SignedCents })),
  source: Schema.NullOr(Source).annotateKey({ description: "The charge, payout, refund, dispute or exception." }),
  account_id: Schema.NullOr(Id),
  end_to_end_id: Schema.NullOr(Schema.String),
  suggestions: Schema.Array(Schema.Struct({ ...Source.fields, day: Day, amount: SignedCents })).annotate({
    description: "Movements of the books with the same amount that no line has."
  }),
  explanation: Schema.NullOr(Schema.String.annotate(personal("text"))).annotateKey({
    description: "An operator's, of a line that differs."
  })
}).annotate({ identifier: "ReconciliationLine" })
export type ReconciliationLine = typeof ReconciliationLine.Type

export const RequestReconciliation = Schema.Struct({
  connection_id: Schema.String.check(Schema.isUUID()).annotate({ format: "uuid" }),
  day: DayInput
}).annotate({ identifier: "RequestReconciliation" })
export type RequestReconciliation = typeof RequestReconciliation.Type

export const decodeRequestReconciliation = decoder(RequestReconciliation)

export const ExplainLine = Schema.Struct({
  line_id: Schema.String.check(Schema.isUUID()).annotate({ format: "uuid" }),
  explanation: Schema.NullOr(text(1, 500)).annotate({ description: "Null: the line is not explained any more." })
}).annotate({ identifier: "ExplainLine" })
export type ExplainLine = typeof ExplainLine.Type

export const decodeExplainLine = decoder(ExplainLine)

export class ReconciliationsGroup extends HttpApiGroup.make("reconciliations")
  .add(
    HttpApiEndpoint.post("request", "/", {
      payload: RequestReconciliation,
      success: Reconciliation.pipe(HttpApiSchema.status(202)),
      error: ValidationError
    })
      .annotate(Access, { roles: ["operator"], accounts: "installation" })
      .annotate(OpenApi.Summary, "Compare a day of a bank account with the books")
      .annotate(
        OpenApi.Description,
        "A day is compared without being asked after each file with lines of it, and daily while it has unmatched lines."
      ),
    HttpApiEndpoint.get("list", "/", {
      query: { ...listQuery, connection_id: idFilter },
      success: listOf(Reconciliation),
      error: ValidationError
    })
      .annotate(Access, { roles: ["viewer"], accounts: "installation" })
      .annotate(OpenApi.Summary, "List the compared days of bank accounts, newest first"),
    HttpApiEndpoint.get("retrieve", "/:id", { params: byId, success: Reconciliation, error: NotFound })
      .annotate(Access, { roles: ["viewer"], accounts: "installation" })
      .annotate(OpenApi.Summary, "Get the sums of a compared day"),
    HttpApiEndpoint.get("lines", "/:id/lines", {
      params: byId,
      query: { ...listQuery, state: Schema.optionalKey(LineState) },
      success: listOf(ReconciliationLine),
      error: [NotFound, ValidationError]
    })
      .annotate(Access, { roles: ["viewer"], accounts: "installation" })
      .annotate(OpenApi.Summary, "List what a compared day has that does not match"),
    HttpApiEndpoint.post("explain", "/:id/explain", {
      params: byId,
      payload: ExplainLine,
      success: ReconciliationLine,
      error: [NotFound, ValidationError, InvalidState]
    })
      .annotate(Access, { roles: ["operator"], accounts: "installation" })
      .annotate(OpenApi.Summary, "Explain a line that differs")
      .annotate(
        OpenApi.Description,
        "No money moves. The line counts as unmatched no more, as long as its sides, state and difference stay as they are."
      )
  )
  .prefix("/operator/v1/reconciliations")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors)
  .annotate(OpenApi.Description, "Days of bank accounts, compared with the books line by line.") {}
