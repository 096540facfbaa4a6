/**
 * Logs, and the export of traces and metrics over OTLP.
 *
 * Guarantees:
 * - Without `OTEL_EXPORTER_OTLP_ENDPOINT` there is no tracer, and no cost for one.
 * - Each log line, and what is exported, has the cell where there is one.
 * - Logs are JSON lines, except on a terminal or with `LOG_FORMAT=pretty`. A JSON line says which release and which process wrote it.
 * - What is not in the trace of a sampled request is not exported (`Tracing.ts`): an idle process sends no spans.
 * - Spans describe failed statements as the log does (`SafeCause`).
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Otlp from "effect/observability/Otlp"
import * as Option from "effect/Option"
import * as References from "effect/References"
import * as Tracer from "effect/Tracer"
import { Settings } from "../Settings.ts"
import { version } from "../Version.ts"
import * as BackgroundLoop from "./BackgroundLoop.ts"
import { Metrics } from "./Metrics.ts"
import { withoutRows } from "./SafeCause.ts"
import { isExported } from "./Tracing.ts"

export const layer = Layer.unwrap(
  Effect.map(Settings, (settings) => {
    const pretty = Option.getOrElse(settings.logFormat, () => (process.stdout.isTTY ? "pretty" : "json")) === "pretty"
    const cell = Option.match(settings.cell, { onNone: () => ({}), onSome: (name) => ({ cell: name }) })
    const logging = Layer.mergeAll(
      Logger.layer([pretty ? Logger.consolePretty() : Logger.consoleJson]),
      Layer.succeed(References.MinimumLogLevel, levels[settings.logLevel]),
      Layer.succeed(References.CurrentLogAnnotations, pretty ? cell : { version, pid: process.pid, ...cell })
    )
    return Option.match(settings.otlpEndpoint, {
      onNone: () => logging,
      // Provided on top of `logging`: merged beside it, the exporter would replace its loggers.
      onSome: (baseUrl) =>
        Otlp.layerJson({
          baseUrl,
          resource: { serviceName: settings.otelServiceName, serviceVersion: version, attributes: cell },
          metricsExportInterval: EXPORT_EVERY
        }).pipe(
          Layer.provide(FetchHttpClient.layer),
          (exporting) => Layer.provideMerge(exportingTracer, exporting),
          Layer.provideMerge(logging)
        )
    })
  })
)

/** Sets the gauges that are otherwise set when somebody scrapes, as often as metrics are exported. */
export const gaugesLoop = Layer.effectDiscard(
  Effect.gen(function* () {
    const { otlpEndpoint } = yield* Settings
    const { read } = yield* Metrics
    if (Option.isNone(otlpEndpoint)) return
    const round = Effect.sync(() => {
      read()
      return 0
    })
    yield* Effect.forkScoped(BackgroundLoop.run("gauges of telemetry", round, Effect.sleep(EXPORT_EVERY)))
  })
)

const EXPORT_EVERY = "10 seconds"

/** A tracer that exports the spans of sampled requests, which describe failures as the log does. */
const exportingTracer = Layer.effect(
  Tracer.Tracer,
  Effect.map(Tracer.Tracer, (tracer) =>
    Tracer.make({
      span: (options) => {
        if (!isExported(options)) return new Tracer.NativeSpan({ ...options, sampled: false })
        const span = tracer.span(options)
        const { end } = span
        span.end = (endTime, exit) =>
          end.call(span, endTime, Exit.isSuccess(exit) ? exit : Exit.failCause(withoutRows(exit.cause)))
        return span
      },
      ...(tracer.context === undefined ? undefined : { context: tracer.context })
    })
  )
)

const levels = { debug: "Debug", info: "Info", warn: "Warn", error: "Error", none: "None" } as const
