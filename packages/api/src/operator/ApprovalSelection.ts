/**
 * What several requests for approval would do together: their sum, the balances after all of them, and what is asked twice.
 *
 * Guarantee: dashboard and `pix` show the same.
 */
import { recipientKeyOf } from "@pix-payments/domain/Payout"
import type { Approval, ApprovalSummary } from "./Approvals.ts"

export interface ApprovalSelection {
  /** Cents that leave accounts; null where none of them sends money. */
  readonly sent: number | null
  /** Of each account whose balance is known. */
  readonly balances: ReadonlyArray<{ readonly id: string; readonly name: string; readonly after: number }>
  /** The ids of those whose payment or adjustment another one of them repeats. */
  readonly repeated: ReadonlySet<string>
}

export const selectionOf = (approvals: ReadonlyArray<Approval>): ApprovalSelection => {
  const sent = approvals.flatMap(({ action, summary }) => (sending.has(action) ? (summary.amount ?? []) : []))
  const repeats = (approval: Approval) => approvals.some((other) => other !== approval && isSameMoney(other, approval))
  return {
    sent: sent.length === 0 ? null : sent.reduce((sum, amount) => sum + amount, 0),
    balances: balancesAfter(approvals),
    repeated: new Set(approvals.filter(repeats).map(({ id }) => id))
  }
}

/** The actions that send money. */
const sending: ReadonlySet<string> = new Set(["payout.approve", "payout.create"])

/** Each `balance_after` is that of its request alone: together they move the sum of their differences. */
const balancesAfter = (approvals: ReadonlyArray<Approval>): ApprovalSelection["balances"] => {
  const accounts = new Map<string, { readonly id: string; readonly name: string; readonly after: number }>()
  for (const { summary } of approvals) {
    const { account, balance_after: after, balance_before: before } = summary
    if (account === null || after === null || before === null) continue
    const earlier = accounts.get(account.id)
    accounts.set(account.id, { ...account, after: (earlier?.after ?? before) + after - before })
  }
  return [...accounts.values()]
}

/** Payments to the same recipient, or adjustments. */
const isSameMoney = ({ action, summary: one }: Approval, { action: otherAction, summary: other }: Approval): boolean =>
  (one.destination !== null || (action === "adjustment.create" && otherAction === action)) &&
  one.amount === other.amount &&
  one.account?.id === other.account?.id &&
  keyOf(one) === keyOf(other)

const keyOf = ({ destination }: ApprovalSummary) => destination && recipientKeyOf(destination)
