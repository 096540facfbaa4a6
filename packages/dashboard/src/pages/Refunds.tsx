/** The list of returns: money of charges that goes back to the payer. */
import { refundStatuses } from "@pix-payments/domain/Refund"
import { shortIdOf } from "@pix-payments/domain/Uuid"
import { money } from "../format/Money.ts"
import { AccountName } from "../parts/AccountName.tsx"
import { ShortLink } from "../parts/Detail.tsx"
import { List } from "../parts/List.tsx"
import { ReceiptLink } from "../parts/ReceiptLink.tsx"
import { inWords } from "../parts/reasons.ts"
import { State } from "../parts/State.tsx"
import { Moment } from "../parts/Time.tsx"
import { words } from "../words/Words.ts"

export const Refunds = () => {
  const { actions, empty, fields, nav } = words()
  return (
    <List
      title={nav.refunds}
      empty={empty.refunds}
      events={["refund", "return"]}
      filters={[
        { name: "status", label: fields.status, kind: "tabs", options: refundStatuses },
        { name: "created", label: fields.created, kind: "period" },
        { name: "account_id", label: fields.account, kind: "account" },
        { name: "amount", label: fields.amount, kind: "amount", isMore: true },
        { name: "charge_id", label: fields.charge, kind: "quiet", nameOf: shortIdOf }
      ]}
      load={(api, query) => api.refunds.list({ query })}
      sum={(api, query) => api.refunds.summary({ query })}
      file="/refunds/export"
      linkOf={({ charge_id }) => `/charges/${charge_id}`}
      columns={[
        {
          name: fields.amount,
          cell: (refund) => (
            <>
              <span class="nowrap">{money(refund.amount)}</span>
              <div class="narrow quiet under">
                {inWords(refund.failure_reason ?? refund.description ?? "") || inWords(refund.origin)} ·{" "}
                <AccountName id={refund.account_id} /> · <span class="id">{shortIdOf(refund.charge_id)}</span>
              </div>
            </>
          )
        },
        { name: fields.status, cell: ({ status }) => <State of={status} /> },
        { name: fields.charge, cell: ({ charge_id }) => <ShortLink id={charge_id} to="charges" />, wide: true },
        { name: fields.account, cell: (refund) => <AccountName id={refund.account_id} />, wide: true },
        {
          name: fields.reason,
          cell: (refund) => inWords(refund.failure_reason ?? refund.description ?? ""),
          wide: true
        },
        { name: fields.origin, cell: ({ origin }) => inWords(origin), wide: true },
        {
          name: actions.receipt,
          cell: ({ id, status }) => status === "completed" && <ReceiptLink of={`/refunds/${id}`} quiet />,
          wide: true
        },
        { name: fields.created, cell: (refund) => <Moment of={refund.created_at} />, right: true, isTime: true }
      ]}
    />
  )
}
