import { afterEach, assert, beforeEach, describe, it, vi } from "vitest"
import type { ServerResponse } from "node:http"
import { inspect } from "node:util"
import {
  AbortError,
  ApiError,
  type Charge,
  ConnectionError,
  isCode,
  Payments,
  PaymentsError,
  type PaymentsOptions,
  RateLimitError,
  ServerError,
  TimeoutError,
  UsageError,
  WaitError
} from "../src/index.ts"
import { delayMs, retryAfterMs } from "../src/Retry.ts"
import { version } from "../src/generated/Routes.ts"
import { chargeOf, secretKey, someCharge } from "./support/Samples.ts"
import { json, startStub } from "./support/Stub.ts"

const clientOf = (baseUrl: string, options: Partial<PaymentsOptions> = {}) =>
  new Payments({ baseUrl, apiKey: secretKey, ...options })

const failureOf = async (call: PromiseLike<unknown>): Promise<PaymentsError> => {
  try {
    await call
  } catch (error) {
    if (error instanceof PaymentsError) return error
    throw error
  }
  return assert.fail("it was accepted")
}

const oops = { code: "INTERNAL_ERROR", message: "An unexpected failure." }

// Full jitter begins at nothing: no test waits.
beforeEach(() => {
  vi.spyOn(Math, "random").mockReturnValue(0)
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

describe("a request", () => {
  it("carries the key, a request id of its own, and says who sends it", async () => {
    await using stub = await startStub((response) => json(response, 201, chargeOf()))
    const payments = clientOf(`${stub.url}/behind/a/proxy//`, { headers: { "x-tenant": "a" } })
    await payments.charges.create(someCharge, { headers: { "x-trace": "1" } })
    const asked = stub.asked[0]!
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

  it("encodes ids and leaves out what a query does not say", async () => {
    await using stub = await startStub((response) => json(response, 200, { object: "list", data: [], has_more: false }))
    const payments = clientOf(stub.url)
    await payments.charges.retrieve("a/b?c#d")
    await payments.charges.list({ status: "paid", created_after: "2026-11-21T00:00:00+03:00", limit: undefined })
    await payments.charges.list()
    assert.deepStrictEqual(
      stub.asked.map(({ path }) => path),
      [
        "/v1/charges/a%2Fb%3Fc%23d",
        "/v1/charges?status=paid&created_after=2026-11-21T00%3A00%3A00%2B03%3A00",
        "/v1/charges"
      ]
    )
  })

  it("is sent when a creation is called, and for a list when it is looked at, once each", async () => {
    await using stub = await startStub((response, { method }) =>
      json(response, 200, method === "POST" ? chargeOf() : { object: "list", data: [], has_more: false })
    )
    const payments = clientOf(stub.url)
    const call = payments.charges.create(someCharge)
    await Promise.all([call, call, call.withResponse(), call.finally(() => {})])
    assert.strictEqual(stub.asked.length, 1)
    const list = payments.charges.list()
    await call.then()
    assert.strictEqual(stub.asked.length, 1)
    await Promise.all([list, list.withResponse(), list])
    assert.strictEqual(stub.asked.length, 2)
  })

  it("that fails and that nobody awaits is an unhandled rejection, as everywhere else", async () => {
    const unhandled = vi.fn()
    process.on("unhandledRejection", unhandled)
    try {
      void clientOf("https://pix.example.com").charges.create(someCharge, { idempotencyKey: "short" })
      await new Promise((resolve) => setImmediate(resolve))
      assert.strictEqual(unhandled.mock.calls.length, 1)
      assert.instanceOf(unhandled.mock.calls[0]?.[0], UsageError)
      // Whoever awaits it has it, and nobody else; a list is not asked for before it is awaited.
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

  it("is never redirected: the key is meant for one address", async () => {
    await using elsewhere = await startStub((response) => json(response, 200, chargeOf()))
    await using stub = await startStub((response) => {
      response.writeHead(307, { location: `${elsewhere.url}/v1/charges/1` }).end()
    })
    const error = await failureOf(clientOf(stub.url).charges.retrieve("1"))
    assert.instanceOf(error, ApiError)
    assert.strictEqual(error.status, 307)
    assert.strictEqual(error.code, "UNKNOWN")
    assert.strictEqual(elsewhere.asked.length, 0)
  })

  it("is not sent where the call was made wrongly", async () => {
    await using stub = await startStub((response) => json(response, 200, chargeOf()))
    const payments = clientOf(stub.url)
    for (const id of ["", ".", ".."]) assert.instanceOf(await failureOf(payments.charges.retrieve(id)), UsageError)
    assert.instanceOf(await failureOf(payments.charges.retrieve(undefined as unknown as string)), UsageError)
    // Plain JavaScript may bring anything; what is no key is not replaced by one in silence.
    for (const wrong of ["short", "with a space", "a".repeat(256), "line\nbreak", null, 12_345_678]) {
      const idempotencyKey = wrong as string
      const refused = await failureOf(payments.charges.create(someCharge, { idempotencyKey }))
      assert.instanceOf(refused, UsageError)
      assert.include(refused.message, "idempotencyKey must be")
    }
    for (const options of [{ timeoutMs: 0 }, { timeoutMs: 2 ** 31 }, { maxRetries: -1 }, { maxRetries: 0.5 }]) {
      assert.instanceOf(await failureOf(payments.balance.retrieve(options)), UsageError)
    }
    for (const waitMs of [Number.NaN, -1]) {
      assert.instanceOf(await failureOf(payments.charges.waitUntil("1", "paid", { waitMs })), UsageError)
    }
    const error = await failureOf(payments.balance.retrieve({ headers: { "x-secret": "a\nsecret" } }))
    assert.instanceOf(error, UsageError)
    assert.notInclude(inspect(error, { depth: Infinity }), "a\nsecret")
    assert.strictEqual(error.attempts, 0)
    assert.strictEqual(stub.asked.length, 0)
  })
})

describe("a header that has an option of its own", () => {
  const own = [
    ["Idempotency-Key", "idempotencyKey"],
    ["idempotency-key", "idempotencyKey"],
    ["X-API-Key", "apiKey"]
  ] as const

  it.each(own)("%s is refused, and the option %s named, for the client and for a call", async (name, option) => {
    await using stub = await startStub((response) => json(response, 201, chargeOf()))
    const headers = { [name]: secretKey }
    const errors = [await failureOf(clientOf(stub.url).charges.create(someCharge, { headers }))]
    errors.push(await failureOf((async () => clientOf(stub.url, { headers }))()))
    for (const error of errors) {
      assert.instanceOf(error, UsageError)
      assert.include(error.message, `option ${option}`)
      assert.notInclude(inspect(error, { depth: Infinity }), secretKey)
    }
    assert.strictEqual(stub.asked.length, 0)
  })
})

describe("params that cannot be sent", () => {
  it("are the caller's mistake like any other, and nothing of them is shown", async () => {
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
    assert.strictEqual(stub.asked.length, 0)
  })
})

describe("new Payments", () => {
  it("refuses what cannot be used, without saying what it is", () => {
    const refusals: ReadonlyArray<Partial<PaymentsOptions>> = [
      { baseUrl: "pix.example.com" },
      { baseUrl: "ftp://pix.example.com" },
      { baseUrl: `https://user:${secretKey}@pix.example.com` },
      { baseUrl: `https://pix.example.com?key=${secretKey}` },
      { baseUrl: `https://pix.example.com#${secretKey}` },
      { apiKey: "" },
      { apiKey: `${secretKey}\n` },
      { apiKey: `${secretKey}é` },
      { timeoutMs: Number.NaN },
      { maxRetries: Infinity },
      { headers: { "a b": secretKey } }
    ]
    for (const options of refusals) {
      try {
        clientOf("https://pix.example.com", options)
      } catch (error) {
        assert.instanceOf(error, UsageError)
        assert.notInclude(inspect(error, { depth: Infinity }), secretKey)
        continue
      }
      assert.fail(JSON.stringify(options))
    }
  })

  it("refuses browsers unless told otherwise", () => {
    vi.stubGlobal("document", {})
    assert.throws(() => clientOf("https://pix.example.com"), UsageError, /browser/)
    clientOf("https://pix.example.com", { dangerouslyAllowBrowser: true })
    vi.unstubAllGlobals()
  })
})

describe("retries", () => {
  for (const status of [408, 500, 502, 503, 504, 520, 522, 524, 529]) {
    it(`a ${status} is tried again under the same key, each attempt with a request id of its own`, async () => {
      await using stub = await startStub((response, _, count) =>
        count < 3 ? json(response, status, oops) : json(response, 201, chargeOf())
      )
      const call = clientOf(stub.url).charges.create(someCharge)
      const { data, response } = await call.withResponse()
      assert.strictEqual(data.status, "pending")
      assert.strictEqual(response.attempts, 3)
      const keys = stub.asked.map(({ headers }) => headers["idempotency-key"])
      assert.deepStrictEqual(keys, [call.idempotencyKey, call.idempotencyKey, call.idempotencyKey])
      assert.strictEqual(new Set(stub.asked.map(({ headers }) => headers["x-request-id"])).size, 3)
    })
  }

  it("ends with the last error, which tells key, request id and number of attempts", async () => {
    await using stub = await startStub((response, _, count) =>
      json(response, 500, oops, { "x-request-id": `request-${count}` })
    )
    const call = clientOf(stub.url).charges.create(someCharge)
    const error = await failureOf(call)
    assert.instanceOf(error, ServerError)
    assert.isTrue(isCode(error, "INTERNAL_ERROR"))
    assert.strictEqual(error.attempts, 3)
    assert.strictEqual(error.idempotencyKey, call.idempotencyKey)
    assert.strictEqual(error.requestId, "request-3")
  })

  it("no other 4xx is tried again", async () => {
    for (const status of [400, 401, 403, 404, 405, 409, 413, 422, 425, 451, 501, 505, 530]) {
      await using stub = await startStub((response) => json(response, status, { code: "NO", message: "no" }))
      const error = await failureOf(clientOf(stub.url).charges.create(someCharge))
      assert.instanceOf(error, ApiError)
      assert.strictEqual(stub.asked.length, 1, String(status))
    }
  })

  it("maxRetries is the client's, or the call's", async () => {
    await using stub = await startStub((response) => json(response, 500, oops))
    const payments = clientOf(stub.url, { maxRetries: 0 })
    await failureOf(payments.balance.retrieve())
    assert.strictEqual(stub.asked.length, 1)
    await failureOf(payments.balance.retrieve({ maxRetries: 4 }))
    assert.strictEqual(stub.asked.length, 6)
  })

  it("what is refused is refused, whether the whole body of the refusal arrives or not", async () => {
    const halves: ReadonlyArray<(response: ServerResponse, status: number) => void> = [
      (response, status) => {
        response.writeHead(status, { "content-length": "1000" }).write(`{"code":`)
        response.socket?.end()
      },
      // Nothing more comes, and the connection stays.
      (response, status) => void response.writeHead(status, { "content-length": "1000" }).write(`{"code":`),
      (response, status) => void response.writeHead(status).end(`{"code":`)
    ]
    for (const half of halves) {
      for (const status of [400, 401, 404, 422]) {
        await using stub = await startStub((response) => half(response, status))
        const error = await failureOf(clientOf(stub.url, { timeoutMs: 150 }).charges.create(someCharge))
        assert.instanceOf(error, ApiError)
        assert.deepStrictEqual([error.status, error.code, error.attempts], [status, "UNKNOWN", 1])
        assert.strictEqual(stub.asked.length, 1)
      }
      // Its status says as much of a 429, with what it asks for, and of a 500.
      await using stub = await startStub((response, _, count) =>
        count < 3 ? half(response, count === 1 ? 429 : 500) : json(response, 201, { id: "1" })
      )
      const params = { url: "https://1.1.1.1/hooks", events: ["charge.pix.paid"] } as const
      const error = await failureOf(clientOf(stub.url, { timeoutMs: 150 }).webhooks.create(params))
      assert.instanceOf(error, ServerError)
      assert.strictEqual(error.attempts, 2)
    }
  })

  it("a connection that breaks, and an answer that breaks off, are tried again", async () => {
    const broken: ReadonlyArray<Parameters<typeof startStub>[0]> = [
      (response) => response.destroy(),
      (response) => {
        response.writeHead(201, { "content-length": "1000" }).write(`{"id":`)
        response.socket?.end()
      },
      (response) => response.writeHead(201).end(`{"id":"0189`),
      (response) => response.writeHead(201).end(),
      (response) => response.writeHead(200, { "content-type": "text/html" }).end("<html>please log in</html>")
    ]
    for (const answer of broken) {
      await using stub = await startStub((response, asked, count) =>
        count < 3 ? answer(response, asked, count) : json(response, 201, chargeOf())
      )
      const { response } = await clientOf(stub.url).charges.create(someCharge).withResponse()
      assert.strictEqual(response.attempts, 3)
      const error = await failureOf(
        clientOf(stub.url, { fetch: () => Promise.reject(new TypeError("fetch failed")) }).balance.retrieve()
      )
      assert.instanceOf(error, ConnectionError)
      assert.strictEqual((error.cause as Error).message, "fetch failed")
      assert.strictEqual(error.attempts, 3)
    }
  })

  it("an attempt without a whole answer in time is given up and tried again", async () => {
    await using stub = await startStub((response, _, count) => {
      if (count === 1) return
      if (count === 2) return void response.writeHead(201, { "content-length": "1000" }).write("{")
      json(response, 201, chargeOf())
    })
    const { response } = await clientOf(stub.url, { timeoutMs: 150 }).charges.create(someCharge).withResponse()
    assert.strictEqual(response.attempts, 3)
    const error = await failureOf(
      clientOf(stub.url, { fetch: () => new Promise(() => {}), timeoutMs: 20, maxRetries: 1 }).balance.retrieve()
    )
    assert.instanceOf(error, TimeoutError)
    assert.strictEqual(error.timeoutMs, 20)
    assert.strictEqual(error.attempts, 2)
  })

  it("an endpoint that was perhaps registered is not registered again: that call has no key", async () => {
    const params = { url: "https://1.1.1.1/hooks", events: ["charge.pix.paid"] } as const
    for (const answer of [
      (response: ServerResponse) => void response.destroy(),
      (response: ServerResponse) => json(response, 500, oops),
      (response: ServerResponse) => json(response, 408, ""),
      (response: ServerResponse) => json(response, 522, ""),
      // The service says so also of an answer that it lost after its commit.
      (response: ServerResponse) => json(response, 503, { code: "SERVICE_UNAVAILABLE", message: "" })
    ]) {
      await using stub = await startStub(answer)
      await failureOf(clientOf(stub.url).webhooks.create(params))
      assert.strictEqual(stub.asked.length, 1)
    }
    // This says that nothing was done.
    await using stub = await startStub((response, _, count) =>
      count === 1 ? json(response, 429, { code: "RATE_LIMITED", message: "" }) : json(response, 201, { id: "1" })
    )
    assert.strictEqual((await clientOf(stub.url).webhooks.create(params)).id, "1")
  })

  it("what an earlier attempt may have removed is removed; what was never there is not", async () => {
    const gone = { code: "WEBHOOK_NOT_FOUND", message: "The webhook endpoint does not exist." }
    await using broken = await startStub((response, _, count) =>
      count === 1 ? void response.destroy() : json(response, 404, gone)
    )
    assert.isUndefined(await clientOf(broken.url).webhooks.delete("1"))
    await using limited = await startStub((response, _, count) =>
      count === 1 ? json(response, 429, { code: "RATE_LIMITED", message: "" }) : json(response, 404, gone)
    )
    assert.isTrue(isCode(await failureOf(clientOf(limited.url).webhooks.delete("1")), "WEBHOOK_NOT_FOUND"))
    // A balancer that knows no such path says nothing of the endpoint.
    for (const body of ["<html>", {}, { code: "NOT_FOUND", message: "" }]) {
      await using balanced = await startStub((response, _, count) =>
        count === 1 ? void response.destroy() : json(response, 404, body)
      )
      const error = await failureOf(clientOf(balanced.url).webhooks.delete("1"))
      assert.instanceOf(error, ApiError)
      assert.deepStrictEqual([error.status, error.attempts], [404, 2])
    }
    // A change does not take it for an answer.
    await using read = await startStub((response, _, count) =>
      count === 1 ? void response.destroy() : json(response, 404, gone)
    )
    assert.isTrue(isCode(await failureOf(clientOf(read.url).webhooks.update("1", {})), "WEBHOOK_NOT_FOUND"))
  })

  /** How long the client means to wait after the first answer. */
  const plannedDelayMs = async (status: number, headers: Record<string, string>, random = 0) => {
    vi.spyOn(Math, "random").mockReturnValue(random)
    await using stub = await startStub((response) => json(response, status, oops, headers))
    const controller = new AbortController()
    let planned: number | undefined
    const hooks = {
      onRetry: ({ delayMs }: { readonly delayMs: number }) => {
        planned = delayMs
        controller.abort()
      }
    }
    const error = await failureOf(clientOf(stub.url, { hooks }).balance.retrieve({ signal: controller.signal }))
    if (planned !== undefined) assert.instanceOf(error, AbortError)
    return planned ?? error
  }

  it("ERR-15: 429 and 503 are waited out as long as they ask, in seconds or until a date, a minute at most", async () => {
    assert.strictEqual(await plannedDelayMs(429, { "retry-after": "7" }), 7000)
    assert.strictEqual(await plannedDelayMs(503, { "retry-after": "60" }), 60_000)
    // @effect-diagnostics-next-line globalDate:off
    const date = new Date(Date.now() + 30_000).toUTCString()
    const untilMs = await plannedDelayMs(429, { "retry-after": date })
    assert.isTrue(typeof untilMs === "number" && untilMs > 20_000 && untilMs <= 30_000, String(untilMs))
    const error = await plannedDelayMs(429, { "retry-after": "61" })
    assert.instanceOf(error, RateLimitError)
    assert.strictEqual(error.retryAfterMs, 61_000)
    // Never sooner than asked, later where chance has it: who was sent away together does not come back together.
    assert.strictEqual(await plannedDelayMs(429, { "retry-after": "0" }, 0.5), 250)
    assert.strictEqual(await plannedDelayMs(429, { "retry-after": "1" }, 0.5), 1250)
    assert.strictEqual(await plannedDelayMs(429, { "retry-after": "40" }, 0.5), 45_000)
    assert.strictEqual(await plannedDelayMs(429, {}, 0.5), 250)
  })

  it("delays are random over their whole range, which doubles up to 8 seconds", () => {
    assert.deepStrictEqual(
      [1, 2, 3, 4, 5, 6, 60].map((attempt) => delayMs(attempt, 0, 0.999_999)),
      [499, 999, 1999, 3999, 7999, 7999, 7999]
    )
    assert.strictEqual(delayMs(9, 0, 0), 0)
    assert.strictEqual(delayMs(1, 60_000, 0.999_999), 74_999)
  })

  it("a Retry-After that says nothing is none", () => {
    assert.isUndefined(retryAfterMs(null, 0))
    assert.isUndefined(retryAfterMs("", 0))
    assert.isUndefined(retryAfterMs("soon", 0))
    assert.strictEqual(retryAfterMs("Thu, 01 Jan 1970 00:00:00 GMT", 5000), 0)
  })
})

describe("AbortSignal", () => {
  it("ends a call before it is sent, while it is under way, and while it waits", async () => {
    await using stub = await startStub((response, _, count) => {
      if (count > 1) json(response, 500, oops)
    })
    const payments = clientOf(stub.url)
    const reason = new Error("the customer left")
    const early = await failureOf(payments.charges.create(someCharge, { signal: AbortSignal.abort(reason) }))
    assert.instanceOf(early, AbortError)
    assert.strictEqual(early.cause, reason)
    assert.strictEqual(early.name, "AbortError")
    assert.deepStrictEqual([early.attempts, early.requestId], [0, undefined])
    assert.match(early.idempotencyKey ?? "", /^[0-9a-f-]{36}$/)
    const atOnce = new AbortController()
    const ending = clientOf(stub.url, { hooks: { onRequest: () => atOnce.abort() } })
    const unsent = await failureOf(ending.balance.retrieve({ signal: atOnce.signal }))
    assert.instanceOf(unsent, AbortError)
    assert.deepStrictEqual([unsent.attempts, unsent.requestId], [0, undefined])
    assert.strictEqual(stub.asked.length, 0)

    const controller = new AbortController()
    const hooks = { onRequest: () => void setImmediate(() => controller.abort(reason)) }
    const call = clientOf(stub.url, { hooks }).charges.create(someCharge, { signal: controller.signal })
    const underWay = await failureOf(call)
    assert.instanceOf(underWay, AbortError)
    assert.strictEqual(underWay.idempotencyKey, call.idempotencyKey)
    assert.strictEqual(underWay.attempts, 1)
  })

  it("leaves no listener behind", async () => {
    await using stub = await startStub((response, _, count) =>
      count < 3 ? json(response, 500, oops) : json(response, 200, { object: "balance" })
    )
    const { signal } = new AbortController()
    const added = vi.spyOn(signal, "addEventListener")
    const removed = vi.spyOn(signal, "removeEventListener")
    await clientOf(stub.url).balance.retrieve({ signal })
    assert.isAbove(added.mock.calls.length, 0)
    assert.strictEqual(added.mock.calls.length, removed.mock.calls.length)
  })
})

describe("hooks", () => {
  it("tell of attempts, answers and waits, and one that fails disturbs nothing", async () => {
    await using stub = await startStub((response, _, count) =>
      count === 1 ? json(response, 500, oops) : json(response, 201, chargeOf(), { "x-request-id": "theirs" })
    )
    const told: Array<string> = []
    const payments = clientOf(stub.url, {
      hooks: {
        onRequest: ({ attempt, idempotencyKey, method, operation, url }) => {
          told.push(`${operation} ${method} ${url} ${attempt} ${idempotencyKey}`)
          throw new Error("a hook failed")
        },
        onResponse: ({ attempt, requestId, status }) => {
          told.push(`${attempt} ${status} ${requestId.length}`)
        },
        onRetry: ({ error }) => {
          told.push(error.name)
          return Promise.reject(new Error("a hook failed"))
        }
      }
    })
    await payments.charges.create(someCharge, { idempotencyKey: "order-1001" })
    assert.deepStrictEqual(told, [
      `charges.create POST ${stub.url}/v1/charges 1 order-1001`,
      "1 500 36",
      "ServerError",
      `charges.create POST ${stub.url}/v1/charges 2 order-1001`,
      "2 201 6"
    ])
  })
})

describe("secrets", () => {
  it("are in nothing that can be printed: client, calls, errors, hooks", async () => {
    await using stub = await startStub((response, _, count) => {
      if (count === 1) return void response.destroy()
      if (count === 2) return json(response, 500, oops)
      if (count === 3) return
      json(response, 400, { code: "VALIDATION_ERROR", message: "no", details: ["webhook_secret"] })
    })
    const shown: Array<unknown> = []
    const show = (value: unknown) => void shown.push(value)
    const hooks = { onRequest: show, onResponse: show, onRetry: show }
    const payments = clientOf(stub.url, { hooks, timeoutMs: 100, headers: { "x-proxy-key": secretKey } })
    shown.push(payments, payments.charges)
    const params = { ...someCharge, webhook_url: "https://1.1.1.1/", webhook_secret: secretKey }
    for (const options of [{ maxRetries: 0 }, { maxRetries: 0 }, { maxRetries: 0 }, {}]) {
      const call = payments.charges.create(params, options)
      shown.push(call, await failureOf(call))
    }
    shown.push(await failureOf(payments.charges.create(params, { signal: AbortSignal.abort() })))
    assert.strictEqual(stub.asked.length, 4)
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

  it("a class made of one of the errors may name itself, as classes do", () => {
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

  it("an error's JSON says what is needed to ask about it", async () => {
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

describe("pages", () => {
  it("end at a page that brings nothing new, whatever it says", async () => {
    const page = { object: "list", data: [chargeOf()], has_more: true }
    await using same = await startStub((response) => json(response, 200, page))
    assert.strictEqual((await clientOf(same.url).charges.list().toArray({ limit: 10 })).length, 1)
    await using empty = await startStub((response) => json(response, 200, { ...page, data: [] }))
    assert.deepStrictEqual(await clientOf(empty.url).charges.list().toArray({ limit: 10 }), [])
    assert.strictEqual(empty.asked.length, 1)
  })

  it("end where the cursors go round in a circle: each page is given once", async () => {
    const page = (id: string) => ({ object: "list", data: [chargeOf({ id })], has_more: true })
    await using stub = await startStub((response, _, count) => json(response, 200, page("abc"[(count - 1) % 3]!)))
    const items = await clientOf(stub.url).charges.list().toArray({ limit: 100 })
    assert.deepStrictEqual(
      items.map(({ id }) => id),
      ["a", "b", "c"]
    )
    assert.strictEqual(stub.asked.length, 4)
  })

  it("toArray asks for no more than it gives", async () => {
    await using stub = await startStub((response) => json(response, 200, { object: "list", data: [], has_more: false }))
    const payments = clientOf(stub.url)
    await payments.charges.list().toArray({ limit: 3 })
    await payments.charges.list().toArray({ limit: 300 })
    await payments.charges.list({ limit: 7 }).toArray({ limit: 300 })
    assert.deepStrictEqual(
      stub.asked.map(({ path }) => path),
      ["/v1/charges?limit=3", "/v1/charges?limit=100", "/v1/charges?limit=7"]
    )
  })

  it("a page that fails ends the iteration with its error", async () => {
    await using stub = await startStub((response, _, count) =>
      count === 1
        ? json(response, 200, { object: "list", data: [chargeOf()], has_more: true })
        : json(response, 400, { code: "VALIDATION_ERROR", message: "no", details: ["starting_after"] })
    )
    const seen: Array<string> = []
    const walk = async () => {
      for await (const { id } of clientOf(stub.url).charges.list()) seen.push(id)
    }
    assert.isTrue(isCode(await failureOf(walk()), "VALIDATION_ERROR"))
    assert.strictEqual(seen.length, 1)
  })
})

describe("charges.waitUntil", () => {
  /** A charge that has these statuses one after the other. */
  const answering = (...statuses: ReadonlyArray<string>) => {
    let asked = 0
    const fetch = () =>
      Promise.resolve(Response.json(chargeOf({ status: statuses[Math.min(asked++, statuses.length - 1)] ?? "" })))
    return { fetch, asked: () => asked }
  }

  it("ERR-15: asks at once, then after 30 s, 60 s, 90 s: growing intervals that start at 30 seconds", async () => {
    vi.useFakeTimers()
    const { asked, fetch } = answering("processing", "pending", "pending", "pending", "paid")
    const waiting = clientOf("https://pix.example.com", { fetch }).charges.waitUntil("1", "paid")
    const counts: Array<number> = []
    for (const ms of [0, 29_999, 1, 59_999, 1, 89_999, 1, 119_999, 1]) {
      await vi.advanceTimersByTimeAsync(ms)
      counts.push(asked())
    }
    assert.deepStrictEqual(counts, [1, 1, 2, 2, 3, 3, 4, 4, 5])
    assert.strictEqual((await waiting).status, "paid")
    assert.strictEqual(vi.getTimerCount(), 0)
  })

  it("waits for one of several, or for whatever a function wants", async () => {
    const payments = clientOf("https://pix.example.com", { fetch: answering("paid").fetch })
    assert.strictEqual((await payments.charges.waitUntil("1", ["refunded", "paid"])).status, "paid")
    assert.strictEqual((await payments.charges.waitUntil("1", ({ sequence }) => sequence > 0)).status, "paid")
    const future = clientOf("https://pix.example.com", { fetch: answering("partially_paid").fetch })
    assert.strictEqual((await future.charges.waitUntil("1", "partially_paid")).status, "partially_paid")
  })

  it("gives up where it can no longer become so, and when its time is over", async () => {
    for (const status of ["expired", "canceled", "failed", "refunded", "charged_back"]) {
      const { asked, fetch } = answering(status)
      const error = await failureOf(clientOf("https://pix.example.com", { fetch }).charges.waitUntil("1", "paid"))
      assert.strictEqual(error.name, "WaitError")
      assert.deepInclude(JSON.parse(JSON.stringify(error)), { operation: "charges.waitUntil", attempts: 1 })
      assert.strictEqual((error as unknown as { charge: { status: string } }).charge.status, status)
      assert.strictEqual(asked(), 1)
    }
    vi.useFakeTimers()
    const { asked, fetch } = answering("pending")
    const waiting = failureOf(
      clientOf("https://pix.example.com", { fetch }).charges.waitUntil("1", "paid", { waitMs: 100_000 })
    )
    // At once, after 30 s, after 90 s; then 10 s are left, which are waited out.
    await vi.advanceTimersByTimeAsync(99_999)
    assert.strictEqual(asked(), 3)
    await vi.advanceTimersByTimeAsync(1)
    assert.strictEqual((await waiting).message, `The charge ${chargeOf().id} was still pending after 100000 ms`)
    assert.strictEqual(asked(), 4)
  })

  it("asks a last time when its time is over, so that what came in the meantime is seen", async () => {
    vi.useFakeTimers()
    const { asked, fetch } = answering("pending", "paid")
    const { charges } = clientOf("https://pix.example.com", { fetch })
    const waiting = charges.waitUntil("1", "paid", { waitMs: 20_000 })
    await vi.advanceTimersByTimeAsync(20_000)
    assert.strictEqual((await waiting).status, "paid")
    assert.strictEqual(asked(), 2)
    const still = clientOf("https://pix.example.com", { fetch: answering("pending").fetch })
    assert.include((await failureOf(still.charges.waitUntil("1", "paid", { waitMs: 0 }))).message, "after 0 ms")
  })

  /** Answers with these, one after the other; what is no status is a connection that breaks. */
  const failing = (...answers: ReadonlyArray<number | Response>) => {
    const askedAtMs: Array<number> = []
    const fetch = () => {
      const answer = answers[Math.min(askedAtMs.push(performance.now()), answers.length) - 1] ?? 0
      if (typeof answer !== "number") return Promise.resolve(answer.clone())
      if (answer === 0) return Promise.reject(new TypeError("fetch failed"))
      return Promise.resolve(Response.json({ code: "NO", message: "no" }, { status: answer }))
    }
    return { fetch, askedAtMs }
  }
  const paid = Response.json(chargeOf({ status: "paid" }))
  const slowDown = Response.json(
    { code: "RATE_LIMITED", message: "" },
    { status: 429, headers: { "retry-after": "600" } }
  )

  it("a question that stays without an answer is asked again after the next wait: hours are not lost with it", async () => {
    vi.useFakeTimers()
    const startMs = performance.now()
    const { askedAtMs, fetch } = failing(0, 500, 503, 429, slowDown, 500, paid)
    const payments = clientOf("https://pix.example.com", { fetch, maxRetries: 0 })
    const waiting = payments.charges.waitUntil("1", ({ status }) => status === "paid")
    await vi.advanceTimersByTimeAsync(86_400_000)
    assert.strictEqual((await waiting).status, "paid")
    assert.deepStrictEqual(
      askedAtMs.map((ms) => (ms - startMs) / 1000),
      [0, 30, 90, 180, 300, 900, 1080]
    )
  })

  it("what the last question fails with is the wait's failure, and any other error is at once", async () => {
    vi.useFakeTimers()
    for (const [answers, type, count] of [
      [[0], ConnectionError, 3],
      [[500], ServerError, 3],
      [[429], RateLimitError, 3],
      [[slowDown], RateLimitError, 2],
      [[0, 0, Response.json(chargeOf())], WaitError, 3],
      [[0, 404], ApiError, 2],
      [[401], ApiError, 1]
    ] as const) {
      const { askedAtMs, fetch } = failing(...answers)
      const payments = clientOf("https://pix.example.com", { fetch, maxRetries: 0 })
      const waiting = failureOf(payments.charges.waitUntil("1", "paid", { waitMs: 60_000 }))
      await vi.advanceTimersByTimeAsync(60_000)
      assert.isTrue((await waiting) instanceof type)
      assert.strictEqual(askedAtMs.length, count)
    }
    const never = clientOf("https://pix.example.com", {
      fetch: () => new Promise(() => {}),
      timeoutMs: 100,
      maxRetries: 0
    })
    const waiting = failureOf(never.charges.waitUntil("1", "paid", { waitMs: 1000 }))
    await vi.advanceTimersByTimeAsync(1500)
    assert.instanceOf(await waiting, TimeoutError)
  })

  it.each([
    ["paid", "pending"],
    ["paid", ["pending", "processing", "canceled"]],
    ["pending", "processing"],
    ["infraction", ["expired", "failed"]],
    ["canceled", "partially_paid"],
    ["expired", (): boolean => false],
    ["refunded", (): boolean => false],
    ["pending", []]
  ] as const)("what is %s never becomes %j: it gives up at once", async (status, wanted) => {
    const { asked, fetch } = answering(status)
    const error = await failureOf(clientOf("https://pix.example.com", { fetch }).charges.waitUntil("1", wanted))
    assert.instanceOf(error, WaitError)
    assert.include(error.message, `is ${status}`)
    assert.strictEqual(asked(), 1)
  })

  it.each([
    ["processing", "pending"],
    ["pending", ["processing", "expired"]],
    ["paid", "refunded"],
    ["paid", ({ status }: Charge) => status === "refunded"],
    ["infraction", "paid"],
    ["paid", "partially_refunded"],
    ["partially_paid", "pending"],
    ["partially_paid", []],
    ["constructor", "paid"]
  ] as const)("what is %s may become %j one day: it goes on", async (status, wanted) => {
    vi.useFakeTimers()
    const { asked, fetch } = answering(status)
    const controller = new AbortController()
    const { charges } = clientOf("https://pix.example.com", { fetch })
    const waiting = failureOf(charges.waitUntil("1", wanted, { signal: controller.signal }))
    await vi.advanceTimersByTimeAsync(90_000)
    assert.strictEqual(asked(), 3)
    controller.abort()
    assert.instanceOf(await waiting, AbortError)
  })

  it("is ended by its signal while it waits", async () => {
    const controller = new AbortController()
    const { fetch } = answering("pending")
    const hooks = { onResponse: () => void setImmediate(() => controller.abort()) }
    const payments = clientOf("https://pix.example.com", { fetch, hooks })
    const error = await failureOf(payments.charges.waitUntil("1", "paid", { signal: controller.signal }))
    assert.instanceOf(error, AbortError)
  })
})
