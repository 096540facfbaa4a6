/**
 * Two failing webhook receivers, a child process: one on PORT that never answers, one on FAILING_PORT that answers 500.
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
