/** Balance transactions and closes as `/operator/v1` and exports show them. */
import type { BalanceTransaction, Close, OverdueClose } from "@pix-payments/api/operator/Books"
import type { CloseRow } from "./CloseRow.ts"
import type { LineDetail } from "./LineDetails.ts"
import type { LinesOf, Movement } from "./Lines.ts"
import type { OverdueClose as OverdueRow } from "./OverdueCloses.ts"

/** The balance transaction of `/operator/v1`, as a line of an account's balance or of a bank account. */
export const toTransaction = (of: LinesOf, line: Movement, detail: LineDetail): BalanceTransaction => {
  const side = "balance" in of ? of.balance : "acquirer"
  // Money that the bank receives is taken from `acquirer`.
  const [gains, loses] = "balance" in of ? [line.credit, line.debit] : [line.debit, line.credit]
  const sign = gains === side ? 1 : loses === side ? -1 : 0
  const fee = line.fee === null || !("balance" in of) || sign === 0 ? 0 : -sign * Number(line.fee)
  const net = sign === 0 ? 0 : sign * Number(line.amount)
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
    balance_after: "balance" in of && sign !== 0 && after !== null ? Number(after) : null,
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
    order_fee: detail.orderFee,
    dispute_id: detail.disputeId,
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

/** The overdue close of `/operator/v1`. */
export const toOverdueClose = ({ day, is_connection, owner_id }: OverdueRow): OverdueClose => ({
  object: "overdue_close",
  account_id: is_connection ? null : owner_id,
  connection_id: is_connection ? owner_id : null,
  day
})
