/**
 * Requests to `/v1` as they are answered.
 *
 * Guarantees: each request is shown once. The page keeps the newest 200, and says where more came than it asked for. A pause
 * keeps what is shown; a hidden page asks for nothing. The status and the pause are in the address.
 */
import type { RequestLogEntry } from "@pix-payments/api/operator/Logs"
import { useSignal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import { call } from "../app/Client.ts"
import { useLoaded } from "../app/Loaded.ts"
import { go, query, requestPath, withQuery } from "../app/Router.ts"
import { Card } from "../parts/Detail.tsx"
import { Table } from "../parts/List.tsx"
import { Problem } from "../parts/Problem.tsx"
import { RequestLink } from "../parts/RequestLink.tsx"
import { Time } from "../parts/Time.tsx"
import { inBoth, words } from "../words/Words.ts"

const MAX_SHOWN = 200
const PAGE = 100
const EVERY_SECONDS = 2
const STATUSES = ["2xx", "4xx", "5xx"]

const text = inBoth({
  en: {
    title: "Live tail",
    pause: "Pause",
    resume: "Resume",
    waiting: "Requests to /v1 appear here as they are answered.",
    skipped: "More requests came than are shown here.",
    log: "All requests"
  },
  pt: {
    title: "Ao vivo",
    pause: "Pausar",
    resume: "Continuar",
    waiting: "As requisições a /v1 aparecem aqui assim que são respondidas.",
    skipped: "Chegaram mais requisições do que aparecem aqui.",
    log: "Todas as requisições"
  }
})

/** The newest entries of two lists, each once, newest first. Ids are in the order of time. */
const merged = (
  shown: ReadonlyArray<RequestLogEntry>,
  arrived: ReadonlyArray<RequestLogEntry>
): ReadonlyArray<RequestLogEntry> => {
  const byId = new Map([...arrived, ...shown].map((entry) => [entry.id, entry]))
  return [...byId.values()].toSorted((one, other) => (one.id < other.id ? 1 : -1)).slice(0, MAX_SHOWN)
}

const toneOf = (status: number): string => (status >= 500 ? "chip bad" : status >= 400 ? "chip warn" : "chip good")

export const LiveTail = () => {
  const isPaused = query.value.get("paused") === "true"
  const status = query.value.get("status") ?? ""
  const entries = useSignal<ReadonlyArray<RequestLogEntry>>([])
  const hasSkipped = useSignal(false)
  const { problem, reload, value } = useLoaded(
    "tail",
    (signal) => call((api) => api.requests.list({ query: { limit: PAGE } }), signal),
    { every: EVERY_SECONDS }
  )
  useEffect(() => {
    // A link to a paused tail shows what was there as it was opened.
    if (value === undefined || (isPaused && entries.peek().length > 0)) return
    const known = new Set(entries.peek().map(({ id }) => id))
    hasSkipped.value = known.size > 0 && value.data.length === PAGE && value.data.every(({ id }) => !known.has(id))
    entries.value = merged(entries.peek(), value.data)
  }, [value, isPaused])
  const { fields } = words()
  const own = text()
  const rows = entries.value.filter((entry) => String(entry.status).startsWith(status.charAt(0)))
  return (
    <Card title={own.title} note={<a href="/requests">{own.log}</a>}>
      <div class="head pad">
        <button
          type="button"
          aria-pressed={isPaused}
          onClick={() => go(withQuery({ paused: isPaused ? undefined : "true" }))}
        >
          {isPaused ? own.resume : own.pause}
        </button>
        <label class="inline">
          {fields.status}
          <select onChange={(event) => go(withQuery({ status: event.currentTarget.value }))}>
            <option value="">{words().list.masculineAll}</option>
            {STATUSES.map((each) => (
              <option value={each} selected={each === status} key={each}>
                {each}
              </option>
            ))}
          </select>
        </label>
        {hasSkipped.value && <span class="quiet">{own.skipped}</span>}
      </div>
      {problem !== undefined && <Problem problem={problem} retry={reload} />}
      {rows.length === 0 && <p class="quiet pad">{own.waiting}</p>}
      {rows.length > 0 && (
        <div class="tail" tabIndex={0} role="log" aria-label={own.title}>
          <Table
            rows={rows}
            linkOf={(entry) => requestPath(entry.request_id)}
            columns={[
              { name: fields.route, cell: ({ route }) => route },
              { name: fields.status, cell: (entry) => <span class={toneOf(entry.status)}>{entry.status}</span> },
              { name: fields.duration, cell: (entry) => `${entry.duration_ms} ms`, right: true, wide: true },
              { name: fields.request, cell: (entry) => <RequestLink id={entry.request_id} />, wide: true },
              { name: fields.created, cell: (entry) => <Time of={entry.created_at} />, right: true }
            ]}
          />
        </div>
      )}
    </Card>
  )
}
