/** The list of changes whose deliveries could not be created, and their retry. */
import { useSignal } from "@preact/signals"
import { call } from "../app/Client.ts"
import { may } from "../app/Session.ts"
import { Action } from "../parts/Action.tsx"
import { IdLink } from "../parts/Detail.tsx"
import { List } from "../parts/List.tsx"
import { Time } from "../parts/Time.tsx"
import { words } from "../words/Words.ts"

export const OutboxFailures = () => {
  const { actions, ask, empty, fields, nav } = words()
  const version = useSignal(0)
  return (
    <List
      title={nav.outboxFailures}
      empty={empty.outboxFailures}
      version={version.value}
      load={(api, query) => api.outboxFailures.list({ query })}
      columns={[
        { name: fields.error, cell: ({ error }) => <b>{error}</b> },
        { name: fields.account, cell: ({ account_id }) => <IdLink id={account_id} to="accounts" />, wide: true },
        {
          name: fields.endpoint,
          cell: ({ endpoint_id }) => <IdLink id={endpoint_id} to="endpoints" />,
          wide: true
        },
        { name: fields.attempts, cell: ({ failures }) => failures, right: true, wide: true },
        { name: fields.failed_at, cell: (failure) => <Time of={failure.last_failed_at} /> },
        {
          name: fields.action,
          cell: ({ error, id, retried_at }) =>
            retried_at === null
              ? may("operator") && (
                  <Action
                    isSmall
                    label={actions.deliverAgain}
                    tone="first"
                    question={ask.retryOutbox(error)}
                    run={() => call((api) => api.outboxFailureActions.retry({ params: { id } }))}
                    onDone={() => {
                      version.value += 1
                    }}
                  />
                )
              : fields.retried,
          right: true
        }
      ]}
    />
  )
}
