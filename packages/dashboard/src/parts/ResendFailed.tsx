/**
 * Resends failed deliveries: those of an endpoint, a resource or the list with its filters, of one event, since an instant.
 *
 * Guarantees:
 * - The dialog shows how many deliveries the form's present values mean. Only a filter that was counted can be sent.
 * - It sends all of them, however many requests that takes, or says how many it sent.
 */
import type { ResendFailed as ResendPayload } from "@pix-payments/api/operator/Deliveries"
import { eventCatalog } from "@pix-payments/domain/EventCatalog"
import { type Signal, useSignal } from "@preact/signals"
import { call, type Outcome } from "../app/Client.ts"
import { useLoaded } from "../app/Loaded.ts"
import { instantOf, localTime, zoneLabel } from "../format/Time.ts"
import { inBoth } from "../words/Words.ts"
import { Action } from "./Action.tsx"
import { type Field, refusal, textIn, type Values } from "./Form.tsx"
import { Problem, textOf } from "./Problem.tsx"
import { now } from "./Time.tsx"

const DAY_MS = 24 * 60 * 60 * 1000

/** A count begins this long after the last key. */
const TYPING_MS = 250

/** Instead of a filter, where the instant cannot be read. */
const NO_INSTANT = "no instant"

const EVENTS = eventCatalog.flatMap(({ dispatched, event }) => (dispatched ? [event] : []))

interface Props {
  readonly label?: string
  /** Which deliveries only, beside what the form asks for. */
  readonly filters?: Filters
  /** The endpoints that the form offers, by their ids. */
  readonly endpoints?: ReadonlyArray<{ readonly id: string; readonly url: string }>
  /** Whether the form offers all endpoints at once, those of other accounts included. */
  readonly isOfAll?: boolean
  readonly event?: string | undefined
  readonly isSmall?: boolean
  readonly onDone: () => void
}

type Filters = Omit<ResendPayload, "dry_run" | "event" | "since" | "status">

/** The filter that the form means; undefined where its instant is none. */
const filterOf = ({ filters = {} }: Props, values: Values): ResendPayload | undefined => {
  const since = textIn(values, "since")
  const instant = since === undefined ? null : instantOf(since)
  const event = EVENTS.find((each) => each === textIn(values, "event"))
  return instant === undefined
    ? undefined
    : {
        ...filters,
        endpoint_id: textIn(values, "endpoint_id") ?? filters.endpoint_id ?? null,
        event: event ?? null,
        since: instant
      }
}

interface Counted {
  readonly filter: ResendPayload
  readonly count: number
  readonly hasMore: boolean
}

const fieldsOf = ({ endpoints, event, filters = {}, isOfAll = false }: Props): ReadonlyArray<Field> => {
  const text = resendWords()
  const isBounded = Object.values(filters).some((value) => value !== null)
  const endpointField: Field | undefined = endpoints && {
    name: "endpoint_id",
    label: text.endpoint,
    kind: "choice",
    options: [...(isOfAll ? [""] : []), ...endpoints.map(({ id }) => id)],
    nameOf: (id) => endpoints.find((each) => each.id === id)?.url ?? text.allEndpoints,
    isOptional: isOfAll
  }
  return [
    ...(endpointField === undefined ? [] : [endpointField]),
    {
      name: "since",
      label: text.since(zoneLabel()),
      hint: isBounded ? text.sinceHint : text.sinceNeeded,
      kind: "instant",
      isOptional: isBounded,
      ...(!isBounded && { initial: localTime(now.peek() - DAY_MS) })
    },
    {
      name: "event",
      label: text.event,
      kind: "choice",
      options: ["", ...EVENTS],
      nameOf: (name) => (name === "" ? text.allEvents : name),
      initial: event,
      isOptional: true
    }
  ]
}

export const ResendFailed = (props: Props) => {
  const text = resendWords()
  const filter = useSignal<ResendPayload | typeof NO_INSTANT | undefined>(undefined)
  const counted = useSignal<Counted | undefined>(undefined)
  /** How many were sent so far, while they are. */
  const sent = useSignal<number | undefined>(undefined)
  const asked = filter.value
  return (
    <Action
      label={props.label ?? text.label}
      isSmall={props.isSmall ?? false}
      fields={fieldsOf(props)}
      onValues={(values) => {
        const asked = values && (filterOf(props, values) ?? NO_INSTANT)
        if (JSON.stringify(asked) !== JSON.stringify(filter.peek())) filter.value = asked
        if (values === undefined) counted.value = undefined
      }}
      canSubmit={counted.value !== undefined && asked === counted.value.filter}
      question={
        asked === NO_INSTANT ? (
          text.sinceNeeded
        ) : sent.value !== undefined ? (
          <span role="status">{text.sent(sent.value)}</span>
        ) : asked === undefined ? (
          text.counting
        ) : (
          <Count filter={asked} counted={counted} />
        )
      }
      run={async () => {
        if (counted.value === undefined) return refusal("since")
        const outcome = await resendAll(counted.value.filter, (count) => {
          sent.value = count
        })
        // What is left is counted again.
        if (sent.value !== undefined) counted.value = undefined
        sent.value = undefined
        if (outcome._tag === "Failed") props.onDone()
        return outcome
      }}
      onDone={props.onDone}
    />
  )
}

/** Sends all that meet the filter, with as many requests as it takes. Of a part it says how many were sent. */
const resendAll = async (filter: ResendPayload, onSent: (count: number) => void): Promise<Outcome<null>> => {
  const incomplete = (message: string) =>
    ({ _tag: "Failed", problem: { code: "INCOMPLETE", message, details: [] } }) as const
  for (let sent = 0; ;) {
    const outcome = await call((api) => api.deliveryActions.resendFailed({ payload: filter }))
    if (outcome._tag === "Failed") {
      return sent === 0 ? outcome : incomplete(`${resendWords().sent(sent)} ${textOf(outcome.problem)}`)
    }
    const { count, has_more: hasMore } = outcome.value
    sent += count
    if (!hasMore) return { _tag: "Done", value: null }
    // Those of a deleted endpoint stay failed: every further request would find them.
    if (count === 0) return incomplete(`${resendWords().sent(sent)} ${resendWords().left}`)
    onSent(sent)
  }
}

/** Counts while the dialog is open. A number of other values is not shown. */
const Count = ({
  counted,
  filter
}: {
  readonly filter: ResendPayload
  readonly counted: Signal<Counted | undefined>
}) => {
  const { problem } = useLoaded(JSON.stringify(filter), async (signal) => {
    await delay(TYPING_MS)
    signal.throwIfAborted()
    const outcome = await call(
      (api) => api.deliveryActions.resendFailed({ payload: { ...filter, dry_run: true } }),
      signal
    )
    if (outcome._tag === "Done") {
      counted.value = { filter, count: outcome.value.count, hasMore: outcome.value.has_more }
    }
    return outcome
  })
  const text = resendWords()
  if (problem !== undefined) return <Problem problem={problem} />
  const result = counted.value?.filter === filter ? counted.value : undefined
  return <span role="status">{result === undefined ? text.counting : text.count(result.count, result.hasMore)}</span>
}

const delay = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

const resendWords = inBoth({
  en: {
    label: "Resend failed",
    endpoint: "Endpoint",
    since: (zone: string) => `Created since (${zone})`,
    sinceHint: "A date and a time. Empty: all failed deliveries.",
    sinceNeeded: "A date and a time.",
    allEndpoints: "all endpoints",
    event: "Event",
    allEvents: "all events",
    counting: "Counting the failed deliveries…",
    count: (count: number, hasMore: boolean) =>
      `Failed deliveries: ${hasMore ? "at least " : ""}${count}. Each makes one attempt at once.`,
    sent: (count: number) => `Resent: ${count}.`,
    left: "More are left: their endpoints were deleted, or they are older. Narrow the filter."
  },
  pt: {
    label: "Reenviar recusadas",
    endpoint: "Endpoint",
    since: (zone) => `Criadas desde (${zone})`,
    sinceHint: "Uma data e um horário. Vazio: todas as entregas recusadas.",
    sinceNeeded: "Uma data e um horário.",
    allEndpoints: "todos os endpoints",
    event: "Evento",
    allEvents: "todos os eventos",
    counting: "Contando as entregas recusadas…",
    count: (count, hasMore) =>
      `Entregas recusadas: ${hasMore ? "pelo menos " : ""}${count}. Cada uma faz uma tentativa na hora.`,
    sent: (count) => `Reenviadas: ${count}.`,
    left: "Restam outras: seus endpoints foram excluídos, ou são mais antigas. Restrinja o filtro."
  }
})
