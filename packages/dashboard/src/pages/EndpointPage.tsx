/**
 * A webhook endpoint: its health, its newest deliveries, a test, and resending what failed.
 */
import type { Delivery } from "@pix-payments/api/operator/Deliveries"
import type { OperatorWebhookEndpoint } from "@pix-payments/api/operator/WebhookEndpoints"
import { shortIdOf } from "@pix-payments/domain/Uuid"
import { call } from "../app/Client.ts"
import { useLoaded } from "../app/Loaded.ts"
import { go } from "../app/Router.ts"
import { may } from "../app/Session.ts"
import { Action } from "../parts/Action.tsx"
import { Card, Facts, Head, IdLink, useResource } from "../parts/Detail.tsx"
import { Table } from "../parts/List.tsx"
import { Problem } from "../parts/Problem.tsx"
import { ResendFailed } from "../parts/ResendFailed.tsx"
import { State } from "../parts/State.tsx"
import { now, Time } from "../parts/Time.tsx"
import { words } from "../words/Words.ts"
import { endpointState, endpointWords, pausedCount, percent } from "./endpointWords.ts"

const DAY_MS = 24 * 60 * 60 * 1000

export const EndpointPage = ({ id }: { readonly id: string }) => {
  const found = useResource(id, (api) => api.webhookEndpoints.retrieve({ params: { id } }))
  const deliveries = useLoaded(
    id,
    (signal) => call((api) => api.deliveries.list({ query: { endpoint_id: id, limit: 100 } }), signal),
    { every: 5 }
  )
  const endpoint = found.value
  const isMissing = found.problem?.code === "NOT_FOUND"
  const text = endpointWords()
  const reload = () => {
    found.reload()
    deliveries.reload()
  }
  return (
    <>
      <Head
        title={endpoint?.url ?? text.endpoint}
        id={id}
        {...(endpoint !== undefined && { state: endpointState(endpoint) })}
        operation={`/webhooks/${id}`}
      >
        <Actions id={id} endpoint={endpoint} reload={reload} />
      </Head>
      {found.problem !== undefined && !isMissing && <Problem problem={found.problem} retry={found.reload} />}
      {isMissing && <p class="quiet">{text.missing}</p>}
      <section class="cols">
        <Newest id={id} rows={deliveries.value?.data} />
        <Health endpoint={endpoint} deliveries={deliveries.value?.data ?? []} />
      </section>
    </>
  )
}

interface ActionsProps {
  readonly id: string
  readonly endpoint: OperatorWebhookEndpoint | undefined
  readonly reload: () => void
}

const Actions = ({ endpoint, id, reload }: ActionsProps) => {
  const text = endpointWords()
  const { actions, ask } = words()
  return (
    <>
      {endpoint?.active === true && may("developer", "operator") && (
        <Action
          label={text.test}
          tone="first"
          question={text.ask}
          run={() => call((api) => api.webhookEndpointActions.test({ params: { id } }))}
          onDone={(delivery) => go(`/deliveries/${delivery.id}`)}
        />
      )}
      {may("operator") && <ResendFailed filters={{ endpoint_id: id }} onDone={reload} />}
      {endpoint !== undefined && may("developer", "operator") && (
        <Action
          label={endpoint.active ? actions.disable : actions.enable}
          tone={endpoint.active ? "bad" : "first"}
          question={endpoint.active ? ask.disable : ask.enable}
          run={() =>
            call((api) => api.webhookEndpointActions.update({ params: { id }, payload: { active: !endpoint.active } }))
          }
          onDone={reload}
        />
      )}
    </>
  )
}

const Newest = ({ id, rows }: { readonly id: string; readonly rows: ReadonlyArray<Delivery> | undefined }) => {
  const text = endpointWords()
  const { fields, nav } = words()
  return (
    <Card title={nav.deliveries} note={<a href={`/deliveries?endpoint_id=${id}`}>{text.all}</a>}>
      {rows?.length === 0 && <p class="quiet pad">{text.empty}</p>}
      {rows !== undefined && rows.length > 0 && (
        <Table
          rows={rows.slice(0, 20)}
          linkOf={(delivery) => `/deliveries/${delivery.id}`}
          columns={[
            {
              name: fields.event,
              cell: ({ event, resource_id }) => (
                <>
                  {event}{" "}
                  {resource_id === id ? (
                    <span class="badge">{text.isTest}</span>
                  ) : (
                    <div class="quiet under">
                      <span class="id">{shortIdOf(resource_id)}</span>
                    </div>
                  )}
                </>
              )
            },
            { name: fields.status, cell: ({ status }) => <State of={status} /> },
            { name: fields.attempts, cell: (delivery) => delivery.attempts_made, right: true, wide: true },
            { name: fields.created, cell: (delivery) => <Time of={delivery.created_at} />, right: true }
          ]}
        />
      )}
    </Card>
  )
}

interface HealthProps {
  readonly endpoint: OperatorWebhookEndpoint | undefined
  readonly deliveries: ReadonlyArray<Delivery>
}

const Health = ({ deliveries, endpoint }: HealthProps) => {
  const text = endpointWords()
  const { cards, fields } = words()
  const tried = deliveries.filter(
    ({ attempts_made, created_at }) => attempts_made > 0 && Date.parse(created_at) >= now.value - DAY_MS
  )
  const delivered = tried.filter(({ status }) => status === "delivered").length
  const share = tried.length === 0 ? null : delivered / tried.length
  return (
    <Card title={text.health} note={text.newest}>
      <Facts
        of={[
          [text.lastDay, tried.length === 0 ? "–" : text.lastDayOf(percent(share), delivered, tried.length)],
          [text.allTime, endpoint && percent(endpoint.success_rate)],
          [fields.failures, endpoint && String(endpoint.consecutive_failures)],
          [text.lastFailure, endpoint?.last_failure_at && <Time of={endpoint.last_failure_at} key="failure" />],
          [text.lastSuccess, endpoint?.last_success_at && <Time of={endpoint.last_success_at} key="success" />],
          [text.paused, endpoint && pausedCount(endpoint.paused)],
          [text.subscribed, endpoint?.events.join(", ")],
          [text.secret, endpoint && (endpoint.has_secret ? cards.yes : cards.no)],
          [fields.description, endpoint?.description],
          [fields.account, <IdLink id={endpoint?.account_id} to="accounts" key="account" />],
          [
            fields.application,
            endpoint && (
              <a href={`/applications/${endpoint.application_id}?account=${endpoint.account_id}`} key="application">
                <bdi>{endpoint.application_name}</bdi>
              </a>
            )
          ],
          [fields.created, endpoint && <Time of={endpoint.created_at} key="created" />]
        ]}
      />
    </Card>
  )
}
