/** A delivery with each attempt's answer. */
import { isSuccess } from "@pix-payments/domain/ReceiverAnswer"
import { call } from "../app/Client.ts"
import { may } from "../app/Session.ts"
import { Action } from "../parts/Action.tsx"
import { Card, Facts, Head, IdLink, Resource, useResource } from "../parts/Detail.tsx"
import { inWords } from "../parts/reasons.ts"
import { Time } from "../parts/Time.tsx"
import { Timeline } from "../parts/Timeline.tsx"
import { words } from "../words/Words.ts"
import { endpointWords } from "./endpointWords.ts"

const pageOf = (event: string): string | undefined =>
  event.startsWith("charge.")
    ? "charges"
    : event.startsWith("payment.")
      ? "payouts"
      : event.startsWith("dispute.")
        ? "disputes"
        : undefined

export const DeliveryPage = ({ id }: { readonly id: string }) => {
  const loaded = useResource(id, (api) => api.deliveries.retrieve({ params: { id } }))
  const { actions, ask, cards, empty, fields } = words()
  return (
    <Resource loaded={loaded}>
      {(delivery) => {
        // A test has no resource: its id is the endpoint's.
        const isTest = delivery.resource_id === delivery.endpoint_id
        const page = isTest ? "endpoints" : pageOf(delivery.event)
        return (
          <>
            <Head
              title={isTest ? `${delivery.event} (${endpointWords().isTest})` : delivery.event}
              state={delivery.status}
              id={delivery.id}
              operation={`/deliveries/${id}`}
            >
              {may("operator") && delivery.status !== "delivering" && delivery.status !== "canceled" && (
                <Action
                  label={actions.resend}
                  tone="first"
                  question={ask.resend}
                  run={() => call((api) => api.deliveryActions.resend({ params: { id } }))}
                  onDone={loaded.reload}
                />
              )}
            </Head>
            <section class="cols">
              <Card title={cards.attempts} note={cards.newestFirst}>
                {delivery.attempts.length === 0 && <p class="quiet pad">{empty.attempts}</p>}
                <Timeline
                  moments={delivery.attempts.map((attempt) => ({
                    at: attempt.at,
                    state: isSuccess(attempt.status_code) ? "delivered" : "failed",
                    title: (
                      <>
                        <b>{attempt.status_code ?? attempt.error}</b> {attempt.duration_ms} ms {attempt.address}
                      </>
                    ),
                    detail: attempt.response_body !== null && attempt.response_body !== "" && (
                      <code>{attempt.response_body}</code>
                    )
                  }))}
                />
              </Card>
              <Card title={cards.delivery}>
                <Facts
                  of={[
                    [fields.url, delivery.url],
                    [fields.attempts, delivery.attempts_made],
                    [fields.next_attempt, delivery.next_attempt_at && <Time of={delivery.next_attempt_at} />],
                    [fields.reason, inWords(delivery.reason)],
                    [fields.created, <Time of={delivery.created_at} key="created" />],
                    [fields.endpoint, <IdLink id={delivery.endpoint_id} to="endpoints" key="endpoint" />],
                    [
                      fields.resource,
                      page === undefined ? (
                        <span class="id">{delivery.resource_id}</span>
                      ) : (
                        <IdLink id={delivery.resource_id} to={page} />
                      )
                    ]
                  ]}
                />
              </Card>
            </section>
          </>
        )
      }}
    </Resource>
  )
}
