/**
 * Logs, and traces and metrics when somebody collects them.
 *
 * Guarantees: without `OTEL_EXPORTER_OTLP_ENDPOINT` there is no tracer, so that the hot path pays for none;
 * logs are JSON lines unless a person reads them on a terminal; a span that ends with a failed statement tells what
 * failed and where, and not the rows that PostgreSQL names.
 *
 * Source: operator-api.md "Settings".
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
      // Exporting adds to the loggers that are there: beside them, it would take their place.
      onSome: (baseUrl) =>
        Otlp.layerJson({ baseUrl, resource: { serviceName: "pix-payments" } }).pipe(
          Layer.provide(FetchHttpClient.layer),
          (exporting) => Layer.provideMerge(discreetTracer, exporting),
          Layer.provideMerge(logging)
        )
    })
  })
)

/** Tells failures as the log does. */
const discreetTracer = Layer.effect(
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
