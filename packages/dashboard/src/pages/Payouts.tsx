/** The list of payouts, and the release of those that wait for a person. */
import { PayoutStatus } from "@pix-payments/domain/Payout"
import { useSignal } from "@preact/signals"
import { ApprovePayout } from "../parts/ApprovePayout.tsx"
import { Destination, PayoutAmount } from "../parts/Destination.tsx"
import { List } from "../parts/List.tsx"
import { masculineStateName, State } from "../parts/State.tsx"
import { Time } from "../parts/Time.tsx"
import { words } from "../words/Words.ts"

export const Payouts = () => {
  const version = useSignal(0)
  const { empty, fields, nav } = words()
  const reload = () => {
    version.value += 1
  }
  return (
    <List
      title={nav.payouts}
      version={version.value}
      empty={empty.payouts}
      events={['"event":"payment.']}
      filters={[
        { name: "status", label: fields.status, options: PayoutStatus.literals, nameOf: masculineStateName },
        { name: "account_id", label: fields.account }
      ]}
      load={(api, query) => api.payouts.list({ query })}
      linkOf={({ id }) => `/payouts/${id}`}
      columns={[
        { name: fields.amount, cell: (payout) => <PayoutAmount of={payout} /> },
        { name: fields.status, cell: ({ status }) => <State of={status} name={masculineStateName(status)} /> },
        {
          name: fields.recipient,
          cell: ({ recipient }) => <Destination of={recipient} name={recipient.name} />,
          wide: true
        },
        { name: fields.reference, cell: ({ reference }) => reference, wide: true },
        {
          name: fields.created,
          cell: (payout) => (
            <span class="actions">
              <Time of={payout.created_at} />
              <ApprovePayout payout={payout} isSmall onDone={reload} />
            </span>
          ),
          right: true
        }
      ]}
    />
  )
}
