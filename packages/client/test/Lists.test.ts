import { assert, describe, it, vi } from "vitest"
import { ConnectionError, Payments, UsageError, WaitError } from "../src/index.ts"
import { chargeOf, payoutOf, secretKey } from "./support/Samples.ts"
import { json, startStub } from "./support/Stub.ts"

const clientOf = (baseUrl: string, options: object = {}) => new Payments({ baseUrl, apiKey: secretKey, ...options })

/** A service with so many charges, which gives as many on a page as asked for. */
const aServiceWith = (count: number) =>
  startStub((response, { path }) => {
    const { searchParams } = new URL(path, "http://x")
    const from = Number(searchParams.get("starting_after") ?? count)
    const limit = Number(searchParams.get("limit") ?? 20)
    const data = Array.from({ length: Math.min(limit, from) }, (_, index) => chargeOf({ id: `${from - index - 1}` }))
    json(response, 200, { object: "list", data, has_more: from > limit })
  })

describe("a list", () => {
  it("is gone through in pages of 100, and anew each time", async () => {
    await using stub = await aServiceWith(150)
    const list = clientOf(stub.url).charges.list({ status: "paid" })
    for (let round = 1; round <= 2; round++) {
      let count = 0
      for await (const { id } of list) assert.strictEqual(id, `${150 - ++count}`)
      assert.strictEqual(count, 150)
      assert.strictEqual(stub.asked.length, 2 * round)
    }
    assert.include(stub.asked[0]?.path, "limit=100")
    assert.include(stub.asked[1]?.path, "starting_after=50")
    // Awaited, it is the page that the query says, once.
    assert.strictEqual((await list).data.length, 20)
    assert.strictEqual((await list).data.length, 20)
    assert.strictEqual(stub.asked.length, 5)
  })

  it("leads from page to page, to the end and no further", async () => {
    await using stub = await aServiceWith(5)
    const sizes: Array<number> = []
    let page = await clientOf(stub.url).charges.list({ limit: 2 })
    while (true) {
      sizes.push(page.data.length)
      const next = page.getNextPage()
      if (next === undefined) break
      page = await next
    }
    assert.deepStrictEqual(sizes, [2, 2, 1])
    assert.deepStrictEqual(Object.keys(page), ["object", "data", "has_more"])
    // A service that ignores the cursor is not asked for ever.
    const same = { object: "list", data: [chargeOf({ id: "1" })], has_more: true }
    await using stuck = await startStub((response) => json(response, 200, same))
    const first = await clientOf(stuck.url).charges.list()
    const second = await first.getNextPage()
    assert.isUndefined(second?.getNextPage())
  })

  it("that is none is an error of ours", async () => {
    for (const body of [{ data: null }, { object: "list" }, null, 7, []]) {
      await using stub = await startStub((response) => json(response, 200, body))
      const payments = clientOf(stub.url, { maxRetries: 0 })
      for (const use of [
        () => payments.charges.list().then(),
        () => payments.charges.list().toArray({ limit: 1 }),
        () => payments.webhooks.events().then()
      ]) {
        const error: unknown = await use().catch((caught: unknown) => caught)
        assert.instanceOf(error, ConnectionError, JSON.stringify(body))
        assert.strictEqual(error.reason, "malformed")
      }
    }
  })
})

describe("payouts.waitUntil", () => {
  it("ERR-15: polls as seldom as charges.waitUntil, and gives the payout", async () => {
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
  ] as const)("what is %s: waiting for %s is over: %s", async (status, wanted, isOver) => {
    const fetch = () => Promise.resolve(Response.json(payoutOf({ status })))
    const { payouts } = clientOf("https://pix.example.com", { fetch })
    const error: unknown = await payouts.waitUntil("1", wanted, { waitMs: 0 }).catch((caught: unknown) => caught)
    assert.instanceOf(error, WaitError)
    assert.strictEqual(error.payout?.status, status)
    assert.isUndefined(error.charge)
    assert.strictEqual(error.operation, "payouts.waitUntil")
    assert.include(error.message, isOver ? `is ${status}` : `was still ${status} after 0 ms`)
  })
})

describe("request", () => {
  it("asks for what this release does not know, with query, body and key, and repeats under a key alone", async () => {
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
    assert.strictEqual(stub.asked[1]?.path, "/base/v1/refunds?expand=charge")
    assert.deepInclude(stub.asked[1]?.headers, { "idempotency-key": "refund-1001", "x-api-key": secretKey })
    assert.deepStrictEqual(JSON.parse(stub.asked[1]?.body ?? ""), { amount: 100 })
    const unkeyed: unknown = await payments.request("POST", "/v1/refunds").catch((error: unknown) => error)
    assert.include(String(unkeyed), "(500")
    assert.strictEqual(stub.asked.length, 3)
    // However the verb is written: it is a creation without a key.
    await using failing = await startStub((response) => json(response, 500, {}))
    await clientOf(failing.url)
      .request("post", "/v1/refunds")
      .catch(() => {})
    assert.deepStrictEqual(
      failing.asked.map(({ method }) => method),
      ["POST"]
    )
    await using deleting = await startStub((response) => json(response, 200, { deleted: true }))
    assert.deepStrictEqual<unknown>(await clientOf(deleting.url).request("DELETE", "/v1/refunds/1"), { deleted: true })
    const outside: unknown = await payments.request("GET", ".evil.example/v1").catch((error: unknown) => error)
    assert.instanceOf(outside, UsageError)
    vi.restoreAllMocks()
  })
})
