/** Webhook endpoints with their health, and resending what failed at them. */
import type { OperatorWebhookEndpoint } from "@pix-payments/api/operator/WebhookEndpoints"
import { useSignal } from "@preact/signals"
import { call } from "../app/Client.ts"
import { useLoaded } from "../app/Loaded.ts"
import { query } from "../app/Router.ts"
import { may } from "../app/Session.ts"
import { List } from "../parts/List.tsx"
import { ResendFailed } from "../parts/ResendFailed.tsx"
import { State } from "../parts/State.tsx"
import { Time } from "../parts/Time.tsx"
import { words } from "../words/Words.ts"
import { endpointState, endpointWords, pausedCount, percent } from "./endpointWords.ts"

/** The filter offers these; an account's page leads to the endpoints of any. */
const MAX_ACCOUNTS = 100

export const Endpoints = () => {
  const version = useSignal(0)
  const accounts = useLoaded("accounts", (signal) =>
    call((api) => api.accounts.list({ query: { limit: MAX_ACCOUNTS } }), signal)
  )
  const { empty, fields } = words()
  const text = endpointWords()
  const names = new Map(accounts.value?.data.map(({ id, name }) => [id, name]))
  const accountId = query.value.get("account_id")
  const accountIds = accountId === null || names.has(accountId) ? [...names.keys()] : [accountId, ...names.keys()]
  return (
    <List<OperatorWebhookEndpoint>
      title={text.title}
      empty={empty.endpoints}
      version={version.value}
      filters={[
        { name: "account_id", label: fields.account, options: accountIds, nameOf: (id) => names.get(id) ?? id },
        { name: "failing", label: fields.status, options: ["true"], nameOf: () => text.failing }
      ]}
      actions={(rows) =>
        may("operator") &&
        rows.length > 0 && (
          <ResendFailed
            endpoints={rows}
            isOfAll={accountId === null}
            onDone={() => {
              version.value += 1
            }}
          />
        )
      }
      load={(api, query) => api.webhookEndpoints.listAll({ query })}
      linkOf={({ id }) => `/endpoints/${id}`}
      columns={[
        { name: fields.url, cell: ({ url }) => url },
        { name: fields.application, cell: ({ application_name: name }) => name, wide: true },
        { name: fields.status, cell: (endpoint) => <State of={endpointState(endpoint)} /> },
        { name: fields.success_rate, cell: ({ success_rate: rate }) => percent(rate), right: true },
        { name: fields.failures, cell: (endpoint) => endpoint.consecutive_failures, right: true, wide: true },
        { name: text.paused, cell: ({ paused }) => pausedCount(paused), right: true, wide: true },
        {
          name: text.lastFailure,
          cell: ({ last_failure_at: at }) => at !== null && <Time of={at} />,
          right: true,
          wide: true
        }
      ]}
    />
  )
}
