/** The options of a client and of a call: which are refused, headers, a signal and hooks. */
import { afterEach, assert, beforeEach, describe, it, vi } from "vitest"
import { inspect } from "node:util"
import { AbortError, type PaymentsOptions, UsageError } from "../src/index.ts"
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
})

describe("new Payments", () => {
  it("rejects invalid options without printing their values", () => {
    const invalid: ReadonlyArray<Partial<PaymentsOptions>> = [
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
    for (const options of invalid) {
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

  it("throws in a browser unless dangerouslyAllowBrowser is set", () => {
    vi.stubGlobal("document", {})
    assert.throws(() => clientOf("https://pix.example.com"), UsageError, /browser/)
    clientOf("https://pix.example.com", { dangerouslyAllowBrowser: true })
    vi.unstubAllGlobals()
  })
})

describe("a header that the client sets", () => {
  const reserved = [
    ["Idempotency-Key", "idempotencyKey"],
    ["idempotency-key", "idempotencyKey"],
    ["X-API-Key", "apiKey"]
  ] as const

  it.each(reserved)(
    "%s is rejected, for the client and for a call, and the message names the option %s",
    async (name, option) => {
      await using stub = await startStub((response) => json(response, 201, chargeOf()))
      const headers = { [name]: secretKey }
      const errors = [await failureOf(clientOf(stub.url).charges.create(someCharge, { headers }))]
      errors.push(await failureOf((async () => clientOf(stub.url, { headers }))()))
      for (const error of errors) {
        assert.instanceOf(error, UsageError)
        assert.include(error.message, `option ${option}`)
        assert.notInclude(inspect(error, { depth: Infinity }), secretKey)
      }
      assert.strictEqual(stub.requests.length, 0)
    }
  )
})

describe("AbortSignal", () => {
  it("aborts a call before it is sent and while it is pending", async () => {
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
    assert.strictEqual(stub.requests.length, 0)

    const controller = new AbortController()
    const hooks = { onRequest: () => void setImmediate(() => controller.abort(reason)) }
    const call = clientOf(stub.url, { hooks }).charges.create(someCharge, { signal: controller.signal })
    const pending = await failureOf(call)
    assert.instanceOf(pending, AbortError)
    assert.strictEqual(pending.idempotencyKey, call.idempotencyKey)
    assert.strictEqual(pending.attempts, 1)
  })

  it("keeps no listener after the call", async () => {
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
  it("are called with attempts, responses and retries, and their failures are ignored", async () => {
    await using stub = await startStub((response, _, count) =>
      count === 1 ? json(response, 500, oops) : json(response, 201, chargeOf(), { "x-request-id": "theirs" })
    )
    const calls: Array<string> = []
    const payments = clientOf(stub.url, {
      hooks: {
        onRequest: ({ attempt, idempotencyKey, method, operation, url }) => {
          calls.push(`${operation} ${method} ${url} ${attempt} ${idempotencyKey}`)
          throw new Error("a hook failed")
        },
        onResponse: ({ attempt, requestId, status }) => {
          calls.push(`${attempt} ${status} ${requestId.length}`)
        },
        onRetry: ({ error }) => {
          calls.push(error.name)
          return Promise.reject(new Error("a hook failed"))
        }
      }
    })
    await payments.charges.create(someCharge, { idempotencyKey: "order-1001" })
    assert.deepStrictEqual(calls, [
      `charges.create POST ${stub.url}/v1/charges 1 order-1001`,
      "1 500 36",
      "ServerError",
      `charges.create POST ${stub.url}/v1/charges 2 order-1001`,
      "2 201 6"
    ])
  })
})
