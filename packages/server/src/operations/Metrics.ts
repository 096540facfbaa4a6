/**
 * What an operator's dashboards and alerts read at `/metrics`.
 *
 * Metrics are kept by Effect's registry; what many requests a second touch goes through handles made once.
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
  description: "Lines of the request log lost because the database was away for too long."
})
const attempts = Metric.counter("webhook_attempts_total", { description: "Delivery attempts, by outcome." })
const attemptDuration = Metric.histogram("webhook_attempt_duration_ms", {
  description: "How long receivers took, in milliseconds.",
  boundaries: durationsMs
})

export class Metrics extends Context.Service<
  Metrics,
  {
    readonly request: (route: string, status: number, durationMs: number) => void
    readonly requestLinesDropped: (count: number) => void
    readonly attempt: (outcome: string, durationMs: number) => void
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
        const made = Metric.withAttributes(metric, labels)
        byLabels.set(key, made)
        return made
      }
      return Metrics.of({
        request: (route, status, durationMs) => {
          labelled(requests, { route, status: String(status) }).updateUnsafe(1, context)
          labelled(requestDuration, { route }).updateUnsafe(durationMs, context)
        },
        requestLinesDropped: (count) => droppedLines.updateUnsafe(count, context),
        attempt: (outcome, durationMs) => {
          labelled(attempts, { outcome }).updateUnsafe(1, context)
          attemptDuration.updateUnsafe(durationMs, context)
        }
      })
    })
  )
}
