/** The list of disputes. */
import { DisputeStatus } from "@pix-payments/domain/Dispute"
import { money } from "../format/Money.ts"
import { List } from "../parts/List.tsx"
import { State } from "../parts/State.tsx"
import { Time } from "../parts/Time.tsx"
import { words } from "../words/Words.ts"

export const Disputes = () => {
  const { empty, fields, nav } = words()
  return (
    <List
      title={nav.disputes}
      empty={empty.disputes}
      filters={[{ name: "status", label: fields.status, options: DisputeStatus.literals }]}
      load={(api, query) => api.disputes.list({ query })}
      linkOf={({ id }) => `/disputes/${id}`}
      columns={[
        { name: fields.amount, cell: ({ amount }) => money(amount) },
        { name: fields.status, cell: ({ status }) => <State of={status} /> },
        { name: fields.reason, cell: ({ reason }) => reason, wide: true },
        {
          name: fields.deadline,
          cell: (dispute) => dispute.defense_deadline_at && <Time of={dispute.defense_deadline_at} />,
          right: true
        }
      ]}
    />
  )
}
