/** The list of returns: money of charges that goes back to the payer. */
import { refundStatuses } from "@pix-payments/domain/Refund"
import { money } from "../format/Money.ts"
import { IdLink } from "../parts/Detail.tsx"
import { List } from "../parts/List.tsx"
import { ReceiptLink } from "../parts/ReceiptLink.tsx"
import { State } from "../parts/State.tsx"
import { Time } from "../parts/Time.tsx"
import { words } from "../words/Words.ts"

export const Refunds = () => {
  const { actions, empty, fields, nav } = words()
  return (
    <List
      title={nav.refunds}
      empty={empty.refunds}
      events={["refund", "return"]}
      filters={[
        { name: "status", label: fields.status, options: refundStatuses },
        { name: "charge_id", label: fields.charge }
      ]}
      load={(api, query) => api.refunds.list({ query })}
      linkOf={({ charge_id }) => `/charges/${charge_id}`}
      columns={[
        { name: fields.amount, cell: ({ amount }) => <span class="nowrap">{money(amount)}</span> },
        { name: fields.status, cell: ({ status }) => <State of={status} /> },
        { name: fields.charge, cell: ({ charge_id }) => <IdLink id={charge_id} to="charges" />, wide: true },
        { name: fields.account, cell: ({ account_id }) => <IdLink id={account_id} to="accounts" />, wide: true },
        { name: fields.reason, cell: (refund) => refund.failure_reason ?? refund.description, wide: true },
        { name: fields.origin, cell: ({ origin }) => origin, wide: true },
        {
          name: actions.receipt,
          cell: ({ id, status }) => status === "completed" && <ReceiptLink of={`/refunds/${id}`} quiet />,
          wide: true
        },
        { name: fields.created, cell: (refund) => <Time of={refund.created_at} />, right: true }
      ]}
    />
  )
}
