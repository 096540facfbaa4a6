/**
 * Two receivers in trouble, a process of its own: on PORT one that takes every webhook and never answers, on FAILING_PORT
 * one that answers 500 to all.
 */
import { createServer } from "node:http"

const listen = (name: string, answers: boolean) => {
  const server = createServer((incoming, response) => {
    incoming.resume()
    if (answers) response.writeHead(500, { "content-length": "0" }).end()
  })
  server.keepAliveTimeout = 60_000
  server.listen(Number(process.env[name]), "127.0.0.1")
}

listen("PORT", false)
listen("FAILING_PORT", true)
process.on("disconnect", () => process.exit(0))
process.on("SIGINT", () => {})
