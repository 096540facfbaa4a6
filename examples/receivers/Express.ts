/**
 * A webhook receiver on Express. It reads the raw body itself, so it comes before `express.json`. After `express.raw` it works too.
 */
import { webhookReceiver } from "@pix-payments/client/receiver"
import express from "express"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import type { ExampleReceiver, ExampleReceiverOptions } from "./ExampleReceiver.ts"

export const startExpressReceiver = async ({
  onEvent,
  secrets,
  store
}: ExampleReceiverOptions): Promise<ExampleReceiver> => {
  const receive = webhookReceiver({ secrets, store, on: { "*": onEvent } })
  const app = express()
  app.post("/webhooks", receive.node)
  app.use(express.json())

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
