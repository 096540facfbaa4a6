/** A request of the client: what is sent, what is taken for the service's answer, and that no secret is printed. */
import { afterEach, assert, beforeEach, describe, it, vi } from "vitest"
import { inspect } from "node:util"
import { ConnectionError, ApiError, PaymentsError, UsageError } from "../src/index.ts"
import { version } from "../src/generated/Routes.ts"
import { chargeOf, secretKey, someCharge } from "./support/Samples.ts"
import { json, startStub } from "./support/Stub.ts"
import { clientOf, failureOf } from "./support/TestClient.ts"

const oops = { code: "INTERNAL_ERROR", message: "An unexpected failure." }

// Full jitter starts at 0, so no test waits.
beforeEach(() => {
  vi.spyOn(Math, "random").mockReturnValue(0)
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

describe("a request", () => {
  it("has the API key, its own request id and the client's name", async () => {
    await using stub = await startStub((response) => json(response, 201, chargeOf()))
    const payments = clientOf(`${stub.url}/behind/a/proxy//`, { headers: { "x-tenant": "a" } })
    await payments.charges.create(someCharge, { headers: { "x-trace": "1" } })
    const asked = stub.requests[0]!
    assert.strictEqual(asked.path, "/behind/a/proxy/v1/charges")
    assert.deepInclude(asked.headers, {
      "x-api-key": secretKey,
      "x-tenant": "a",
      "x-trace": "1",
      accept: "application/json",
      "content-type": "application/json",
      "user-agent": `pix-payments-client/${version}`
    })
    assert.match(String(asked.headers["x-request-id"]), /^[0-9a-f-]{36}$/)
    assert.deepStrictEqual(JSON.parse(asked.body), someCharge)
  })

  it("encodes ids, and leaves out undefined query parameters", async () => {
    await using stub = await startStub((response) => json(response, 200, { object: "list", data: [], has_more: false }))
    const payments = clientOf(stub.url)
    await payments.charges.retrieve("a/b?c#d")
    await payments.charges.list({ status: "paid", created_after: "2026-11-21T00:00:00+03:00", limit: undefined })
    await payments.charges.list()
    assert.deepStrictEqual(
      stub.requests.map(({ path }) => path),
      [
        "/v1/charges/a%2Fb%3Fc%23d",
        "/v1/charges?status=paid&created_after=2026-11-21T00%3A00%3A00%2B03%3A00",
        "/v1/charges"
      ]
    )
  })

  it("is sent once: at the call, or for a list when it is first used", async () => {
    await using stub = await startStub((response, { method }) =>
      json(response, 200, method === "POST" ? chargeOf() : { object: "list", data: [], has_more: false })
    )
    const payments = clientOf(stub.url)
    const call = payments.charges.create(someCharge)
    await Promise.all([call, call, call.withResponse(), call.finally(() => {})])
    assert.strictEqual(stub.requests.length, 1)
    const list = payments.charges.list()
    await call.then()
    assert.strictEqual(stub.requests.length, 1)
    await Promise.all([list, list.withResponse(), list])
    assert.strictEqual(stub.requests.length, 2)
  })

  it("that fails and is not awaited is an unhandled rejection", async () => {
    const unhandled = vi.fn()
    process.on("unhandledRejection", unhandled)
    try {
      void clientOf("https://pix.example.com").charges.create(someCharge, { idempotencyKey: "short" })
      await new Promise((resolve) => setImmediate(resolve))
      assert.strictEqual(unhandled.mock.calls.length, 1)
      assert.instanceOf(unhandled.mock.calls[0]?.[0], UsageError)
      // A call that is awaited later is handled. A list that is not used sends nothing.
      const call = clientOf("https://pix.example.com").charges.create(someCharge, { idempotencyKey: "short" })
      clientOf("https://pix.example.com").charges.list({}, { timeoutMs: -1 })
      assert.instanceOf(await failureOf(call), UsageError)
      assert.instanceOf(await failureOf(call.withResponse()), UsageError)
      await new Promise((resolve) => setImmediate(resolve))
      assert.strictEqual(unhandled.mock.calls.length, 1)
    } finally {
      process.off("unhandledRejection", unhandled)
    }
  })

  it("does not follow redirects", async () => {
    await using elsewhere = await startStub((response) => json(response, 200, chargeOf()))
    await using stub = await startStub((response) => {
      response.writeHead(307, { location: `${elsewhere.url}/v1/charges/1` }).end()
    })
    const error = await failureOf(clientOf(stub.url).charges.retrieve("1"))
    assert.instanceOf(error, ApiError)
    assert.strictEqual(error.status, 307)
    assert.strictEqual(error.code, "UNKNOWN")
    assert.include(error.message, `got 307, a redirect to ${elsewhere.url}/v1/charges/1: check baseUrl and proxies`)
    assert.strictEqual(elsewhere.requests.length, 0)
  })

  it("keeps the caller's X-Request-Id and User-Agent, in every attempt", async () => {
    await using stub = await startStub((response, _, count) =>
      count === 1 ? json(response, 503, {}) : json(response, 200, chargeOf())
    )
    const payments = clientOf(stub.url, { headers: { "User-Agent": "shop/1" } })
    await payments.charges.retrieve("1", { headers: { "X-Request-Id": "order-1001" } })
    assert.deepStrictEqual(
      stub.requests.map(({ headers }) => [headers["x-request-id"], headers["user-agent"]]),
      [
        ["order-1001", "shop/1"],
        ["order-1001", "shop/1"]
      ]
    )
  })

  it("shows what a portal answers in the service's place", async () => {
    const page = `<html><head><title>Log in to the Wi-Fi</title></head>${" ".repeat(5000)}</html>`
    await using stub = await startStub((response) => {
      response.writeHead(200, { "content-type": "text/html; charset=utf-8" }).end(page)
    })
    const error = await failureOf(clientOf(stub.url, { maxRetries: 0 }).charges.retrieve("1"))
    assert.instanceOf(error, ConnectionError)
    assert.deepStrictEqual([error.reason, error.status], ["malformed", 200])
    assert.include(
      error.message,
      `not the service's: 200 text/html "<html><head><title>Log in to the Wi-Fi</title></head>`
    )
    assert.isBelow(error.message.length, 220)
  })

  it("takes a 204 without a body for no result, except of a deletion", async () => {
    await using stub = await startStub((response) => void response.writeHead(204).end())
    const payments = clientOf(stub.url, { maxRetries: 0 })
    for (const call of [
      () => payments.balance.retrieve(),
      () => payments.charges.create(someCharge),
      () => payments.webhooks.update("1", { active: true }),
      () => payments.charges.list()
    ]) {
      const error = await failureOf(call())
      assert.instanceOf(error, ConnectionError)
      assert.deepStrictEqual([error.reason, error.status], ["malformed", 204])
    }
    assert.isUndefined(await payments.webhooks.delete("1"))
    // What a route that this release does not know answers is the caller's to know.
    assert.isUndefined(await payments.request("POST", "/v1/later"))
  })

  it("with https to a port without TLS is not sent", async () => {
    await using stub = await startStub((response) => json(response, 200, chargeOf()))
    const error = await failureOf(clientOf(stub.url.replace("http:", "https:")).charges.create(someCharge))
    assert.instanceOf(error, ConnectionError)
    assert.strictEqual(error.reason, "not-sent")
    assert.match(error.message, /^charges\.create: ERR_SSL_WRONG_VERSION_NUMBER 127\.0\.0\.1:\d+; nothing was sent/)
  })

  it("is not sent if an option or id is invalid", async () => {
    await using stub = await startStub((response) => json(response, 200, chargeOf()))
    const payments = clientOf(stub.url)
    for (const id of ["", ".", ".."]) assert.instanceOf(await failureOf(payments.charges.retrieve(id)), UsageError)
    assert.instanceOf(await failureOf(payments.charges.retrieve(undefined as unknown as string)), UsageError)
    // Plain JavaScript can pass anything. An invalid key is rejected, not replaced.
    for (const wrong of ["short", "with a space", "a".repeat(256), "line\nbreak", null, 12_345_678]) {
      const idempotencyKey = wrong as string
      const refused = await failureOf(payments.charges.create(someCharge, { idempotencyKey }))
      assert.instanceOf(refused, UsageError)
      assert.include(refused.message, "idempotencyKey must be")
    }
    for (const options of [{ timeoutMs: 0 }, { timeoutMs: 2 ** 31 }, { maxRetries: -1 }, { maxRetries: 0.5 }]) {
      assert.instanceOf(await failureOf(payments.balance.retrieve(options)), UsageError)
    }
    for (const maxWaitMs of [Number.NaN, -1]) {
      assert.instanceOf(await failureOf(payments.charges.waitUntil("1", "paid", { maxWaitMs })), UsageError)
    }
    const error = await failureOf(payments.balance.retrieve({ headers: { "x-secret": "a\nsecret" } }))
    assert.instanceOf(error, UsageError)
    assert.notInclude(inspect(error, { depth: Infinity }), "a\nsecret")
    assert.strictEqual(error.attempts, 0)
    assert.strictEqual(stub.requests.length, 0)
  })
})

describe("params that are not JSON", () => {
  it("are a UsageError whose message has none of them", async () => {
    await using stub = await startStub((response) => json(response, 201, chargeOf()))
    const payments = clientOf(stub.url)
    const circle: Record<string, unknown> = { [secretKey]: 1 }
    circle[secretKey] = circle
    const failing = { toJSON: () => assert.fail(secretKey) }
    for (const wrong of [{ ...someCharge, amount: 1n }, { ...someCharge, customer: circle }, failing]) {
      const call = payments.charges.create(wrong as unknown as typeof someCharge)
      const error = await failureOf(call)
      assert.instanceOf(error, UsageError)
      assert.strictEqual(error.idempotencyKey, call.idempotencyKey)
      assert.notInclude(inspect(error, { depth: Infinity }), secretKey)
    }
    assert.instanceOf(await failureOf(payments.charges.retrieve("\ud800")), UsageError)
    const query = { status: Object.create(null) }
    assert.instanceOf(await failureOf(payments.charges.list(query)), UsageError)
    assert.strictEqual(stub.requests.length, 0)
  })
})

describe("request", () => {
  it("sends any method, path, query and body, and retries a POST only with a key", async () => {
    vi.spyOn(Math, "random").mockReturnValue(0)
    await using stub = await startStub((response, _, count) =>
      count % 2 === 1 ? json(response, 500, {}) : json(response, 201, { id: "r" }, { "x-request-id": "theirs" })
    )
    const payments = clientOf(`${stub.url}/base`)
    const call = payments.request<{ readonly id: string }>("POST", "/v1/refunds", {
      query: { expand: "charge", none: undefined },
      body: { amount: 100 },
      idempotencyKey: "refund-1001"
    })
    const { data, response } = await call.withResponse()
    assert.strictEqual(data.id, "r")
    assert.strictEqual(call.idempotencyKey, "refund-1001")
    assert.deepStrictEqual([response.attempts, response.requestId], [2, "theirs"])
    assert.strictEqual(stub.requests[1]?.path, "/base/v1/refunds?expand=charge")
    assert.deepInclude(stub.requests[1]?.headers, { "idempotency-key": "refund-1001", "x-api-key": secretKey })
    assert.deepStrictEqual(JSON.parse(stub.requests[1]?.body ?? ""), { amount: 100 })
    const withoutKey: unknown = await payments.request("POST", "/v1/refunds").catch((error: unknown) => error)
    assert.include(String(withoutKey), "(500")
    assert.strictEqual(stub.requests.length, 3)
    // In lower case, it is still a POST without a key.
    await using failing = await startStub((response) => json(response, 500, {}))
    await clientOf(failing.url)
      .request("post", "/v1/refunds")
      .catch(() => {})
    assert.deepStrictEqual(
      failing.requests.map(({ method }) => method),
      ["POST"]
    )
    await using deleting = await startStub((response) => json(response, 200, { deleted: true }))
    assert.deepStrictEqual<unknown>(await clientOf(deleting.url).request("DELETE", "/v1/refunds/1"), { deleted: true })
    const outside: unknown = await payments.request("GET", ".evil.example/v1").catch((error: unknown) => error)
    assert.instanceOf(outside, UsageError)
    vi.restoreAllMocks()
  })
})

describe("secrets", () => {
  it("are not printed by client, calls, errors or hooks", async () => {
    await using stub = await startStub((response, _, count) => {
      if (count === 1) return void response.destroy()
      if (count === 2) return json(response, 500, oops)
      if (count === 3) return
      json(response, 400, { code: "VALIDATION_ERROR", message: "no", details: ["webhook_secret"] })
    })
    const shown: Array<unknown> = []
    const show = (value: unknown) => void shown.push(value)
    const hooks = { onRequest: show, onResponse: show, onRetry: show }
    const payments = clientOf(stub.url, { hooks, timeoutMs: 1000, headers: { "x-proxy-key": secretKey } })
    shown.push(payments, payments.charges)
    const params = { ...someCharge, webhook_url: "https://1.1.1.1/", webhook_secret: secretKey }
    for (const options of [{ maxRetries: 0 }, { maxRetries: 0 }, { maxRetries: 0 }, {}]) {
      const call = payments.charges.create(params, options)
      shown.push(call, await failureOf(call))
    }
    shown.push(await failureOf(payments.charges.create(params, { signal: AbortSignal.abort() })))
    assert.strictEqual(stub.requests.length, 4)
    for (const value of shown) {
      const texts = [
        inspect(value, { depth: Infinity, showHidden: true, getters: true }),
        JSON.stringify(value),
        String(value),
        value instanceof Error ? String(value.stack) : ""
      ]
      for (const text of texts) assert.notInclude(text, secretKey)
    }
  })

  it("a subclass of an error can set its name", () => {
    class OutOfStock extends PaymentsError {
      constructor() {
        super("none left", { operation: "order", attempts: 0 })
        this.name = "OutOfStock"
      }
    }
    assert.strictEqual(String(new OutOfStock()), "OutOfStock: none left")
    assert.strictEqual(new PaymentsError("", { operation: "order", attempts: 0 }).name, "PaymentsError")
    assert.deepInclude(JSON.parse(JSON.stringify(new OutOfStock())), { name: "OutOfStock", operation: "order" })
  })

  it("an error's JSON has its fields", async () => {
    await using stub = await startStub((response) =>
      json(response, 422, { code: "ACQUIRER_REJECTED", message: "Refused.", charge_id: "1" }, { "x-request-id": "r" })
    )
    const error = await failureOf(clientOf(stub.url).charges.create(someCharge, { idempotencyKey: "order-1001" }))
    assert.deepStrictEqual(JSON.parse(JSON.stringify(error)), {
      name: "InvalidRequestError",
      message: "ACQUIRER_REJECTED: Refused. (422, request r)",
      operation: "charges.create",
      idempotencyKey: "order-1001",
      requestId: "r",
      attempts: 1,
      status: 422,
      code: "ACQUIRER_REJECTED",
      details: [],
      charge_id: "1",
      body: { code: "ACQUIRER_REJECTED", message: "Refused.", charge_id: "1" }
    })
  })
})
