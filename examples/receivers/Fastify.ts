/**
 * A webhook receiver on Fastify. In this plugin only, the JSON parser is replaced by one that keeps the raw body.
 */
import { webhookReceiver } from "@pix-payments/client/receiver"
import Fastify from "fastify"
import type { ExampleReceiver, ExampleReceiverOptions } from "./ExampleReceiver.ts"

export const startFastifyReceiver = async ({
  onEvent,
  secrets,
  store
}: ExampleReceiverOptions): Promise<ExampleReceiver> => {
  const receive = webhookReceiver({ secrets, store, on: { "*": onEvent } })
  const app = Fastify({ forceCloseConnections: true })
  await app.register(async (webhooks) => {
    webhooks.removeContentTypeParser("application/json")
    webhooks.addContentTypeParser<Buffer>("application/json", { parseAs: "buffer" }, (_request, body, done) =>
      done(null, body)
    )
    webhooks.post<{ Body: Buffer }>("/webhooks", async (request, reply) =>
      reply.code(await receive.status(request.body, request.headers)).send()
    )
  })
  const address = await app.listen({ host: "127.0.0.1", port: 0 })
  return { url: `${address}/webhooks`, close: () => app.close() }
}
