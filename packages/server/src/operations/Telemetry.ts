/**
 * Logs, and traces and metrics when somebody collects them.
 *
 * Guarantees: without `OTEL_EXPORTER_OTLP_ENDPOINT` there is no tracer, so that the hot path pays for none;
 * logs are JSON lines unless a person reads them on a terminal.
 *
 * Source: operator-api.md "Settings".
 */
import * as Effect from "effect/Effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Otlp from "effect/observability/Otlp"
import * as Option from "effect/Option"
import * as References from "effect/References"
import { Settings } from "../Settings.ts"

export const layer = Layer.unwrap(
  Effect.map(Settings, (settings) => {
    const pretty = Option.getOrElse(settings.logFormat, () => (process.stdout.isTTY ? "pretty" : "json")) === "pretty"
    const logging = Layer.mergeAll(
      Logger.layer([pretty ? Logger.consolePretty() : Logger.consoleJson]),
      Layer.succeed(References.MinimumLogLevel, levels[settings.logLevel])
    )
    return Option.match(settings.otlpEndpoint, {
      onNone: () => logging,
      onSome: (baseUrl) =>
        Layer.merge(
          logging,
          Otlp.layerJson({ baseUrl, resource: { serviceName: "pix-payments" } }).pipe(
            Layer.provide(FetchHttpClient.layer)
          )
        )
    })
  })
)

const levels = { debug: "Debug", info: "Info", warn: "Warn", error: "Error", none: "None" } as const
