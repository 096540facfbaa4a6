/** The list of payouts, and the approval of those that wait for a person. */
import { PayoutMethod, PayoutStatus } from "@pix-payments/domain/Payout"
import { shortIdOf } from "@pix-payments/domain/Uuid"
import { useSignal } from "@preact/signals"
import { AccountName } from "../parts/AccountName.tsx"
import { ApprovePayout } from "../parts/ApprovePayout.tsx"
import { Destination, PayoutAmount } from "../parts/Destination.tsx"
import { List } from "../parts/List.tsx"
import { fromWords, inWords } from "../parts/reasons.ts"
import { masculineStateName, State } from "../parts/State.tsx"
import { Moment } from "../parts/Time.tsx"
import { words } from "../words/Words.ts"

export const Payouts = () => {
  const version = useSignal(0)
  const { empty, fields, list, nav } = words()
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
        {
          name: "status",
          label: fields.status,
          kind: "tabs",
          options: PayoutStatus.literals,
          nameOf: masculineStateName,
          noneName: list.masculineAll
        },
        { name: "created", label: fields.created, kind: "period" },
        { name: "account_id", label: fields.account, kind: "account" },
        { name: "q", label: fields.words },
        { name: "amount", label: fields.amount, kind: "amount", isMore: true },
        { name: "failed", label: fields.failed, kind: "period", isMore: true },
        { name: "reference", label: fields.reference, isMore: true },
        { name: "recipient_document", label: fields.document, isMore: true },
        { name: "end_to_end_id", label: fields.endToEndId, isMore: true },
        { name: "failure_reason", label: fields.failureReason, nameOf: inWords, meaningOf: fromWords, isMore: true },
        { name: "method", label: fields.method, options: PayoutMethod.literals, nameOf: inWords, isMore: true },
        {
          name: "origin",
          label: fields.origin,
          options: ["api", "dashboard"],
          nameOf: inWords,
          noneName: list.all,
          isMore: true
        },
        { name: "application_id", label: fields.application, kind: "quiet", nameOf: shortIdOf },
        { name: "connection_id", label: nav.connections, kind: "quiet", nameOf: shortIdOf }
      ]}
      load={(api, query) => api.payouts.list({ query })}
      sum={(api, query) => api.payouts.summary({ query })}
      file="/payouts/export"
      linkOf={({ id }) => `/payouts/${id}`}
      columns={[
        { name: fields.amount, cell: (payout) => <PayoutAmount of={payout} /> },
        {
          name: fields.status,
          cell: (payout) => (
            <>
              <span class="nowrap">
                <State of={payout.status} name={masculineStateName(payout.status)} />{" "}
                <ApprovePayout payout={payout} isSmall onDone={reload} />
              </span>
              {payout.failure_reason !== null && <span class="quiet under">{inWords(payout.failure_reason)}</span>}
            </>
          )
        },
        {
          name: fields.recipient,
          cell: ({ recipient }) => <Destination of={recipient} name={recipient.name} />,
          wide: true
        },
        { name: fields.reference, cell: ({ reference }) => <bdi>{reference}</bdi>, wide: true },
        { name: fields.account, cell: (payout) => <AccountName id={payout.account_id} />, wide: true },
        { name: fields.created, cell: (payout) => <Moment of={payout.created_at} />, right: true, isTime: true }
      ]}
    />
  )
}
