/** The list of payouts. */
import { PayoutStatus } from "@pix-payments/domain/Payout"
import { money } from "../format/Money.ts"
import { List } from "../parts/List.tsx"
import { State } from "../parts/State.tsx"
import { Time } from "../parts/Time.tsx"
import { words } from "../words/Words.ts"

export const Payouts = () => {
  const { empty, fields, nav } = words()
  return (
    <List
      title={nav.payouts}
      empty={empty.payouts}
      filters={[{ name: "status", label: fields.status, options: PayoutStatus.literals }]}
      load={(api, query) => api.payouts.list({ query })}
      linkOf={({ id }) => `/payouts/${id}`}
      columns={[
        { name: fields.amount, cell: ({ amount }) => money(amount) },
        { name: fields.status, cell: ({ status }) => <State of={status} /> },
        { name: fields.recipient, cell: ({ recipient }) => recipient.name ?? recipient.pix_key, wide: true },
        { name: fields.reference, cell: ({ reference }) => reference, wide: true },
        { name: fields.created, cell: (payout) => <Time of={payout.created_at} />, right: true }
      ]}
    />
  )
}
