/** An operator, and its personal tokens. */
import { useSignal } from "@preact/signals"
import { call } from "../app/Client.ts"
import { useLoaded } from "../app/Loaded.ts"
import { may, session } from "../app/Session.ts"
import { Action } from "../parts/Action.tsx"
import { ApprovedSecrets } from "../parts/ApprovedSecret.tsx"
import { Card, Facts, Head, IdLink, Resource, useResource } from "../parts/Detail.tsx"
import { Table } from "../parts/List.tsx"
import { inWords } from "../parts/reasons.ts"
import { Secret } from "../parts/Secret.tsx"
import { masculineStateName, State } from "../parts/State.tsx"
import { Time } from "../parts/Time.tsx"
import { words } from "../words/Words.ts"

export const OperatorPage = ({ id }: { readonly id: string }) => {
  const loaded = useResource(id, (api) => api.operators.retrieve({ params: { id } }))
  const { actions, ask, cards, fields, nav } = words()
  return (
    <Resource loaded={loaded}>
      {(operator) => (
        <>
          <Head
            title={operator.name}
            state={operator.active ? "active" : "inactive"}
            id={operator.id}
            operation={`/operators/${id}`}
          >
            {may("admin") && (
              <Action
                label={operator.active ? actions.deactivate : actions.activate}
                tone={operator.active ? "bad" : "first"}
                question={operator.active ? ask.deactivate(operator.name) : ask.activate(operator.name)}
                run={() =>
                  call((api) => api.operators.update({ params: { id }, payload: { active: !operator.active } }))
                }
                onDone={loaded.reload}
              />
            )}
          </Head>
          <section class="cols">
            <Tokens operatorId={id} />
            <Card title={cards.operator}>
              <Facts
                of={[
                  [fields.email, operator.email],
                  [fields.role, inWords(operator.role)],
                  [
                    fields.account,
                    operator.account_ids?.map((accountId) => (
                      <div key={accountId}>
                        <IdLink id={accountId} to="accounts" />
                      </div>
                    ))
                  ],
                  [fields.created, <Time of={operator.created_at} key="created" />],
                  [
                    fields.changes,
                    <a href={`/audit?operator_id=${id}`} key="changes">
                      {nav.audit}
                    </a>
                  ]
                ]}
              />
            </Card>
          </section>
        </>
      )}
    </Resource>
  )
}

const Tokens = ({ operatorId }: { readonly operatorId: string }) => {
  const params = { id: operatorId }
  const isOwn = session.state.value?.operator.id === operatorId
  const { reload, value } = useLoaded(operatorId, (signal) =>
    call((api) => api.operatorTokens.list({ params, query: { limit: 100 } }), signal)
  )
  const secret = useSignal<string | undefined>(undefined)
  const { actions, ask, cards, empty, fields, form } = words()
  return (
    <div class="stack">
      {secret.value !== undefined && <Secret text={secret.value} />}
      <ApprovedSecrets
        resourceId={operatorId}
        onDone={(token) => {
          secret.value = token
          reload()
        }}
      />
      <Card
        title={cards.tokens}
        note={
          (isOwn || may("admin")) && (
            <Action
              label={actions.createToken}
              isSmall
              question={ask.token}
              fields={[{ name: "name", label: fields.name, hint: form.name }]}
              run={({ name }) => call((api) => api.operatorTokens.create({ params, payload: { name: String(name) } }))}
              onDone={({ token }) => {
                secret.value = token
                reload()
              }}
            />
          )
        }
      >
        {value?.data.length === 0 && <p class="quiet pad">{empty.tokens}</p>}
        {value !== undefined && value.data.length > 0 && (
          <Table
            rows={value.data}
            columns={[
              { name: fields.name, cell: ({ name }) => <b>{name}</b> },
              { name: fields.prefix, cell: ({ prefix }) => <code>{prefix}…</code>, wide: true },
              { name: fields.last_used, cell: (token) => token.last_used_at && <Time of={token.last_used_at} /> },
              {
                name: fields.status,
                right: true,
                cell: (token) =>
                  token.revoked_at === null ? (
                    <Action
                      label={actions.revoke}
                      tone="bad"
                      isSmall
                      question={ask.revokeToken(token.name)}
                      run={() => call((api) => api.operatorTokens.revoke({ params: { id: token.id } }))}
                      onDone={reload}
                    />
                  ) : (
                    <State of="revoked" name={masculineStateName("revoked")} />
                  )
              }
            ]}
          />
        )}
      </Card>
    </div>
  )
}
