/** The entries of the ledger, and its verification. */
import type { LedgerVerification } from "@pix-payments/api/operator/Ledger"
import { useSignal } from "@preact/signals"
import { call } from "../app/Client.ts"
import { money } from "../format/Money.ts"
import { Card } from "../parts/Detail.tsx"
import { ledgerAccountName } from "../parts/ledgerAccounts.ts"
import { List, Table } from "../parts/List.tsx"
import { ResourceLink } from "../parts/ResourceLink.tsx"
import { State } from "../parts/State.tsx"
import { Time } from "../parts/Time.tsx"
import { words } from "../words/Words.ts"

const Verification = ({ of }: { readonly of: LedgerVerification }) => {
  const { cards, fields } = words()
  const text = words().verified
  const rows = (
    [
      [text.differences, of.differences],
      [text.states, of.states]
    ] as const
  ).flatMap(([what, found]) =>
    found.map((difference) => ({
      ...difference,
      what,
      id: `${what} ${difference.account.account_id} ${difference.account.name}`
    }))
  )
  return (
    <div role="status">
      <Card title={cards.verification} note={<State of={of.consistent ? "consistent" : "inconsistent"} />}>
        {rows.length > 0 && (
          <Table
            rows={rows}
            columns={[
              { name: fields.reason, cell: ({ what }) => what },
              { name: fields.account, cell: ({ account }) => account.account_id, wide: true },
              { name: fields.name, cell: ({ account }) => ledgerAccountName(account) },
              { name: fields.kept, cell: ({ kept }) => money(kept), right: true },
              { name: fields.computed, cell: ({ computed }) => money(computed), right: true }
            ]}
          />
        )}
        {of.closes.length > 0 && (
          <Table
            rows={of.closes.map((close) => ({
              ...close,
              id: `${close.account_id ?? close.connection_id} ${close.day}`
            }))}
            columns={[
              { name: fields.reason, cell: ({ problem }) => `${text.closes}: ${problem}` },
              { name: fields.day, cell: ({ day }) => day },
              { name: fields.account, cell: ({ account_id, connection_id }) => account_id ?? connection_id }
            ]}
          />
        )}
      </Card>
    </div>
  )
}

export const Ledger = () => {
  const { actions, empty, fields, nav } = words()
  const verification = useSignal<LedgerVerification | undefined>(undefined)
  const verify = async () => {
    const outcome = await call((api) => api.ledger.verify({ query: {} }))
    if (outcome._tag === "Done") verification.value = outcome.value
  }
  return (
    <>
      <List
        title={nav.ledger}
        empty={empty.ledger}
        filters={[
          { name: "account_id", label: fields.account },
          { name: "resource_id", label: fields.resource }
        ]}
        actions={
          <button type="button" onClick={() => void verify()}>
            {actions.verify}
          </button>
        }
        load={(api, query) => api.ledger.entries({ query })}
        columns={[
          { name: fields.amount, cell: ({ amount }) => <b class="nowrap">{money(amount)}</b> },
          { name: fields.from, cell: ({ from }) => ledgerAccountName(from) },
          { name: fields.to, cell: ({ to }) => ledgerAccountName(to) },
          { name: fields.reason, cell: ({ reason }) => reason, wide: true },
          {
            name: fields.resource,
            cell: ({ reason, resource_id: id }) => <ResourceLink name={reason} id={id} />,
            wide: true
          },
          { name: fields.created, cell: (entry) => <Time of={entry.created_at} />, right: true, wide: true }
        ]}
      />
      {verification.value !== undefined && <Verification of={verification.value} />}
    </>
  )
}
