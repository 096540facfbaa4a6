/** Whether the service keeps up: the acquirer, deliveries, certificates, and uses of the installation's token. */
import type { AuditEntry } from "@pix-payments/api/operator/Logs"
import type { Connection } from "@pix-payments/api/operator/Connections"
import type { Stats } from "@pix-payments/api/operator/Stats"
import { shortIdOf } from "@pix-payments/domain/Uuid"
import { call } from "../../app/Client.ts"
import { useLoaded } from "../../app/Loaded.ts"
import { isLimited } from "../../app/Session.ts"
import { Card, Facts } from "../../parts/Detail.tsx"
import type { ListOf } from "../../parts/List.tsx"
import { connectionName } from "../../parts/Named.tsx"
import { State } from "../../parts/State.tsx"
import { Deadline, now, Time } from "../../parts/Time.tsx"
import { CERTIFICATE_WARNING_MS } from "../certificates.ts"
import { latenciesIn } from "./latencies.ts"
import { todayWords } from "./todayWords.ts"

/** The action of a use of the installation's token in the audit log. */
const USE = "installation.use"

const BEHIND_MS = 5 * 60_000

const percentile = (sorted: ReadonlyArray<number>, share: number): number =>
  sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0

/** Lines of the metrics of the answering process. */
const readMetrics = async (signal: AbortSignal): Promise<ReadonlyArray<string>> => {
  const answer = await fetch("/metrics", { signal })
  return (await answer.text()).split("\n")
}

const DAY_MS = 24 * 60 * 60_000

/** The uses of the installation's token in the last 24 hours, as far as the newest entries of the audit log have them. */
const usesIn = ({ data, has_more }: ListOf<AuditEntry>) => {
  const recent = data.filter(({ created_at }) => Date.parse(created_at) > now.value - DAY_MS)
  return {
    count: recent.reduce((sum, { after }) => sum + (typeof after?.["count"] === "number" ? after["count"] : 1), 0),
    hasMore: has_more && recent.length === data.length,
    last: data[0]
  }
}

const read = async (signal: AbortSignal) => {
  const [requests, connections, uses, metrics] = await Promise.all([
    call((api) => api.requests.list({ query: { route: "POST /v1/charges", limit: 100 } }), signal),
    isLimited() ? undefined : call((api) => api.connections.list({ query: { limit: 100 } }), signal),
    isLimited() ? undefined : call((api) => api.audit.list({ query: { action: USE, limit: 100 } }), signal),
    readMetrics(signal).catch(() => [])
  ])
  if (requests._tag === "Failed") return requests
  return {
    _tag: "Done" as const,
    value: {
      uses: uses?._tag === "Done" ? usesIn(uses.value) : undefined,
      latencies: latenciesIn(metrics),
      connections: connections?._tag === "Done" ? connections.value.data : [],
      durations: requests.value.data
        .filter(({ status }) => status < 400)
        .map((request) => request.duration_ms)
        .toSorted((one, other) => one - other)
    }
  }
}

export const Running = ({ stats }: { readonly stats: Stats | undefined }) => {
  const { value } = useLoaded("running", read, { every: 30 })
  const text = todayWords()
  if (value === undefined || stats === undefined) return <Card title={text.running}>{null}</Card>
  const { connections, durations, latencies, uses } = value
  // Operators who may not list the connections see its short id.
  const nameOf = (id: string) => {
    const row = connections.find((each) => each.id === id)
    return id === "simulator" ? text.simulated : row === undefined ? shortIdOf(id) : connectionName(row)
  }
  const failing = connections.find(({ state }) => state === "circuit_open" || state === "unusable")
  const [certificate] = connections.flatMap((row) => row.certificate_expires_at ?? []).toSorted()
  const { deliveries_due: due, oldest_due_at: oldest, success_rate: rate } = stats
  const isBehind = oldest !== null && now.value - Date.parse(oldest) > BEHIND_MS
  return (
    <Card title={text.running}>
      <Facts
        of={[
          [
            text.acquirer,
            <>
              {durations.length === 0 ? (
                text.noRequests
              ) : (
                <span title={text.latencyHint}>
                  {text.latency(percentile(durations, 0.5), percentile(durations, 0.99))}
                </span>
              )}{" "}
              {failing === undefined ? <span class="chip good">{text.healthy}</span> : <State of={failing.state} />}
            </>
          ],
          ...latencies.map(
            ({ connection, p50, p95 }) =>
              [
                `${text.provider}: ${nameOf(connection)}`,
                <span title={text.providerHint} key={connection}>
                  {text.providerLatency(p50, p95)}
                </span>
              ] as const
          ),
          [
            text.due,
            <>
              {due}
              {oldest !== null && (
                <>
                  , {text.oldest} <Time of={oldest} />
                </>
              )}{" "}
              {isBehind && <span class="chip warn">{text.behind}</span>}
            </>
          ],
          [text.brakes, <Brakes connections={connections} key="brakes" />],
          [text.paidOf, <PaidShare charges={stats.charges} key="paid" />],
          [text.attempts, rate !== null && `${(100 * rate).toLocaleString("pt-BR", { maximumFractionDigits: 1 })} %`],
          [text.processing, text.counts(stats.charges["processing"] ?? 0, stats.payouts["processing"] ?? 0)],
          [
            text.certificate,
            certificate !== undefined && <Deadline of={certificate} warnMs={CERTIFICATE_WARNING_MS} />
          ],
          [
            text.installation,
            uses !== undefined && (
              <a href={`/audit?action=${USE}`} title={text.usesHint}>
                {text.uses(uses.count, uses.hasMore)}
                {uses.last !== undefined && (
                  <>
                    , {text.lastUse} <Time of={uses.last.created_at} />
                    {uses.last.address !== null && ` ${text.from} ${uses.last.address}`}
                  </>
                )}
              </a>
            )
          ]
        ]}
      />
    </Card>
  )
}

/** How many of all charges were paid. */
const PaidShare = ({ charges }: Pick<Stats, "charges">) => {
  const all = Object.values(charges).reduce((sum, count) => sum + count, 0)
  const paid = ["paid", "refunded", "charged_back", "infraction"].reduce((sum, state) => sum + (charges[state] ?? 0), 0)
  if (all === 0) return <>–</>
  const share = ((100 * paid) / all).toLocaleString("pt-BR", { maximumFractionDigits: 1 })
  return (
    <>
      {share} % <span class="quiet">{todayWords().ofCharges(all)}</span>
    </>
  )
}

/** The connections that send no payouts or create no charges. The banner of every page has the installation's brakes. */
const Brakes = ({ connections }: { readonly connections: ReadonlyArray<Connection> }) => {
  const text = todayWords()
  const stopped = connections.filter((row) => row.payouts_paused || row.charges_paused)
  if (stopped.length === 0) return <>{text.noBrakes}</>
  return (
    <ul class="plain">
      {stopped.map(({ charges_paused: charges, id, name, payouts_paused: payouts }) => (
        <li key={id}>
          <a href={`/connections/${id}`}>{name}</a> {payouts && <span class="chip warn">{text.payoutsStopped}</span>}{" "}
          {charges && <span class="chip warn">{text.chargesStopped}</span>}
        </li>
      ))}
    </ul>
  )
}
