/** Responses that a later release of the service may send within `/v1` (API-8), and servers that send them. */
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { startStub } from "./Stub.ts"

export const future = JSON.parse(await readFile(join(import.meta.dirname, "../fixtures/future-release.json"), "utf8"))

export const listed = (item: unknown) => ({ object: "list", data: [item], has_more: false, total_hint: 1 })

const answers: Readonly<Record<string, unknown>> = {
  "POST /v1/charges": future.charge,
  "GET /v1/charges/1": future.charge,
  "GET /v1/charges": listed(future.charge),
  "POST /v1/payouts": future.payout,
  "GET /v1/payouts/1": future.payout,
  "GET /v1/payouts": listed(future.payout),
  "GET /v1/balance": future.balance,
  "GET /v1/account": future.account,
  "POST /v1/webhooks": future.webhook,
  "PATCH /v1/webhooks/1": future.webhook,
  "GET /v1/webhooks": listed(future.webhook),
  "GET /v1/webhooks/events": listed(future.catalogEntry)
}

/** Answers every operation as a later release may. */
export const startFutureService = () =>
  startStub((response, { method, path }) => {
    const answer = answers[`${method} ${path.split("?", 1)[0]}`]
    response.writeHead(answer === undefined ? 501 : method === "POST" ? 201 : 200).end(JSON.stringify(answer))
  })

/** Answers every request with this error. */
export const startFailingService = (status: number, body: unknown) =>
  startStub((response) => {
    response.writeHead(status).end(typeof body === "string" ? body : JSON.stringify(body))
  })

export const somePayout = { amount: 500, pix_key_type: "email", pix_key: "ana@example.com" } as const
export const someEndpoint = { url: "https://example.com/hooks", events: ["charge.pix.paid"] } as const
