/** The list of charges. */
import { ChargeMethod, ChargeStatus } from "@pix-payments/domain/Charge"
import { shortIdOf } from "@pix-payments/domain/Uuid"
import { money } from "../format/Money.ts"
import { AccountName } from "../parts/AccountName.tsx"
import { List } from "../parts/List.tsx"
import { fromWords, inWords } from "../parts/reasons.ts"
import { State } from "../parts/State.tsx"
import { Moment } from "../parts/Time.tsx"
import { words } from "../words/Words.ts"

export const Charges = () => {
  const { empty, fields, list, nav, states } = words()
  return (
    <List
      title={nav.charges}
      empty={empty.charges}
      events={['"event":"charge.']}
      filters={[
        { name: "status", label: fields.status, kind: "tabs", options: ChargeStatus.literals },
        { name: "created", label: fields.created, kind: "period" },
        { name: "account_id", label: fields.account, kind: "account" },
        { name: "q", label: fields.words },
        { name: "amount", label: fields.amount, kind: "amount", isMore: true },
        { name: "paid", label: fields.paid, kind: "period", isMore: true },
        { name: "failed", label: fields.failed, kind: "period", isMore: true },
        { name: "reference", label: fields.reference, isMore: true },
        { name: "customer_document", label: fields.document, isMore: true },
        { name: "end_to_end_id", label: fields.endToEndId, isMore: true },
        { name: "failure_reason", label: fields.failureReason, nameOf: inWords, meaningOf: fromWords, isMore: true },
        { name: "method", label: fields.method, options: ChargeMethod.literals, nameOf: inWords, isMore: true },
        {
          name: "origin",
          label: fields.origin,
          options: ["api", "checkout"],
          nameOf: inWords,
          noneName: list.all,
          isMore: true
        },
        { name: "application_id", label: fields.application, kind: "quiet", nameOf: shortIdOf },
        { name: "connection_id", label: nav.connections, kind: "quiet", nameOf: shortIdOf }
      ]}
      load={(api, query) => api.charges.list({ query })}
      sum={(api, query) => api.charges.summary({ query })}
      file="/charges/export"
      linkOf={({ id }) => `/charges/${id}`}
      columns={[
        {
          name: fields.amount,
          cell: (charge) => (
            <>
              <span class="nowrap">{money(charge.amount)}</span>
              {charge.refunded_amount > 0 && charge.status !== "refunded" && (
                <span class="quiet under">
                  {states.refunded} {money(charge.refunded_amount)}
                </span>
              )}
              <div class="narrow quiet under">
                <bdi>
                  {[charge.customer?.name, charge.reference].filter(Boolean).join(" · ") || shortIdOf(charge.id)}
                </bdi>
              </div>
            </>
          )
        },
        {
          name: fields.status,
          cell: ({ failure_reason: reason, status }) => (
            <>
              <State of={status} />
              {reason !== null && <span class="quiet under">{inWords(reason)}</span>}
            </>
          )
        },
        { name: fields.payer, cell: ({ customer }) => <bdi>{customer?.name}</bdi>, wide: true },
        { name: fields.reference, cell: ({ reference }) => <bdi>{reference}</bdi>, wide: true },
        { name: fields.account, cell: (charge) => <AccountName id={charge.account_id} />, wide: true },
        { name: fields.method, cell: ({ method }) => inWords(method), wide: true },
        {
          name: fields.created,
          cell: (charge) => (
            <>
              <Moment of={charge.created_at} />
              <div class="id quiet under wide-only">{shortIdOf(charge.id)}</div>
            </>
          ),
          right: true,
          isTime: true
        }
      ]}
    />
  )
}
