/** The list of exceptions: money, and claims on money, that fit no charge. */
import { exceptionKinds, exceptionStatuses } from "@pix-payments/domain/AcquirerException"
import { money } from "../format/Money.ts"
import { List } from "../parts/List.tsx"
import { State } from "../parts/State.tsx"
import { Time } from "../parts/Time.tsx"
import { words } from "../words/Words.ts"
import { exceptionWords, kindName } from "./exceptionWords.ts"

export const Exceptions = () => {
  const { fields, nav } = words()
  const text = exceptionWords()
  return (
    <List
      title={nav.exceptions}
      empty={text.empty}
      filters={[
        { name: "status", label: fields.status, options: exceptionStatuses },
        { name: "kind", label: text.kind, options: exceptionKinds, nameOf: kindName },
        { name: "created", label: fields.created, kind: "period" },
        { name: "account_id", label: fields.account, kind: "account" }
      ]}
      load={(api, query) => api.exceptions.list({ query })}
      linkOf={({ id }) => `/exceptions/${id}`}
      columns={[
        {
          name: fields.amount,
          cell: ({ amount, kind, payer }) => (
            <>
              <span class="nowrap">{money(amount)}</span>
              <div class="narrow quiet under">
                <bdi>{[kindName(kind), payer?.name].filter(Boolean).join(" · ")}</bdi>
              </div>
            </>
          )
        },
        { name: text.kind, cell: ({ kind }) => kindName(kind), wide: true },
        { name: fields.status, cell: ({ status }) => <State of={status} /> },
        { name: fields.payer, cell: ({ payer }) => payer?.name, wide: true },
        {
          name: text.expected,
          cell: (exception) => exception.expected_amount !== null && money(exception.expected_amount),
          wide: true,
          right: true
        },
        { name: text.occurred, cell: (exception) => <Time of={exception.occurred_at} />, right: true }
      ]}
    />
  )
}
