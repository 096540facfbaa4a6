/**
 * The webhook receiver, a child process: answers 200 immediately and counts.
 *
 * The command `expect` resets the count and is answered after `count` POSTs; `report` is answered with the current count.
 */
import { createServer } from "node:http"

export interface ReceiverCommand {
  readonly command: "expect" | "report"
  readonly count: number
}

export interface ReceiverResult {
  readonly requests: number
  /** Different delivery ids. */
  readonly distinct: number
  /** From the first arrival to the last. */
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
  const result: ReceiverResult = { requests, distinct: ids.size, seconds: (last - first) / 1000 }
  process.send?.(result)
}

process.on("message", ({ command, count }: ReceiverCommand) => {
  if (command === "report") return answer()
  expected = count
  requests = 0
  ids = new Set()
})
process.on("disconnect", () => process.exit(0))
process.on("SIGINT", () => {})

server.keepAliveTimeout = 60_000
server.listen(Number(process.env["PORT"]), "127.0.0.1")
