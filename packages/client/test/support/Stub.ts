/**
 * A peer that answers as a test wants, and remembers what it was asked.
 */
import { once } from "node:events"
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

export interface Asked {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface Stub extends AsyncDisposable {
  readonly url: string
  readonly asked: ReadonlyArray<Asked>
}

/** Answers the n-th request (from 1) with `answer`. */
export const startStub = async (
  answer: (response: ServerResponse, asked: Asked, count: number) => void
): Promise<Stub> => {
  const asked: Array<Asked> = []
  const server = createServer(async (request, response) => {
    const one: Asked = {
      method: request.method ?? "",
      path: request.url ?? "",
      headers: request.headers,
      body: await bodyOf(request)
    }
    asked.push(one)
    answer(response, one, asked.length)
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  }
}

/** Answers with JSON. */
export const json = (
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {}
): void => {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body))
}

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  const chunks: Array<Uint8Array> = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}
