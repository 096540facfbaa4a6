/** What a movement of money is called, in statements, in the ledger and in timelines. */
import { type BalanceTransactionType, portugueseTitles, typeOfReason } from "@pix-payments/domain/BalanceTransaction"
import { inBoth } from "../words/Words.ts"

const englishTitles: Readonly<Record<BalanceTransactionType, string>> = {
  charge: "Pix received",
  charge_refund: "Return",
  charge_refund_return: "Return not made",
  dispute_hold: "Blocked by a MED",
  dispute_release: "Released by a MED",
  dispute_loss: "Returned by a MED",
  payout: "Payout",
  payout_fee: "Fee",
  payout_return: "Payout not made",
  release: "Release",
  exception: "Unidentified money",
  adjustment: "Adjustment"
}

const titles = inBoth({ en: englishTitles, pt: portugueseTitles })

/** The word of a line's type, or the type itself where it is new. */
export const lineTypeName = (type: string): string => (titles() as Readonly<Record<string, string>>)[type] ?? type

/** The word of a ledger entry's reason, or the reason itself where it is new. */
export const entryName = (reason: string): string => {
  const type = (typeOfReason as Readonly<Record<string, BalanceTransactionType>>)[reason]
  return type === undefined ? reason : lineTypeName(type)
}
