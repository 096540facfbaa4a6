/**
 * A webhook receiver on Fastify. Its parser of JSON is replaced, in this plugin alone, by one that keeps the bytes.
 */
import { unwrap, WebhookSignatureError } from "@pix-payments/client/webhooks"
import Fastify from "fastify"
import { once, type Receiver, type ReceiverOptions } from "./Receiver.ts"

export const startFastifyReceiver = async ({ onEvent, secrets }: ReceiverOptions): Promise<Receiver> => {
  const tell = once(onEvent)
  const app = Fastify({ forceCloseConnections: true })
  await app.register(async (webhooks) => {
    webhooks.removeContentTypeParser("application/json")
    webhooks.addContentTypeParser<Buffer>("application/json", { parseAs: "buffer" }, (_request, body, done) =>
      done(null, body)
    )
    webhooks.setErrorHandler((error, _request, reply) =>
      error instanceof WebhookSignatureError ? reply.code(401).send() : reply.send(error)
    )
    webhooks.post<{ Body: Buffer }>("/webhooks", async (request, reply) => {
      const event = await unwrap({ body: request.body, headers: request.headers, secrets, toleranceMs: 300_000 })
      void reply.code(204).send()
      tell(event)
      return reply
    })
  })
  const address = await app.listen({ host: "127.0.0.1", port: 0 })
  return { url: `${address}/webhooks`, close: () => app.close() }
}
