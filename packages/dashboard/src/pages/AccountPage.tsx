/** An account: its balance, settings and applications. */
import { call } from "../app/Client.ts"
import { useLoaded } from "../app/Loaded.ts"
import { may } from "../app/Session.ts"
import { money } from "../format/Money.ts"
import { Action } from "../parts/Action.tsx"
import { Card, Facts, Head, Resource, useResource } from "../parts/Detail.tsx"
import { Table } from "../parts/List.tsx"
import { State } from "../parts/State.tsx"
import { Time } from "../parts/Time.tsx"
import { words } from "../words/Words.ts"

export const AccountPage = ({ id }: { readonly id: string }) => {
  const loaded = useResource(id, (api) => api.accounts.retrieve({ params: { id } }))
  const { cards, fields } = words()
  return (
    <Resource loaded={loaded}>
      {(account) => (
        <>
          <Head title={account.name} state={account.status} id={account.id} operation={`/accounts/${id}`} />
          <section class="cols">
            <Applications accountId={id} />
            <div class="stack">
              <Card title={cards.balance}>
                <Facts
                  of={[
                    [fields.available, <b key="available">{money(account.balance.available)}</b>],
                    [fields.pending, money(account.balance.pending)]
                  ]}
                />
              </Card>
              <Card title={cards.settings}>
                <Facts
                  of={[
                    [fields.legal_name, account.legal_name],
                    [fields.document, account.document],
                    [fields.phone, account.phone],
                    [fields.auto_payout, account.auto_payout_enabled ? cards.yes : cards.no],
                    [
                      fields.fee,
                      `${money(account.payout_fee.fixed)} + ${(account.payout_fee.basis_points / 100).toLocaleString("pt-BR")} %`
                    ],
                    [fields.created, <Time of={account.created_at} key="created" />]
                  ]}
                />
              </Card>
            </div>
          </section>
        </>
      )}
    </Resource>
  )
}

const Applications = ({ accountId }: { readonly accountId: string }) => {
  const params = { id: accountId }
  const { reload, value } = useLoaded(accountId, (signal) =>
    call((api) => api.applications.list({ params, query: { limit: 100 } }), signal)
  )
  const { actions, ask, cards, empty, fields, form } = words()
  return (
    <Card
      title={cards.applications}
      note={
        may("developer") && (
          <Action
            label={actions.createApplication}
            isSmall
            question={ask.application}
            fields={[{ name: "name", label: fields.name, hint: form.name }]}
            run={({ name }) => call((api) => api.applications.create({ params, payload: { name: String(name) } }))}
            onDone={reload}
          />
        )
      }
    >
      {value?.data.length === 0 && <p class="quiet pad">{empty.applications}</p>}
      {value !== undefined && value.data.length > 0 && (
        <Table
          rows={value.data}
          linkOf={({ id }) => `/applications/${id}?account=${accountId}`}
          columns={[
            { name: fields.name, cell: ({ name }) => name },
            { name: fields.status, cell: ({ active }) => <State of={active ? "active" : "inactive"} /> },
            { name: fields.created, cell: (application) => <Time of={application.created_at} />, right: true }
          ]}
        />
      )}
    </Card>
  )
}
