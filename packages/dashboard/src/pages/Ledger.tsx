/** The entries of the ledger, and its verification. */
import type { LedgerAccount, LedgerVerification } from "@pix-payments/api/operator/Ledger"
import { useSignal } from "@preact/signals"
import { call } from "../app/Client.ts"
import { money } from "../format/Money.ts"
import { Action } from "../parts/Action.tsx"
import { Card, IdLink } from "../parts/Detail.tsx"
import { entryName } from "../parts/entryNames.ts"
import { ledgerAccountName } from "../parts/ledgerAccounts.ts"
import { List, Table } from "../parts/List.tsx"
import { ResourceLink } from "../parts/ResourceLink.tsx"
import { State } from "../parts/State.tsx"
import { Moment } from "../parts/Time.tsx"
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
              { name: fields.account, cell: ({ account }) => <Owner of={account} />, wide: true },
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
              {
                name: fields.account,
                cell: ({ account_id: id, connection_id }) => (
                  <IdLink id={id ?? connection_id} to={id === null ? "connections" : "accounts"} />
                )
              }
            ]}
          />
        )}
      </Card>
    </div>
  )
}

/** Whose a ledger account is: of an account, or of a connection. */
const Owner = ({ of: { account_id: id, name } }: { readonly of: LedgerAccount }) => (
  <IdLink id={id} to={name === "unallocated" || name === "acquirer" ? "connections" : "accounts"} />
)

const Side = ({ of }: { readonly of: LedgerAccount }) => (
  <>
    {ledgerAccountName(of)}
    <div class="under">
      <Owner of={of} />
    </div>
  </>
)

export const Ledger = () => {
  const { actions, empty, fields, nav } = words()
  const verification = useSignal<LedgerVerification | undefined>(undefined)
  return (
    <>
      <List
        title={nav.ledger}
        empty={empty.ledger}
        filters={[
          { name: "account_id", label: fields.account, kind: "account" },
          { name: "created", label: fields.created, kind: "period" },
          { name: "resource_id", label: fields.resource }
        ]}
        actions={
          <Action
            label={actions.verify}
            run={() => call((api) => api.ledger.verify({ query: {} }))}
            onDone={(found) => {
              verification.value = found
            }}
          />
        }
        load={(api, query) => api.ledger.entries({ query })}
        columns={[
          {
            name: fields.amount,
            cell: ({ amount, from, reason, resource_id: id, to }) => (
              <>
                <b class="nowrap">{money(amount)}</b>
                <div class="narrow quiet under">
                  {entryName(reason)} <ResourceLink name={reason} id={id} />
                </div>
                <div class="narrow quiet under">
                  {ledgerAccountName(from)} › {ledgerAccountName(to)} ·{" "}
                  <Owner of={from.account_id === null ? to : from} />
                </div>
              </>
            )
          },
          { name: fields.from, cell: ({ from }) => <Side of={from} />, wide: true },
          { name: fields.to, cell: ({ to }) => <Side of={to} />, wide: true },
          { name: fields.reason, cell: ({ reason }) => <span title={reason}>{entryName(reason)}</span>, wide: true },
          {
            name: fields.resource,
            cell: ({ reason, resource_id: id }) => <ResourceLink name={reason} id={id} />,
            wide: true
          },
          { name: fields.created, cell: (entry) => <Moment of={entry.created_at} />, right: true, isTime: true }
        ]}
      />
      {verification.value !== undefined && <Verification of={verification.value} />}
    </>
  )
}
