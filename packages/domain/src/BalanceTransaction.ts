/**
 * Balance transactions: the lines of an account's statement, and of a bank account's. Each is a transfer of the ledger.
 *
 * What a line is called follows from the reason of its transfer and, for money that a MED blocks or frees, from its ends.
 */
import * as Schema from "effect/Schema"

export const BalanceTransactionType = Schema.Literals([
  "charge",
  "charge_refund",
  "charge_refund_return",
  "dispute_hold",
  "dispute_release",
  "dispute_loss",
  "payout",
  "payout_fee",
  "payout_return",
  "release",
  "exception",
  "adjustment"
])
export type BalanceTransactionType = typeof BalanceTransactionType.Type

/** What a line is called in exports and in the dashboard in Portuguese. */
export const portugueseTitles: Readonly<Record<BalanceTransactionType, string>> = {
  charge: "Pix recebido",
  charge_refund: "Devolução",
  charge_refund_return: "Devolução não realizada",
  dispute_hold: "Bloqueio MED",
  dispute_release: "Desbloqueio MED",
  dispute_loss: "Devolução MED",
  payout: "Transferência enviada",
  payout_fee: "Tarifa",
  payout_return: "Transferência não realizada",
  release: "Liberação",
  exception: "Valor a identificar",
  adjustment: "Ajuste"
}

/** The balances of an account that have lines. */
export const BalanceName = Schema.Literals(["available", "pending", "blocked"])
export type BalanceName = typeof BalanceName.Type

/** The resources that a line is about. */
export const SourceObject = Schema.Literals(["charge", "refund", "dispute", "payout", "exception", "adjustment"])
export type SourceObject = typeof SourceObject.Type

/** The type by the reason of a transfer. A reason that is not here moves no money. */
export const typeOfReason = {
  "charge.paid": "charge",
  "charge.released": "release",
  "charge.refund_ordered": "charge_refund",
  "charge.refunded": "charge_refund",
  "charge.refund_failed": "charge_refund_return",
  "charge.infraction": "dispute_hold",
  "charge.dispute_won": "dispute_release",
  "charge.charged_back": "dispute_loss",
  "payout.created": "payout",
  "payout.completed": "payout",
  "payout.failed": "payout_return",
  "payout.canceled": "payout_return",
  "exception.received": "exception",
  "exception.accepted": "exception",
  "exception.matched": "exception",
  "exception.reversed": "exception",
  "exception.returned": "exception",
  "exception.refund_ordered": "exception",
  "exception.refunded": "exception",
  "exception.refund_failed": "exception",
  "exception.infraction": "dispute_hold",
  "exception.dispute_won": "dispute_release",
  "exception.charged_back": "dispute_loss",
  adjustment: "adjustment"
} as const satisfies Readonly<Record<string, BalanceTransactionType>>

/** Why money moves between ledger accounts. */
export type TransferReason = keyof typeof typeOfReason

/** How a Pix was asked for, as tax documents write it (NT 2026.001): of a dynamic and of a static Pix. */
export const paymentCodes = { dynamic: "17", static: "20" } as const
