/** A caller of the double over mTLS, as an adapter will be, and a receiver of its hooks. */
import { assert } from "@effect/vitest"
import { createServer, request, type RequestOptions } from "node:https"
import type { AddressInfo } from "node:net"
import type { TLSSocket } from "node:tls"
import { type PspDouble, type PspDoubleOptions, startPspDouble } from "../../src/PspDouble.ts"

export interface Answered {
  readonly status: number
  readonly headers: Readonly<Record<string, string | Array<string> | undefined>>
  readonly text: string
  // oxlint-disable-next-line typescript/no-explicit-any -- read field by field
  readonly body: any
}

interface Call {
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly timeoutMs?: number
}

/** Sends bytes with the TLS options as they are. */
export const send = (
  url: string,
  method: string,
  tls: RequestOptions,
  headers: Readonly<Record<string, string>> = {},
  body = "",
  timeoutMs = 10_000
): Promise<Answered> =>
  new Promise((resolve, reject) => {
    const sent = request(url, { method, agent: false, headers, timeout: timeoutMs, ...tls }, (response) => {
      let text = ""
      response.setEncoding("utf8")
      response.on("data", (part: string) => (text += part))
      response.on("error", reject)
      response.on("end", () => {
        const isJson = /json/.test(response.headers["content-type"] ?? "")
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text,
          body: isJson ? JSON.parse(text) : undefined
        })
      })
    })
    sent.on("timeout", () => sent.destroy(new Error("no answer in time")))
    sent.on("error", reject)
    sent.end(body)
  })

export const tlsOf = ({ client }: PspDouble): RequestOptions => ({ cert: client.cert, key: client.key, ca: client.ca })

/** Asks for a token as the profile has it. */
export const askToken = (
  double: PspDouble,
  { id = double.clientId, secret = double.clientSecret, scope = undefined as string | undefined } = {}
): Promise<Answered> => {
  const fields = { grant_type: "client_credentials", ...(scope !== undefined && { scope }) }
  const isJson = double.profile.tokenAuth === "basic-json"
  return send(
    double.tokenUrl,
    "POST",
    tlsOf(double),
    {
      authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString("base64")}`,
      "content-type": isJson ? "application/json" : "application/x-www-form-urlencoded"
    },
    isJson ? JSON.stringify(fields) : new URLSearchParams(fields).toString()
  )
}

export type Caller = (method: string, path: string, call?: Call) => Promise<Answered>

/** Calls with a token; a path is below the provider's origin. */
export const callerOf = async (double: PspDouble): Promise<Caller> => {
  const { access_token: token } = (await askToken(double)).body
  return (method, path, { headers, body, timeoutMs } = {}) =>
    send(
      `${double.origin}${path}`,
      method,
      tlsOf(double),
      { authorization: `Bearer ${token}`, "content-type": "application/json", ...headers },
      body === undefined ? "" : JSON.stringify(body),
      timeoutMs
    )
}

/** Runs a double for one test. Whatever it sends, unless spoiled, keeps the contract. */
export const withDouble = async (
  options: PspDoubleOptions,
  use: (double: PspDouble, call: Caller) => Promise<void>
): Promise<void> => {
  await using double = await startPspDouble(options)
  await use(double, await callerOf(double))
  assert.deepStrictEqual(double.defects, [])
}

interface Receiver extends AsyncDisposable {
  readonly url: string
  /** Common name of the sender's certificate, path, and body of each hook. */
  // oxlint-disable-next-line typescript/no-explicit-any -- read field by field
  readonly received: Array<{ readonly sender: string; readonly path: string; readonly body: any }>
  /** What it answers from now on. */
  answer: number
}

/** A receiver of hooks. It requires a certificate of the double's authority, unless it is careless. */
export const startReceiver = async (double: PspDouble, { careless = false } = {}): Promise<Receiver> => {
  const { cert, key } = await double.authority.issue({ name: "receiver", usage: "server" })
  const received: Receiver["received"] = []
  const receiver = { answer: 200 }
  const server = createServer(
    { cert, key, ca: double.authority.cert, requestCert: true, rejectUnauthorized: !careless },
    (incoming, outgoing) => {
      let text = ""
      incoming.setEncoding("utf8")
      incoming.on("data", (part: string) => (text += part))
      incoming.on("end", () => {
        const sender = String((incoming.socket as TLSSocket).getPeerCertificate().subject?.CN ?? "")
        received.push({ sender, path: incoming.url ?? "", body: JSON.parse(text) })
        outgoing.writeHead(receiver.answer).end()
      })
    }
  )
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  return Object.assign(receiver, {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/hooks`,
    received,
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => server.close(resolve))
      server.closeAllConnections()
      await closed
    }
  })
}

export const TXID = "cob0000000000000000000000001"

export const cobBody = (double: PspDouble, valor = "10.00") => ({
  calendario: { expiracao: 3600 },
  devedor: { cpf: "52998224725", nome: "Ana Souza" },
  valor: { original: valor },
  chave: double.key,
  solicitacaoPagador: "Pedido 1001"
})

/** The range that holds everything that a test does. */
export const RANGE = "inicio=2000-01-01T00:00:00Z&fim=2099-01-01T00:00:00Z"
