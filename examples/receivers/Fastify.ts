/**
 * A webhook receiver on Fastify. Its parser of JSON is replaced, in this plugin alone, by one that keeps the bytes.
 */
import { receiver } from "@pix-payments/client/receiver"
import Fastify from "fastify"
import type { Receiver, ReceiverOptions } from "./Receiver.ts"

export const startFastifyReceiver = async ({ onEvent, secrets, store }: ReceiverOptions): Promise<Receiver> => {
  const receive = receiver({ secrets, store, on: { "*": onEvent } })
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
