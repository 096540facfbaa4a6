/**
 * The operator routes of compared days of bank accounts.
 */
import {
  decodeExplainLine,
  decodeRequestReconciliation,
  type Reconciliation,
  type ReconciliationLine
} from "@pix-payments/api/operator/Reconciliations"
import { ValidationError } from "@pix-payments/api/WireErrors"
import { lineStates } from "@pix-payments/domain/Reconciliation"
import * as Effect from "effect/Effect"
import { AuditLog } from "../../../operations/AuditLog.ts"
import { BankStatementStore } from "../../../statements/BankStatementStore.ts"
import { ReconciliationDays, type ReconciliationRow } from "../../../statements/ReconciliationDays.ts"
import { type ReconciliationLineRow, ReconciliationStore } from "../../../statements/ReconciliationStore.ts"
import { answer } from "../../pipeline/Answer.ts"
import { listAnswer, pageFrom } from "../../pipeline/Lists.ts"
import { decodeBody } from "../../pipeline/RequestDecoding.ts"
import { invalidState, notFound, refusedAs, unknownCursor } from "../../pipeline/WireTranslation.ts"
import { knownId, type OperatorHandlers } from "../OperatorHandlers.ts"

export const reconciliationHandlers = Effect.gen(function* () {
  const days = yield* ReconciliationDays
  const store = yield* ReconciliationStore
  const statements = yield* BankStatementStore
  const audit = yield* AuditLog

  const handlers: OperatorHandlers<"reconciliations"> = {
    request: ({ body }) =>
      Effect.gen(function* () {
        const asked = yield* decodeBody(body, decodeRequestReconciliation)
        const bankAccount = yield* statements.accountOf(asked.connection_id)
        const row = yield* days
          .request(bankAccount, asked.day)
          .pipe(audit.recordWith("reconciliations.request", { after: asked }))
        return answer(202, toReconciliation(row))
      }).pipe(
        Effect.catchTags({
          RequestRefused: refusedAs("VALIDATION_ERROR"),
          NotFoundError: () => new ValidationError({ details: ["connection_id"] })
        })
      ),
    list: ({ query }) =>
      Effect.gen(function* () {
        const page = pageFrom(query)
        const bankAccount = yield* statements.accountOfFilter(query.connection_id)
        return listAnswer(yield* store.list(bankAccount, page), toReconciliation, page)
      }).pipe(Effect.catchTags({ UnknownCursor: unknownCursor })),
    retrieve: ({ params }) =>
      Effect.gen(function* () {
        return answer(200, toReconciliation(yield* store.get(yield* knownId(params))))
      }).pipe(Effect.catchTags({ NotFoundError: notFound })),
    lines: ({ params, query }) =>
      Effect.gen(function* () {
        const { id } = yield* store.get(yield* knownId(params))
        const page = pageFrom(query)
        return listAnswer(yield* store.lines(id, query.state, page), toLine, page)
      }).pipe(Effect.catchTags({ NotFoundError: notFound, UnknownCursor: unknownCursor })),
    explain: ({ body, params }) =>
      Effect.gen(function* () {
        const id = yield* knownId(params)
        const { explanation, line_id } = yield* decodeBody(body, decodeExplainLine)
        const line = yield* store.explain(id, line_id, explanation, (explained) => {
          const { day, difference, end_to_end_id, state } = explained
          const after = { day, state, difference: Number(difference), end_to_end_id, explanation }
          return audit.record("reconciliations.explain", id, { after })
        })
        return answer(200, toLine(line))
      }).pipe(
        Effect.catchTags({
          RequestRefused: refusedAs("VALIDATION_ERROR"),
          NotFoundError: notFound,
          InvalidStateError: invalidState
        })
      )
  }
  return handlers
})

const centsOf = (stored: bigint | null): number | null => (stored === null ? null : Number(stored))

const toReconciliation = (row: ReconciliationRow): Reconciliation => {
  const { bank_total, books_total, closing, opening } = row
  return {
    id: row.id,
    object: "reconciliation",
    connection_id: row.connection_id,
    day: row.day,
    status: row.status,
    reason: row.reason,
    opening: centsOf(opening),
    closing: centsOf(closing),
    bank_total: Number(bank_total),
    books_total: Number(books_total),
    difference: Number(bank_total - books_total),
    unexplained: closing === null || opening === null ? null : Number(closing - opening - bank_total),
    states: lineStates.flatMap((state) => {
      const sums = row.states[state]
      return sums === undefined ? [] : [{ state, ...sums }]
    }),
    unmatched: row.unmatched,
    lines_left_out: row.lines_left_out,
    balance: toBalance(row),
    done_at: row.done_at?.toISOString() ?? null,
    created_at: row.created_at.toISOString()
  }
}

const toBalance = (row: ReconciliationRow): Reconciliation["balance"] => {
  const { balance, balance_at, balance_before, balance_books, balance_problem: problem } = row
  if (balance_at === null) return null
  const at = balance_at.toISOString()
  if (balance === null || balance_books === null)
    return { at, bank: null, books: null, difference: null, change: null, problem }
  const difference = balance - balance_books
  return {
    at,
    bank: Number(balance),
    books: Number(balance_books),
    difference: Number(difference),
    change: balance_before === null ? null : Number(difference - balance_before),
    problem
  }
}

const toLine = (row: ReconciliationLineRow): ReconciliationLine => ({
  id: row.id,
  object: "reconciliation_line",
  state: row.state,
  day: row.day,
  age_days: Math.max(0, row.age_days),
  difference: Number(row.difference),
  bank:
    row.bank_line_id === null
      ? null
      : {
          line_id: row.bank_line_id,
          day: row.bank_day ?? row.day,
          amount: Number(row.bank_amount),
          description: row.description ?? ""
        },
  books:
    row.transfer_id === null
      ? null
      : { transfer_id: row.transfer_id, day: row.books_day ?? row.day, amount: Number(row.books_amount) },
  source: row.source_id === null ? null : { object: row.source_object ?? "", id: row.source_id },
  account_id: row.account_id,
  end_to_end_id: row.end_to_end_id,
  suggestions: row.suggestions,
  explanation: row.explanation
})
