/**
 * Creates charges, pays them over the simulator and receives their webhooks, in one child process and so on one clock.
 *
 * One charge at a time: it is created, its first webhooks arrive, its payment is notified, `charge.pix.paid` arrives.
 */
import { Agent, createServer, request } from "node:http"
import { setTimeout } from "node:timers/promises"

export interface PayCommand {
  readonly port: number
  readonly apiKey: string
  readonly operatorPort: number
  readonly token: string
  /** Of the idempotency keys. */
  readonly keyPrefix: string
  readonly seconds: number
}

export interface PayResult {
  /** From sending the payment notification to the arrival of the POST. */
  readonly latenciesMs: ReadonlyArray<number>
  /** Received POSTs; every payment has three. */
  readonly posts: number
}

const hooks = `http://127.0.0.1:${process.env["PORT"]}/hooks/pix`

/** Arrival times by charge and event. */
const arrivals = new Map<string, number>()
const awaited = new Map<string, () => void>()
let posts = 0

createServer((incoming, response) => {
  const at = performance.now()
  const chunks: Array<Buffer> = []
  incoming.on("data", (chunk: Buffer) => chunks.push(chunk))
  incoming.on("end", () => {
    response.writeHead(200, { "content-length": "0" }).end()
    posts += 1
    const { data } = JSON.parse(Buffer.concat(chunks).toString("utf8")) as { readonly data: { readonly id: string } }
    const name = `${data.id} ${String(incoming.headers["x-webhook-event"])}`
    arrivals.set(name, at)
    awaited.get(name)?.()
  })
}).listen(Number(process.env["PORT"]), "127.0.0.1")

const arrival = (id: string, event: string): Promise<number> =>
  new Promise((resolve) => {
    const name = `${id} ${event}`
    const check = () => {
      const at = arrivals.get(name)
      if (at !== undefined) resolve(at)
    }
    awaited.set(name, check)
    check()
  })

const agent = new Agent({ keepAlive: true })

const post = (port: number, path: string, headers: Readonly<Record<string, string>>, body: object): Promise<string> =>
  new Promise((resolve, reject) => {
    const text = JSON.stringify(body)
    const sent = request(
      {
        agent,
        host: "127.0.0.1",
        port,
        path,
        method: "POST",
        headers: { ...headers, "content-type": "application/json", "content-length": Buffer.byteLength(text) }
      },
      (response) => {
        let received = ""
        response.setEncoding("utf8")
        response.on("data", (chunk: string) => (received += chunk))
        response.on("end", () =>
          (response.statusCode ?? 500) < 300 ? resolve(received) : reject(new Error(`${path}: ${received}`))
        )
      }
    )
    sent.on("error", reject)
    sent.end(text)
  })

const charge = {
  amount: 1990,
  customer: { name: "Maria Oliveira da Silva", email: "cliente@example.com.br", document: "52998224725" },
  webhook_url: hooks
}

const payOne = async ({ apiKey, operatorPort, port, token }: PayCommand, key: string): Promise<number> => {
  const created = await post(port, "/v1/charges", { "x-api-key": apiKey, "idempotency-key": key }, charge)
  const { id } = JSON.parse(created) as { readonly id: string }
  await Promise.all([arrival(id, "charge.pix.created"), arrival(id, "charge.pix.emitted")])
  const notifiedAt = performance.now()
  await post(operatorPort, `/operator/v1/simulator/charges/${id}/pay`, { "x-operator-token": token }, {})
  return (await arrival(id, "charge.pix.paid")) - notifiedAt
}

const PAUSE_MS = 10

const payAll = async (command: PayCommand): Promise<PayResult> => {
  posts = 0
  const latenciesMs: Array<number> = []
  const end = performance.now() + command.seconds * 1000
  while (performance.now() < end) {
    latenciesMs.push(await payOne(command, `${command.keyPrefix}-${latenciesMs.length}`))
    // Background work of this payment ends before the next one begins.
    await setTimeout(PAUSE_MS)
  }
  arrivals.clear()
  awaited.clear()
  return { latenciesMs, posts }
}

process.on("message", (command: PayCommand) => {
  void payAll(command).then((result) => process.send?.(result))
})
process.on("disconnect", () => process.exit(0))
process.on("SIGINT", () => {})
