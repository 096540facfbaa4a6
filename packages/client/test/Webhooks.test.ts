// @effect-diagnostics globalDate:off -- there is no Effect here
import { assert, describe, it, vi } from "vitest"
import { inspect } from "node:util"
import { runInNewContext } from "node:vm"
import { vectors } from "../../domain/test/vectors.ts"
import { signForTest } from "../src/testing.ts"
import {
  isEvent,
  unwrap,
  type Delivery,
  verify,
  type WebhookEvent,
  type WebhookSignatureErrorReason,
  WebhookSignatureError
} from "../src/webhooks.ts"
import { chargeOf } from "./support/Samples.ts"

const bytes = (text: string) => new TextEncoder().encode(text)

const rejectionOf = async (delivery: Delivery, receive: (delivery: Delivery) => Promise<unknown> = unwrap) => {
  try {
    await receive(delivery)
  } catch (error) {
    assert.instanceOf(error, WebhookSignatureError)
    return error.reason
  }
  return assert.fail("the delivery was accepted")
}

const secret = "a secret of the endpoint"
const paid = {
  id: "1",
  object: "event",
  event: "charge.pix.paid",
  resource: "charge",
  method: "pix",
  action: "paid",
  created_at: "2026-11-21T12:00:00.000Z",
  sequence: 2,
  data: chargeOf({ status: "paid", description: "ação" })
}
const { body, headers } = await signForTest({ event: paid, secret })
const signature = headers["x-webhook-signature"]

describe("unwrap", () => {
  it("returns the event of a delivery with a valid signature", async () => {
    const event = await unwrap({ body, headers, secrets: secret })
    assert.deepStrictEqual<unknown>(event, paid)
    // The name narrows the type of the data.
    if (event.event !== "charge.pix.paid") return assert.fail()
    assert.strictEqual(event.data.pix.br_code, "0002")
  })

  it("accepts the raw body as text, bytes, a view or a buffer, of any realm", async () => {
    const raw = bytes(body)
    const view = bytes(`xx${body}yy`).subarray(2, 2 + raw.length)
    const foreign: Uint8Array<ArrayBuffer> = runInNewContext("Uint8Array.from(bytes)", { bytes: [...raw] })
    for (const form of [
      body,
      raw,
      Buffer.from(raw),
      view,
      raw.buffer,
      foreign,
      foreign.buffer,
      new DataView(raw.buffer)
    ]) {
      assert.strictEqual((await unwrap({ body: form, headers, secrets: secret })).id, "1")
    }
  })

  it("finds the header in `Headers`, objects and maps, in any case", async () => {
    for (const form of [
      new Headers({ "X-Webhook-Signature": signature }),
      { "x-webhook-signature": signature },
      { "X-Webhook-Signature": signature, other: undefined },
      { "x-webhook-signature": [signature] },
      { "x-webhook-signature": [`sha256=${"0".repeat(64)}`, signature] },
      // A `Headers` of another realm, or of a library.
      new Map([["X-Webhook-Signature", signature]]) as unknown as Headers
    ]) {
      assert.strictEqual((await unwrap({ body, headers: form, secrets: secret, toleranceMs: Infinity })).id, "1")
    }
    assert.strictEqual(await rejectionOf({ body, headers: {}, secrets: secret }), "missing-header")
    assert.strictEqual(await rejectionOf({ body, secrets: secret }), "missing-header")
    assert.strictEqual(await rejectionOf({ body, signature: null, secrets: secret }), "missing-header")
  })

  it("accepts the old and the new secret during a rotation", async () => {
    const secrets = ["the old secret", "the new secret"]
    for (const used of secrets) {
      const signed = await signForTest({ event: paid, secret: used })
      assert.strictEqual((await unwrap({ ...signed, secrets })).id, "1")
    }
    assert.strictEqual(await rejectionOf({ body, headers, secrets }), "mismatch")
  })

  it("rejects a missing secret with its own reason", async () => {
    const lacking = (secrets: unknown) => ({ body, headers, secrets: secrets as string, toleranceMs: 300_000 })
    for (const secrets of [undefined, null, [], [undefined], [null, undefined], 1]) {
      assert.strictEqual(await rejectionOf(lacking(secrets)), "no-secret")
    }
    assert.strictEqual(await rejectionOf(lacking([undefined, "another"])), "mismatch")
    assert.strictEqual((await unwrap(lacking([undefined, secret]))).id, "1")
  })

  it("accepts secrets that begin like those of Standard Webhooks but are not base64", async () => {
    const begun = ["whsec_!!!", "whsec_ação", "whsec_a", "whsec_a=b", "whsec_====", "whsec_test_5f1d7e0a"]
    for (const odd of [...begun, "whsec_", "whsec_ ", "whsec_\n"]) {
      const signed = await signForTest({ event: paid, secret: odd })
      assert.strictEqual((await unwrap({ ...signed, secrets: ["another", odd], toleranceMs: 300_000 })).id, "1", odd)
      assert.strictEqual(await rejectionOf({ ...signed, secrets: "whsec_???", toleranceMs: 300_000 }), "mismatch")
    }
    assert.strictEqual(await rejectionOf({ body, headers, secrets: ["whsec_!!!"], toleranceMs: 1 }), "mismatch")
  })

  it("rejects a parsed body with its own reason", async () => {
    // Query parsers make objects without a prototype.
    for (const parsed of [paid, JSON.parse("[]"), null, undefined, 1, Object.create(null), { toString: null }]) {
      assert.strictEqual(
        await rejectionOf({ body: parsed as unknown as string, headers, secrets: secret }),
        "body-not-raw"
      )
    }
    const error = await unwrap({ body: paid as unknown as string, headers, secrets: secret }).catch(String)
    assert.include(String(error), "body-not-raw")
  })

  it("rejects a signed body that is not an event with its own reason", async () => {
    for (const [event, reason] of [
      ["not json", "body-not-json"],
      ["", "body-not-json"],
      ["null", "body-not-event"],
      ["[]", "body-not-event"],
      [{ ...paid, id: 1 }, "body-not-event"],
      [{ ...paid, event: undefined }, "body-not-event"],
      [{ ...paid, data: null }, "body-not-event"],
      [{ ...paid, data: "text" }, "body-not-event"]
    ] as const) {
      const signed = await signForTest({ event, secret })
      assert.strictEqual(await rejectionOf({ ...signed, secrets: secret }), reason, JSON.stringify(event))
    }
  })

  it("rejects attempts outside toleranceMs, five minutes by default", async () => {
    vi.useFakeTimers({ now: 1_800_000_000_000 })
    const signed = await signForTest({ event: paid, secret })
    const after = (ms: number, delivery: Partial<Delivery> = {}) => {
      vi.setSystemTime(1_800_000_000_000 + ms)
      return unwrap({ ...signed, secrets: ["another", secret], ...delivery }).then(
        () => "accepted",
        (error: WebhookSignatureError) => error.reason
      )
    }
    assert.strictEqual(await after(0), "accepted")
    assert.strictEqual(await after(300_000), "accepted")
    assert.strictEqual(await after(300_001), "too-old")
    assert.strictEqual(await after(30 * 86_400_000, { toleranceMs: Infinity }), "accepted")
    assert.strictEqual(await after(30 * 86_400_000, { toleranceMs: undefined }), "too-old")
    // X-Webhook-Signature alone has no timestamp.
    const { headers: _, ...bare } = signed
    const alone = { ...bare, signature: signed.headers["x-webhook-signature"], secrets: secret }
    vi.setSystemTime(1_800_000_000_000)
    assert.strictEqual(await rejectionOf(alone), "missing-header")
    assert.strictEqual((await unwrap({ ...alone, toleranceMs: Infinity })).id, "1")
    assert.strictEqual(await after(-300_000), "accepted")
    assert.strictEqual(await after(-300_001), "in-the-future")
    const { headers } = signed
    // Timestamp and id are signed.
    assert.strictEqual(await after(0, { headers: { ...headers, "webhook-timestamp": "1800000001" } }), "mismatch")
    assert.strictEqual(await after(0, { headers: { ...headers, "webhook-id": "2" } }), "mismatch")
    assert.strictEqual(await after(0, { headers: { ...headers, "webhook-timestamp": "now" } }), "mismatch")
    assert.strictEqual(await after(0, { headers: { ...headers, "webhook-signature": "v2,AA==" } }), "mismatch")
    for (const name of ["webhook-id", "webhook-timestamp", "webhook-signature"]) {
      assert.strictEqual(await after(0, { headers: { ...headers, [name]: undefined } }), "missing-header")
    }
    assert.strictEqual(await after(0, { secrets: "another" }), "mismatch")
    // NaN, as `Number(process.env.X)` may return it, accepts nothing.
    for (const ms of [0, 30 * 86_400_000, -30 * 86_400_000]) {
      assert.strictEqual(await after(ms, { toleranceMs: Number.NaN }), "too-old")
    }
    const several = `v2,AA== v1,AAAA ${headers["webhook-signature"]}`
    assert.strictEqual(
      await after(0, { headers: new Headers({ ...headers, "webhook-signature": several }) }),
      "accepted"
    )
    vi.useRealTimers()
  })

  it("prints neither secret, signature nor body", async () => {
    const error: unknown = await unwrap({ body, headers, secrets: `${secret}\n` }).catch((caught: unknown) => caught)
    assert.instanceOf(error, WebhookSignatureError)
    assert.strictEqual(error.reason, "white-space-in-secret")
    for (const text of [inspect(error, { depth: Infinity, showHidden: true }), JSON.stringify(error), String(error)]) {
      for (const hidden of [secret, signature.slice(7), "charge.pix.paid"]) assert.notInclude(text, hidden)
    }
  })
})

describe("every rejection", () => {
  it.each([
    ["missing-header", /pass the raw body, all headers and this endpoint's secret/],
    ["mismatch", /pass the raw body, all headers and this endpoint's secret/],
    ["white-space-in-secret", /trim the secret/],
    ["empty-secret", /set the secret/],
    ["no-secret", /set the secret/],
    ["body-not-raw", /pass the raw body, before anything parses it/],
    ["too-old", /clock/],
    ["in-the-future", /clock/],
    ["malformed-header", /answer 401/],
    ["unknown-scheme", /answer 401/],
    ["wrong-length", /answer 401/],
    ["not-hex", /answer 401/],
    ["body-not-json", /answer 401/],
    ["body-not-event", /answer 401/]
  ] as const)("%s says what to do", async (reason, advice) => {
    const now = Date.now()
    const deliveries: Readonly<Record<WebhookSignatureErrorReason, () => Promise<Delivery>>> = {
      "missing-header": async () => ({ body, headers: {}, secrets: secret }),
      mismatch: async () => ({ body, headers, secrets: "another" }),
      "white-space-in-secret": async () => ({ body, headers, secrets: `${secret}\n` }),
      "empty-secret": async () => ({ body, headers, secrets: "" }),
      "no-secret": async () => ({ body, headers, secrets: [undefined] }),
      "body-not-raw": async () => ({ body: paid as unknown as string, headers, secrets: secret }),
      "too-old": async () => ({
        ...(await signForTest({ event: paid, secret, sentAt: new Date(now - 600_000) })),
        secrets: secret
      }),
      "in-the-future": async () => ({
        ...(await signForTest({ event: paid, secret, sentAt: new Date(now + 600_000) })),
        secrets: secret
      }),
      "malformed-header": async () => ({ body, signature: "?", secrets: secret }),
      "unknown-scheme": async () => ({ body, signature: "md5=1", secrets: secret }),
      "wrong-length": async () => ({ body, signature: "sha256=1", secrets: secret }),
      "not-hex": async () => ({ body, signature: `sha256=${"g".repeat(64)}`, secrets: secret }),
      "body-not-json": async () => ({ ...(await signForTest({ event: "no", secret })), secrets: secret }),
      "body-not-event": async () => ({ ...(await signForTest({ event: {}, secret })), secrets: secret })
    }
    const error: unknown = await unwrap(await deliveries[reason]()).catch((caught: unknown) => caught)
    assert.instanceOf(error, WebhookSignatureError)
    assert.strictEqual(error.reason, reason)
    assert.include(error.message, reason)
    assert.match(error.message, advice)
  })
})

describe("isEvent", () => {
  it("narrows by known names, and accepts others", async () => {
    const event = await unwrap({ body, headers, secrets: secret })
    if (!isEvent(event, ["charge.pix.paid", "charge.pix.refunded"])) return assert.fail()
    const amount: number = event.data.amount
    assert.strictEqual(amount, 1990)
    const later: WebhookEvent = { ...event, event: "charge.pix.partially_paid" }
    // @ts-expect-error -- a name that is only compared is one that this release knows
    assert.isTrue(isEvent(later, "charge.pix.partially_paid"))
    assert.isFalse(isEvent(later, "charge.pix.paid"))
    assert.isFalse(isEvent(later, []))
  })
})

describe("signForTest", () => {
  it("makes every header of a delivery", async () => {
    const sentAt = new Date("2026-11-21T12:00:00.999Z")
    const { headers } = await signForTest({ event: paid, secret, sentAt })
    const { "webhook-signature": attempt, "x-webhook-signature": signature, ...rest } = headers
    assert.match(signature, /^sha256=[0-9a-f]{64}$/)
    assert.match(attempt, /^v1,[\w+/]+=$/)
    assert.deepStrictEqual(rest, {
      "content-type": "application/json",
      "user-agent": "pix-payments-webhooks/1",
      "x-webhook-event": "charge.pix.paid",
      "x-webhook-resource": "charge",
      "x-webhook-method": "pix",
      "x-webhook-delivery": "1",
      "webhook-id": "1",
      "webhook-timestamp": "1795262400"
    })
  })

  it("uses the id of the event, or msg_test without one", async () => {
    const idOf = async (event: object | string) => (await signForTest({ event, secret })).headers["webhook-id"]
    assert.strictEqual(await idOf(paid), "1")
    assert.strictEqual(await idOf(body), "1")
    for (const event of ["not json", "null", "{}", "", {}, []]) assert.strictEqual(await idOf(event), "msg_test")
  })
})

describe("SIG-1: the vectors shared with the server", () => {
  it.each(vectors.signatures.valid)("signs: $name", async ({ body, header, secret }) => {
    assert.strictEqual((await signForTest({ event: body, secret })).headers["x-webhook-signature"], header)
  })

  it.each([...vectors.signatures.valid, ...vectors.signatures.accepted])(
    "accepts: $name",
    async ({ body, header, secret }) => {
      await verify({ body, signature: header, secrets: secret, toleranceMs: Infinity })
      await verify({
        body: bytes(body),
        headers: { "x-webhook-signature": header },
        secrets: ["another", secret],
        toleranceMs: Infinity
      })
    }
  )

  it.each(vectors.attempts.valid)(
    "signs and accepts attempts: $name",
    async ({ body, id, secret, signature, timestamp }) => {
      vi.useFakeTimers({ now: Number(timestamp) * 1000 })
      const { headers } = await signForTest({ event: body, secret })
      // A body without an id gets another one.
      if (headers["webhook-id"] === id) assert.strictEqual(headers["webhook-signature"], signature)
      const attempt = { ...headers, "webhook-id": id, "webhook-signature": signature }
      await verify({ body, headers: attempt, secrets: secret, toleranceMs: 1 })
      vi.useRealTimers()
    }
  )

  it.each(vectors.signatures.refused)("rejects: $name", async ({ body, header, reason, secrets }) => {
    assert.strictEqual(await rejectionOf({ body, signature: header, secrets }, verify), reason)
    assert.strictEqual(await rejectionOf({ body, signature: header, secrets }), reason)
  })
})
