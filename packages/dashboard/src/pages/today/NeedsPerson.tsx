/** What waits for a person, most urgent first, as one line for each reason. */
import type { OverdueClose } from "@pix-payments/api/operator/Books"
import type { OperatorDispute } from "@pix-payments/api/operator/Disputes"
import { DEADLINE_HOURS } from "@pix-payments/domain/Alert"
import type { ComponentChildren } from "preact"
import { call, type Outcome } from "../../app/Client.ts"
import { useLoaded } from "../../app/Loaded.ts"
import { isLimited } from "../../app/Session.ts"
import { money } from "../../format/Money.ts"
import { dayText } from "../../format/Time.ts"
import { type Books, parameterOf } from "../../parts/BookChoice.tsx"
import { Card } from "../../parts/Detail.tsx"
import type { ListOf } from "../../parts/List.tsx"
import { Deadline, now, Time } from "../../parts/Time.tsx"
import { CERTIFICATE_WARNING_MS, isEndingSoon } from "../certificates.ts"
import { type Count, todayWords } from "./todayWords.ts"

/** Rows that are counted of each reason. */
const LIMIT = 100
const HOUR_MS = 60 * 60 * 1000
const DAY_MS = 24 * HOUR_MS

/** A list that this operator may not read has nothing that waits for them. */
const rowsOf = <A,>(outcome: Outcome<ListOf<A>>): ListOf<A> =>
  outcome._tag === "Done" ? outcome.value : { data: [], has_more: false }

/** The resource of a test is its endpoint. */
const withoutTests = <A extends { readonly resource_id: string; readonly endpoint_id: string | null }>({
  data,
  has_more
}: ListOf<A>): ListOf<A> => ({ data: data.filter((row) => row.resource_id !== row.endpoint_id), has_more })

const NONE = { _tag: "Done", value: { data: [], has_more: false } } as const

const read = async (signal: AbortSignal) => {
  const [payouts, disputes, exceptions, deliveries, endpoints, connections, fanOuts, approvals, closes] =
    await Promise.all([
      call((api) => api.payouts.list({ query: { status: "pending", limit: LIMIT } }), signal),
      call((api) => api.disputes.list({ query: { status: "open", order: "deadline", limit: LIMIT } }), signal),
      call((api) => api.exceptions.list({ query: { status: "open", limit: LIMIT } }), signal),
      call((api) => api.deliveries.list({ query: { status: "failed", limit: LIMIT } }), signal),
      call((api) => api.webhookEndpoints.listAll({ query: { failing: "true", limit: LIMIT } }), signal),
      isLimited() ? NONE : call((api) => api.connections.list({ query: { limit: LIMIT } }), signal),
      call((api) => api.outboxFailures.list({ query: { limit: LIMIT } }), signal),
      call((api) => api.approvals.list({ query: { status: "pending", limit: LIMIT } }), signal),
      call((api) => api.closes.overdue({ query: { limit: LIMIT } }), signal)
    ])
  if (payouts._tag === "Failed") return payouts
  return {
    _tag: "Done" as const,
    value: {
      payouts: payouts.value,
      disputes: rowsOf(disputes),
      exceptions: rowsOf(exceptions),
      deliveries: withoutTests(rowsOf(deliveries)),
      endpoints: rowsOf(endpoints),
      connections: rowsOf(connections),
      fanOuts: rowsOf(fanOuts),
      approvals: rowsOf(approvals),
      closes: rowsOf(closes)
    }
  }
}

interface Reason {
  readonly to: string
  /** How many, and what is wrong with them. */
  readonly what: readonly [string, string]
  readonly detail?: string | undefined
  readonly at?: ComponentChildren
  readonly label: string
}

type Waiting = Extract<Awaited<ReturnType<typeof read>>, { _tag: "Done" }>["value"]

/** Plural where there may be more. */
const countOf = ({ data, has_more }: ListOf<unknown>): Count => ({
  isOne: data.length === 1 && !has_more,
  text: `${data.length}${has_more ? "+" : ""}`
})

/** The page of the only one, else their list. */
const pathOf = ({ data, has_more }: ListOf<{ readonly id: string }>, path: string, filter: string): string =>
  data.length === 1 && !has_more ? `${path}/${data[0]!.id}` : path + filter

const sumOf = (rows: ReadonlyArray<{ readonly amount: number }>): string =>
  money(rows.reduce((sum, { amount }) => sum + amount, 0))

/** How many end within each of the hours at which people are alerted, the first to end first. */
const dueOf = ({ data }: ListOf<OperatorDispute>): ReadonlyArray<string> => {
  const left = data.flatMap((row) => row.defense_deadline_at ?? []).map((at) => Date.parse(at) - now.value)
  const within = (hours: number) => left.filter((ms) => ms >= 0 && ms < hours * HOUR_MS).length
  return DEADLINE_HOURS.toReversed().flatMap((hours, index, all) => {
    const count = within(hours)
    return count > within(all[index - 1] ?? 0) ? [todayWords().dueWithin(count, hours)] : []
  })
}

const first = (instants: ReadonlyArray<string>): string | undefined => instants.toSorted()[0]

const reasonsOf = (waiting: Waiting): ReadonlyArray<Reason> => {
  const text = todayWords()
  const { approvals, closes, connections, deliveries, disputes, endpoints, exceptions, fanOuts, payouts } = waiting
  const deadline = first(disputes.data.flatMap((row) => row.defense_deadline_at ?? []))
  const nextExpiry = first(approvals.data.map((row) => row.expires_at))
  const oldestPayout = first(payouts.data.map((row) => row.created_at))
  const oldestException = first(exceptions.data.map((row) => row.occurred_at))
  const ending = connections.data.filter(isEndingSoon)
  const certificate = first(ending.flatMap((row) => row.certificate_expires_at ?? []))
  const failed = deliveries.data[0]
  const failedAt = fanOuts.data[0]?.last_failed_at
  const unclosed = closes.data[0]
  const failingSince = first(endpoints.data.flatMap((row) => row.last_failure_at ?? []))
  const all: ReadonlyArray<readonly [ListOf<unknown>, Reason]> = [
    [
      disputes,
      {
        // The first to end.
        to: `/disputes/${disputes.data[0]?.id}`,
        what: text.disputes(countOf(disputes)),
        detail: [text.blocked(sumOf(disputes.data)), ...dueOf(disputes)].join(" · "),
        at: deadline !== undefined && <Deadline of={deadline} warnMs={DAY_MS} />,
        label: text.defend
      }
    ],
    [
      approvals,
      {
        to: "/approvals",
        what: text.approvals(countOf(approvals)),
        detail: [...new Set(approvals.data.flatMap(({ requested_by }) => requested_by?.name ?? []))].join(", "),
        at: nextExpiry !== undefined && <Deadline of={nextExpiry} warnMs={DAY_MS} />,
        label: text.decide
      }
    ],
    [
      payouts,
      {
        to: pathOf(payouts, "/payouts", "?status=pending"),
        what: text.payoutsNamed(countOf(payouts)),
        detail: sumOf(payouts.data),
        at: oldestPayout !== undefined && <Time of={oldestPayout} />,
        label: text.review
      }
    ],
    [
      exceptions,
      {
        to: pathOf(exceptions, "/exceptions", "?status=open"),
        what: text.payments(countOf(exceptions)),
        // A dispute holds no money, and money that is missing is below zero.
        detail: text.unallocated(sumOf(exceptions.data.map(({ unallocated }) => ({ amount: unallocated })))),
        at: oldestException !== undefined && <Time of={oldestException} />,
        label: text.decide
      }
    ],
    [
      closes,
      {
        to: `/closes?${new URLSearchParams(unclosed && parameterOf(booksOf(unclosed)))}`,
        what: text.closes(countOf(closes)),
        detail: unclosed && dayText(unclosed.day),
        label: text.look
      }
    ],
    [
      deliveries,
      {
        to: pathOf(deliveries, "/deliveries", "?status=failed"),
        what: text.deliveries(countOf(deliveries)),
        detail: failed?.url,
        at: failed !== undefined && <Time of={failed.created_at} />,
        label: text.look
      }
    ],
    [
      endpoints,
      {
        to: pathOf(endpoints, "/endpoints", "?failing=true"),
        what: text.endpoints(countOf(endpoints)),
        detail: endpoints.data.map(({ url }) => url).join(", "),
        at: failingSince !== undefined && <Time of={failingSince} />,
        label: text.look
      }
    ],
    [
      { data: ending, has_more: false },
      {
        to: "/connections",
        what: text.certificates(countOf({ data: ending, has_more: false })),
        detail: ending.map(({ name }) => name).join(", "),
        at: certificate !== undefined && <Deadline of={certificate} warnMs={CERTIFICATE_WARNING_MS} />,
        label: text.look
      }
    ],
    [
      fanOuts,
      {
        to: "/outbox-failures",
        what: text.fanOuts(countOf(fanOuts)),
        at: failedAt !== undefined && <Time of={failedAt} />,
        label: text.look
      }
    ]
  ]
  return all.flatMap(([rows, reason]) => (rows.data.length === 0 ? [] : [reason]))
}

const booksOf = ({ account_id, connection_id }: OverdueClose): Pick<Books, "kind" | "id"> =>
  account_id === null ? { kind: "connection", id: connection_id ?? "" } : { kind: "account", id: account_id }

export const NeedsPerson = () => {
  const { value } = useLoaded("person", read, { events: ['"event":'], every: 30, atMost: 5 })
  const text = todayWords()
  if (value === undefined) return <Card title={text.person}>{null}</Card>
  const reasons = reasonsOf(value)
  return (
    <Card title={text.person}>
      {reasons.length === 0 && <p class="quiet pad">{text.nothing}</p>}
      {reasons.length > 0 && (
        <ul class="reasons">
          {reasons.map(({ at, detail, label, to, what: [count, problem] }) => (
            <li key={to + problem}>
              <a class="row" href={to}>
                <span>
                  <b>{count}</b> {problem}
                </span>
                <span class="quiet detail" title={detail}>
                  {detail}
                </span>
                <span class="quiet nowrap right">{at}</span>
                <span class="button small" aria-hidden="true">
                  {label}
                </span>
              </a>
            </li>
          ))}
        </ul>
      )}
    </Card>
  )
}
