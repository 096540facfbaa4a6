/**
 * Logs, and the export of traces and metrics over OTLP.
 *
 * Guarantees:
 * - Without `OTEL_EXPORTER_OTLP_ENDPOINT` there is no tracer, and no cost for one.
 * - Logs are JSON lines, except on a terminal or with `LOG_FORMAT=pretty`.
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
import { withoutRows } from "./SafeCause.ts"

export const layer = Layer.unwrap(
  Effect.map(Settings, (settings) => {
    const pretty = Option.getOrElse(settings.logFormat, () => (process.stdout.isTTY ? "pretty" : "json")) === "pretty"
    const logging = Layer.mergeAll(
      Logger.layer([pretty ? Logger.consolePretty() : Logger.consoleJson]),
      Layer.succeed(References.MinimumLogLevel, levels[settings.logLevel])
    )
    return Option.match(settings.otlpEndpoint, {
      onNone: () => logging,
      // Provided on top of `logging`: merged beside it, the exporter would replace its loggers.
      onSome: (baseUrl) =>
        Otlp.layerJson({ baseUrl, resource: { serviceName: "pix-payments" } }).pipe(
          Layer.provide(FetchHttpClient.layer),
          (exporting) => Layer.provideMerge(redactingTracer, exporting),
          Layer.provideMerge(logging)
        )
    })
  })
)

/** A tracer whose spans describe failures as the log does. */
const redactingTracer = Layer.effect(
  Tracer.Tracer,
  Effect.map(Tracer.Tracer, (tracer) =>
    Tracer.make({
      span: (options) => {
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
