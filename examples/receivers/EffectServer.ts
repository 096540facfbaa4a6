/**
 * A webhook receiver on an Effect server.
 */
import { unwrap, WebhookSignatureError } from "@pix-payments/client/webhooks"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as HttpRouter from "effect/http/HttpRouter"
import * as HttpServer from "effect/http/HttpServer"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Layer from "effect/Layer"
import * as ManagedRuntime from "effect/ManagedRuntime"
import { createServer } from "node:http"
import { once, type Receiver, type ReceiverOptions } from "./Receiver.ts"

/** The delivery is not from the service. */
class Refused extends Data.TaggedError("Refused")<{
  readonly reason: WebhookSignatureError["reason"] | "unexpected"
}> {}

const routes = ({ onEvent, secrets }: ReceiverOptions) => {
  const tell = once(onEvent)
  return HttpRouter.add(
    "POST",
    "/webhooks",
    Effect.gen(function* () {
      const request = yield* HttpServerRequest.HttpServerRequest
      const body = yield* request.arrayBuffer
      const event = yield* Effect.tryPromise({
        try: () => unwrap({ body, headers: request.headers, secrets, toleranceMs: 300_000 }),
        catch: (error) => new Refused({ reason: error instanceof WebhookSignatureError ? error.reason : "unexpected" })
      })
      // Done in the background, so that the answer does not wait for it.
      yield* Effect.forkDetach(Effect.sync(() => tell(event)))
      return HttpServerResponse.empty({ status: 204 })
    }).pipe(
      Effect.catchTag("Refused", ({ reason }) =>
        Effect.succeed(HttpServerResponse.empty({ status: reason === "unexpected" ? 500 : 401 }))
      ),
      Effect.orDie
    )
  )
}

export const startEffectReceiver = async (options: ReceiverOptions): Promise<Receiver> => {
  const server = NodeHttpServer.layer(() => createServer(), { host: "127.0.0.1", port: 0 })
  const runtime = ManagedRuntime.make(
    HttpRouter.serve(routes(options), { disableLogger: true, disableListenLog: true }).pipe(Layer.provideMerge(server))
  )
  const address = await runtime.runPromise(Effect.map(HttpServer.HttpServer, ({ address }) => address))
  if (address._tag === "UnixPathAddress") throw new Error("a port was asked for")
  return { url: `http://127.0.0.1:${address.port}/webhooks`, close: () => runtime.dispose() }
}
