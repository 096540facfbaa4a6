import { afterEach, assert, beforeEach, describe, it, vi } from "vitest"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { ApiError, ConnectionError, Payments, PaymentsError, TimeoutError, UsageError } from "../src/index.ts"
import { chargeOf, secretKey, someCharge } from "./support/Samples.ts"
import { closedUrl, json, startStub } from "./support/Stub.ts"
import { clientOf, failureOf } from "./support/TestClient.ts"

beforeEach(() => {
  vi.spyOn(Math, "random").mockReturnValue(0)
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.unstubAllEnvs()
})

/** The first frame of a stack. */
const topLine = (error: Error): string => error.stack?.split("\n").find((line) => /^\s+at /.test(line)) ?? ""

describe("a stack", () => {
  it("begins at the line of the call, for every kind of failure", async () => {
    await using stub = await startStub((response, { path }) =>
      path.startsWith("/v1/charges?")
        ? json(response, 200, { object: "list", data: null })
        : json(response, 400, { code: "VALIDATION_ERROR", message: "no" })
    )
    const payments = clientOf(stub.url)
    const calls: Record<string, () => PromiseLike<unknown>> = {
      rejected: () => payments.charges.create(someCharge),
      withResponse: () => payments.charges.create(someCharge).withResponse(),
      invalid: () => payments.charges.retrieve(""),
      listed: () => payments.charges.list().toArray({ limit: 1 }),
      awaitedList: () => payments.charges.list(),
      waited: () => payments.charges.waitUntil("1", "paid"),
      waitedPayout: () => payments.payouts.waitUntil("1", "completed", { maxWaitMs: -1 }),
      raw: () => payments.request("GET", "/v1/refunds"),
      unreachable: () => clientOf("http://127.0.0.1:1").balance.retrieve()
    }
    for (const [name, call] of Object.entries(calls)) {
      const error = await failureOf(call())
      assert.instanceOf(error, PaymentsError, name)
      assert.match(
        topLine(error),
        new RegExp(`(${name}|calls\\.${name}|Object\\.${name}).*Errors\\.test\\.ts`),
        error.stack
      )
      assert.isTrue(error.stack?.startsWith(`${error.name}: ${error.message}\n    at `), error.stack)
    }
  })

  it("is kept out of the way if the application sets Error.prepareStackTrace", async () => {
    const { prepareStackTrace } = Error
    Error.prepareStackTrace = (_error, frames) => frames
    try {
      const error = await failureOf(clientOf("https://pix.example.com").charges.retrieve(""))
      assert.strictEqual(error.name, "UsageError")
    } finally {
      Error.prepareStackTrace = prepareStackTrace
    }
  })
})

describe("a message", () => {
  it("of an error response has code, fields or explanation, status and request id", async () => {
    for (const [status, body, message] of [
      [
        400,
        { code: "VALIDATION_ERROR", message: "The request is invalid.", details: ["customer.name", "customer.email"] },
        "VALIDATION_ERROR: The request is invalid. (customer.name, customer.email) (400, request r-1)"
      ],
      [
        400,
        {
          code: "VALIDATION_ERROR",
          message: "The request is invalid. reference must be text.",
          details: ["reference"]
        },
        "VALIDATION_ERROR: The request is invalid. reference must be text. (400, request r-1)"
      ],
      [
        400,
        { code: "INSUFFICIENT_BALANCE", message: "Not enough." },
        "INSUFFICIENT_BALANCE: Not enough. (400, request r-1)"
      ],
      [409, { code: "NEW", message: "New.", details: [{ field: "a" }] }, "NEW: New. (409, request r-1)"],
      [
        502,
        "<html>",
        'UNKNOWN: charges.create got 502 application/json "\\"<html>\\"": check baseUrl and proxies (502, request r-1)'
      ]
    ] as const) {
      await using stub = await startStub((response) => json(response, status, body, { "x-request-id": "r-1" }))
      const error = await failureOf(clientOf(stub.url, { maxRetries: 0 }).charges.create(someCharge))
      assert.instanceOf(error, ApiError)
      assert.strictEqual(error.message, message)
    }
  })

  it("of a connection error says whether the request may have been processed, and what to do", async () => {
    const refused = await failureOf(clientOf(await closedUrl()).charges.create(someCharge))
    assert.instanceOf(refused, ConnectionError)
    assert.strictEqual(
      refused.message,
      `charges.create: ECONNREFUSED ${String(refused.message.match(/127[.:\d]+/)?.[0])}; nothing was sent: check baseUrl, proxy and certificates`
    )
    assert.deepInclude(JSON.parse(JSON.stringify(refused)), { reason: "not-sent", causeCode: "ECONNREFUSED" })
    const nowhere = await failureOf(clientOf("http://name.invalid", { maxRetries: 0 }).charges.create(someCharge))
    assert.match(
      nowhere.message,
      /^charges\.create: (ENOTFOUND|EAI_AGAIN) name\.invalid; nothing was sent: check baseUrl, proxy and certificates$/
    )

    await using stub = await startStub((response) => response.destroy())
    const lost = await failureOf(clientOf(stub.url).charges.create(someCharge))
    assert.instanceOf(lost, ConnectionError)
    assert.strictEqual(lost.reason, "lost")
    assert.match(
      lost.message,
      /^charges\.create: connection to 127\.0\.0\.1:\d+ lost \(\w+\); it may have been processed: repeat it with the same idempotencyKey$/
    )
    // A GET changes nothing.
    const read = await failureOf(clientOf(stub.url).balance.retrieve())
    assert.match(read.message, /^balance\.retrieve: connection to 127\.0\.0\.1:\d+ lost \(\w+\); repeat the call$/)
  })

  it("does not say that nothing was sent if an earlier attempt may have arrived", async () => {
    let count = 0
    const fetch = () => {
      count += 1
      const code = count === 1 ? "ECONNRESET" : "ECONNREFUSED"
      return Promise.reject(new TypeError("fetch failed", { cause: Object.assign(new Error("no"), { code }) }))
    }
    const error = await failureOf(clientOf("https://pix.example.com", { fetch }).charges.create(someCharge))
    assert.instanceOf(error, ConnectionError)
    assert.deepStrictEqual([error.reason, error.causeCode, error.attempts], ["lost", "ECONNREFUSED", 3])
    assert.include(error.message, "it may have been processed: repeat it with the same idempotencyKey")
  })

  it("knows the error codes of certificates and connect timeouts, and treats unknown codes as lost", async () => {
    for (const [cause, reason] of [
      [{ code: "UNABLE_TO_VERIFY_LEAF_SIGNATURE" }, "not-sent"],
      [{ code: "SELF_SIGNED_CERT_IN_CHAIN" }, "not-sent"],
      [{ code: "CERT_HAS_EXPIRED" }, "not-sent"],
      [{ code: "ERR_TLS_CERT_ALTNAME_INVALID" }, "not-sent"],
      [{ code: "UND_ERR_CONNECT_TIMEOUT" }, "not-sent"],
      [{ code: "ERR_SSL_WRONG_VERSION_NUMBER" }, "not-sent"],
      [{ code: "ETIMEDOUT", syscall: "connect" }, "not-sent"],
      [{ code: "ETIMEDOUT", syscall: "read" }, "lost"],
      [{ code: "EHOSTUNREACH" }, "lost"],
      [{ code: "UND_ERR_SOCKET" }, "lost"],
      // Bun, Deno, and ports that fetch blocks.
      [
        { code: "EPROTO", message: "EPROTO: The TLS handshake failed. Does the server speak TLS on this port?" },
        "not-sent"
      ],
      [
        { message: "error sending request for url (https://a.example/): client error (Connect): dns error" },
        "not-sent"
      ],
      [{ message: "error sending request for url (https://a.example/): client error (SendRequest)" }, "lost"],
      [{ message: "bad port" }, "not-sent"],
      [{ message: "Fetch failed: Requests to port 1 are blocked" }, "not-sent"],
      [{ code: "EPROTO" }, "lost"],
      [{ code: 7 }, "lost"],
      [{}, "lost"],
      [undefined, "lost"]
    ] as const) {
      const fetch = () => Promise.reject(new TypeError("fetch failed", { cause }))
      const error = await failureOf(clientOf("https://pix.example.com", { fetch }).charges.create(someCharge))
      assert.instanceOf(error, ConnectionError)
      assert.strictEqual(error.reason, reason, JSON.stringify(cause))
      assert.notInclude(error.message, "undefined")
      assert.include(error.message, "pix.example.com")
    }
    const circle: { cause?: unknown } = {}
    circle.cause = circle
    const fetch = () => Promise.reject(circle)
    assert.instanceOf(
      await failureOf(clientOf("https://pix.example.com", { fetch }).balance.retrieve()),
      ConnectionError
    )
  })

  it("of a proxy that rejects the tunnel has the proxy's status", async () => {
    const proxy = createServer()
    proxy.on("connect", (_request, socket) => socket.end("HTTP/1.1 407 Proxy Authentication Required\r\n\r\n"))
    proxy.listen(0, "127.0.0.1")
    await once(proxy, "listening")
    try {
      const { ProxyAgent, fetch } = await import("undici")
      const dispatcher = new ProxyAgent(`http://127.0.0.1:${(proxy.address() as AddressInfo).port}`)
      const payments = clientOf("https://pix.example.com", {
        maxRetries: 0,
        fetch: (url: string, init: object) => fetch(url, { ...init, dispatcher })
      })
      const error = await failureOf(payments.charges.create(someCharge))
      assert.instanceOf(error, ConnectionError)
      assert.strictEqual(
        error.message,
        "charges.create: the proxy answered 407; nothing was sent: check baseUrl, proxy and certificates"
      )
      assert.strictEqual(error.reason, "not-sent")
      await dispatcher.close()
    } finally {
      proxy.close()
    }
  })

  it("of a timeout, and of a response that is not the service's, says that the call may have been processed", async () => {
    await using stub = await startStub((response, { method }) => {
      if (method === "POST") json(response, 200, null)
    })
    const late = await failureOf(clientOf(stub.url, { timeoutMs: 30, maxRetries: 0 }).balance.retrieve())
    assert.match(late.message, /^balance\.retrieve: no response of 127\.0\.0\.1:\d+ within 30 ms; repeat the call$/)
    const never = () => new Promise<never>(() => {})
    const unsure = clientOf(stub.url, { timeoutMs: 30, maxRetries: 0, fetch: never })
    assert.match(
      (await failureOf(unsure.charges.create(someCharge))).message,
      /within 30 ms; it may have been processed: repeat it with the same idempotencyKey$/
    )
    const malformed = await failureOf(clientOf(stub.url, { maxRetries: 0 }).charges.create(someCharge))
    assert.instanceOf(malformed, ConnectionError)
    assert.strictEqual(malformed.reason, "malformed")
    assert.include(malformed.message, 'not the service\'s: 200 application/json "null"; it may have been processed')
  })
})

describe("new Payments", () => {
  const problemOf = (options?: object): string => {
    try {
      return String(new Payments(options))
    } catch (error) {
      assert.instanceOf(error, UsageError)
      return error.message
    }
  }

  it("names what is missing, and reads it from the environment", async () => {
    vi.stubEnv("PAYMENTS_URL", undefined)
    vi.stubEnv("PAYMENTS_API_KEY", undefined)
    const baseUrl = "https://pix.example.com"
    assert.strictEqual(problemOf(), "baseUrl is missing: pass it or set PAYMENTS_URL")
    assert.strictEqual(problemOf({ baseUrl }), "apiKey is missing: pass it or set PAYMENTS_API_KEY")
    assert.strictEqual(problemOf({ baseUrl, apiKey: "" }), "apiKey is missing: pass it or set PAYMENTS_API_KEY")
    await using stub = await startStub((response) => json(response, 200, { object: "balance" }))
    vi.stubEnv("PAYMENTS_URL", stub.url)
    vi.stubEnv("PAYMENTS_API_KEY", "pix_from-the-environment")
    await new Payments().balance.retrieve()
    assert.strictEqual(stub.requests[0]?.headers["x-api-key"], "pix_from-the-environment")
    // An option overrides the environment, even if it is empty.
    assert.strictEqual(problemOf({ apiKey: "" }), "apiKey is missing: pass it or set PAYMENTS_API_KEY")
  })

  it("rejects a baseUrl that ends in /v1", () => {
    for (const path of ["/v1", "/v1/", "/behind/v1//"]) {
      const message = problemOf({ baseUrl: `https://pix.example.com${path}`, apiKey: "pix_" })
      assert.strictEqual(message, "baseUrl must not end in /v1: the client adds it")
    }
  })
})

describe("an API key function", () => {
  it("is called before each attempt", async () => {
    await using stub = await startStub((response, _, count) =>
      count === 1 ? json(response, 503, {}) : json(response, 200, { object: "balance" })
    )
    let count = 0
    const payments = clientOf(stub.url, { apiKey: () => (++count === 1 ? "pix_one" : Promise.resolve("pix_two")) })
    await payments.balance.retrieve()
    assert.deepStrictEqual(
      stub.requests.map(({ headers }) => headers["x-api-key"]),
      ["pix_one", "pix_two"]
    )
  })

  it("ends the call before anything is sent if it fails, hangs or returns no key", async () => {
    await using stub = await startStub((response) => json(response, 201, chargeOf()))
    for (const [apiKey, type, message] of [
      [() => "", UsageError, "apiKey is missing"],
      [() => `${secretKey}\n`, UsageError, "apiKey must be visible ASCII"],
      [() => Promise.reject(new Error("the vault is closed")), UsageError, "the apiKey function failed: see cause"],
      [() => assert.fail("no"), UsageError, "the apiKey function failed: see cause"],
      [() => new Promise<never>(() => {}), TimeoutError, "the apiKey function took longer than 30 ms; nothing was sent"]
    ] as const) {
      const error = await failureOf(clientOf(stub.url, { apiKey, timeoutMs: 30 }).charges.create(someCharge))
      assert.isTrue(error instanceof type)
      assert.include(error.message, message)
      assert.strictEqual(error.attempts, 0)
      assert.notInclude(error.message, secretKey)
    }
    assert.strictEqual(stub.requests.length, 0)
  })
})

describe("hooks", () => {
  it("are called once per attempt: with its response, or with its failure", async () => {
    await using stub = await startStub((response, _, count) => {
      if (count === 1) return void response.destroy()
      if (count === 2) return json(response, 500, {})
      if (count === 3) return void response.writeHead(201, { "content-length": "1000" }).write("{")
      json(response, 201, chargeOf())
    })
    const calls: Array<string> = []
    const hooks = {
      onResponse: ({ attempt, status }: { attempt: number; status: number }) => void calls.push(`${attempt} ${status}`),
      onFailure: ({ attempt, durationMs, error }: { attempt: number; durationMs: number; error: PaymentsError }) => {
        assert.isAtLeast(durationMs, 0)
        calls.push(`${attempt} ${error.name}`)
      }
    }
    await clientOf(stub.url, { hooks, maxRetries: 5, timeoutMs: 1000 }).charges.create(someCharge)
    assert.deepStrictEqual(calls, ["1 ConnectionError", "2 500", "3 TimeoutError", "4 201"])
    const controller = new AbortController()
    const never = () => new Promise<never>(() => setImmediate(() => controller.abort()))
    await failureOf(clientOf(stub.url, { hooks, fetch: never }).balance.retrieve({ signal: controller.signal }))
    assert.strictEqual(calls.at(-1), "1 AbortError")
  })
})
