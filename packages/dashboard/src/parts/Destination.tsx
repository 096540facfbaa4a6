/**
 * Where the money of a payout goes.
 *
 * Guarantee: the Pix key or bank account comes first. The name beside it is what the caller wrote, and is marked so before it is
 * read: it cannot be taken for the destination, nor change the order of what is around it.
 */
import type { OperatorRecipient } from "@pix-payments/api/operator/Recipient"
import type { OperatorPayout } from "@pix-payments/api/operator/Payouts"
import { legible } from "@pix-payments/domain/Text"
import { money } from "../format/Money.ts"
import { inBoth } from "../words/Words.ts"
import { documentOf, pixKeyOf } from "./reasons.ts"

/** The recipient of a payout, with or without its name. */
interface Props {
  readonly of: Omit<OperatorRecipient, "name">
  /** As the caller wrote it. */
  readonly name: string | null
}

export const Destination = ({ name, of: recipient }: Props) => {
  const text = destinationWords()
  const { document, pix_key: key } = recipient
  return (
    <span class="destination">
      <bdi>{legible(key === null ? bankAccountOf(recipient, text) : pixKeyOf(key))}</bdi>
      {document !== null && (
        <span class="quiet">
          {" "}
          <bdi>{documentOf(document)}</bdi>
        </span>
      )}
      {name !== null && (
        <span class="quiet">
          {" "}
          · <i class="unverified">{text.unverified}</i> <bdi>{legible(name)}</bdi>
        </span>
      )}
    </span>
  )
}

/** The amount of a payout; on a narrow screen, which has no column for it, with the destination. */
export const PayoutAmount = ({
  of: { amount, recipient }
}: {
  readonly of: Pick<OperatorPayout, "amount" | "recipient">
}) => (
  <>
    <span class="nowrap">{money(amount)}</span>
    <div class="narrow">
      <Destination of={recipient} name={recipient.name} />
    </div>
  </>
)

/** `bank 00000000, branch 0001, account 12345-6`, of a TED. */
const bankAccountOf = (
  { account, account_type: type, bank, branch }: Props["of"],
  text: ReturnType<typeof destinationWords>
): string =>
  [
    [text.bank, bank],
    [text.branch, branch],
    [type === null ? text.account : (text.accounts[type as keyof typeof text.accounts] ?? text.account), account]
  ]
    .flatMap(([word, part]) => (part === null ? [] : [`${word} ${part}`]))
    .join(", ")

const destinationWords = inBoth({
  en: {
    unverified: "name not verified:",
    bank: "bank",
    branch: "branch",
    account: "account",
    accounts: {
      checking: "checking account",
      savings: "savings account",
      payment: "payment account",
      salary: "salary account"
    }
  },
  pt: {
    unverified: "nome não verificado:",
    bank: "banco",
    branch: "agência",
    account: "conta",
    accounts: {
      checking: "conta corrente",
      savings: "conta poupança",
      payment: "conta de pagamento",
      salary: "conta-salário"
    }
  }
})
