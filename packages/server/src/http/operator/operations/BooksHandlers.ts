/**
 * The operator routes of the books.
 */
import type { BalanceTransaction, Close } from "@pix-payments/api/operator/Books"
import type { BalanceTransactionType } from "@pix-payments/domain/BalanceTransaction"
import * as Effect from "effect/Effect"
import { Accounts } from "../../../accounts/Accounts.ts"
import { type CloseRow, Closes } from "../../../ledger/Closes.ts"
import { type LineDetail, LineDetails } from "../../../ledger/LineDetails.ts"
import { type LinesOf, Lines, type Movement } from "../../../ledger/Lines.ts"
import { ConnectionStore } from "../../../providers/connections/ConnectionStore.ts"
import { answer } from "../../pipeline/Answer.ts"
import { listAnswer, pageFrom } from "../../pipeline/Lists.ts"
import { notFound, unknownCursor } from "../../pipeline/WireTranslation.ts"
import { knownId, type OperatorHandlers } from "../OperatorHandlers.ts"

export const accountBooksHandlers = Effect.gen(function* () {
  const accounts = yield* Accounts
  const closes = yield* Closes
  const page = yield* pages

  const handlers: OperatorHandlers<"accountBooks"> = {
    transactions: ({ params, query }) =>
      Effect.gen(function* () {
        const { id } = yield* accounts.get(yield* knownId(params))
        return yield* page({ accountId: id, balance: query.balance ?? "available" }, query)
      }).pipe(Effect.catchTags({ NotFoundError: notFound, UnknownCursor: unknownCursor })),
    closes: ({ params, query }) =>
      Effect.gen(function* () {
        const { id } = yield* accounts.get(yield* knownId(params))
        return listAnswer(yield* closes.list({ accountId: id }, pageFrom(query)), toClose, pageFrom(query))
      }).pipe(Effect.catchTags({ NotFoundError: notFound, UnknownCursor: unknownCursor }))
  }
  return handlers
})

export const connectionBooksHandlers = Effect.gen(function* () {
  const connections = yield* ConnectionStore
  const closes = yield* Closes
  const page = yield* pages

  const handlers: OperatorHandlers<"connectionBooks"> = {
    transactions: ({ params, query }) =>
      Effect.gen(function* () {
        const { id } = yield* connections.get(yield* knownId(params))
        return yield* page({ connectionId: id }, query)
      }).pipe(Effect.catchTags({ NotFoundError: notFound, UnknownCursor: unknownCursor })),
    closes: ({ params, query }) =>
      Effect.gen(function* () {
        const { id } = yield* connections.get(yield* knownId(params))
        return listAnswer(yield* closes.list({ connectionId: id }, pageFrom(query)), toClose, pageFrom(query))
      }).pipe(Effect.catchTags({ NotFoundError: notFound, UnknownCursor: unknownCursor }))
  }
  return handlers
})

/** The parameters of a list of lines. */
interface LinesQuery {
  readonly limit?: number
  readonly starting_after?: string
  readonly type?: BalanceTransactionType
  readonly from?: string
  readonly to?: string
  readonly amount_min?: number
  readonly amount_max?: number
}

const pages = Effect.gen(function* () {
  const lines = yield* Lines
  const details = yield* LineDetails
  return Effect.fnUntraced(function* (of: LinesOf, query: LinesQuery) {
    const filters = {
      type: query.type,
      from: query.from,
      to: query.to,
      amountMin: query.amount_min,
      amountMax: query.amount_max
    }
    const { lines: found, next } = yield* lines.page(of, filters, pageFrom(query))
    const behind = yield* details.of(found)
    return answer(200, {
      object: "list" as const,
      data: found.map((line, index) => toTransaction(of, line, behind[index]!)),
      has_more: next !== undefined,
      next: next ?? null
    })
  })
})

/** The balance transaction of `/operator/v1`, as a line of an account's balance or of a bank account. */
export const toTransaction = (of: LinesOf, line: Movement, detail: LineDetail): BalanceTransaction => {
  const side = "balance" in of ? of.balance : "acquirer"
  // Money that the bank receives is taken from `acquirer`.
  const sign = ("balance" in of ? line.credit === side : line.debit === side) ? 1 : -1
  const fee = line.fee === null || !("balance" in of) ? 0 : -sign * Number(line.fee)
  const net = sign * Number(line.amount)
  const after = line.credit === side ? line.credit_after : line.debit_after
  return {
    id: line.id,
    object: "balance_transaction",
    account_id: [line.debit, line.credit].includes("unallocated") ? null : line.account_id,
    connection_id: line.connection_id,
    type: line.type,
    amount: net + fee,
    fee,
    net,
    balance_after: "balance" in of && after !== null ? Number(after) : null,
    day: line.day,
    position: Number(line.position),
    available_on: (detail.availableOn ?? line.created_at).toISOString(),
    source: detail.source,
    end_to_end_id: detail.endToEndId,
    return_id: detail.returnId,
    txid: detail.txid,
    reference: detail.reference,
    counterparty: detail.counterparty,
    payment_code: detail.paymentCode,
    created_at: line.created_at.toISOString()
  }
}

/** The close of `/operator/v1`. */
export const toClose = (row: CloseRow): Close => ({
  id: row.id,
  object: "close",
  account_id: row.book === "ledger" ? row.owner_id : null,
  connection_id: row.book === "bank" ? row.owner_id : null,
  day: row.day,
  opening: Number(row.opening),
  credits: Number(row.credits),
  debits: Number(row.debits),
  fees: Number(row.fees),
  closing: Number(row.closing),
  lines: Number(row.lines),
  last_position: Number(row.last_position),
  balances: row.balances,
  lines_hash: row.lines_hash,
  previous_hash: row.previous_hash,
  hash: row.hash,
  created_at: row.closed_at.toISOString()
})
