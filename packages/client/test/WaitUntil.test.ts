import { afterEach, assert, describe, it, vi } from "vitest"
import {
  AbortError,
  ApiError,
  type Charge,
  ConnectionError,
  RateLimitError,
  ServerError,
  TimeoutError,
  WaitError
} from "../src/index.ts"
import { chargeOf, payoutOf } from "./support/Samples.ts"
import { clientOf, failureOf } from "./support/TestClient.ts"

afterEach(() => {
  vi.useRealTimers()
})

describe("charges.waitUntil", () => {
  /** A service that returns a charge with these statuses, one after the other. */
  const serviceWith = (...statuses: ReadonlyArray<string>) => {
    let polls = 0
    const fetch = () =>
      Promise.resolve(Response.json(chargeOf({ status: statuses[Math.min(polls++, statuses.length - 1)] ?? "" })))
    return { fetch, polls: () => polls }
  }

  it("ERR-15: polls at once, then after 30 s, 60 s, 90 s: growing intervals that start at 30 seconds", async () => {
    vi.useFakeTimers()
    const { fetch, polls } = serviceWith("processing", "pending", "pending", "pending", "paid")
    const waiting = clientOf("https://pix.example.com", { fetch }).charges.waitUntil("1", "paid")
    const counts: Array<number> = []
    for (const ms of [0, 29_999, 1, 59_999, 1, 89_999, 1, 119_999, 1]) {
      await vi.advanceTimersByTimeAsync(ms)
      counts.push(polls())
    }
    assert.deepStrictEqual(counts, [1, 1, 2, 2, 3, 3, 4, 4, 5])
    assert.strictEqual((await waiting).status, "paid")
    assert.strictEqual(vi.getTimerCount(), 0)
  })

  it("waits for one of several statuses, or for a predicate", async () => {
    const payments = clientOf("https://pix.example.com", { fetch: serviceWith("paid").fetch })
    assert.strictEqual((await payments.charges.waitUntil("1", ["refunded", "paid"])).status, "paid")
    assert.strictEqual((await payments.charges.waitUntil("1", ({ sequence }) => sequence > 0)).status, "paid")
    const future = clientOf("https://pix.example.com", { fetch: serviceWith("partially_paid").fetch })
    assert.strictEqual(
      (await future.charges.waitUntil("1", ({ status }) => status === "partially_paid")).status,
      "partially_paid"
    )
  })

  it("ends after an hour by default, and polls a service on this machine after 1 s, 2 s and 3 s", async () => {
    vi.useFakeTimers()
    const far = serviceWith("pending")
    const ended = failureOf(clientOf("https://pix.example.com", { fetch: far.fetch }).charges.waitUntil("1", "paid"))
    await vi.advanceTimersByTimeAsync(3_600_000)
    assert.include((await ended).message, "is still pending after 3600000 ms")
    for (const [url, intervalMs, counts] of [
      ["http://localhost:3000", undefined, [1, 2, 2, 3]],
      ["http://127.0.0.1:3000", undefined, [1, 2, 2, 3]],
      ["http://[::1]:3000", undefined, [1, 2, 2, 3]],
      ["http://localhost.example.com", undefined, [1, 1, 1, 1]],
      ["https://pix.example.com", 1000, [1, 2, 2, 3]]
    ] as const) {
      const { fetch, polls } = serviceWith("pending", "pending", "pending", "paid")
      const { charges } = clientOf(url, { fetch })
      const waiting = charges.waitUntil("1", "paid", { intervalMs })
      const counted: Array<number> = []
      for (const ms of [0, 1000, 1999, 1]) {
        await vi.advanceTimersByTimeAsync(ms)
        counted.push(polls())
      }
      assert.deepStrictEqual<ReadonlyArray<number>>(counted, counts, url)
      await vi.advanceTimersByTimeAsync(600_000)
      assert.strictEqual((await waiting).status, "paid")
    }
    for (const wrong of [{ intervalMs: 0 }, { intervalMs: Number.NaN }, { maxWaitMs: -1 }]) {
      const error = await failureOf(clientOf("https://pix.example.com").charges.waitUntil("1", "paid", wrong))
      assert.include(error.message, "maxWaitMs must be 0 or more, intervalMs above 0")
    }
  })

  it("refuses a status that does not exist when it is compiled", () => {
    const { charges } = clientOf("https://pix.example.com")
    // @ts-expect-error -- not a status of charges
    void (() => charges.waitUntil("1", "payed"))
    // @ts-expect-error -- a status of payouts
    void (() => charges.waitUntil("1", ["paid", "completed"]))
  })

  it("gives up if the condition can no longer be met, and after maxWaitMs", async () => {
    for (const status of ["expired", "canceled", "failed", "refunded", "charged_back"]) {
      const { fetch, polls } = serviceWith(status)
      const error = await failureOf(clientOf("https://pix.example.com", { fetch }).charges.waitUntil("1", "paid"))
      assert.strictEqual(error.name, "WaitError")
      assert.deepInclude(JSON.parse(JSON.stringify(error)), { operation: "charges.waitUntil", attempts: 1 })
      assert.strictEqual((error as unknown as { charge: { status: string } }).charge.status, status)
      assert.strictEqual(polls(), 1)
    }
    vi.useFakeTimers()
    const { fetch, polls } = serviceWith("pending")
    const waiting = failureOf(
      clientOf("https://pix.example.com", { fetch }).charges.waitUntil("1", "paid", { maxWaitMs: 100_000 })
    )
    // Polls at 0 s, 30 s and 90 s, and once more when the remaining 10 s have passed.
    await vi.advanceTimersByTimeAsync(99_999)
    assert.strictEqual(polls(), 3)
    await vi.advanceTimersByTimeAsync(1)
    assert.strictEqual(
      (await waiting).message,
      `The charge ${chargeOf().id} is still pending after 100000 ms: wait again, or use webhooks`
    )
    assert.strictEqual(polls(), 4)
  })

  it("polls a last time after maxWaitMs, and sees a change since the previous poll", async () => {
    vi.useFakeTimers()
    const { fetch, polls } = serviceWith("pending", "paid")
    const { charges } = clientOf("https://pix.example.com", { fetch })
    const waiting = charges.waitUntil("1", "paid", { maxWaitMs: 20_000 })
    await vi.advanceTimersByTimeAsync(20_000)
    assert.strictEqual((await waiting).status, "paid")
    assert.strictEqual(polls(), 2)
    const still = clientOf("https://pix.example.com", { fetch: serviceWith("pending").fetch })
    assert.include((await failureOf(still.charges.waitUntil("1", "paid", { maxWaitMs: 0 }))).message, "after 0 ms")
  })

  /** Answers with these, one after the other. A number is an error status, 0 a broken connection. */
  const failingWith = (...answers: ReadonlyArray<number | Response>) => {
    const polledAtMs: Array<number> = []
    const fetch = () => {
      const answer = answers[Math.min(polledAtMs.push(performance.now()), answers.length) - 1] ?? 0
      if (typeof answer !== "number") return Promise.resolve(answer.clone())
      if (answer === 0) return Promise.reject(new TypeError("fetch failed"))
      return Promise.resolve(Response.json({ code: "NO", message: "no" }, { status: answer }))
    }
    return { fetch, polledAtMs }
  }
  const paid = Response.json(chargeOf({ status: "paid" }))
  const slowDown = Response.json(
    { code: "RATE_LIMITED", message: "" },
    { status: 429, headers: { "retry-after": "600" } }
  )

  it("polls again after the next interval if a poll fails with a transient error", async () => {
    vi.useFakeTimers()
    const startMs = performance.now()
    const { polledAtMs, fetch } = failingWith(0, 500, 503, 429, slowDown, 500, paid)
    const payments = clientOf("https://pix.example.com", { fetch, maxRetries: 0 })
    const waiting = payments.charges.waitUntil("1", ({ status }) => status === "paid")
    await vi.advanceTimersByTimeAsync(86_400_000)
    assert.strictEqual((await waiting).status, "paid")
    assert.deepStrictEqual(
      polledAtMs.map((ms) => (ms - startMs) / 1000),
      [0, 30, 90, 180, 300, 900, 1080]
    )
  })

  it("fails with the last poll's error after maxWaitMs, and at once with any other error", async () => {
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
      const { polledAtMs, fetch } = failingWith(...answers)
      const payments = clientOf("https://pix.example.com", { fetch, maxRetries: 0 })
      const waiting = failureOf(payments.charges.waitUntil("1", "paid", { maxWaitMs: 60_000 }))
      await vi.advanceTimersByTimeAsync(60_000)
      assert.isTrue((await waiting) instanceof type)
      assert.strictEqual(polledAtMs.length, count)
    }
    const never = clientOf("https://pix.example.com", {
      fetch: () => new Promise(() => {}),
      timeoutMs: 100,
      maxRetries: 0
    })
    const waiting = failureOf(never.charges.waitUntil("1", "paid", { maxWaitMs: 1000 }))
    await vi.advanceTimersByTimeAsync(1500)
    assert.instanceOf(await waiting, TimeoutError)
  })

  it.each([
    ["paid", "pending"],
    ["paid", ["pending", "processing", "canceled"]],
    ["pending", "processing"],
    ["infraction", ["expired", "failed"]],
    ["expired", (): boolean => false],
    ["refunded", (): boolean => false],
    ["pending", []]
  ] as const)("gives up at once: %s never becomes %j", async (status, wanted) => {
    const { fetch, polls } = serviceWith(status)
    const error = await failureOf(clientOf("https://pix.example.com", { fetch }).charges.waitUntil("1", wanted))
    assert.instanceOf(error, WaitError)
    assert.include(error.message, `is ${status}: the wait cannot succeed`)
    assert.strictEqual(polls(), 1)
  })

  it.each([
    ["processing", "pending"],
    ["pending", ["processing", "expired"]],
    ["paid", "refunded"],
    ["paid", ({ status }: Charge) => status === "refunded"],
    ["infraction", "paid"],
    ["partially_paid", "pending"],
    ["partially_paid", []],
    ["constructor", "paid"]
  ] as const)("continues: %s may become %j", async (status, wanted) => {
    vi.useFakeTimers()
    const { fetch, polls } = serviceWith(status)
    const controller = new AbortController()
    const { charges } = clientOf("https://pix.example.com", { fetch })
    const waiting = failureOf(charges.waitUntil("1", wanted, { signal: controller.signal }))
    await vi.advanceTimersByTimeAsync(90_000)
    assert.strictEqual(polls(), 3)
    controller.abort()
    assert.instanceOf(await waiting, AbortError)
  })

  it("is aborted by its signal between polls", async () => {
    const controller = new AbortController()
    const { fetch } = serviceWith("pending")
    const hooks = { onResponse: () => void setImmediate(() => controller.abort()) }
    const payments = clientOf("https://pix.example.com", { fetch, hooks })
    const error = await failureOf(payments.charges.waitUntil("1", "paid", { signal: controller.signal }))
    assert.instanceOf(error, AbortError)
  })
})

describe("payouts.waitUntil", () => {
  it("ERR-15: polls with the intervals of charges.waitUntil, and returns the payout", async () => {
    vi.useFakeTimers()
    let count = 0
    const fetch = () => Promise.resolve(Response.json(payoutOf({ status: ++count < 3 ? "processing" : "completed" })))
    const { payouts } = clientOf("https://pix.example.com", { fetch })
    const waiting = payouts.waitUntil("1", ["completed", "failed"])
    await vi.advanceTimersByTimeAsync(29_999)
    assert.strictEqual(count, 1)
    await vi.advanceTimersByTimeAsync(1)
    assert.strictEqual(count, 2)
    await vi.advanceTimersByTimeAsync(60_000)
    assert.strictEqual((await waiting).status, "completed")
    vi.useRealTimers()
  })

  it.each([
    ["completed", "failed", true],
    ["failed", "completed", true],
    ["canceled", "completed", true],
    ["processing", "canceled", true],
    ["processing", "pending", true],
    ["pending", "canceled", false],
    ["pending", "completed", false],
    ["scheduled", "completed", false]
  ] as const)("a %s payout, waiting for %s: hopeless is %s", async (status, wanted, isHopeless) => {
    const fetch = () => Promise.resolve(Response.json(payoutOf({ status })))
    const { payouts } = clientOf("https://pix.example.com", { fetch })
    const error: unknown = await payouts.waitUntil("1", wanted, { maxWaitMs: 0 }).catch((caught: unknown) => caught)
    assert.instanceOf(error, WaitError)
    assert.strictEqual(error.payout?.status, status)
    assert.isUndefined(error.charge)
    assert.strictEqual(error.operation, "payouts.waitUntil")
    assert.include(
      error.message,
      isHopeless ? `is ${status}: the wait cannot succeed` : `is still ${status} after 0 ms`
    )
  })
})
