/** The list of disputes. */
import { DisputeStatus } from "@pix-payments/domain/Dispute"
import { money } from "../format/Money.ts"
import { List } from "../parts/List.tsx"
import { State } from "../parts/State.tsx"
import { Deadline } from "../parts/Time.tsx"
import { words } from "../words/Words.ts"

const DAY_MS = 24 * 60 * 60 * 1000

export const Disputes = () => {
  const { empty, fields, nav } = words()
  return (
    <List
      title={nav.disputes}
      empty={empty.disputes}
      events={['"event":"dispute.', "infraction", "charged_back"]}
      filters={[
        { name: "status", label: fields.status, options: DisputeStatus.literals },
        { name: "charge_id", label: fields.charge }
      ]}
      load={(api, query) => api.disputes.list({ query })}
      linkOf={({ id }) => `/disputes/${id}`}
      columns={[
        { name: fields.amount, cell: ({ amount }) => <span class="nowrap">{money(amount)}</span> },
        { name: fields.status, cell: ({ status }) => <State of={status} /> },
        { name: fields.reason, cell: ({ reason }) => reason, wide: true },
        {
          name: fields.deadline,
          cell: (dispute) =>
            dispute.defense_deadline_at && <Deadline of={dispute.defense_deadline_at} warnMs={DAY_MS} />,
          right: true
        }
      ]}
    />
  )
}
