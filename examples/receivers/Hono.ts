/**
 * A webhook receiver on Hono. The route works on Node, Bun, Deno and workers; this example serves it on Node.
 */
import { webhookReceiver } from "@pix-payments/client/receiver"
import { serve, type ServerType } from "@hono/node-server"
import { Hono } from "hono"
import type { ExampleReceiver, ExampleReceiverOptions } from "./ExampleReceiver.ts"

export const startHonoReceiver = async ({
  onEvent,
  secrets,
  store
}: ExampleReceiverOptions): Promise<ExampleReceiver> => {
  const receive = webhookReceiver({ secrets, store, on: { "*": onEvent } })
  const app = new Hono()
  app.post("/webhooks", (context) => receive(context.req.raw))

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
