/** `pix doctor` on a shop that is set up, and on broken ones; `pix pay` and `pix trigger` with the shop's own key. */
import { assert, layer } from "@effect/vitest"
import { webhookReceiver } from "@pix-payments/client/receiver"
import { loopback } from "@pix-payments/server/test/Receiver"
import { newKey, TestService } from "@pix-payments/server/test/TestService"
import * as Effect from "effect/Effect"
import type { RequestListener } from "node:http"
import { pix } from "./support/Pix.ts"
import { json, replying, serving } from "./support/Service.ts"

const secret = "the secret of the endpoint"

interface Check {
  readonly check: string
  readonly ok: boolean
  readonly says: string
}

const listenerOf = (secrets: string): RequestListener => {
  const receive = webhookReceiver({
    secrets,
    store: { claim: () => "new", release: () => {} },
    on: { "charge.pix.paid": () => assert.fail("a test is no money") },
    onError: () => {}
  })
  return (request, response) => void receive.node(request, response)
}

layer(TestService.layer({ settings: { webhookAllowedNetworks: loopback, simulatorSettleMs: 0 } }), {
  excludeTestServices: true
})("pix doctor", (it) => {
  /** The checks of a set-up, its code, and what it says of those that are wrong. */
  const diagnosed = Effect.fnUntraced(function* (env: Readonly<Record<string, string>>, receiverPort?: number) {
    const args = receiverPort === undefined ? [] : ["--receiver", `http://127.0.0.1:${receiverPort}/webhooks`]
    const { code, err, out } = yield* pix(["doctor", ...args], { env: { WEBHOOK_SECRET: secret, ...env } })
    const checks: ReadonlyArray<Check> = JSON.parse(out).data
    const key = env["PAYMENTS_API_KEY"] ?? "none"
    assert.notInclude(out + err, key)
    assert.notInclude(out + err, secret)
    return { code, err, checks: checks.map(({ check, ok }) => `${check} ${ok ? "ok" : "wrong"}`) }
  })

  const shop = Effect.fnUntraced(function* (scopes?: ReadonlyArray<string>) {
    const { call, makeCaller, publicUrl } = yield* TestService
    const { key } = yield* makeCaller(scopes === undefined ? {} : { scopes })
    if (scopes === undefined) {
      const body = { url: "http://127.0.0.1:4000/webhooks", events: ["charge.pix.paid"], secret }
      const registered = yield* call("POST", "/v1/webhooks", { key, body })
      assert.strictEqual(registered.status, 201)
    }
    return { PAYMENTS_URL: publicUrl, PAYMENTS_API_KEY: key }
  })

  const before = ["url ok", "clock ok", "key ok"]
  const all = [...before, "scopes ok", "endpoint ok"]

  it.effect("CLI-32: finds nothing wrong with a shop that is set up, and changes nothing", () =>
    Effect.gen(function* () {
      const { call } = yield* TestService
      const env = yield* shop()
      const { port } = yield* serving(listenerOf(secret))
      const { checks, code, err } = yield* diagnosed(env, port)
      assert.deepStrictEqual([code, err, checks], [0, "", [...all, "signature ok", "forgery ok"]])
      const charges = yield* call<{ data: ReadonlyArray<unknown> }>("GET", "/v1/charges", { key: env.PAYMENTS_API_KEY })
      assert.deepStrictEqual(charges.body.data, [])
    })
  )

  it.effect("CLI-32: says what is wrong with broken set-ups, and ends with 1", () =>
    Effect.gen(function* () {
      const { operatorUrl } = yield* TestService
      const env = yield* shop()
      const away = yield* diagnosed({ ...env, PAYMENTS_URL: "http://127.0.0.1:1" })
      assert.deepStrictEqual([away.code, away.checks], [1, ["url wrong"]])
      assert.match(away.err, /^url: Nothing answers at http:\/\/127\.0\.0\.1:1 \(\w+( \w+)?\): check PAYMENTS_URL/)
      const operators = yield* diagnosed({ ...env, PAYMENTS_URL: operatorUrl })
      assert.deepStrictEqual([operators.code, operators.checks], [1, ["url wrong"]])
      assert.include(operators.err, "is not the listener of /v1: it is the operators' listener")
      const late = yield* replying(() => ({
        status: 401,
        headers: { ...json, date: "Thu, 01 Jan 2026 00:00:00 GMT" },
        body: '{"code":"UNAUTHORIZED","message":""}'
      }))
      const clock = yield* diagnosed({ ...env, PAYMENTS_URL: `http://127.0.0.1:${late.port}` })
      assert.deepStrictEqual([clock.code, clock.checks.slice(0, 2)], [1, ["url ok", "clock wrong"]])
      assert.match(clock.err, /clock: is \d+ s ahead of the service's: synchronize it/)
      const wrongKey = yield* diagnosed({ ...env, PAYMENTS_API_KEY: "pix_wrong" })
      assert.deepStrictEqual([wrongKey.code, wrongKey.checks], [1, ["url ok", "clock ok", "key wrong"]])
      const limited = yield* diagnosed(yield* shop(["charge:read", "webhook:read"]))
      assert.deepStrictEqual([limited.code, limited.checks], [1, [...before, "scopes wrong", "endpoint wrong"]])
      assert.include(limited.err, "scopes: charge:write missing: create a key that has them")
      const other = yield* serving(listenerOf("another secret"))
      const mismatch = yield* diagnosed(env, other.port)
      assert.deepStrictEqual([mismatch.code, mismatch.checks], [1, [...all, "signature wrong", "forgery ok"]])
      const credulous = yield* serving((_request, response) => void response.writeHead(204).end())
      const forged = yield* diagnosed(env, credulous.port)
      assert.deepStrictEqual([forged.code, forged.checks], [1, [...all, "signature ok", "forgery wrong"]])
      assert.include(forged.err, "forgery: is answered 204: verify each delivery, and answer 401")
    })
  )

  it.effect("CLI-32: refuses a URL and a key that the client refuses, with its reason", () =>
    Effect.gen(function* () {
      const env = yield* shop()
      for (const [change, check, says] of [
        [{ PAYMENTS_URL: env.PAYMENTS_URL.replace("http://", "") }, "url", "PAYMENTS_URL must be an http or https URL"],
        [{ PAYMENTS_URL: `${env.PAYMENTS_URL}/v1` }, "url", "PAYMENTS_URL must not end in /v1: the client adds it"],
        [
          { PAYMENTS_API_KEY: `${env.PAYMENTS_API_KEY}\n` },
          "key",
          "PAYMENTS_API_KEY must be visible ASCII without white space: trim it"
        ],
        [{ PAYMENTS_API_KEY: "pix_🍕" }, "key", "PAYMENTS_API_KEY must be visible ASCII without white space: trim it"]
      ] as const) {
        const { checks, code, err } = yield* diagnosed({ ...env, ...change })
        assert.deepStrictEqual([code, checks, err], [1, [`${check} wrong`], `${check}: ${says}\n`])
      }
      const slash = yield* diagnosed({ ...env, PAYMENTS_URL: `${env.PAYMENTS_URL}/` })
      assert.deepStrictEqual([slash.code, slash.checks], [0, all])
    })
  )

  it.effect("CLI-32: says what answers in the service's place, and where it stops", () =>
    Effect.gen(function* () {
      const env = yield* shop()
      const moved = yield* replying(() => ({ status: 301, headers: { location: "https://pix.example.com/?token=1" } }))
      const redirected = yield* diagnosed({ ...env, PAYMENTS_URL: `http://127.0.0.1:${moved.port}` })
      assert.deepStrictEqual([redirected.code, redirected.checks], [1, ["url wrong"]])
      assert.include(redirected.err, "it answers 301, a redirect to https://pix.example.com/\n")
      const failing = yield* replying(() => ({ status: 503 }))
      const away = yield* diagnosed({ ...env, PAYMENTS_URL: `http://127.0.0.1:${failing.port}` })
      assert.include(
        away.err,
        `url: http://127.0.0.1:${failing.port} answers 503: the service, or a proxy before it, fails`
      )
      let count = 0
      const dying = yield* serving((request, response) => {
        count += 1
        if (count > 1) request.socket.destroy()
        else response.writeHead(200, json).end('{"object":"list","data":[]}')
      })
      const stopped = yield* diagnosed({ ...env, PAYMENTS_URL: `http://127.0.0.1:${dying.port}` })
      assert.deepStrictEqual([stopped.code, stopped.checks], [1, [...before, "scopes wrong"]])
      assert.match(stopped.err, /^scopes: The service answers no more \(\w+\): try again\n$/)
    })
  )

  it.effect("CLI-32: sends no key over http to another machine, and needs one", () =>
    Effect.gen(function* () {
      const plain = yield* diagnosed({ PAYMENTS_API_KEY: "pix_x", PAYMENTS_URL: "http://pix.example.com" })
      assert.deepStrictEqual([plain.code, plain.checks], [1, ["url wrong"]])
      assert.include(plain.err, "http://pix.example.com is not encrypted")
      const { code, err } = yield* pix(["doctor"], {})
      assert.deepStrictEqual([code, err.split(",")[0]], [2, "Set PAYMENTS_API_KEY to your key"])
    })
  )

  it.effect("CLI-30, CLI-31: `trigger` and `pay` work on charges that the shop's key made and reads", () =>
    Effect.gen(function* () {
      const { call, makeCaller, operatorToken, operatorUrl, publicUrl } = yield* TestService
      yield* makeCaller()
      const { accountId, key } = yield* makeCaller()
      const env = { PIX_URL: operatorUrl, PIX_TOKEN: operatorToken, PAYMENTS_URL: publicUrl, PAYMENTS_API_KEY: key }
      const read = (path: string) => call<Readonly<Record<string, unknown>>>("GET", path, { key })
      const paid = yield* pix(
        ["trigger", "charge.pix.paid", "--amount", "4321", "--reference", "order-1", "--data", '{"expires_in":600}'],
        { env }
      )
      assert.strictEqual(paid.code, 0, paid.err)
      const { steps } = JSON.parse(paid.out)
      assert.strictEqual(steps[0].call, "POST /v1/charges")
      const charge = yield* read(`/v1/charges/${steps[0].id}`)
      assert.deepInclude(charge.body, { status: "paid", amount: 4321, reference: "order-1" })
      const sent = yield* pix(["trigger", "payment.pix.created", "--reference", "salary-1"], { env })
      assert.strictEqual(sent.code, 0, sent.err)
      const payout = JSON.parse(sent.out).steps.at(-1)
      assert.strictEqual(payout.call, "POST /v1/payouts")
      assert.deepInclude((yield* read(`/v1/payouts/${payout.id}`)).body, { amount: 1990, reference: "salary-1" })

      const customer = { name: "Ana Souza", email: "ana@example.com", document: "529.982.247-25" }
      const made = yield* call<{ readonly id: string }>("POST", "/v1/charges", {
        key,
        idempotencyKey: newKey(),
        body: { amount: 1000, customer }
      })
      const done = yield* pix(["pay", made.body.id], { env })
      assert.strictEqual(done.code, 0, done.err)
      assert.deepInclude((yield* read(`/v1/charges/${made.body.id}`)).body, { status: "paid" })
      const unknown = yield* pix(["pay", "01a2027c-27ce-74b6-88f7-06b8f8b33cb6"], { env })
      assert.deepStrictEqual(
        [unknown.code, unknown.err],
        [5, "No charge has the id 01a2027c-27ce-74b6-88f7-06b8f8b33cb6.\n"]
      )
      const { PAYMENTS_API_KEY: _key, ...operator } = env
      const keyless = yield* pix(["trigger", "charge.pix.paid", "--account", accountId], { env: operator })
      assert.strictEqual(keyless.code, 0)
      assert.include(keyless.err, "The shop's key does not read these: set PAYMENTS_API_KEY to make them with it.")
      assert.strictEqual((yield* read(`/v1/charges/${JSON.parse(keyless.out).steps[0].id}`)).status, 404)
      assert.notInclude(paid.err, "PAYMENTS_API_KEY")
      const wrong = yield* pix(["trigger", "charge.pix.paid", "--data", "{"], { env })
      assert.deepStrictEqual([wrong.code, wrong.err], [2, "--data is not JSON.\n"])
      const refused = yield* pix(["trigger", "charge.pix.paid", "--amount", "19"], { env })
      assert.strictEqual(refused.code, 5)
      assert.include(refused.err, "amount must be at least 100 cents, got 19")
    })
  )

  it.effect("CLI-2: PIX_URL with the port of /v1 says so, and ends with 3; an unknown id ends with 5", () =>
    Effect.gen(function* () {
      const { operatorToken, operatorUrl, publicUrl } = yield* TestService
      for (const args of [
        ["charges", "list"],
        ["charges", "get", "01a2027c-27ce-74b6-88f7-06b8f8b33cb6"],
        ["balance"]
      ]) {
        const { code, err } = yield* pix(args, { env: { PIX_URL: publicUrl, PIX_TOKEN: operatorToken } })
        assert.strictEqual(code, 3, err)
        assert.include(err, `${publicUrl} is not an operator listener.`)
      }
      const env = { PIX_URL: operatorUrl, PIX_TOKEN: operatorToken }
      const { code } = yield* pix(["charges", "get", "01a2027c-27ce-74b6-88f7-06b8f8b33cb6"], { env })
      assert.strictEqual(code, 5)
    })
  )
})
