/**
 * The public listener: `/v1`, its OpenAPI document and its reference page.
 */
import { openApiDocument, webhookBodies } from "@pix-payments/api/OpenApiDocument"
import { PaymentsApi } from "@pix-payments/api/PaymentsApi"
import * as ByteSize from "effect/ByteSize"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as HttpApiScalar from "effect/http-api/HttpApiScalar"
import * as OpenApi from "effect/http-api/OpenApi"
import { MaxBodySize } from "effect/http/HttpIncomingMessage"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Layer from "effect/Layer"
import { Settings } from "../Settings.ts"
import * as AccountHandlers from "./AccountHandlers.ts"
import * as Authentication from "./Authentication.ts"
import * as ChargeHandlers from "./ChargeHandlers.ts"
import * as Edge from "./Edge.ts"
import { jsonResponse } from "./Json.ts"
import * as KeyRateLimit from "./KeyRateLimit.ts"
import * as Listener from "./Listener.ts"
import * as PayoutHandlers from "./PayoutHandlers.ts"
import * as RequestErrors from "./RequestErrors.ts"
import * as RequestLog from "./RequestLog.ts"
import * as WebhookHandlers from "./WebhookHandlers.ts"

/** 256 KiB, for every request body of both listeners. */
export const MAX_BODY = ByteSize.kibibytes(256)

const document = openApiDocument(PaymentsApi, webhookBodies)

// The page shows the same document as /openapi.json.
const documentedApi = PaymentsApi.annotate(OpenApi.Transform, () => document)

const routes = Layer.mergeAll(
  HttpApiBuilder.layer(PaymentsApi).pipe(
    Layer.provide([ChargeHandlers.layer, PayoutHandlers.layer, AccountHandlers.layer, WebhookHandlers.layer]),
    Layer.provide([Authentication.layer, RequestErrors.layer])
  ),
  HttpRouter.add("GET", "/openapi.json", Effect.succeed(jsonResponse(document, 200))),
  HttpApiScalar.layer(documentedApi, { path: "/docs", scalar: { withDefaultFonts: false } }),
  Edge.layer([...Edge.pathsOf(PaymentsApi), Edge.page("/openapi.json"), Edge.page("/docs")])
)

export const layer = Layer.unwrap(
  Effect.map(Settings, ({ host, port }) =>
    HttpRouter.serve(routes, {
      disableLogger: true,
      disableListenLog: true,
      routerConfig: Listener.routing
    }).pipe(
      Layer.provide([Listener.layer("public", { host, port }), KeyRateLimit.KeyRateLimit.layer]),
      Layer.provide(RequestLog.RequestLog.layer),
      Layer.provide(Layer.succeed(MaxBodySize, MAX_BODY))
    )
  )
)
