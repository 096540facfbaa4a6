/**
 * The receiver of webhooks, a process of its own: answers 200 at once, and counts.
 *
 * Told `expect`, it answers when that many POSTs have come; told `report`, what has come since.
 */
import { createServer } from "node:http"

export interface ReceiverOrder {
  readonly tell: "expect" | "report"
  readonly count: number
}

export interface Received {
  readonly requests: number
  /** Of them those with a delivery id of their own. */
  readonly distinct: number
  /** From the first one's arrival to the last one's. */
  readonly seconds: number
}

let expected = 0
let requests = 0
let first = 0
let last = 0
let ids = new Set<string>()

const server = createServer((request, response) => {
  const now = performance.now()
  if (requests === 0) first = now
  last = now
  requests += 1
  ids.add(String(request.headers["x-webhook-delivery"]))
  request.resume()
  response.writeHead(200, { "content-length": "0" }).end()
  if (requests === expected) answer()
})

const answer = () => {
  const received: Received = { requests, distinct: ids.size, seconds: (last - first) / 1000 }
  process.send?.(received)
}

process.on("message", ({ count, tell }: ReceiverOrder) => {
  if (tell === "report") return answer()
  expected = count
  requests = 0
  ids = new Set()
})
process.on("disconnect", () => process.exit(0))
process.on("SIGINT", () => {})

server.keepAliveTimeout = 60_000
server.listen(Number(process.env["PORT"]), "127.0.0.1")
