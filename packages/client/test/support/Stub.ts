/**
 * An HTTP server that answers as a test decides, and records the requests.
 */
import { once } from "node:events"
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

export interface ReceivedRequest {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface Stub extends AsyncDisposable {
  readonly url: string
  readonly requests: ReadonlyArray<ReceivedRequest>
}

/** Starts the server. `answer` gets the number of the request, from 1. */
export const startStub = async (
  answer: (response: ServerResponse, request: ReceivedRequest, count: number) => void
): Promise<Stub> => {
  const requests: Array<ReceivedRequest> = []
  const server = createServer(async (incoming, response) => {
    const request: ReceivedRequest = {
      method: incoming.method ?? "",
      path: incoming.url ?? "",
      headers: incoming.headers,
      body: await bodyOf(incoming)
    }
    requests.push(request)
    answer(response, request, requests.length)
  })
  server.listen(0, "127.0.0.1")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  }
}

/** A URL where nobody listens. */
export const closedUrl = async (): Promise<string> => {
  await using stub = await startStub(() => {})
  return stub.url
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
