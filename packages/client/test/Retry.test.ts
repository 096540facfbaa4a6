import { afterEach, assert, beforeEach, describe, it, vi } from "vitest"
import type { ServerResponse } from "node:http"
import {
  AbortError,
  ApiError,
  ConnectionError,
  isCode,
  RateLimitError,
  ServerError,
  TimeoutError
} from "../src/index.ts"
import { retryAfterMs, retryDelayMs } from "../src/Retry.ts"
import { chargeOf, someCharge } from "./support/Samples.ts"
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

describe("retries", () => {
  for (const status of [408, 500, 502, 503, 504, 520, 522, 524, 529]) {
    it(`a ${status} is retried with the same key, each attempt with its own request id`, async () => {
      await using stub = await startStub((response, _, count) =>
        count < 3 ? json(response, status, oops) : json(response, 201, chargeOf())
      )
      const call = clientOf(stub.url).charges.create(someCharge)
      const { data, response } = await call.withResponse()
      assert.strictEqual(data.status, "pending")
      assert.strictEqual(response.attempts, 3)
      const keys = stub.requests.map(({ headers }) => headers["idempotency-key"])
      assert.deepStrictEqual(keys, [call.idempotencyKey, call.idempotencyKey, call.idempotencyKey])
      assert.strictEqual(new Set(stub.requests.map(({ headers }) => headers["x-request-id"])).size, 3)
    })
  }

  it("end with the last error, which has key, request id and number of attempts", async () => {
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

  it("no other 4xx is retried", async () => {
    for (const status of [400, 401, 403, 404, 405, 409, 413, 422, 425, 451, 501, 505, 530]) {
      await using stub = await startStub((response) => json(response, status, { code: "NO", message: "no" }))
      const error = await failureOf(clientOf(stub.url).charges.create(someCharge))
      assert.instanceOf(error, ApiError)
      assert.strictEqual(stub.requests.length, 1, String(status))
    }
  })

  it("maxRetries of a call overrides that of the client", async () => {
    await using stub = await startStub((response) => json(response, 500, oops))
    const payments = clientOf(stub.url, { maxRetries: 0 })
    await failureOf(payments.balance.retrieve())
    assert.strictEqual(stub.requests.length, 1)
    await failureOf(payments.balance.retrieve({ maxRetries: 4 }))
    assert.strictEqual(stub.requests.length, 6)
  })

  it("an error response with an incomplete body is an error by its status", async () => {
    const halves: ReadonlyArray<readonly [timeoutMs: number, (response: ServerResponse, status: number) => void]> = [
      [
        30_000,
        (response, status) => {
          response.writeHead(status, { "content-length": "1000" }).write(`{"code":`)
          response.socket?.end()
        }
      ],
      // The connection stays open without further bytes. As many milliseconds as a busy machine needs for the headers.
      [5000, (response, status) => void response.writeHead(status, { "content-length": "1000" }).write(`{"code":`)],
      [30_000, (response, status) => void response.writeHead(status).end(`{"code":`)]
    ]
    for (const [timeoutMs, half] of halves) {
      const statuses = [400, 401, 404, 422].map(async (status) => {
        await using stub = await startStub((response) => half(response, status))
        const error = await failureOf(clientOf(stub.url, { timeoutMs }).charges.create(someCharge))
        assert.instanceOf(error, ApiError)
        assert.deepStrictEqual([error.status, error.code, error.attempts], [status, "UNKNOWN", 1])
        assert.strictEqual(stub.requests.length, 1)
      })
      await Promise.all(statuses)
      // A 429 is retried by its status, and the 500 that follows is not.
      await using stub = await startStub((response, _, count) =>
        count < 3 ? half(response, count === 1 ? 429 : 500) : json(response, 201, { id: "1" })
      )
      const params = { url: "https://1.1.1.1/hooks", events: ["charge.pix.paid"] } as const
      const error = await failureOf(clientOf(stub.url, { timeoutMs }).webhooks.create(params))
      assert.instanceOf(error, ServerError)
      assert.strictEqual(error.attempts, 2)
    }
  })

  it("a broken connection and an incomplete response are retried", async () => {
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

  it("an attempt without a complete response within timeoutMs is retried", async () => {
    await using stub = await startStub((response, _, count) => {
      if (count === 1) return
      if (count === 2) return void response.writeHead(201, { "content-length": "1000" }).write("{")
      json(response, 201, chargeOf())
    })
    const { response } = await clientOf(stub.url, { timeoutMs: 3000 }).charges.create(someCharge).withResponse()
    assert.strictEqual(response.attempts, 3)
    const error = await failureOf(
      clientOf(stub.url, { fetch: () => new Promise(() => {}), timeoutMs: 20, maxRetries: 1 }).balance.retrieve()
    )
    assert.instanceOf(error, TimeoutError)
    assert.strictEqual(error.timeoutMs, 20)
    assert.strictEqual(error.attempts, 2)
  })

  it("webhooks.create is retried only after 429, because it takes no idempotency key", async () => {
    const params = { url: "https://1.1.1.1/hooks", events: ["charge.pix.paid"] } as const
    for (const answer of [
      (response: ServerResponse) => void response.destroy(),
      (response: ServerResponse) => json(response, 500, oops),
      (response: ServerResponse) => json(response, 408, ""),
      (response: ServerResponse) => json(response, 522, ""),
      // The service also answers 503 if it lost the result after its commit.
      (response: ServerResponse) => json(response, 503, { code: "SERVICE_UNAVAILABLE", message: "" })
    ]) {
      await using stub = await startStub(answer)
      await failureOf(clientOf(stub.url).webhooks.create(params))
      assert.strictEqual(stub.requests.length, 1)
    }
    // After a 429 nothing was processed.
    await using stub = await startStub((response, _, count) =>
      count === 1 ? json(response, 429, { code: "RATE_LIMITED", message: "" }) : json(response, 201, { id: "1" })
    )
    assert.strictEqual((await clientOf(stub.url).webhooks.create(params)).id, "1")
  })

  it("webhooks.delete succeeds if an earlier attempt may have deleted the endpoint, and only then", async () => {
    const gone = { code: "WEBHOOK_NOT_FOUND", message: "The webhook endpoint does not exist." }
    await using broken = await startStub((response, _, count) =>
      count === 1 ? void response.destroy() : json(response, 404, gone)
    )
    assert.isUndefined(await clientOf(broken.url).webhooks.delete("1"))
    await using limited = await startStub((response, _, count) =>
      count === 1 ? json(response, 429, { code: "RATE_LIMITED", message: "" }) : json(response, 404, gone)
    )
    assert.isTrue(isCode(await failureOf(clientOf(limited.url).webhooks.delete("1")), "WEBHOOK_NOT_FOUND"))
    // A load balancer's 404 is about the path, not the endpoint.
    for (const body of ["<html>", {}, { code: "NOT_FOUND", message: "" }]) {
      await using balanced = await startStub((response, _, count) =>
        count === 1 ? void response.destroy() : json(response, 404, body)
      )
      const error = await failureOf(clientOf(balanced.url).webhooks.delete("1"))
      assert.instanceOf(error, ApiError)
      assert.deepStrictEqual([error.status, error.attempts], [404, 2])
    }
    // An update does not succeed this way.
    await using read = await startStub((response, _, count) =>
      count === 1 ? void response.destroy() : json(response, 404, gone)
    )
    assert.isTrue(isCode(await failureOf(clientOf(read.url).webhooks.update("1", {})), "WEBHOOK_NOT_FOUND"))
  })

  /** The delay before the first retry, or the error if there is none. */
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

  it("ERR-15: Retry-After of 429 and 503 is respected, in seconds or as a date, up to a minute", async () => {
    assert.strictEqual(await plannedDelayMs(429, { "retry-after": "7" }), 7000)
    assert.strictEqual(await plannedDelayMs(503, { "retry-after": "60" }), 60_000)
    // @effect-diagnostics-next-line globalDate:off
    const date = new Date(Date.now() + 30_000).toUTCString()
    const untilMs = await plannedDelayMs(429, { "retry-after": date })
    assert.isTrue(typeof untilMs === "number" && untilMs > 20_000 && untilMs <= 30_000, String(untilMs))
    const error = await plannedDelayMs(429, { "retry-after": "61" })
    assert.instanceOf(error, RateLimitError)
    assert.strictEqual(error.retryAfterMs, 61_000)
    // Never earlier than Retry-After. The jitter spreads clients that were rejected together.
    assert.strictEqual(await plannedDelayMs(429, { "retry-after": "0" }, 0.5), 250)
    assert.strictEqual(await plannedDelayMs(429, { "retry-after": "1" }, 0.5), 1250)
    assert.strictEqual(await plannedDelayMs(429, { "retry-after": "40" }, 0.5), 45_000)
    assert.strictEqual(await plannedDelayMs(429, {}, 0.5), 250)
  })

  it("delays are random over their whole range, which doubles up to 8 seconds", () => {
    assert.deepStrictEqual(
      [1, 2, 3, 4, 5, 6, 60].map((attempt) => retryDelayMs(attempt, 0, 0.999_999)),
      [499, 999, 1999, 3999, 7999, 7999, 7999]
    )
    assert.strictEqual(retryDelayMs(9, 0, 0), 0)
    assert.strictEqual(retryDelayMs(1, 60_000, 0.999_999), 74_999)
  })

  it("a malformed Retry-After is ignored", () => {
    assert.isUndefined(retryAfterMs(null, 0))
    assert.isUndefined(retryAfterMs("", 0))
    assert.isUndefined(retryAfterMs("soon", 0))
    assert.strictEqual(retryAfterMs("Thu, 01 Jan 1970 00:00:00 GMT", 5000), 0)
  })
})
