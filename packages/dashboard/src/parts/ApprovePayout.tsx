/** Releases a payout that waits for a person: on its page, and in each list that shows it. */
import type { OperatorPayout } from "@pix-payments/api/operator/Payouts"
import { call } from "../app/Client.ts"
import { may } from "../app/Session.ts"
import { money } from "../format/Money.ts"
import { inBoth, words } from "../words/Words.ts"
import { Action } from "./Action.tsx"

interface Props {
  readonly payout: OperatorPayout
  /** The balance of the account, where the page knows it. The payout's amount has left it already. */
  readonly available?: number | undefined
  readonly isSmall?: boolean
  readonly onDone: () => void
}

export const ApprovePayout = ({ available, isSmall = false, onDone, payout }: Props) => {
  const { actions, ask } = words()
  const text = approveWords()
  const { amount, duplicate_of: duplicateOf, id, recipient, status } = payout
  if (!may("operator") || status !== "pending") return null
  return (
    <Action
      label={actions.approve}
      tone="first"
      isSmall={isSmall}
      question={
        <>
          {ask.approve(money(amount), recipient.name ?? recipient.pix_key ?? "")}
          {available !== undefined && ` ${text.available(money(available))}`}
          {duplicateOf !== null && (
            <>
              {" "}
              <b>{text.duplicate}</b> <a href={`/payouts/${duplicateOf}`}>{duplicateOf}</a>
            </>
          )}
        </>
      }
      run={() => call((api) => api.payoutActions.approve({ params: { id } }))}
      onDone={onDone}
    />
  )
}

const approveWords = inBoth({
  en: {
    duplicate: "The same amount went to the same recipient before:",
    available: (amount: string) => `${amount} stay available.`
  },
  pt: {
    duplicate: "O mesmo valor já foi pedido para o mesmo favorecido:",
    available: (amount) => `${amount} continuam disponíveis.`
  }
})
