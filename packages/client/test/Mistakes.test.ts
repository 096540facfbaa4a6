/**
 * The mistakes that integrators make, and what each prints: the table in the README, which `WRITE_MISTAKES=1 vitest run …` writes.
 */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { readFileSync, writeFileSync } from "node:fs"
import { TestService } from "@pix-payments/server/test/TestService"
import { type CreateCharge, Payments, type PaymentsOptions } from "../src/index.ts"
import { webhookReceiver } from "../src/receiver.ts"
import { signForTest } from "../src/testing.ts"
import { someCharge } from "./support/Samples.ts"
import { closedUrl, json, startStub } from "./support/Stub.ts"

const README = new URL("../README.md", import.meta.url)
const [START, END] = ["<!-- mistakes -->\n", "<!-- /mistakes -->"] as const

type Mistake = readonly [name: string, make: () => unknown]

/** What it prints: the message, without what differs from run to run. */
const printed = async (make: () => unknown): Promise<string> => {
  const message: string = await Promise.resolve()
    .then(make)
    .then(
      (result) => (typeof result === "string" ? result : assert.fail("no error")),
      (error: unknown) => String(error)
    )
  return message
    .replaceAll(/127\.0\.0\.1:\d+/g, "127.0.0.1:…")
    .replaceAll(/request [0-9a-f-]{36}/g, "request …")
    .replaceAll(/(ENOTFOUND|EAI_AGAIN)/g, "ENOTFOUND")
    .replaceAll(/\((UND_ERR_SOCKET|ECONNRESET)\)/g, "(UND_ERR_SOCKET)")
}

const charge = (fields: object): CreateCharge => ({ ...someCharge, ...fields }) as CreateCharge

/** Mistakes that only the service or the network can show. */
const remote = (publicUrl: string, operatorUrl: string, key: string, stubUrl: string): ReadonlyArray<Mistake> => {
  const at = (baseUrl: string, options: PaymentsOptions = {}) =>
    new Payments({ baseUrl, apiKey: key, maxRetries: 0, ...options })
  const payments = at(publicUrl)
  const { customer } = someCharge
  const create = (fields: object) => () => payments.charges.create(charge(fields))
  return [
    ["the operator's port", () => at(operatorUrl).balance.retrieve()],
    ["https to a port without TLS", () => at(publicUrl.replace("http:", "https:")).balance.retrieve()],
    ["http where a proxy redirects to https", () => at(`${stubUrl}/redirect`).balance.retrieve()],
    ["a wrong key", () => at(publicUrl, { apiKey: "pix_wrong" }).balance.retrieve()],
    ["reais: 19.9", create({ amount: 19.9 })],
    ["reais: 19", create({ amount: 19 })],
    ['text: "1990"', create({ amount: "1990" })],
    ["a BigInt", create({ amount: 1990n })],
    ["a CPF with a wrong digit", create({ customer: { ...customer, document: "529.982.247-26" } })],
    ["a bad e-mail", create({ customer: { ...customer, email: "ana" } })],
    ["`expires_in` in milliseconds", create({ expires_in: 3_600_000 })],
    [
      "a phone key without its country",
      () => payments.payouts.create({ amount: 500, pix_key_type: "phone", pix_key: "11987654321" })
    ],
    [
      "more than the balance",
      () => payments.payouts.create({ amount: 500, pix_key_type: "email", pix_key: "ana@example.com" })
    ],
    [
      "a key used again with another amount",
      async () => {
        await payments.charges.create(charge({ amount: 1990 }), { idempotencyKey: "order-1001" })
        await payments.charges.create(charge({ amount: 2990 }), { idempotencyKey: "order-1001" })
      }
    ],
    ["a number as the key", () => payments.charges.create(someCharge, { idempotencyKey: 1001 as never })],
    ["no id", () => payments.charges.retrieve("")],
    ["nobody listens", async () => at(await closedUrl()).balance.retrieve()],
    ["a misspelt host", () => at("http://pix.invalid").balance.retrieve()],
    ["a slow service", () => at(`${stubUrl}/slow`, { timeoutMs: 20 }).charges.create(someCharge)],
    ["a connection that breaks", () => at(`${stubUrl}/break`).charges.create(someCharge)],
    ["`Retry-After: 120`", () => at(`${stubUrl}/busy`, { maxRetries: 2 }).balance.retrieve()],
    ["a proxy's own error page", () => at(`${stubUrl}/proxy`).balance.retrieve()],
    ["a portal's page", () => at(`${stubUrl}/portal`).balance.retrieve()]
  ]
}

const local: ReadonlyArray<Mistake> = [
  ["no URL", () => new Payments({ apiKey: "pix_" })],
  ["no key", () => new Payments({ baseUrl: "https://pix.example.com" })],
  ["a URL without its scheme", () => new Payments({ baseUrl: "pix.example.com", apiKey: "pix_" })],
  ["`/v1` in the URL", () => new Payments({ baseUrl: "https://pix.example.com/v1", apiKey: "pix_" })],
  ["a line break in the key", () => new Payments({ baseUrl: "https://pix.example.com", apiKey: "pix_\n" })]
]

/** Mistakes of a receiver: what `onError` gets. */
const receiving = (): ReadonlyArray<Mistake> => {
  const received = async (secrets: string | undefined, change: (request: Request) => unknown, sentAt?: Date) => {
    let seen: unknown
    const receive = webhookReceiver({
      secrets,
      store: { claim: () => "new", release: () => {} },
      on: {},
      onError: (error) => (seen = error)
    })
    const event = { id: "1", event: "charge.pix.paid", resource: "charge", data: { object: "charge", id: "1" } }
    const request = new Request("http://x/", {
      method: "POST",
      ...(await signForTest({ event, secret: "right", sentAt }))
    })
    await change(request)
    await receive(request)
    throw seen
  }
  // @effect-diagnostics-next-line globalDate:off
  const anHourAgo = new Date(Date.now() - 3_600_000)
  return [
    ["a receiver with no secret", () => received(undefined, () => {})],
    ["with another secret", () => received("wrong", () => {})],
    ["with a line break in its secret", () => received("right\n", () => {})],
    ["after the body was parsed", () => received("right", (request) => request.json())],
    ["with a clock that is an hour off", () => received("right", () => {}, anHourAgo)]
  ]
}

const stub = () =>
  startStub((response, { path }) => {
    if (path.startsWith("/slow")) return
    if (path.startsWith("/break")) return void response.destroy()
    if (path.startsWith("/redirect"))
      return void response.writeHead(301, { location: "https://pix.example.com/v1/balance" }).end()
    if (path.startsWith("/busy")) {
      return json(
        response,
        503,
        { code: "SERVICE_UNAVAILABLE", message: "The service is overloaded or restarting. Try again shortly." },
        { "retry-after": "120" }
      )
    }
    response.writeHead(path.startsWith("/proxy") ? 502 : 200, { "content-type": "text/html" })
    response.end(`<html><h1>${path.startsWith("/proxy") ? "Bad gateway" : "Log in to the Wi-Fi"}</h1></html>`)
  })

layer(TestService.layer({}), { excludeTestServices: true })("mistakes of an integrator", (it) => {
  it.effect("print what the README says", () =>
    Effect.gen(function* () {
      const { makeCaller, operatorUrl, publicUrl } = yield* TestService
      const { key } = yield* makeCaller()
      yield* Effect.promise(async () => {
        await using answers = await stub()
        const rows: Array<string> = []
        for (const [name, make] of [...local, ...remote(publicUrl, operatorUrl, key, answers.url), ...receiving()]) {
          rows.push(`| ${name} | \`${(await printed(make)).replaceAll("|", "\\|")}\` |`)
        }
        const table = `\n| mistake | what it prints |\n|---|---|\n${rows.join("\n")}\n\n`
        const readme = readFileSync(README, "utf8")
        const [before = "", rest = ""] = readme.split(START)
        const [shown, after = ""] = rest.split(END)
        if (process.env["WRITE_MISTAKES"] === "1") writeFileSync(README, before + START + table + END + after)
        else assert.strictEqual(shown, table)
        assert.isAtLeast(rows.length, 20)
      })
    })
  )
})
