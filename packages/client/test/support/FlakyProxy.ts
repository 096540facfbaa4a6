/**
 * A proxy before the service that fails a third of what goes through it, in every way that a network has: before
 * the service heard of it, and after.
 *
 * Guarantees: what goes wrong is decided by the seed and the order of the requests.
 */
import { once } from "node:events"
import * as Http from "node:http"
import type { AddressInfo } from "node:net"

const troubles = [
  "dropped before it was forwarded",
  "dropped after it was forwarded",
  "500 without forwarding",
  "500 although it was done",
  "an answer that comes too late",
  "half an answer, with its whole length",
  "half an answer, chunked",
  "half an answer that ends well"
] as const

export interface FlakyProxy extends AsyncDisposable {
  readonly url: string
  /** How often each trouble came. */
  readonly counts: ReadonlyMap<string, number>
}

/** Of three requests, two come through. */
export const startFlakyProxy = async (target: string, seed: number): Promise<FlakyProxy> => {
  const random = randomFrom(seed)
  const counts = new Map<string, number>(troubles.map((trouble) => [trouble, 0]))
  const agent = new Http.Agent({ keepAlive: true })

  const forward = (request: Http.IncomingMessage, body: Buffer) =>
    new Promise<{ readonly status: number; readonly headers: Http.IncomingHttpHeaders; readonly body: Buffer }>(
      (resolve, reject) => {
        const { headers, method = "GET", url = "/" } = request
        const sent = Http.request(new URL(url, target), { agent, method, headers }, async (answer) => {
          resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: await whole(answer) })
        })
        sent.on("error", reject)
        sent.end(body)
      }
    )

  const server = Http.createServer(async (request, response) => {
    const trouble = troubles[Math.floor(random() * troubles.length * 3)]
    if (trouble !== undefined) counts.set(trouble, (counts.get(trouble) ?? 0) + 1)
    const body = await whole(request)
    const refuse = () => response.writeHead(500).end(JSON.stringify({ code: "INTERNAL_ERROR", message: "flaky" }))
    if (trouble === "dropped before it was forwarded") return request.socket.destroy()
    if (trouble === "500 without forwarding") return refuse()

    const answer = await forward(request, body).catch(() => undefined)
    if (answer === undefined) return request.socket.destroy()
    const half = answer.body.subarray(0, answer.body.length / 2)
    const { "content-length": _length, "transfer-encoding": _encoding, ...headers } = answer.headers
    switch (trouble) {
      case "dropped after it was forwarded":
        return request.socket.destroy()
      case "500 although it was done":
        return refuse()
      case "an answer that comes too late":
        // The client has gone by then.
        return void setTimeout(() => response.writeHead(answer.status, headers).end(answer.body), 3000).unref()
      case "half an answer, with its whole length":
        response.writeHead(answer.status, { ...headers, "content-length": answer.body.length })
        return response.write(half, () => request.socket.destroy())
      case "half an answer, chunked":
        response.writeHead(answer.status, headers)
        return response.write(half, () => request.socket.destroy())
      case "half an answer that ends well":
        return response.writeHead(answer.status, headers).end(half)
      default:
        return response.writeHead(answer.status, headers).end(answer.body)
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

const whole = async (stream: Http.IncomingMessage): Promise<Buffer> => {
  const chunks: Array<Uint8Array> = []
  try {
    for await (const chunk of stream) chunks.push(chunk)
  } catch {
    // The other side hung up: what came is what there is.
  }
  return Buffer.concat(chunks)
}

/** Mulberry32: numbers from 0 to 1, always the same for a seed. */
const randomFrom = (seed: number) => () => {
  seed = (seed + 0x6d2b79f5) | 0
  let mixed = Math.imul(seed ^ (seed >>> 15), seed | 1)
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
}
