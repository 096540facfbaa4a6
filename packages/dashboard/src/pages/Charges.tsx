/** The list of charges. */
import { money } from "../format/Money.ts"
import { List } from "../parts/List.tsx"
import { State } from "../parts/State.tsx"
import { Time } from "../parts/Time.tsx"
import { words } from "../words/Words.ts"

export const Charges = () => {
  const { empty, fields, nav } = words()
  return (
    <List
      title={nav.charges}
      empty={empty.charges}
      events={['"event":"charge.']}
      filters={[
        { name: "reference", label: fields.reference },
        { name: "end_to_end_id", label: fields.endToEndId },
        { name: "account_id", label: fields.account }
      ]}
      load={(api, query) => api.charges.list({ query })}
      linkOf={({ id }) => `/charges/${id}`}
      columns={[
        { name: fields.amount, cell: ({ amount }) => <span class="nowrap">{money(amount)}</span> },
        { name: fields.status, cell: ({ status }) => <State of={status} /> },
        { name: fields.reference, cell: ({ reference }) => reference, wide: true },
        { name: fields.payer, cell: ({ customer }) => customer?.name, wide: true },
        { name: fields.created, cell: (charge) => <Time of={charge.created_at} />, right: true }
      ]}
    />
  )
}
