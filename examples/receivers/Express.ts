/**
 * A webhook receiver on Express. `express.raw` keeps the bytes; `express.json` before it would take them away.
 */
import { unwrap, WebhookSignatureError } from "@pix-payments/client/webhooks"
import express, { type ErrorRequestHandler } from "express"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { once, type Receiver, type ReceiverOptions } from "./Receiver.ts"

export const startExpressReceiver = async ({ onEvent, secrets }: ReceiverOptions): Promise<Receiver> => {
  const tell = once(onEvent)
  const app = express()
  // oxlint-disable-next-line oxc/no-async-endpoint-handlers -- Express 5 takes what a handler rejects with to `refuse`
  app.post("/webhooks", express.raw({ type: "application/json", limit: "1mb" }), async (request, response) => {
    const event = await unwrap({ body: request.body, headers: request.headers, secrets, toleranceMs: 300_000 })
    response.status(204).end()
    tell(event)
  })
  const refuse: ErrorRequestHandler = (error, _request, response, next) => {
    if (error instanceof WebhookSignatureError) response.status(401).end()
    else next(error)
  }
  app.use(refuse)

  const server = createServer(app)
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/webhooks`,
    close: () => {
      server.closeAllConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    }
  }
}
