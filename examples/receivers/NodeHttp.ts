/**
 * A webhook receiver on node:http.
 */
import { unwrap, WebhookSignatureError } from "@pix-payments/client/webhooks"
import { createServer, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import { once, type Receiver, type ReceiverOptions } from "./Receiver.ts"

export const startNodeHttpReceiver = async ({ onEvent, secrets }: ReceiverOptions): Promise<Receiver> => {
  const tell = once(onEvent)
  const server = createServer(async (request, response) => {
    try {
      const event = await unwrap({
        body: await rawBody(request),
        headers: request.headers,
        secrets,
        toleranceMs: 300_000
      })
      response.writeHead(204).end()
      tell(event)
    } catch (error) {
      response.writeHead(error instanceof WebhookSignatureError ? 401 : 500).end()
    }
  })
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

const rawBody = async (request: IncomingMessage): Promise<Uint8Array> => {
  const chunks: Array<Uint8Array> = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks)
}
