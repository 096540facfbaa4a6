/**
 * The operator listener: `/operator/v1`, health and metrics.
 */
import { OperatorApi } from "@pix-payments/api/OperatorApi"
import { openApiDocument } from "@pix-payments/api/OpenApiDocument"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { MaxBodySize } from "effect/http/HttpIncomingMessage"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as UrlParams from "effect/http/UrlParams"
import * as Layer from "effect/Layer"
import * as PrometheusMetrics from "effect/observability/PrometheusMetrics"
import * as Health from "./Health.ts"
import { Metrics } from "../../observability/Metrics.ts"
import { Settings } from "../../Settings.ts"
import * as Edge from "../Edge.ts"
import { jsonResponse } from "../Json.ts"
import * as Listener from "../Listener.ts"
import * as AccountsHandlers from "./AccountHandlers.ts"
import * as ChargesHandlers from "./ChargeHandlers.ts"
import * as DeliveriesHandlers from "./DeliveryHandlers.ts"
import * as DisputesHandlers from "./DisputeHandlers.ts"
import * as LedgerHandlers from "./LedgerHandlers.ts"
import * as LogsHandlers from "./LogHandlers.ts"
import * as PayoutsHandlers from "./PayoutHandlers.ts"
import * as SimulatorHandlers from "./SimulatorHandlers.ts"
import { MAX_BODY } from "../RequestBody.ts"
import * as OperatorAuthentication from "./OperatorAuthentication.ts"
import * as RequestErrors from "../RequestErrors.ts"

const document = openApiDocument(OperatorApi)

const metricsRoute = HttpRouter.use((router) =>
  Effect.flatMap(Metrics, ({ scrape }) =>
    router.add(
      "GET",
      "/metrics",
      Effect.map(Effect.andThen(scrape, PrometheusMetrics.format({ prefix: "pix_payments" })), (text) =>
        HttpServerResponse.text(text, { contentType: "text/plain; version=0.0.4; charset=utf-8" })
      )
    )
  )
)

const routes = Layer.mergeAll(
  HttpApiBuilder.layer(OperatorApi).pipe(
    Layer.provide([
      AccountsHandlers.layer,
      ChargesHandlers.layer,
      PayoutsHandlers.layer,
      DisputesHandlers.layer,
      DeliveriesHandlers.layer,
      LedgerHandlers.layer,
      LogsHandlers.layer,
      SimulatorHandlers.layer
    ]),
    Layer.provide([OperatorAuthentication.layer, RequestErrors.layer])
  ),
  HttpRouter.add("GET", "/operator/openapi.json", Effect.succeed(jsonResponse(document, 200))),
  Health.routes,
  metricsRoute,
  Edge.layer([
    ...Edge.pathsOf(OperatorApi),
    ...["/operator/openapi.json", "/health/live", "/health/ready", "/metrics"].map(Edge.page)
  ])
)

export const layer = Layer.unwrap(
  Effect.map(Settings, ({ operatorHost, operatorPort }) =>
    HttpRouter.serve(routes, {
      disableLogger: true,
      disableListenLog: true,
      routerConfig: Listener.routing
    }).pipe(
      Layer.provide(Listener.layer({ host: operatorHost, port: operatorPort })),
      Layer.provide(Layer.succeed(MaxBodySize, MAX_BODY)),
      // What an operator looks for may be a payer's: traces tell its name and not its value.
      Layer.provide(Layer.succeed(UrlParams.CurrentRedactedNames, [/^/]))
    )
  )
)
