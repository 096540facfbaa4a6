/** Approves a payout that waits for a person: on its page, and in each list that shows it. */
import type { OperatorPayout } from "@pix-payments/api/operator/Payouts"
import { legible } from "@pix-payments/domain/Text"
import { call } from "../app/Client.ts"
import { useLoaded } from "../app/Loaded.ts"
import { may } from "../app/Session.ts"
import { money } from "../format/Money.ts"
import { inBoth, words } from "../words/Words.ts"
import { Action } from "./Action.tsx"
import { Destination } from "./Destination.tsx"
import { Facts } from "./Detail.tsx"

interface Props {
  readonly payout: OperatorPayout
  readonly isSmall?: boolean
  readonly onDone: () => void
}

export const ApprovePayout = ({ isSmall = false, onDone, payout }: Props) => {
  const { id, status } = payout
  if (!may("operator") || status !== "pending") return null
  return (
    <Action
      label={words().actions.approve}
      tone="first"
      isSmall={isSmall}
      question={<Question of={payout} />}
      run={() => call((api) => api.payoutActions.approve({ params: { id } }))}
      onDone={onDone}
    />
  )
}

/** What is sent, where to, and from which account. It loads the account as the dialog opens. */
const Question = ({ of: payout }: { readonly of: OperatorPayout }) => {
  const { ask, fields } = words()
  const text = approveWords()
  const { account_id: id, amount, duplicate_of: duplicateOf, fee, recipient } = payout
  const { value: account } = useLoaded(id, (signal) => call((api) => api.accounts.retrieve({ params: { id } }), signal))
  return (
    <div class="sheet">
      <p>{ask.approve(money(amount))}</p>
      <Facts
        of={[
          [text.destination, <Destination of={recipient} name={recipient.name} key="to" />],
          [fields.account, <bdi key="account">{legible(account?.name ?? id)}</bdi>],
          [fields.fee, fee > 0 && money(fee)],
          [
            text.duplicate,
            duplicateOf !== null && (
              <a class="chip warn" href={`/payouts/${duplicateOf}`}>
                {duplicateOf}
              </a>
            )
          ],
          // The payout's amount has left it already.
          [text.balanceAfter, account !== undefined && <b>{money(account.balance.available)}</b>]
        ]}
      />
    </div>
  )
}

const approveWords = inBoth({
  en: { balanceAfter: "Balance after", destination: "To", duplicate: "Repeats" },
  pt: { balanceAfter: "Saldo depois", destination: "Para", duplicate: "Repete" }
})
