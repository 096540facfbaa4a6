/** The list of disputes. */
import { DisputeStatus } from "@pix-payments/domain/Dispute"
import { shortIdOf } from "@pix-payments/domain/Uuid"
import { query, withQuery } from "../app/Router.ts"
import { money } from "../format/Money.ts"
import { AccountName } from "../parts/AccountName.tsx"
import { List } from "../parts/List.tsx"
import { inWords } from "../parts/reasons.ts"
import { State } from "../parts/State.tsx"
import { Deadline, Moment } from "../parts/Time.tsx"
import { disputeWords } from "./dispute/disputeWords.ts"
import { words } from "../words/Words.ts"

/** An index serves two orders: the newest first, and the first deadline first of those that are not decided. */
const NEWEST = "newest"
const DAY_MS = 24 * 60 * 60 * 1000

export const Disputes = () => {
  const { empty, fields, nav } = words()
  const status = query.value.get("status")
  // Of those that are decided the deadline says nothing.
  const isUndecided = status === "open" || status === "under_review"
  const isByDeadline = isUndecided && query.value.get("order") !== NEWEST
  return (
    <List
      title={nav.disputes}
      empty={empty.disputes}
      events={['"event":"dispute.', "infraction", "charged_back"]}
      filters={[
        { name: "status", label: fields.status, kind: "tabs", options: DisputeStatus.literals },
        { name: "created", label: fields.opened, kind: "period" },
        { name: "account_id", label: fields.account, kind: "account" },
        { name: "amount", label: fields.amount, kind: "amount", isMore: true },
        { name: "charge_id", label: fields.charge, kind: "quiet", nameOf: shortIdOf },
        { name: "same_payer_as", label: disputeWords().ofPayer, kind: "quiet", nameOf: shortIdOf }
      ]}
      fixed={isByDeadline ? { order: "deadline" } : {}}
      note={isByDeadline && disputeWords().byDeadline}
      sum={(api, query) => api.disputes.summary({ query })}
      file="/disputes/export"
      load={(api, query) => api.disputes.list({ query })}
      linkOf={({ id }) => `/disputes/${id}`}
      columns={[
        {
          name: fields.amount,
          cell: ({ amount, reason, reference }) => (
            <>
              <span class="nowrap">{money(amount)}</span>
              <div class="narrow quiet under">
                <bdi>{[inWords(reason), reference].filter(Boolean).join(" · ")}</bdi>
              </div>
            </>
          )
        },
        { name: fields.status, cell: ({ status }) => <State of={status} /> },
        { name: fields.reason, cell: ({ reason }) => inWords(reason ?? ""), wide: true },
        { name: fields.reference, cell: ({ reference }) => <bdi>{reference}</bdi>, wide: true },
        { name: fields.account, cell: (dispute) => <AccountName id={dispute.account_id} />, wide: true },
        {
          name: fields.opened,
          cell: (dispute) => dispute.opened_at && <Moment of={dispute.opened_at} />,
          wide: true,
          ...(isUndecided && {
            order: { href: withQuery({ order: NEWEST }), now: isByDeadline ? undefined : "descending" }
          })
        },
        {
          name: fields.deadline,
          ...(isUndecided && {
            order: { href: withQuery({ order: undefined }), now: isByDeadline ? "ascending" : undefined }
          }),
          cell: (dispute) =>
            dispute.defense_deadline_at && <Deadline of={dispute.defense_deadline_at} warnMs={DAY_MS} />,
          right: true
        }
      ]}
    />
  )
}
