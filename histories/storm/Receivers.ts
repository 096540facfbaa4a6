/** Receivers of webhooks: some answers are failures, some connections are cut, some answers are late. All is recorded. */
import { once } from "node:events"
import * as Http from "node:http"
import type { Random } from "./Random.ts"
import type { Record_ } from "./Record.ts"
import { portOf } from "./Wire.ts"

export interface Receivers extends AsyncDisposable {
  readonly url: string
  /** From now on every delivery is taken. */
  readonly calm: () => void
}

export const startReceivers = async (record: Record_, random: Random): Promise<Receivers> => {
  let isCalm = false
  const server = Http.createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("error", () => {})
    response.on("error", () => {})
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const signature = request.headers["x-webhook-signature"]
      const draw = isCalm ? 1 : random.next()
      const answered = draw < 0.04 ? undefined : draw < 0.1 ? 503 : draw < 0.12 ? 302 : 200
      record.deliveries.push({
        at: performance.now(),
        path: request.url ?? "",
        id: String(request.headers["x-webhook-delivery"]),
        signature: typeof signature === "string" ? signature : undefined,
        bytes: Buffer.concat(chunks).toString(),
        answered
      })
      if (answered === undefined) return void request.socket.destroy()
      response.statusCode = answered
      if (draw >= 0.12 && draw < 0.2) setTimeout(() => response.end("late"), random.between(50, 1500))
      else response.end("ok")
    })
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  return {
    url: `http://127.0.0.1:${portOf(server)}`,
    calm: () => {
      isCalm = true
    },
    [Symbol.asyncDispose]: async () => {
      server.close()
      server.closeAllConnections()
    }
  }
}
