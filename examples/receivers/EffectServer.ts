/**
 * A webhook receiver on Effect's HTTP server.
 */
import { webhookReceiver } from "@pix-payments/client/receiver"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServer from "effect/http/HttpServer"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import { createServer } from "node:http"
import type { ExampleReceiver, ExampleReceiverOptions } from "./ExampleReceiver.ts"

const routes = ({ onEvent, secrets, store }: ExampleReceiverOptions) => {
  const receive = webhookReceiver({ secrets, store, on: { "*": onEvent } })
  return HttpRouter.add(
    "POST",
    "/webhooks",
    Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const body = yield* request.arrayBuffer
      const status = yield* Effect.promise(() => receive.status(body, request.headers))
      return HttpServerResponse.empty({ status })
    }).pipe(Effect.orDie)
  )
}

export const startEffectReceiver = async (options: ExampleReceiverOptions): Promise<ExampleReceiver> => {
  const server = NodeHttpServer.layer(() => createServer(), { host: "127.0.0.1", port: 0 })
  const runtime = ManagedRuntime.make(
    HttpRouter.serve(routes(options), { disableLogger: true, disableListenLog: true }).pipe(Layer.provideMerge(server))
  )
  const address = await runtime.runPromise(Effect.map(HttpServer.HttpServer, ({ address }) => address))
  if (address._tag === "UnixPathAddress") throw new Error("The server listens on a Unix socket instead of a port")
  return { url: `http://127.0.0.1:${address.port}/webhooks`, close: () => runtime.dispose() }
}
