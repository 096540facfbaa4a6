/**
 * A webhook receiver on node:http.
 */
import { webhookReceiver } from "@pix-payments/client/receiver"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import type { ExampleReceiver, ExampleReceiverOptions } from "./ExampleReceiver.ts"

export const startNodeHttpReceiver = async ({
  onEvent,
  secrets,
  store
}: ExampleReceiverOptions): Promise<ExampleReceiver> => {
  const receive = webhookReceiver({ secrets, store, on: { "*": onEvent } })
  // oxlint-disable-next-line typescript/no-misused-promises -- it never rejects
  const server = createServer(receive.node)
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
