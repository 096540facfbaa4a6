/**
 * The limit of deliveries: the same POSTs over one undici Pool, 64 at a time, without database or rules.
 *
 * It sends the POSTs of each message that it gets from its parent process.
 */
// Not an Effect program.
import { deliveryBody } from "@pix-payments/domain/Event"
import { createRequire } from "node:module"
import { fileURLToPath } from "node:url"

export interface PostCommand {
  readonly url: string
  readonly ids: ReadonlyArray<string>
  readonly event: string
  readonly createdAt: string
  readonly dataJson: string
}

interface Dispatcher {
  readonly request: (options: {
    readonly path: string
    readonly method: string
    readonly headers: Readonly<Record<string, string>>
    readonly body: string
  }) => Promise<{ readonly body: { readonly text: () => Promise<string> } }>
}

// The version of undici that our server uses.
const server = createRequire(fileURLToPath(import.meta.resolve("@pix-payments/server/webhooks/sending/WebhookSender")))
const undici = createRequire(server.resolve("@effect/platform-node/Undici"))("undici") as {
  readonly Pool: new (
    origin: string,
    options: { readonly connections: number; readonly pipelining: number }
  ) => Dispatcher
}

let pool: Dispatcher | undefined

const post = async ({ createdAt, dataJson, event, ids, url }: PostCommand) => {
  const { origin, pathname } = new URL(url)
  pool ??= new undici.Pool(origin, { connections: 64, pipelining: 1 })
  const rest = ids.values()
  const worker = async () => {
    for (const id of rest) {
      const { body } = await pool!.request({
        path: pathname,
        method: "POST",
        headers: { "content-type": "application/json", "X-Webhook-Event": event, "X-Webhook-Delivery": id },
        body: deliveryBody({ deliveryId: id, name: event, createdAt, sequence: 2, dataJson })
      })
      await body.text()
    }
  }
  await Promise.all(Array.from({ length: 64 }, worker))
}

process.on("message", (command: PostCommand) => void post(command))
process.on("disconnect", () => process.exit(0))
process.on("SIGINT", () => {})
