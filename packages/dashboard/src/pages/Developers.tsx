/** For those who integrate: the applications of an account, and requests to `/v1` as they are answered. */
import { call } from "../app/Client.ts"
import { useLoaded } from "../app/Loaded.ts"
import { AccountChoice, useAccountChoice } from "../parts/AccountChoice.tsx"
import { Card } from "../parts/Detail.tsx"
import { Table } from "../parts/List.tsx"
import { Problem } from "../parts/Problem.tsx"
import { State } from "../parts/State.tsx"
import { Time } from "../parts/Time.tsx"
import { words } from "../words/Words.ts"
import { LiveTail } from "./LiveTail.tsx"

export const Developers = () => {
  const choice = useAccountChoice()
  return (
    <>
      <div class="head">
        <h1>{words().nav.applications}</h1>
        <span class="grow" />
        <AccountChoice of={choice} />
      </div>
      {choice.accounts.problem !== undefined && (
        <Problem problem={choice.accounts.problem} retry={choice.accounts.reload} />
      )}
      <LiveTail />
      {choice.accountId !== undefined && <Applications accountId={choice.accountId} key={choice.accountId} />}
    </>
  )
}

const Applications = ({ accountId }: { readonly accountId: string }) => {
  const { problem, reload, value } = useLoaded(accountId, (signal) =>
    call((api) => api.applications.list({ params: { id: accountId }, query: { limit: 100 } }), signal)
  )
  const { cards, empty, fields, nav } = words()
  return (
    <Card title={cards.applications} note={<a href={`/accounts/${accountId}`}>{nav.accounts}</a>}>
      {problem !== undefined && <Problem problem={problem} retry={reload} />}
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
