/**
 * Paid charges as the service itself stores them, with one endpoint that gets every event: the rows that are copied.
 */
import * as Effect from "effect/Effect"
import { randomUUID } from "node:crypto"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { eventNames } from "@pix-payments/domain/EventCatalog"
import { violationsIn } from "../measure/Database.ts"
import { type StartOptions, startServer } from "../measure/OurServer.ts"
import { BenchError } from "../measure/Processes.ts"

type Server = Effect.Success<ReturnType<typeof startServer>>

/** Our server, and an endpoint of its account that accepts every event. */
export const startWithEndpoint = Effect.fnUntraced(function* (options: StartOptions) {
  const url = yield* acceptingReceiver
  const server = yield* startServer(options, { WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8" })
  yield* call(server.port, "/v1/webhooks", { "x-api-key": server.apiKey }, { url, events: eventNames })
  return server
})

/** Creates and pays charges, at most `atOnce` at a time, and waits until every event was delivered. */
export const payCharges = Effect.fnUntraced(function* (
  { apiKey, operatorPort, port, token }: Server,
  databaseUrl: string,
  count: number,
  atOnce: number
) {
  yield* Effect.forEach(
    Array.from({ length: count }),
    () =>
      Effect.gen(function* () {
        const headers = { "x-api-key": apiKey, "idempotency-key": randomUUID() }
        const { id } = yield* call(port, "/v1/charges", headers, chargeBody)
        yield* call(operatorPort, `/operator/v1/simulator/charges/${id}/pay`, { "x-operator-token": token }, {})
      }),
    { concurrency: atOnce, discard: true }
  )
  const waiting = yield* violationsIn(databaseUrl, async (database) => {
    const { rows } = await database.query<{ waiting: string; logged: string }>(
      `SELECT (SELECT count(*) FROM outbox) + (SELECT count(*) FROM deliveries WHERE status <> 'delivered') AS waiting,
        (SELECT count(*) FROM charges) - (SELECT count(*) FROM requests WHERE route = 'POST /v1/charges') AS logged`
    )
    return rows[0]?.waiting === "0" && rows[0].logged === "0" ? [] : ["deliveries or lines of the log are not written"]
  })
  if (waiting.length > 0) return yield* new BenchError({ message: waiting.join("; ") })
})

const call = (port: number, path: string, headers: Readonly<Record<string, string>>, body: object) =>
  Effect.tryPromise({
    try: async () => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify(body)
      })
      const text = await response.text()
      if (!response.ok) throw new Error(`${response.status} ${text}`)
      return JSON.parse(text) as { readonly id: string }
    },
    catch: (cause) => new BenchError({ message: `POST ${path} fails: ${String(cause)}` })
  })

const acceptingReceiver = Effect.map(
  Effect.acquireRelease(
    Effect.promise(async () => {
      const server = createServer((request, response) => {
        request.resume()
        request.on("end", () => response.writeHead(200).end())
      })
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
      return server
    }),
    (server) =>
      Effect.promise(async () => {
        server.closeAllConnections()
        await new Promise<void>((resolve) => server.close(() => resolve()))
      })
  ),
  (server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`
)

const chargeBody = {
  amount: 1990,
  description: "Pedido 10000 na loja",
  reference: "pedido-10000",
  customer: {
    name: "Maria Oliveira da Silva",
    email: "cliente@example.com.br",
    document: "52998224725",
    phone: "+5511987654321"
  }
}
