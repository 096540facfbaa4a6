/**
 * The operator routes of banks' statement files.
 */
import { type BankStatement, decodeImportBankStatement } from "@pix-payments/api/operator/BankStatements"
import { ValidationError } from "@pix-payments/api/WireErrors"
import * as Effect from "effect/Effect"
import { AuditLog } from "../../../operations/AuditLog.ts"
import { type BankStatementRow, BankStatementStore } from "../../../statements/BankStatementStore.ts"
import { readStatement } from "../../../statements/StatementFile.ts"
import { answer } from "../../pipeline/Answer.ts"
import { listAnswer, pageFrom } from "../../pipeline/Lists.ts"
import { decodeBody } from "../../pipeline/RequestDecoding.ts"
import { invalidState, notFound, refusedAs, unknownCursor } from "../../pipeline/WireTranslation.ts"
import { knownId, type OperatorHandlers } from "../OperatorHandlers.ts"

export const bankStatementHandlers = Effect.gen(function* () {
  const store = yield* BankStatementStore
  const audit = yield* AuditLog

  const handlers: OperatorHandlers<"bankStatements"> = {
    import: ({ body }) =>
      Effect.gen(function* () {
        const { connection_id, content } = yield* decodeBody(body, decodeImportBankStatement)
        const bankAccount = yield* store.accountOf(connection_id)
        const file = Buffer.from(content, "base64")
        const read = yield* readStatement(file)
        const { isKnown, row } = yield* store.put(bankAccount, file, read).pipe(
          Effect.map((imported) => ({ ...imported, id: imported.row.id })),
          audit.recordWith("bankStatements.import", { after: { connection_id } })
        )
        return answer(isKnown ? 200 : 201, toBankStatement(row))
      }).pipe(
        Effect.catchTags({
          RequestRefused: refusedAs("VALIDATION_ERROR"),
          NotFoundError: () => new ValidationError({ details: ["connection_id"] }),
          UnreadableFile: ({ reason }) =>
            new ValidationError({ details: ["content"], message: `The file cannot be read: ${reason}.` }),
          OtherAccount: invalidState
        })
      ),
    list: ({ query }) =>
      Effect.gen(function* () {
        const page = pageFrom(query)
        const bankAccount = yield* store.accountOfFilter(query.connection_id)
        return listAnswer(yield* store.list(bankAccount, page), toBankStatement, page)
      }).pipe(Effect.catchTags({ UnknownCursor: unknownCursor })),
    retrieve: ({ params }) =>
      Effect.gen(function* () {
        return answer(200, toBankStatement(yield* store.get(yield* knownId(params))))
      }).pipe(Effect.catchTags({ NotFoundError: notFound }))
  }
  return handlers
})

const centsOf = (stored: bigint | null): number | null => (stored === null ? null : Number(stored))

const toBankStatement = (row: BankStatementRow): BankStatement => ({
  id: row.id,
  object: "bank_statement",
  connection_id: row.connection_id,
  format: row.format,
  account: row.account,
  from: row.from_day,
  to: row.to_day,
  opening: centsOf(row.opening),
  closing: centsOf(row.closing),
  lines_read: row.lines_read,
  lines_known: row.lines_read - row.lines_new,
  lines_new: row.lines_new,
  lines_unread: row.lines_unread,
  unread: row.unread,
  problems: row.problems,
  created_at: row.created_at.toISOString()
})
