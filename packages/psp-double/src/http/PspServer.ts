/**
 * The machine behind a TLS listener that requires client certificates, and the sender of its hooks.
 *
 * Guarantees
 * - Without a certificate of the authority the handshake fails, for the token endpoint too.
 * - A fault of the kind "done, then …" takes effect after the state has changed.
 */
import type { IncomingMessage, ServerResponse } from "node:http"
import { createServer } from "node:https"
import type { AddressInfo } from "node:net"
import type { TLSSocket } from "node:tls"
import type { Identity } from "../Certificates.ts"
import type { RequestFault } from "../Faults.ts"
import type { Hook } from "../HookQueue.ts"
import type { Profile } from "./Profile.ts"
import type { PspMachine } from "./PspMachine.ts"
import type { Answer } from "./Answer.ts"
import type { ApiRequest } from "./Api.ts"
import { type HookOutcome, type HookSender, isDelivered } from "./HookSender.ts"

export interface Recorded {
  readonly atMs: number
  readonly method: string
  readonly path: string
  /** Common name of the caller's certificate. */
  readonly caller: string
  /** What was answered; undefined where nothing was. */
  readonly status: number | undefined
  readonly fault: RequestFault | undefined
  /** Whether the answer was spoiled on purpose. */
  readonly spoiled: boolean
}

export interface SentHook {
  readonly atMs: number
  readonly url: string
  readonly body: { readonly pix: ReadonlyArray<unknown> }
  readonly attempt: number
  readonly outcome: HookOutcome
}

export interface PspServer {
  readonly port: number
  readonly exchanges: ReadonlyArray<Recorded>
  readonly hooks: ReadonlyArray<SentHook>
  /** Runs what is due, and waits until the hooks that are due have been answered. */
  readonly settle: () => Promise<void>
  readonly close: () => Promise<void>
}

export interface PspServerOptions {
  readonly host: string
  readonly port: number
  readonly identity: Identity
  readonly now: () => number
  readonly machine: PspMachine
  readonly sender: HookSender
  readonly slowMs: number
  /** Delay of every answer. */
  readonly latencyMs: () => number
}

/** The newest exchanges and hooks that are kept. */
const KEPT = 10_000
const LONGEST_TIMER_MS = 2 ** 31 - 1

export const startServer = async (options: PspServerOptions): Promise<PspServer> => {
  const { now, machine, sender } = options
  const { profile, provider, queue } = machine
  const exchanges: Array<Recorded> = []
  const hooks: Array<SentHook> = []
  const inFlight = new Set<Promise<void>>()
  let timer: NodeJS.Timeout | undefined
  let isScheduled = false
  let isClosed = false

  const deliver = async (hook: Hook): Promise<void> => {
    const body = { pix: hook.pix }
    const outcome = await sender.post(`${hook.url}/pix`, body, "with")
    keep(hooks, { atMs: now(), url: hook.url, body, attempt: hook.attempt, outcome })
    if (!isDelivered(outcome)) queue.failed(hook)
  }

  /** Settles what is due and sends the hooks that are. */
  const pump = (): void => {
    if (isClosed) return
    clearTimeout(timer)
    machine.settleDue()
    for (const hook of queue.takeDue()) {
      const sending = deliver(hook).finally(() => {
        inFlight.delete(sending)
        schedule()
      })
      inFlight.add(sending)
    }
    const waitMs = machine.nextDueAtMs() - now()
    if (waitMs < Infinity) timer = setTimeout(pump, Math.min(Math.max(0, waitMs), LONGEST_TIMER_MS)).unref()
  }

  const schedule = () => {
    if (isScheduled) return
    isScheduled = true
    setImmediate(() => {
      isScheduled = false
      pump()
    })
  }
  provider.onActivity(schedule)

  const settle = async () => {
    do {
      pump()
      await Promise.all(inFlight)
    } while (inFlight.size > 0 || (queue.nextDueAtMs() ?? Infinity) <= now())
  }

  /** Unregisters a webhook that fails Efí's check. */
  const probed = async (request: ApiRequest, answer: Answer, before: string | undefined): Promise<Answer> => {
    const key = webhookKeyOf(request, profile)
    if (key === undefined || answer.status >= 300 || request.headers["x-skip-mtls-checking"] === "true") return answer
    const reason = await sender.probe(provider.webhookUrl(key)!)
    if (reason === undefined) return answer
    provider.webhooks.delete(key)
    if (before !== undefined) provider.webhooks.put(key, before)
    return profile.refusal({ _tag: "WebhookRejected", reason }, "put /webhook/{chave}")
  }

  const onRequest = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const request = await read(incoming)
    const before = provider.webhookUrl(webhookKeyOf(request, profile) ?? "")
    const { fault, spoiled, answer: given, reply } = machine.exchange(request)
    const answer = reply(profile.probesWebhooks && given !== undefined ? await probed(request, given, before) : given)
    if (fault === "hook-before-answer") await settle()
    const delayMs = options.latencyMs() + (fault === "slow" ? options.slowMs : 0)
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, delayMs).unref())
    keep(exchanges, {
      atMs: now(),
      method: request.method,
      path: request.path,
      caller: String((incoming.socket as TLSSocket).getPeerCertificate().subject?.CN ?? ""),
      status: answer?.status,
      fault,
      spoiled
    })
    if (fault === "hang") return
    if (answer === undefined) {
      incoming.socket.destroy()
      return
    }
    outgoing.writeHead(answer.status, answer.headers)
    outgoing.end(answer.body)
  }

  const server = createServer(
    {
      key: options.identity.key,
      cert: options.identity.cert,
      ca: options.identity.ca,
      requestCert: true,
      rejectUnauthorized: true,
      minVersion: "TLSv1.2"
    },
    (incoming, outgoing) => {
      onRequest(incoming, outgoing).catch((cause: unknown) => {
        outgoing.writeHead(500, { "content-type": "text/plain" }).end(`The double failed: ${String(cause)}`)
      })
    }
  )
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject)
    server.listen(options.port, options.host, resolve)
  })

  return {
    port: (server.address() as AddressInfo).port,
    exchanges,
    hooks,
    settle,
    close: async () => {
      isClosed = true
      clearTimeout(timer)
      const closed = new Promise<void>((resolve) => server.close(() => resolve()))
      server.closeAllConnections()
      await closed
      await Promise.all(inFlight)
    }
  }
}

const webhookKeyOf = ({ method, path }: ApiRequest, { basePath }: Profile): string | undefined => {
  const prefix = `${basePath}/webhook/`
  return method === "PUT" && path.startsWith(prefix) ? decodeURIComponent(path.slice(prefix.length)) : undefined
}

const read = async (incoming: IncomingMessage): Promise<ApiRequest> => {
  const chunks: Array<Buffer> = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  const url = new URL(incoming.url ?? "/", "https://double")
  const headers = Object.entries(incoming.headers).map(([name, value]) => [name, value?.toString()])
  return {
    method: incoming.method ?? "GET",
    path: url.pathname,
    query: Object.fromEntries(url.searchParams),
    headers: Object.fromEntries(headers),
    body: Buffer.concat(chunks).toString("utf8")
  }
}

const keep = <A>(list: Array<A>, item: A): void => {
  list.push(item)
  if (list.length > KEPT) list.shift()
}
