/**
 * The metrics of `/metrics`, in Effect's registry. Labelled metrics are cached, because requests update them.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"

const durationsMs = Metric.boundariesFromIterable([1, 2.5, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000])

const requests = Metric.counter("http_requests_total", { description: "Requests of /v1, by route and status." })
const requestDuration = Metric.histogram("http_request_duration_ms", {
  description: "How long requests of /v1 took, in milliseconds.",
  boundaries: durationsMs
})
const droppedLines = Metric.counter("request_log_dropped_total", {
  description: "Request log lines dropped because the database was away too long."
})
const attempts = Metric.counter("webhook_attempts_total", { description: "Delivery attempts, by outcome." })
const attemptDuration = Metric.histogram("webhook_attempt_duration_ms", {
  description: "How long receivers took, in milliseconds.",
  boundaries: durationsMs
})

const requestsInFlight = Metric.gauge("http_requests_in_flight", {
  description: "Requests in flight, by listener."
})
const openStreams = Metric.gauge("http_streams", { description: "Streams that callers read, by listener." })
const requestsShed = Metric.counter("http_requests_shed_total", {
  description: "Requests answered 503 because a limit was reached, by listener and limit."
})
const openConnections = Metric.gauge("http_connections", { description: "Open connections, by listener." })
const unsentAnswers = Metric.gauge("http_answers_unsent", {
  description: "Answers that callers have not read yet, by listener."
})
const connectionsCut = Metric.counter("http_connections_cut_total", {
  description: "Connections closed because a bound was exceeded, by listener and bound."
})
const signInsRefused = Metric.counter("operator_sign_ins_refused_total", {
  description: "Refused sign-ins of operators, by reason."
})

const installationTokenUses = Metric.counter("operator_installation_token_uses_total", {
  description: "Requests with the installation's token, which is for the first admin and for emergencies."
})

const outwardOn = Metric.gauge("outward_on", {
  description: "1 where this process calls banks and receivers of webhooks; 0 where it calls nobody."
})
const residentBytes = Metric.gauge("process_resident_memory_bytes", {
  description: "Resident memory of the process."
})

const circuitOpen = Metric.gauge("acquirer_connection_circuit_open", {
  description: "1 while the circuit of a connection is open: nothing is sent to its provider."
})
const connectionInFlight = Metric.gauge("acquirer_connection_calls_in_flight", {
  description: "Calls to the provider of a connection that are in flight."
})
const acquirerCallDuration = Metric.histogram("acquirer_call_duration_ms", {
  description: "How long calls to the acquirer took, in milliseconds, by connection and operation.",
  boundaries: durationsMs
})
const certificateSeconds = Metric.gauge("acquirer_connection_certificate_seconds", {
  description: "Seconds until the end of the client certificate of a connection."
})
const sweepAge = Metric.gauge("acquirer_sweep_age_seconds", {
  description: "Seconds since the end of the last complete sweep of a connection."
})
const sweepFound = Metric.counter("acquirer_sweep_found_total", {
  description: "Notifications that a sweep applied because no callback had, by connection."
})
const callbacks = Metric.counter("acquirer_callbacks_total", {
  description: "Callbacks of providers, by connection and result."
})

/**
 * `refused`: its sender was not authenticated; `shed`: too many in flight; `unavailable`: the provider or the database did
 * not answer; `foreign`: the Pix key of somebody else.
 */
export type CallbackResult = "applied" | "check" | "unknown" | "foreign" | "refused" | "shed" | "unavailable"

const unmatchedLines = Metric.gauge("bank_reconciliation_unmatched_lines", {
  description: "Lines of banks' statements or of the books that the other side lacks or has otherwise."
})
const unmatchedCents = Metric.gauge("bank_reconciliation_unmatched_cents", {
  description: "The cents of these lines, without their signs."
})
const oldestUnmatched = Metric.gauge("bank_reconciliation_oldest_unmatched_seconds", {
  description: "The age of the oldest of these lines: since the end of its day. 0 where there is none."
})
const openExceptions = Metric.gauge("acquirer_exceptions_open", {
  description: "Open exceptions: money, or claims on money, that fit no charge, by kind."
})
const unallocatedCents = Metric.gauge("acquirer_unallocated_cents", {
  description: "Cents in the ledger account `unallocated` of all connections."
})

/** Why a connection was closed. */
export type CutReason = "connections" | "pipelined" | "unread"

/** The limit that shed a request: of all requests, of its account, of bodies, of pages or of streams. */
export type ShedReason = "all" | "account" | "bodies" | "pages" | "streams"

const setAside = Metric.counter("webhook_set_aside_total", {
  description: "Changes and deliveries that failed on their own and were set aside, by kind."
})

const partitionsAhead = Metric.gauge("partitions_ahead_seconds", {
  description: "For how long the partitions of a table reach into the future."
})
const partitionsExpired = Metric.gauge("partitions_expired", {
  description: "Partitions of a table that are older than its retention and not removed."
})
const partitionsRemoved = Metric.counter("partitions_removed_total", {
  description: "Partitions of a table that this process removed."
})

export class Metrics extends Context.Service<
  Metrics,
  {
    readonly request: (route: string, status: number, durationMs: number) => void
    readonly requestLinesDropped: (count: number) => void
    readonly attempt: (outcome: string, durationMs: number) => void
    readonly requestShed: (listener: string, reason: ShedReason) => void
    readonly connectionCut: (listener: string, reason: CutReason) => void
    readonly signInRefused: (reason: "token" | "limit") => void
    readonly installationTokenUsed: () => void
    /** Registers gauges that are read at each scrape. */
    readonly requestsInFlight: (listener: string, read: () => number) => void
    readonly outward: (isOn: () => boolean) => void
    readonly streams: (listener: string, read: () => number) => void
    readonly listener: (
      name: string,
      read: { readonly connections: () => number; readonly unsent: () => number }
    ) => void
    readonly unmatchedLines: (unmatched: {
      readonly lines: number
      readonly cents: number
      readonly oldestSeconds: number
    }) => void
    readonly exceptions: (openByKind: ReadonlyMap<string, number>, unallocated: number) => void
    /** Updates the gauges. */
    readonly scrape: Effect.Effect<void>
    /** A call to a provider, whatever its outcome. `connection` is `simulator` for the simulated one. */
    readonly acquirerCall: (connection: string, operation: string, durationMs: number) => void
    /** What a process sees of a connection to a provider. */
    readonly connection: (
      id: string,
      seen: { readonly isOpen: boolean; readonly inFlight: number; readonly certificateSeconds: number }
    ) => void
    /** Registers the ages of the sweeps, which are read at each scrape. */
    readonly sweepAges: (read: () => ReadonlyArray<{ readonly connectionId: string; readonly seconds: number }>) => void
    readonly sweepFound: (connectionId: string, count: number) => void
    /** A callback of a provider; `connectionId` is undefined where it names none of ours. */
    readonly callback: (connectionId: string | undefined, result: CallbackResult) => void
    /** A delivery, or the fan-out of a change, failed on its own. */
    readonly deliverySetAside: () => void
    readonly fanOutSetAside: () => void
    readonly partitions: (table: string, seen: { readonly aheadSeconds: number; readonly expired: number }) => void
    readonly partitionRemoved: (table: string) => void
  }
>()("@pix-payments/server/Metrics") {
  static readonly layer = Layer.effect(
    Metrics,
    Effect.map(Effect.context(), (context) => {
      const byLabels = new Map<string, Metric.Metric<number, unknown>>()
      const labelled = (metric: Metric.Metric<number, unknown>, labels: Record<string, string>) => {
        const key = `${metric.id}|${Object.values(labels).join("|")}`
        const found = byLabels.get(key)
        if (found !== undefined) return found
        const added = Metric.withAttributes(metric, labels)
        byLabels.set(key, added)
        return added
      }
      const gauges: Array<() => void> = [() => residentBytes.updateUnsafe(process.memoryUsage.rss(), context)]
      const add = (metric: Metric.Metric<number, unknown>, labels: Record<string, string>, by: number) =>
        labelled(metric, labels).updateUnsafe(by, context)
      // Start at 0, so that an alert sees the first increase.
      for (const reason of ["token", "limit"]) add(signInsRefused, { reason }, 0)
      installationTokenUses.updateUnsafe(0, context)
      for (const kind of ["delivery", "fan-out"]) add(setAside, { kind }, 0)

      return Metrics.of({
        requestShed: (listener, reason) => add(requestsShed, { listener, reason }, 1),
        connectionCut: (listener, reason) => add(connectionsCut, { listener, reason }, 1),
        signInRefused: (reason) => add(signInsRefused, { reason }, 1),
        installationTokenUsed: () => installationTokenUses.updateUnsafe(1, context),
        requestsInFlight: (listener, read) => {
          for (const reason of ["all", "account", "bodies", "pages", "streams"])
            add(requestsShed, { listener, reason }, 0)
          gauges.push(() => add(requestsInFlight, { listener }, read()))
        },
        outward: (isOn) => void gauges.push(() => outwardOn.updateUnsafe(Number(isOn()), context)),
        streams: (listener, read) => void gauges.push(() => add(openStreams, { listener }, read())),
        listener: (listener, { connections, unsent }) => {
          for (const reason of ["connections", "pipelined", "unread"]) add(connectionsCut, { listener, reason }, 0)
          gauges.push(() => {
            add(openConnections, { listener }, connections())
            add(unsentAnswers, { listener }, unsent())
          })
        },
        unmatchedLines: ({ cents, lines, oldestSeconds }) => {
          unmatchedLines.updateUnsafe(lines, context)
          unmatchedCents.updateUnsafe(cents, context)
          oldestUnmatched.updateUnsafe(oldestSeconds, context)
        },
        exceptions: (openByKind, unallocated) => {
          for (const [kind, count] of openByKind) add(openExceptions, { kind }, count)
          unallocatedCents.updateUnsafe(unallocated, context)
        },
        scrape: Effect.sync(() => {
          for (const update of gauges) update()
        }),
        acquirerCall: (connection, operation, durationMs) =>
          labelled(acquirerCallDuration, { connection, operation }).updateUnsafe(durationMs, context),
        connection: (connection, seen) => {
          add(circuitOpen, { connection }, Number(seen.isOpen))
          add(connectionInFlight, { connection }, seen.inFlight)
          add(certificateSeconds, { connection }, seen.certificateSeconds)
        },
        sweepAges: (read) => {
          gauges.push(() => {
            for (const { connectionId, seconds } of read()) add(sweepAge, { connection: connectionId }, seconds)
          })
        },
        sweepFound: (connection, count) => add(sweepFound, { connection }, count),
        callback: (connection = "none", result) => add(callbacks, { connection, result }, 1),
        request: (route, status, durationMs) => {
          labelled(requests, { route, status: String(status) }).updateUnsafe(1, context)
          labelled(requestDuration, { route }).updateUnsafe(durationMs, context)
        },
        requestLinesDropped: (count) => droppedLines.updateUnsafe(count, context),
        attempt: (outcome, durationMs) => {
          labelled(attempts, { outcome }).updateUnsafe(1, context)
          attemptDuration.updateUnsafe(durationMs, context)
        },
        deliverySetAside: () => add(setAside, { kind: "delivery" }, 1),
        fanOutSetAside: () => add(setAside, { kind: "fan-out" }, 1),
        partitions: (table, { aheadSeconds, expired }) => {
          add(partitionsAhead, { table }, aheadSeconds)
          add(partitionsExpired, { table }, expired)
          add(partitionsRemoved, { table }, 0)
        },
        partitionRemoved: (table) => add(partitionsRemoved, { table }, 1)
      })
    })
  )
}
