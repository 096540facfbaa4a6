/**
 * A webhook receiver on Hono, as it runs on Node, Bun, Deno and workers; here on Node.
 */
import { unwrap, WebhookSignatureError } from "@pix-payments/client/webhooks"
import { serve, type ServerType } from "@hono/node-server"
import { Hono } from "hono"
import { once, type Receiver, type ReceiverOptions } from "./Receiver.ts"

export const startHonoReceiver = async ({ onEvent, secrets }: ReceiverOptions): Promise<Receiver> => {
  const tell = once(onEvent)
  const app = new Hono()
  app.post("/webhooks", async (context) => {
    const event = await unwrap({
      body: await context.req.arrayBuffer(),
      headers: context.req.raw.headers,
      secrets,
      toleranceMs: 300_000
    })
    // After the answer; on workers: `context.executionCtx.waitUntil(…)`.
    setTimeout(() => tell(event))
    return context.body(null, 204)
  })
  app.onError((error, context) => context.body(null, error instanceof WebhookSignatureError ? 401 : 500))

  let server: ServerType | undefined
  const port = await new Promise<number>((resolve) => {
    server = serve({ fetch: app.fetch, hostname: "127.0.0.1", port: 0 }, (info) => resolve(info.port))
  })
  return {
    url: `http://127.0.0.1:${port}/webhooks`,
    close: () => {
      if (server !== undefined && "closeAllConnections" in server) server.closeAllConnections()
      return new Promise((resolve) => server?.close(() => resolve()))
    }
  }
}
