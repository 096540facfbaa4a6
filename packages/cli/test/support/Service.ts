/** Services that answer as a test says, and `pix` asking them. */
import * as Effect from "effect/Effect"
import * as Http from "node:http"
import { pix } from "./Pix.ts"

export interface Reply {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

/** A server on a free port. */
export const serving = (listener: Http.RequestListener) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.promise(async () => {
        const server = Http.createServer(listener)
        await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
        return server
      }),
      (server) =>
        Effect.sync(() => {
          server.close()
          server.closeAllConnections()
        })
    ),
    (server) => ({ port: Number(Object(server.address()).port) })
  )

/** A server that gives one reply to everything, and keeps what it was sent. */
export const replying = (reply: (path: string) => Reply) => {
  const tokens: Array<string | undefined> = []
  return Effect.map(
    serving((request, response) => {
      tokens.push(request.headers["x-operator-token"]?.toString())
      const { body, headers, status } = reply(request.url ?? "")
      response.writeHead(status, headers).end(body)
    }),
    ({ port }) => ({ tokens, port })
  )
}

export const json = { "content-type": "application/json" }
export const jsonLines = { "content-type": "application/jsonl" }

export const asking = (port: number, ...args: ReadonlyArray<string>) =>
  pix(args, { env: { PIX_URL: `http://127.0.0.1:${port}`, PIX_TOKEN: "a token" } })
