import { afterEach, assert, describe, it, vi } from "vitest"
import { once } from "node:events"
import { createServer } from "node:http"
import { type AddressInfo, connect } from "node:net"
import {
  type Claim,
  type DeliveryStore,
  type Handlers,
  webhookReceiver,
  type WebhookReceiverOptions
} from "../src/receiver.ts"
import { signForTest } from "../src/testing.ts"
import { WebhookSignatureError } from "../src/webhooks.ts"
import { chargeOf } from "./support/Samples.ts"

const secret = "a secret of the endpoint"

const eventOf = (fields: object = {}) => ({
  id: "d1",
  object: "event",
  event: "charge.pix.paid",
  resource: "charge",
  method: "pix",
  action: "paid",
  created_at: "2026-11-21T12:00:00.000Z",
  sequence: 2,
  data: chargeOf({ status: "paid" }),
  ...fields
})

/** A store that records its calls. */
const storeOf = (claims: ReadonlyArray<Claim> = []) => {
  const calls: Array<string> = []
  let count = 0
  const store: DeliveryStore = {
    claim: ({ id, resource, sequence }) => {
      calls.push(`claim ${id} ${resource} ${sequence}`)
      return claims[count++] ?? "new"
    },
    release: ({ id }, isHandled) => void calls.push(`release ${id} ${isHandled}`)
  }
  return { calls, store }
}

const requestOf = async (event: object | string = eventOf(), by = secret) =>
  new Request("http://127.0.0.1/webhooks", { method: "POST", ...(await signForTest({ event, secret: by })) })

const receiverOf = (on: Handlers, options: Partial<WebhookReceiverOptions> = {}) =>
  webhookReceiver({ secrets: secret, on, store: storeOf().store, onError: () => {}, ...options })

afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

describe("a receiver", () => {
  it("DLV-10: answers 2xx after the handler has resolved, not before", async () => {
    const { calls, store } = storeOf()
    const work = Promise.withResolvers<void>()
    const receive = receiverOf(
      {
        "charge.pix.paid": async ({ data, isStale }) => {
          await work.promise
          calls.push(`${data.amount} ${isStale}`)
        }
      },
      { store }
    )
    const answer = receive(await requestOf())
    const first = await Promise.race([answer, new Promise((resolve) => setTimeout(() => resolve("waits"), 20))])
    assert.strictEqual(first, "waits")
    work.resolve()
    assert.strictEqual((await answer).status, 204)
    const id = eventOf().data.id
    assert.deepStrictEqual(calls, [`claim d1 charge/${id} 2`, "1990 false", "release d1 true"])
  })

  it("DLV-10: handles a delivery once: a repeat is answered 204, a concurrent attempt 503", async () => {
    const paid = vi.fn()
    const { calls, store } = storeOf(["done", "busy"])
    const receive = receiverOf({ "charge.pix.paid": paid }, { store })
    assert.strictEqual((await receive(await requestOf())).status, 204)
    assert.strictEqual((await receive(await requestOf())).status, 503)
    assert.strictEqual(paid.mock.calls.length, 0)
    assert.isFalse(calls.some((call) => call.startsWith("release")))
  })

  it("ADD-1: sets isStale on an event older than the latest of its resource, and does not drop it", async () => {
    const seen: Array<boolean> = []
    const { store } = storeOf(["new", "stale"])
    const receive = receiverOf({ "charge.pix.paid": ({ isStale }) => void seen.push(isStale) }, { store })
    for (const id of ["d1", "d2"]) assert.strictEqual((await receive(await requestOf(eventOf({ id })))).status, 204)
    assert.deepStrictEqual(seen, [false, true])
  })

  it("OPR-153: a test delivery reaches `onTest` only, once its signature is verified", async () => {
    const handled = vi.fn()
    const on: Handlers = { "charge.pix.paid": handled, "*": handled }
    const event = eventOf({ data: { ...chargeOf({ status: "canceled" }), test: true } })
    const { calls, store } = storeOf()
    assert.strictEqual((await receiverOf(on, { store })(await requestOf(event))).status, 204)
    const tests: Array<string> = []
    const receive = receiverOf(on, { store, onTest: async ({ event, id }) => void tests.push(`${event} ${id}`) })
    assert.strictEqual((await receive(await requestOf(event))).status, 204)
    assert.strictEqual((await receive(await requestOf(event, "another secret"))).status, 401)
    assert.deepStrictEqual(tests, ["charge.pix.paid d1"])
    const failing = receiverOf(on, { store, onTest: () => Promise.reject(new Error("the log is away")) })
    assert.strictEqual((await failing(await requestOf(event))).status, 500)
    assert.deepStrictEqual([handled.mock.calls, calls], [[], []])
    const other = eventOf({ data: { ...chargeOf({ status: "paid" }), test: "true" } })
    assert.strictEqual((await receive(await requestOf(other))).status, 204)
    assert.strictEqual(handled.mock.calls.length, 1)
  })

  it("releases the claim and answers 500 if the handler or the store fails", async () => {
    const errors: Array<unknown> = []
    const failure = new Error("the database is away")
    const onError = (error: unknown) => void errors.push(error)
    for (const failing of [() => Promise.reject(failure), () => assert.fail("at once")]) {
      const { calls, store } = storeOf()
      const receive = receiverOf({ "charge.pix.paid": failing }, { store, onError })
      assert.strictEqual((await receive(await requestOf())).status, 500)
      assert.strictEqual(calls.at(-1), "release d1 false")
    }
    assert.strictEqual(errors[0], failure)
    for (const store of [
      { claim: () => Promise.reject(failure), release: () => {} },
      { claim: (): Claim => "new", release: () => Promise.reject(failure) }
    ]) {
      const receive = receiverOf({ "charge.pix.paid": () => {} }, { store, onError })
      assert.strictEqual((await receive(await requestOf())).status, 500)
    }
    assert.strictEqual(errors.length, 4)
  })

  it("calls the event's handler, or `*`, and answers 204 to an event without a handler", async () => {
    const got: Array<string> = []
    const { calls, store } = storeOf()
    const on: Handlers = {
      "charge.pix.paid": ({ event }) => void got.push(`paid ${event}`),
      "*": ({ event }) => void got.push(`other ${event}`)
    }
    const receive = receiverOf(on, { store })
    for (const event of ["charge.pix.paid", "charge.pix.partially_paid", "refund.pix.created", "constructor"]) {
      assert.strictEqual((await receive(await requestOf(eventOf({ event })))).status, 204)
    }
    assert.deepStrictEqual(got, [
      "paid charge.pix.paid",
      "other charge.pix.partially_paid",
      "other refund.pix.created",
      "other constructor"
    ])
    calls.length = 0
    const { "*": _, ...paidAlone } = on
    const other = await receiverOf(paidAlone, { store })(await requestOf(eventOf({ event: "toString" })))
    assert.strictEqual(other.status, 204)
    assert.deepStrictEqual(calls, [], "an event without a handler is not stored")
  })

  it("SIG-3: rejects unsigned, old and oversized requests, and other methods than POST", async () => {
    const errors: Array<unknown> = []
    const paid = vi.fn()
    const receive = receiverOf({ "charge.pix.paid": paid }, { onError: (error) => void errors.push(error) })
    assert.strictEqual((await receive(await requestOf(eventOf(), "another"))).status, 401)
    assert.instanceOf(errors[0], WebhookSignatureError)
    // @effect-diagnostics-next-line globalDate:off
    const sentAt = new Date(Date.now() - 301_000)
    const old = await signForTest({ event: eventOf(), secret, sentAt })
    const requestOfOld = () => new Request("http://x/", { method: "POST", ...old })
    assert.strictEqual((await receive(requestOfOld())).status, 401)
    const patient = receiverOf({ "charge.pix.paid": () => {} }, { toleranceMs: 600_000 })
    assert.strictEqual((await patient(requestOfOld())).status, 204)
    const long = new Request("http://x/", { method: "POST", body: "x".repeat(1_048_577) })
    assert.strictEqual((await receive(long)).status, 413)
    assert.strictEqual((await receive(new Request("http://x/"))).status, 405)
    assert.strictEqual((await receive(new Request("http://x/", { method: "POST" }))).status, 401)
    assert.strictEqual(paid.mock.calls.length, 0)
  })

  it("answers 413 to a sender that sends all of a long body before it reads", async () => {
    const server = createServer(receiverOf({ "charge.pix.paid": () => {} }).node)
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
    try {
      const socket = connect((server.address() as AddressInfo).port, "127.0.0.1")
      socket.on("error", () => {})
      const closed = once(socket, "close")
      socket.pause()
      socket.write(`POST / HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: ${16 << 20}\r\n\r\n`)
      await new Promise((sent) => socket.write("x".repeat(16 << 20), sent))
      let answer = ""
      socket.on("data", (bytes) => (answer += String(bytes))).resume()
      await closed
      assert.match(answer, /^HTTP\/1\.1 413 /)
    } finally {
      server.close()
    }
  })

  it("logs without `onError`: failures each, refusals by reason once a minute, with a count", async () => {
    vi.useFakeTimers({ toFake: ["performance"] })
    const shown = vi.spyOn(console, "error").mockImplementation(() => {})
    const failing = { "charge.pix.paid": () => assert.fail("no") }
    const receive = webhookReceiver({ secrets: secret, on: failing, store: storeOf().store })
    const logged = () => shown.mock.calls.splice(0).map(([error, more]) => [String(error).split(": ")[1], more])
    const forge = async () => assert.strictEqual((await receive(await requestOf(eventOf(), "another"))).status, 401)
    for (let count = 0; count < 100; count++) await forge()
    assert.deepStrictEqual(logged(), [["mismatch", undefined]])
    const { body } = await signForTest({ event: eventOf(), secret })
    await receive(new Request("http://x/", { method: "POST", body }))
    // @effect-diagnostics-next-line globalDate:off
    const old = await signForTest({ event: eventOf(), secret, sentAt: new Date(Date.now() - 301_000) })
    await receive(new Request("http://x/", { method: "POST", ...old }))
    assert.deepStrictEqual(logged(), [
      ["missing-header", undefined],
      ["too-old", undefined]
    ])
    vi.advanceTimersByTime(60_000)
    await forge()
    assert.deepStrictEqual(logged(), [["mismatch", "and 99 more since the last one"]])
    for (let count = 0; count < 2; count++) {
      assert.strictEqual((await receive(await requestOf())).status, 500)
    }
    assert.deepStrictEqual(logged().length, 2)
    const forgotten = webhookReceiver({ secrets: undefined, on: failing, store: storeOf().store })
    assert.strictEqual((await forgotten(await requestOf())).status, 401)
    assert.deepStrictEqual(logged(), [["no-secret", undefined]])
  })

  it("refuses a request whose body was read before, with advice", async () => {
    const errors: Array<unknown> = []
    const receive = receiverOf({ "charge.pix.paid": () => {} }, { onError: (error) => void errors.push(error) })
    const read = await requestOf()
    await read.json()
    assert.strictEqual((await receive(read)).status, 401)
    assert.include(String(errors[0]), "body-not-raw: pass the raw body, before anything parses it")
  })

  it("takes the body of AWS Lambda, which may be base64", async () => {
    const receive = receiverOf({ "charge.pix.paid": () => {} })
    const { body, headers } = await signForTest({ event: eventOf(), secret })
    // As in the README.
    const handler = async (event: { body?: string; isBase64Encoded: boolean; headers: Record<string, string> }) => ({
      statusCode: await receive.status(
        Buffer.from(event.body ?? "", event.isBase64Encoded ? "base64" : "utf8"),
        event.headers
      )
    })
    const text = Buffer.from(body).toString()
    for (const [sent, isBase64Encoded, statusCode] of [
      [text, false, 204],
      [Buffer.from(text).toString("base64"), true, 204],
      [Buffer.from(text).toString("base64"), false, 401]
    ] as const) {
      assert.deepStrictEqual(await handler({ body: sent, isBase64Encoded, headers }), { statusCode })
    }
  })
})

describe("on node:http", () => {
  it("reads the raw body, or uses the one that a framework kept, and reports a parsed body", async () => {
    const errors: Array<unknown> = []
    const receive = receiverOf({ "charge.pix.paid": () => {} }, { onError: (error) => void errors.push(error) })
    const server = createServer(async (request, response) => {
      const chunks: Array<Uint8Array> = []
      const how = request.url
      if (how !== "/raw" && how !== "/express-4") for await (const chunk of request) chunks.push(chunk)
      const bytes = Buffer.concat(chunks)
      if (how === "/kept") Object.assign(request, { body: JSON.parse(`${bytes}`), rawBody: bytes })
      if (how === "/express-raw") Object.assign(request, { body: bytes })
      // Its urlencoded() sets an empty object where the body is of another type, and leaves the stream unread.
      if (how === "/express-4") Object.assign(request, { body: {} })
      if (how === "/parsed") Object.assign(request, { body: JSON.parse(`${bytes}`) })
      await receive.node(request, response)
    })
    server.listen(0, "127.0.0.1")
    await once(server, "listening")
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    try {
      for (const [path, status] of [
        ["/raw", 204],
        ["/kept", 204],
        ["/express-raw", 204],
        ["/express-4", 204],
        ["/parsed", 401]
      ] as const) {
        const delivery = await signForTest({ event: eventOf(), secret })
        assert.strictEqual((await fetch(url + path, { method: "POST", ...delivery })).status, status, path)
      }
      assert.match(String(errors[0]), /body-not-raw: pass the raw body, before anything parses it/)
      assert.strictEqual((await fetch(`${url}/raw`)).status, 405)
    } finally {
      server.close()
    }
  })

  it("`status` verifies a body that the server has already read", async () => {
    const receive = receiverOf({ "charge.pix.paid": () => {} })
    const { body, headers } = await signForTest({ event: eventOf(), secret })
    assert.strictEqual(await receive.status(Buffer.from(body), headers), 204)
    assert.strictEqual(await receive.status(body, {}), 401)
  })
})
