/**
 * A proxy in front of the service that fails a third of the requests, before or after the service has processed them.
 *
 * Guarantees: the seed and the order of the requests decide which requests fail, and how.
 */
import { once } from "node:events"
import * as Http from "node:http"
import type { AddressInfo } from "node:net"

const faults = [
  "dropped before forwarding",
  "dropped after forwarding",
  "500 before forwarding",
  "500 after forwarding",
  "response after the timeout",
  "half of the response, full content-length",
  "half of the response, chunked",
  "half of the response, correctly ended"
] as const

export interface FlakyProxy extends AsyncDisposable {
  readonly url: string
  /** How often each fault occurred. */
  readonly counts: ReadonlyMap<string, number>
}

/** Starts the proxy. Two of three requests pass unharmed. */
export const startFlakyProxy = async (target: string, seed: number): Promise<FlakyProxy> => {
  const random = randomFrom(seed)
  const counts = new Map<string, number>(faults.map((fault) => [fault, 0]))
  const agent = new Http.Agent({ keepAlive: true })

  const forward = (request: Http.IncomingMessage, body: Buffer) =>
    new Promise<{ readonly status: number; readonly headers: Http.IncomingHttpHeaders; readonly body: Buffer }>(
      (resolve, reject) => {
        const { headers, method = "GET", url = "/" } = request
        const sent = Http.request(new URL(url, target), { agent, method, headers }, async (forwarded) => {
          resolve({ status: forwarded.statusCode ?? 0, headers: forwarded.headers, body: await readAll(forwarded) })
        })
        sent.on("error", reject)
        sent.end(body)
      }
    )

  const server = Http.createServer(async (request, response) => {
    const fault = faults[Math.floor(random() * faults.length * 3)]
    if (fault !== undefined) counts.set(fault, (counts.get(fault) ?? 0) + 1)
    const body = await readAll(request)
    const fail = () => response.writeHead(500).end(JSON.stringify({ code: "INTERNAL_ERROR", message: "flaky" }))
    if (fault === "dropped before forwarding") return request.socket.destroy()
    if (fault === "500 before forwarding") return fail()

    const forwarded = await forward(request, body).catch(() => undefined)
    if (forwarded === undefined) return request.socket.destroy()
    const half = forwarded.body.subarray(0, forwarded.body.length / 2)
    const { "content-length": _length, "transfer-encoding": _encoding, ...headers } = forwarded.headers
    switch (fault) {
      case "dropped after forwarding":
        return request.socket.destroy()
      case "500 after forwarding":
        return fail()
      case "response after the timeout":
        // The client has timed out by then.
        return void setTimeout(() => response.writeHead(forwarded.status, headers).end(forwarded.body), 3000).unref()
      case "half of the response, full content-length":
        response.writeHead(forwarded.status, { ...headers, "content-length": forwarded.body.length })
        return response.write(half, () => request.socket.destroy())
      case "half of the response, chunked":
        response.writeHead(forwarded.status, headers)
        return response.write(half, () => request.socket.destroy())
      case "half of the response, correctly ended":
        return response.writeHead(forwarded.status, headers).end(half)
      default:
        return response.writeHead(forwarded.status, headers).end(forwarded.body)
    }
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    counts,
    [Symbol.asyncDispose]: async () => {
      agent.destroy()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  }
}

const readAll = async (stream: Http.IncomingMessage): Promise<Buffer> => {
  const chunks: Array<Uint8Array> = []
  try {
    for await (const chunk of stream) chunks.push(chunk)
  } catch {
    // The other side closed the connection: use the bytes that arrived.
  }
  return Buffer.concat(chunks)
}

/** Mulberry32: reproducible numbers from 0 to 1. */
const randomFrom = (seed: number) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  let mixed = Math.imul(seed ^ (seed >>> 15), seed | 1)
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
}
