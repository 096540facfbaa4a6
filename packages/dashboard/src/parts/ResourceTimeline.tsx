/**
 * What happened to a charge or a payout, newest first: states, requests, the acquirer, money and deliveries in one line.
 *
 * It follows the events of the resource. An attempt of a delivery has no event, so the timeline is also loaded again after
 * some seconds.
 */
import type { Timeline as TimelineOf } from "@pix-payments/api/operator/Timelines"
import { isSuccess } from "@pix-payments/domain/ReceiverAnswer"
import type { ComponentChildren } from "preact"
import { call } from "../app/Client.ts"
import { useLoaded } from "../app/Loaded.ts"
import { may } from "../app/Session.ts"
import { money } from "../format/Money.ts"
import { words } from "../words/Words.ts"
import { Action } from "./Action.tsx"
import { Card, IdLink } from "./Detail.tsx"
import { entryName } from "./entryNames.ts"
import { ledgerAccountName } from "./ledgerAccounts.ts"
import { Problem } from "./Problem.tsx"
import { inWords } from "./reasons.ts"
import { RequestLink } from "./RequestLink.tsx"
import { ResendFailed } from "./ResendFailed.tsx"
import { masculineStateName, State } from "./State.tsx"
import { type Moment, Timeline } from "./Timeline.tsx"
import { timelineWords } from "./timelineWords.ts"

const POLL_S = 5

/** Of what happened at the same instant, what caused the rest is the oldest. */
const causes = [
  "request",
  "notification",
  "state",
  "order",
  "refund",
  "dispute",
  "ledger",
  "delivery",
  "attempt"
] as const

type Resource = "charge" | "payout"

type Kind = (typeof causes)[number]

interface KindMoment extends Moment {
  readonly kind: Kind
}

const nameIn = (names: Readonly<Record<string, string>>, name: string): string => names[name] ?? name

const Label = ({ children }: { readonly children: ComponentChildren }) => <span class="quiet">{children}</span>

const stateMoments = ({ states }: TimelineOf, resource: Resource): ReadonlyArray<KindMoment> =>
  states.data.map(({ created_at: at, event, status }) => ({
    at,
    key: `${event} ${status} ${at}`,
    kind: "state",
    state: status,
    title: <State of={status} name={resource === "payout" ? masculineStateName(status) : undefined} />,
    detail: event !== null && <code>{event}</code>
  }))

const requestMoments = ({ requests }: TimelineOf): ReadonlyArray<KindMoment> =>
  requests.data.map((request) => ({
    at: request.created_at,
    key: request.id,
    kind: "request",
    state: request.status >= 400 ? "failed" : "",
    title: (
      <>
        <Label>{timelineWords().request}</Label> <b>{request.route}</b> {request.status}
      </>
    ),
    detail: <RequestLink id={request.request_id} />
  }))

const orderMoments = ({ orders }: TimelineOf): ReadonlyArray<KindMoment> => {
  const text = timelineWords()
  return orders.data.map((order) => ({
    at: order.created_at,
    key: `order ${order.id}`,
    kind: "order",
    state:
      { in_progress: "processing", done: "completed", refused: "failed", failed: "failed" }[order.status as string] ??
      "",
    title: (
      <>
        <Label>{text.order}</Label> <b>{nameIn(text.orders, order.kind)}</b>{" "}
        {order.amount !== null && money(order.amount)} {nameIn(text.orderStates, order.status)}
      </>
    ),
    detail: (
      <>
        {text.asked(order.attempts)} <IdLink id={order.connection_id} to="connections" />
      </>
    )
  }))
}

const notificationMoments = ({ notifications }: TimelineOf): ReadonlyArray<KindMoment> => {
  const text = timelineWords()
  return notifications.data.map((notification) => ({
    at: notification.created_at,
    key: notification.id,
    kind: "notification",
    state: notification.outcome === "exception" ? "waiting" : "",
    title: (
      <>
        <Label>{text.notification}</Label> <b>{notification.name}</b>{" "}
        {notification.amount !== null && money(notification.amount)} {nameIn(text.outcomes, notification.outcome)}
      </>
    ),
    detail: notification.end_to_end_id !== null && <code>{notification.end_to_end_id}</code>
  }))
}

const moneyMoments = ({ disputes, ledger_entries, refunds }: TimelineOf): ReadonlyArray<KindMoment> => {
  const text = timelineWords()
  return [
    ...refunds.data.map((refund): KindMoment => ({
      at: refund.created_at,
      key: refund.id,
      kind: "refund",
      state: refund.status,
      title: (
        <>
          <Label>{text.refund}</Label> {money(refund.amount)} <State of={refund.status} />
        </>
      ),
      detail: inWords(refund.failure_reason ?? refund.description ?? undefined)
    })),
    ...disputes.data.flatMap(({ amount, id, opened_at: at, reason, status }): ReadonlyArray<KindMoment> =>
      at === null
        ? []
        : [
            {
              at,
              key: `dispute ${id}`,
              kind: "dispute",
              state: status,
              title: (
                <>
                  <a href={`/disputes/${id}`}>
                    <b>{text.dispute}</b>
                  </a>{" "}
                  {money(amount)} <State of={status} />
                </>
              ),
              detail: inWords(reason)
            }
          ]
    ),
    ...ledger_entries.data.map((entry): KindMoment => ({
      at: entry.created_at,
      key: `ledger ${entry.id}`,
      kind: "ledger",
      state: "",
      title: (
        <>
          <Label>{text.ledger}</Label>{" "}
          <a href={`/ledger?resource_id=${entry.resource_id}`}>
            <b>{money(entry.amount)}</b>
          </a>{" "}
          {ledgerAccountName(entry.from)} › {ledgerAccountName(entry.to)}
        </>
      ),
      detail: entryName(entry.reason)
    }))
  ]
}

const deliveryMoments = ({ deliveries }: TimelineOf, reload: () => void): ReadonlyArray<KindMoment> => {
  const text = timelineWords()
  const { actions, ask, timeline } = words()
  const verbs: Readonly<Record<string, string>> = {
    delivered: timeline.delivered,
    failed: timeline.failed,
    canceled: timeline.canceled
  }
  return deliveries.data.flatMap((delivery): ReadonlyArray<KindMoment> => [
    {
      at: delivery.created_at,
      key: delivery.id,
      kind: "delivery",
      state: delivery.status,
      title: (
        <>
          <Label>{text.delivery}</Label>{" "}
          <a href={`/deliveries/${delivery.id}`}>
            <b>{delivery.event}</b>
          </a>{" "}
          {verbs[delivery.status] ?? timeline.waits} {delivery.url}{" "}
          {may("operator") && delivery.status !== "delivering" && delivery.status !== "canceled" && (
            <Action
              label={actions.resend}
              isSmall
              question={ask.resend}
              run={() => call((api) => api.deliveryActions.resend({ params: { id: delivery.id } }))}
              onDone={reload}
            />
          )}
        </>
      ),
      detail:
        delivery.attempts_made > delivery.attempts.length ? (
          <a href={`/deliveries/${delivery.id}`}>{text.allAttempts(delivery.attempts_made)}</a>
        ) : (
          (delivery.reason ?? undefined)
        )
    },
    ...delivery.attempts.map((attempt): KindMoment => ({
      at: attempt.at,
      key: `${delivery.id} ${attempt.at}`,
      kind: "attempt",
      state: isSuccess(attempt.status_code) ? "delivered" : "failed",
      title: (
        <>
          <Label>{text.attempt}</Label> <b>{attempt.status_code ?? attempt.error}</b> {attempt.duration_ms} ms{" "}
          <Label>{delivery.event}</Label>
        </>
      ),
      detail: attempt.response_body !== null && attempt.response_body !== "" && (
        <details>
          <summary>{text.response}</summary>
          <code>{attempt.response_body}</code>
        </details>
      )
    }))
  ])
}

const momentsOf = (timeline: TimelineOf, resource: Resource, reload: () => void): ReadonlyArray<KindMoment> =>
  [
    ...stateMoments(timeline, resource),
    ...requestMoments(timeline),
    ...orderMoments(timeline),
    ...notificationMoments(timeline),
    ...moneyMoments(timeline),
    ...deliveryMoments(timeline, reload)
  ].toSorted((one, other) => causes.indexOf(other.kind) - causes.indexOf(one.kind))

/** The lists with the rows that the timeline leaves out. */
const More = ({ timeline }: { readonly timeline: TimelineOf }) => {
  const { kinds, more } = timelineWords()
  const id = timeline.resource_id
  const paths = {
    requests: `/requests?resource_id=${id}`,
    ledger_entries: `/ledger?resource_id=${id}`,
    deliveries: `/deliveries?resource_id=${id}`,
    refunds: `/refunds?charge_id=${id}`,
    disputes: `/disputes?charge_id=${id}`
  }
  const shown = (Object.keys(paths) as Array<keyof typeof paths>).filter((kind) => timeline[kind].has_more)
  if (shown.length === 0) return null
  return (
    <p class="pad">
      {more}{" "}
      {shown.map((kind) => (
        <a href={paths[kind]} key={kind}>
          {kinds[kind]}{" "}
        </a>
      ))}
    </p>
  )
}

export const ResourceTimeline = ({ id, resource }: { readonly id: string; readonly resource: Resource }) => {
  const { problem, reload, value } = useLoaded(
    `${id}/timeline`,
    (signal) => call((api) => api.timelines[resource]({ params: { id } }), signal),
    { events: [id], every: POLL_S }
  )
  const { cards } = words()
  return (
    <Card
      title={cards.timeline}
      note={
        <span class="head">
          {cards.newestFirst}
          {may("operator") && value?.deliveries.data.some(({ status }) => status === "failed") === true && (
            <ResendFailed label={timelineWords().resendFailed} filters={{ resource_id: id }} isSmall onDone={reload} />
          )}
        </span>
      }
    >
      {problem !== undefined && <Problem problem={problem} retry={reload} />}
      {value !== undefined && <Timeline moments={momentsOf(value, resource, reload)} />}
      {value !== undefined && <More timeline={value} />}
    </Card>
  )
}
