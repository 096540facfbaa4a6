/** Statement files of banks: OPR-273 to OPR-276. */
import { Instant } from "@pix-payments/domain/Instant"
import { listOf, listQuery } from "@pix-payments/domain/List"
import { open } from "@pix-payments/domain/OpenEnum"
import { personal } from "@pix-payments/domain/PersonalData"
import { decoder } from "@pix-payments/domain/Request"
import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { BodyLimit } from "../BodyLimit.ts"
import { OperatorAuthentication, RequestErrors } from "../Security.ts"
import { InvalidState, NotFound, ValidationError } from "../WireErrors.ts"
import { Access } from "./Access.ts"
import { isBase64 } from "./Disputes.ts"
import { byId, Count, Day, Id, idFilter } from "./Fields.ts"

const SignedCents = Schema.Int.annotate({ description: "Cents; may be negative." })

export const BankStatement = Schema.Struct({
  id: Id,
  object: Schema.Literal("bank_statement"),
  connection_id: Id.annotate({ description: "The bank account: the oldest connection of its client." }),
  format: open(Schema.Literals(["ofx", "cnab240"])),
  account: Schema.NullOr(Schema.String.annotate(personal("document"))).annotateKey({
    description: "The account's number, as the file has it."
  }),
  from: Schema.NullOr(Day),
  to: Schema.NullOr(Day),
  opening: Schema.NullOr(SignedCents),
  closing: Schema.NullOr(SignedCents),
  lines_read: Count,
  lines_known: Count.annotate({ description: "Lines that another file had." }),
  lines_new: Count,
  lines_unread: Count,
  unread: Schema.Array(
    Schema.Struct({ line: Count, reason: Schema.String, text: Schema.String.annotate(personal("text")) })
  ).annotate({ description: "The first 100 lines that are no movements, or could not be read." }),
  problems: Schema.Array(Schema.String).annotate({ description: "What the file says of itself and is not so." }),
  created_at: Instant
}).annotate({ identifier: "BankStatement" })
export type BankStatement = typeof BankStatement.Type

/** The most bytes of a file in base64. */
const MAX_CONTENT_LENGTH = Math.ceil((8 * 1024 * 1024) / 3) * 4

export const ImportBankStatement = Schema.Struct({
  connection_id: Schema.String.check(Schema.isUUID()).annotate({ format: "uuid" }),
  content: Schema.String.check(
    Schema.makeFilter((value) => value !== "" && value.length <= MAX_CONTENT_LENGTH && isBase64(value), {
      expected: "base64 of at most 8 MiB",
      toJsonSchema: () => ({ contentEncoding: "base64", maxLength: MAX_CONTENT_LENGTH })
    })
  ).annotateKey({ description: "The file, in base64: OFX or CNAB 240." })
}).annotate({ identifier: "ImportBankStatement" })
export type ImportBankStatement = typeof ImportBankStatement.Type

export const decodeImportBankStatement = decoder(ImportBankStatement)

export class BankStatementsGroup extends HttpApiGroup.make("bankStatements")
  .add(
    HttpApiEndpoint.post("import", "/", {
      payload: ImportBankStatement,
      success: [BankStatement.pipe(HttpApiSchema.status(201)), BankStatement],
      error: [ValidationError, InvalidState]
    })
      .annotate(Access, { roles: ["operator"], accounts: "installation" })
      .annotate(BodyLimit, MAX_CONTENT_LENGTH + 1024)
      .annotate(OpenApi.Summary, "Import a statement file of a bank")
      .annotate(
        OpenApi.Description,
        "The same file again is 200 with the same answer. A line is stored once, whichever files have it. A file of another account number than those before it is `INVALID_STATE`."
      ),
    HttpApiEndpoint.get("list", "/", {
      query: { ...listQuery, connection_id: idFilter },
      success: listOf(BankStatement),
      error: ValidationError
    })
      .annotate(Access, { roles: ["viewer"], accounts: "installation" })
      .annotate(OpenApi.Summary, "List the statement files of banks, newest first"),
    HttpApiEndpoint.get("retrieve", "/:id", { params: byId, success: BankStatement, error: NotFound })
      .annotate(Access, { roles: ["viewer"], accounts: "installation" })
      .annotate(OpenApi.Summary, "Get a statement file of a bank")
  )
  .prefix("/operator/v1/bank-statements")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors)
  .annotate(
    OpenApi.Description,
    "Statement files of banks, OFX or CNAB 240, whose lines are reconciled with the books."
  ) {}
