/**
 * A collector of traces and metrics, a child process: it accepts everything and discards it.
 */
import { createServer } from "node:http"

createServer((request, response) => {
  request.resume()
  request.on("end", () => {
    response.writeHead(200, { "content-type": "application/json", "content-length": "2" }).end("{}")
  })
}).listen(Number(process.env["PORT"]), "127.0.0.1")

process.on("SIGINT", () => {})
