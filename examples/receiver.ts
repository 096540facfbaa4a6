/**
 * A webhook receiver on node:http: answers first, then hands each verified event on.
 */
import { unwrap, type WebhookEvent } from "@pix-payments/client/webhooks"
import { createServer, type IncomingMessage, type Server } from "node:http"
import type { AddressInfo } from "node:net"

export interface Receiver {
  readonly url: string
  readonly server: Server
}

/** Listens on loopback; `onEvent` gets every event whose signature holds, repeats dropped. */
export const startReceiver = async (secret: string, onEvent: (event: WebhookEvent) => void): Promise<Receiver> => {
  const seen = new Set<string>()
  const server = createServer(async (request, response) => {
    try {
      const signature = request.headers["x-webhook-signature"]
      const event = await unwrap({
        body: await rawBody(request),
        signature: typeof signature === "string" ? signature : undefined,
        secrets: secret
      })
      response.writeHead(204).end()
      if (seen.has(event.id)) return
      seen.add(event.id)
      onEvent(event)
    } catch {
      response.writeHead(401).end()
    }
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/webhooks`, server }
}

const rawBody = async (request: IncomingMessage): Promise<Uint8Array> => {
  const chunks: Array<Uint8Array> = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks)
}
