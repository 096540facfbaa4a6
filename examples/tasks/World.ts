/**
 * What a grader has: an account of a running service with the simulated bank, a wire to it that can break, and the people around it.
 *
 * Guarantees:
 * - Each world has its own account: graders run beside each other on one service.
 * - A solution knows only what its parameters name. Its calls go through a wire, which sees and may change them.
 * - A wait ends: after a minute the solution is refused.
 */
import { type Charge, type CreateCharge, Payments } from "@pix-payments/client"
import { signForTest } from "@pix-payments/client/testing"
import type { WebhookEvent } from "@pix-payments/client/webhooks"
import { once } from "node:events"
import { createServer, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"

/** A running service. */
export interface Service {
  readonly url: string
  readonly operatorUrl: string
  readonly operatorToken: string
}

/** What an integrator has: the service's address, and a key. */
export interface Access {
  readonly url: string
  readonly apiKey: string
}

/** What a tool of the operators has. `token` goes into `x-operator-token`. */
export interface Desk {
  readonly url: string
  readonly token: string
}

/** A receiver of webhooks. */
export type Receive = (request: Request) => Promise<Response>

/** Why a solution is refused. */
export class Refusal extends Error {}

export const demand: (holds: boolean, reason: string) => asserts holds = (holds, reason) => {
  if (!holds) throw new Refusal(reason)
}

/** Reads until it is as wanted; refuses after a minute. */
export const until = async <A>(
  read: () => A | Promise<A>,
  isThere: (seen: A) => boolean,
  reason: string
): Promise<A> => {
  const end = performance.now() + LIMIT_MS
  while (true) {
    const seen = await read()
    if (isThere(seen)) return seen
    demand(performance.now() < end, reason)
    await sleep(20)
  }
}

/** The result, if it comes within this time. */
export const within = <A>(result: Promise<A>, reason: string, limitMs = 10_000): Promise<A> =>
  Promise.race([
    result,
    sleep(limitMs, undefined, { ref: false }).then(() => {
      throw new Refusal(reason)
    })
  ])

const LIMIT_MS = 60_000

interface Answer {
  readonly status: number
  readonly body: string
}

/** A request on a wire. */
interface Exchange {
  readonly method: string
  readonly path: string
  readonly body: string
}

interface Wire {
  readonly url: string
  readonly seen: Array<Exchange>
  /** What the caller gets; `"cut"` closes the connection without an answer. By default the answer of the service. */
  answer: (exchange: Exchange, forward: () => Promise<Answer>) => Promise<Answer | "cut">
}

/** A delivery as a hosted receiver answered it. */
interface Delivered {
  readonly event: WebhookEvent
  readonly body: string
  readonly status: number
}

export const customer = { name: "Ana Souza", email: "ana@example.com", document: "529.982.247-25" }

export interface World {
  /** Through `wire`. */
  readonly access: Access
  readonly wire: Wire
  /** Through `deskWire`. */
  readonly desk: Desk
  readonly deskWire: Wire
  /** Straight to the service. */
  readonly payments: Payments
  readonly operate: <A = unknown>(method: string, path: string, body?: object) => Promise<A>
  readonly charge: (fields?: Partial<CreateCharge>) => Promise<Charge>
  readonly paidCharge: (fields?: Partial<CreateCharge>) => Promise<Charge>
  /** Runs a receiver on loopback. */
  readonly host: (receive: Receive) => Promise<{ readonly url: string; readonly delivered: Array<Delivered> }>
}

export const withWorld = async (service: Service, use: (world: World) => Promise<void>): Promise<void> => {
  const servers: Array<Server> = []
  const listen = async (server: Server) => {
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
    servers.push(server)
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  }
  const operate = operations(service)
  const account = await operate<{ id: string }>("POST", "/accounts", {
    name: "Padaria do Zé",
    legal_name: "Padaria do Zé Ltda",
    document: "11.222.333/0001-81",
    phone: "+5511999998888",
    auto_payout_enabled: true
  })
  const application = await operate<{ id: string }>("POST", `/accounts/${account.id}/applications`, { name: "Loja" })
  const { key } = await operate<{ key: string }>("POST", `/applications/${application.id}/keys`, {
    name: "task",
    scopes: [
      "charge:read",
      "charge:write",
      "payout:read",
      "payout:write",
      "balance:read",
      "webhook:read",
      "webhook:write"
    ]
  })
  const payments = new Payments({ baseUrl: service.url, apiKey: key })
  const charge: World["charge"] = (fields) => payments.charges.create({ amount: 1000, customer, ...fields })
  const wire = await openWire(service.url, listen)
  const deskWire = await openWire(service.operatorUrl, listen)
  try {
    await use({
      access: { url: wire.url, apiKey: key },
      wire,
      desk: { url: deskWire.url, token: service.operatorToken },
      deskWire,
      payments,
      operate,
      charge,
      paidCharge: async (fields) => {
        const { id } = await charge(fields)
        return operate("POST", `/simulator/charges/${id}/pay`)
      },
      host: async (receive) => {
        const delivered: Array<Delivered> = []
        return { url: await listen(hosting(receive, delivered)), delivered }
      }
    })
  } finally {
    for (const server of servers) {
      server.close()
      server.closeAllConnections()
    }
  }
}

const operations =
  ({ operatorToken, operatorUrl }: Service): World["operate"] =>
  async <A>(method: string, path: string, body?: object) => {
    const response = await fetch(`${operatorUrl}/operator/v1${path}`, {
      method,
      headers: { "x-operator-token": operatorToken, "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path} answers ${response.status}: ${text}`)
    return JSON.parse(text) as A
  }

const openWire = async (target: string, listen: (server: Server) => Promise<string>): Promise<Wire> => {
  const seen: Array<Exchange> = []
  const server = createServer(async (request, response) => {
    const { method = "", url: path = "" } = request
    const body = await textOf(request)
    const exchange = { method, path, body }
    seen.push(exchange)
    const forward = async () => {
      const headers = Object.entries(request.headers).filter(([name]) => !OF_A_HOP.has(name)) as Array<[string, string]>
      const answer = await fetch(target + path, {
        method,
        headers,
        ...(body === "" ? {} : { body })
      })
      return { status: answer.status, body: await answer.text() }
    }
    const answer = await wire.answer(exchange, forward).catch(() => "cut" as const)
    if (answer === "cut") response.destroy()
    else response.writeHead(answer.status, { "content-type": "application/json" }).end(answer.body)
  })
  const wire: Wire = { url: await listen(server), seen, answer: (_exchange, forward) => forward() }
  return wire
}

/** Headers of one connection, which `fetch` sets itself. */
const OF_A_HOP = new Set(["connection", "host", "content-length"])

const hosting = (receive: Receive, delivered: Array<Delivered>): Server =>
  createServer(async (request, response) => {
    const body = await textOf(request)
    const status = await statusOf(receive, body, request.headers as Record<string, string>)
    delivered.push({ event: JSON.parse(body), body, status })
    response.writeHead(status).end()
  })

const statusOf = async (receive: Receive, body: string, headers: Readonly<Record<string, string>>): Promise<number> => {
  try {
    const request = new Request("http://127.0.0.1/webhooks", { method: "POST", body, headers })
    return (await receive(request)).status
  } catch {
    // As a framework answers what its handler throws.
    return 500
  }
}

const textOf = async (stream: AsyncIterable<Uint8Array>): Promise<string> => {
  const chunks: Array<Uint8Array> = []
  for await (const chunk of stream) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

/** Delivers an event as the service does, and gives the status of the answer. */
export const deliver = async (
  receive: Receive,
  event: object | string,
  secret: string,
  sentAt?: Date
): Promise<number> => {
  const { body, headers } = await signForTest({ event, secret, sentAt })
  return statusOf(receive, body, headers)
}

export const isSuccess = (status: number): boolean => status >= 200 && status < 300
