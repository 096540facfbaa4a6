/**
 * What this process counts and measures, in Effect's registry, from which `/metrics` and the export over OTLP read.
 *
 * Guarantees:
 * - Counters begin at 0, so that an alert sees the first increase.
 * - Connections beyond `MAX_CONNECTION_LABELS`, and unknown methods, share the label `other`.
 *
 * Series are cached, because requests update them.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import type { Sample } from "./Exposition.ts"
import { Heartbeats } from "./Heartbeats.ts"
import { catalog, declaredOf, type MetricName } from "./MetricCatalog.ts"
import { observeProcess } from "./ProcessMetrics.ts"

/**
 * `refused`: its sender was not authenticated; `shed`: too many in flight; `unavailable`: the provider or the database did
 * not answer; `foreign`: the Pix key of somebody else.
 */
export type CallbackResult = "applied" | "check" | "unknown" | "foreign" | "refused" | "shed" | "unavailable"

/** Why a connection was closed. */
export type CutReason = "connections" | "pipelined" | "unread"

/** The limit that shed a request: of all requests, of its account, of bodies, of pages or of streams. */
export type ShedReason = "all" | "account" | "bodies" | "pages" | "streams"

/** How a call to a provider ended. `unclear`: no definite answer. */
export type CallOutcome = "ok" | "refused" | "unclear"

/** A connection to a provider, as a process sees it. */
export interface SeenConnection {
  readonly id: string
  readonly isOpen: boolean
  readonly inFlight: number
  readonly certificateSeconds: number
}

type Labels = Readonly<Record<string, string>>

export class Metrics extends Context.Service<
  Metrics,
  {
    /** Sets gauges of these names. */
    readonly gauges: (values: Partial<Readonly<Record<MetricName, number>>>, labels?: Labels) => void
    /** Registers a function that sets gauges before each read. */
    readonly onRead: (update: () => void) => void
    /** What this process has now. */
    readonly read: () => ReadonlyArray<Sample>
    readonly answered: (listener: string, method: string, route: string, status: number, durationMs: number) => void
    /** Begins the counters of a listener's routes. */
    readonly routes: (
      listener: string,
      routes: ReadonlyArray<{ readonly method: string; readonly template: string }>
    ) => void
    readonly requestLinesDropped: (count: number) => void
    readonly attempt: (outcome: string, durationMs: number) => void
    readonly requestShed: (listener: string, reason: ShedReason) => void
    readonly connectionCut: (listener: string, reason: CutReason) => void
    readonly signInRefused: (reason: "token" | "limit") => void
    readonly installationTokenUsed: () => void
    /** A call to a provider. `connection` is `simulator` for the simulated one. */
    readonly acquirerCall: (connection: string, operation: string, outcome: CallOutcome, durationMs: number) => void
    readonly connections: (seen: ReadonlyArray<SeenConnection>) => void
    readonly sweepAges: (ages: ReadonlyArray<{ readonly connectionId: string; readonly seconds: number }>) => void
    readonly sweepFound: (connectionId: string, count: number) => void
    /** A callback of a provider; `connectionId` is undefined where it names none of ours. */
    readonly callback: (connectionId: string | undefined, result: CallbackResult) => void
    /** Charges or payouts that entered a state. */
    readonly entered: (resource: "charges" | "payouts", status: string, count: number, cents: number) => void
    /** A delivery, or the fan-out of a change, failed on its own. */
    readonly setAside: (kind: "delivery" | "fan-out") => void
    readonly partitionRemoved: (table: string, count?: number) => void
  }
>()("@pix-payments/server/Metrics") {
  static readonly layer = Layer.effect(
    Metrics,
    Effect.gen(function* () {
      const context = yield* Effect.context()
      const heartbeats = yield* Heartbeats
      const { add, set } = seriesIn(context)
      const connectionLabel = labelOfConnection()
      const updates: Array<() => void> = []

      for (const name of Object.keys(catalog) as ReadonlyArray<MetricName>) if (isUnlabelled(name)) add(name, {}, 0)
      for (const [name, label, values] of startingSeries) for (const value of values) add(name, { [label]: value }, 0)
      updates.push(
        yield* observeProcess({ add: (name, by) => add(name, {}, by), set: (name, to) => set(name, {}, to) })
      )
      updates.push(() => {
        for (const { isStalled, lastRoundMs, name } of heartbeats.all()) {
          set("background_loop_stalled", { loop: name }, Number(isStalled))
          if (lastRoundMs > 0) {
            set("background_loop_last_round_timestamp_seconds", { loop: name }, lastRoundMs / 1000)
          }
        }
      })

      const gauges: Metrics["Service"]["gauges"] = (values, labels = {}) => {
        for (const [name, value] of Object.entries(values)) set(name as MetricName, labels, value)
      }
      return Metrics.of({
        gauges,
        onRead: (update) => void updates.push(update),
        read: () => {
          for (const update of updates) update()
          return samplesIn(context)
        },
        answered: (listener, method, route, status, durationMs) => {
          const verb = methods.has(method) ? method : OTHER
          add("http_requests_total", { listener, method: verb, route, status: String(status) }, 1)
          const timed = listener === "public" ? route : "*"
          const kind = `${Math.floor(status / 100)}xx`
          add(
            "http_request_duration_seconds",
            { listener, method: verb, route: timed, status: kind },
            durationMs / 1000
          )
        },
        routes: (listener, routes) => {
          for (const { method, template: route } of routes) {
            for (const status of alertedStatuses) add("http_requests_total", { listener, method, route, status }, 0)
          }
          for (const reason of ["all", "account", "bodies", "pages", "streams"]) {
            add("http_requests_shed_total", { listener, reason }, 0)
          }
          for (const reason of ["connections", "pipelined", "unread"]) {
            add("http_connections_cut_total", { listener, reason }, 0)
          }
        },
        requestShed: (listener, reason) => add("http_requests_shed_total", { listener, reason }, 1),
        connectionCut: (listener, reason) => add("http_connections_cut_total", { listener, reason }, 1),
        signInRefused: (reason) => add("operator_sign_ins_refused_total", { reason }, 1),
        installationTokenUsed: () => add("operator_installation_token_uses_total", {}, 1),
        requestLinesDropped: (count) => add("request_log_dropped_total", {}, count),
        attempt: (outcome, durationMs) => {
          add("webhook_attempts_total", { outcome }, 1)
          add("webhook_attempt_duration_seconds", {}, durationMs / 1000)
        },
        acquirerCall: (id, operation, outcome, durationMs) =>
          add(
            "acquirer_call_duration_seconds",
            { connection: connectionLabel(id), operation, outcome },
            durationMs / 1000
          ),
        connections: (seen) => {
          for (const [connection, those] of Map.groupBy(seen, ({ id }) => connectionLabel(id))) {
            gauges(
              {
                acquirer_connection_circuit_open: Number(those.some(({ isOpen }) => isOpen)),
                acquirer_connection_calls_in_flight: those.reduce((sum, { inFlight }) => sum + inFlight, 0),
                acquirer_connection_certificate_seconds: Math.min(...those.map((each) => each.certificateSeconds))
              },
              { connection }
            )
            for (const result of callbackResults) add("acquirer_callbacks_total", { connection, result }, 0)
            add("acquirer_sweep_found_total", { connection }, 0)
          }
        },
        sweepAges: (ages) => {
          for (const [connection, those] of Map.groupBy(ages, ({ connectionId }) => connectionLabel(connectionId))) {
            set("acquirer_sweep_age_seconds", { connection }, Math.max(...those.map(({ seconds }) => seconds)))
          }
        },
        sweepFound: (id, count) => add("acquirer_sweep_found_total", { connection: connectionLabel(id) }, count),
        callback: (id, result) =>
          add("acquirer_callbacks_total", { connection: id === undefined ? "none" : connectionLabel(id), result }, 1),
        entered: (resource, status, count, cents) => {
          add(`${resource}_total`, { status }, count)
          add(`${resource}_cents_total`, { status }, cents)
        },
        setAside: (kind) => add("webhook_set_aside_total", { kind }, 1),
        partitionRemoved: (table, count = 1) => add("partitions_removed_total", { table }, count)
      })
    })
  )
}

/** Connections with a label: bounds the series of histograms. */
export const MAX_CONNECTION_LABELS = 10

const OTHER = "other"

/** The label of a connection. The simulator is no tenant's, and has its own. */
const labelOfConnection = () => {
  const named = new Set<string>()
  return (id: string): string => {
    if (id === "simulator" || named.has(id)) return id
    if (named.size >= MAX_CONNECTION_LABELS) return OTHER
    named.add(id)
    return id
  }
}

const methods: ReadonlySet<string> = new Set(["GET", "HEAD", "POST", "PATCH", "PUT", "DELETE", "OPTIONS"])

/** Statuses that alerts ask for. */
const alertedStatuses = ["401", "403", "429", "500", "503"]

const callbackResults: ReadonlyArray<CallbackResult> = [
  "applied",
  "foreign",
  "refused",
  "shed",
  "unavailable",
  "unknown"
]

const startingSeries: ReadonlyArray<readonly [MetricName, string, ReadonlyArray<string>]> = [
  ["operator_sign_ins_refused_total", "reason", ["token", "limit"]],
  ["webhook_set_aside_total", "kind", ["delivery", "fan-out"]],
  ["webhook_attempts_total", "outcome", ["delivered", "failed"]],
  ["charges_total", "status", ["pending", "paid", "failed"]],
  ["charges_cents_total", "status", ["pending", "paid", "failed"]],
  ["payouts_total", "status", ["processing", "completed", "failed"]],
  ["payouts_cents_total", "status", ["processing", "completed", "failed"]]
]

const unlabelled: ReadonlySet<MetricName> = new Set<MetricName>([
  "operator_installation_token_uses_total",
  "request_log_dropped_total",
  "worker_restarts_total"
])
const isUnlabelled = (name: MetricName) => unlabelled.has(name)

const durations = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

const baseOf = (name: MetricName): Metric.Metric<number, unknown> => {
  const { help: description, kind } = catalog[name]
  if (kind === "histogram") return Metric.histogram(name, { description, boundaries: durations })
  return kind === "counter"
    ? Metric.counter(name, { description, incremental: true })
    : Metric.gauge(name, { description })
}

/** A series, and those that have one label more. */
interface Series {
  metric: Metric.Metric<number, unknown> | undefined
  readonly longer: Map<string, Series>
}

/** The series of this process, each found by its name and then by the value of each label. */
const seriesIn = (context: Context.Context<never>) => {
  const root: Series = { metric: undefined, longer: new Map() }
  const update = (name: MetricName, labels: Labels, value: number): void => {
    let found = longerBy(root, name)
    for (const label in labels) found = longerBy(found, labels[label]!)
    found.metric ??= Metric.withAttributes(baseOf(name), labels)
    found.metric.updateUnsafe(value, context)
  }
  return { add: update, set: update }
}

const longerBy = ({ longer }: Series, value: string): Series => {
  const known = longer.get(value)
  if (known !== undefined) return known
  const added: Series = { metric: undefined, longer: new Map() }
  longer.set(value, added)
  return added
}

const samplesIn = (context: Context.Context<never>): ReadonlyArray<Sample> =>
  Metric.snapshotUnsafe(context).flatMap((snapshot): ReadonlyArray<Sample> => {
    const labels = snapshot.attributes ?? {}
    if (declaredOf(snapshot.id) === undefined) return []
    switch (snapshot.type) {
      case "Counter":
        return [{ name: snapshot.id, labels, value: Number(snapshot.state.count) }]
      case "Gauge":
        return [{ name: snapshot.id, labels, value: Number(snapshot.state.value) }]
      case "Histogram": {
        const { buckets, count, sum } = snapshot.state
        return [{ name: snapshot.id, labels, value: { count, sum, buckets } }]
      }
      default:
        return []
    }
  })
