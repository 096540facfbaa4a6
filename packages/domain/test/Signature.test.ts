import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { attemptKey, attemptRefusalOf, sign, signAttempt, verify } from "../src/Signature.ts"
import { vectors } from "./vectors.ts"

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text)

describe("sign", () => {
  for (const { name, secret, body, header } of vectors.signatures.valid) {
    it(`SIG-1: X-Webhook-Signature is sha256=<lower hex of the HMAC of the raw body>: ${name}`, async () => {
      assert.strictEqual(await sign(secret, utf8(body)), header)
    })
  }

  it("the empty secret is the HMAC key of no bytes, and never an exception in the sender", async () => {
    const { body, header } =
      vectors.signatures.refused.find(({ reason }) => reason === "empty-secret") ?? assert.fail("no such vector")
    assert.strictEqual(await sign("", utf8(body)), header)
  })
})

describe("verify", () => {
  for (const { name, secret, body, header } of [...vectors.signatures.valid, ...vectors.signatures.accepted]) {
    it(`accepts ${name}`, async () => {
      assert.deepStrictEqual(await verify({ body: utf8(body), header, secrets: [secret] }), { _tag: "Valid" })
    })
  }

  for (const { name, secrets, body, header, reason } of vectors.signatures.refused) {
    it(`refuses ${name}: ${reason}`, async () => {
      const verdict: unknown = await verify({ body: utf8(body), header: header ?? undefined, secrets })
      assert.deepStrictEqual(verdict, { _tag: "Refused", reason })
    })
  }

  it("one valid secret is enough, in any place", async () => {
    const { body, header, secret } = vectors.signatures.valid[0] ?? assert.fail("no such vector")
    for (const secrets of [
      [secret, "next"],
      ["next", secret],
      ["", "next", secret]
    ]) {
      assert.deepStrictEqual(await verify({ body: utf8(body), header, secrets }), { _tag: "Valid" })
    }
  })

  it("names white space at the ends of a secret as the likely reason, whichever secret has it", async () => {
    const { body, header } = vectors.signatures.valid[0] ?? assert.fail("no such vector")
    for (const [secrets, reason] of [
      [["another\n"], "white-space-in-secret"],
      [["next", "another\n"], "white-space-in-secret"],
      [[" another", "next"], "white-space-in-secret"],
      [["an other", "next"], "mismatch"]
    ] as const) {
      assert.deepStrictEqual(await verify({ body: utf8(body), header, secrets }), { _tag: "Refused", reason })
    }
  })

  it("SIG-3: verifies the bytes of a view, not of the buffer behind it", async () => {
    const { body, header, secret } = vectors.signatures.valid[0] ?? assert.fail("no such vector")
    const view = utf8(`xx${body}yy`).subarray(2, 2 + utf8(body).length)
    assert.deepStrictEqual(await verify({ body: view, header, secrets: [secret] }), { _tag: "Valid" })
    assert.strictEqual(await sign(secret, view), header)
  })

  it("SIG-1: signs bytes that are not UTF-8 as they are", async () => {
    const body = Uint8Array.of(0xff, 0xfe, 0x00, 0x80)
    const header = await sign("s", body)
    assert.deepStrictEqual(await verify({ body, header, secrets: ["s"] }), { _tag: "Valid" })
    assert.notStrictEqual(await sign("s", utf8(new TextDecoder().decode(body))), header)
  })

  const Secret = Schema.String.check(Schema.isPattern(/^[!-~]{1,40}$/))

  it.effect.prop(
    "verifies what was signed, with the same secret only",
    [Secret, Secret, Schema.String],
    ([secret, other, body]) =>
      Effect.promise(async () => {
        const header = await sign(secret, utf8(body))
        assert.match(header, /^sha256=[0-9a-f]{64}$/)
        assert.deepStrictEqual(await verify({ body: utf8(body), header, secrets: [secret] }), { _tag: "Valid" })
        if (other !== secret) {
          assert.deepStrictEqual(await verify({ body: utf8(body), header, secrets: [other] }), {
            _tag: "Refused",
            reason: "mismatch"
          })
        }
      })
  )
})

describe("attemptRefusalOf", () => {
  for (const { body, id, name, secret, signature, timestamp } of vectors.attempts.valid) {
    const sentMs = Number(timestamp) * 1000
    const headers = { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature }
    const refusal = (changed: Record<string, string> = {}, secrets = [secret], nowMs = sentMs, bytes = utf8(body)) =>
      attemptRefusalOf({ body: bytes, secrets }, (header) => ({ ...headers, ...changed })[header], nowMs, 1)

    it(`signs and accepts ${name}, and refuses any other body, time, id or secret`, async () => {
      assert.strictEqual(await signAttempt(secret, id, timestamp, utf8(body)), signature)
      assert.isUndefined(await refusal())
      assert.isUndefined(await refusal({}, ["", "another", secret]))
      assert.strictEqual(await refusal({}, [secret], sentMs, utf8(`${body} `)), "mismatch")
      assert.strictEqual(await refusal({ "webhook-id": `${id}1` }), "mismatch")
      assert.strictEqual(await refusal({ "webhook-timestamp": `${timestamp}0` }), "mismatch")
      assert.strictEqual(await refusal({}, ["another"]), "mismatch")
      // As far from now as is tolerated.
      assert.isUndefined(await refusal({}, [secret], sentMs + 1))
      assert.isUndefined(await refusal({}, [secret], sentMs - 1))
      assert.strictEqual(await refusal({}, [secret], sentMs + 2), "too-old")
      assert.strictEqual(await refusal({}, [secret], sentMs - 2), "in-the-future")
      // What is no number compares with nothing.
      assert.strictEqual(await refusal({}, [secret], Number.NaN), "too-old")
    })
  }

  it("ADD-2: an attempt has three headers, and is refused without any one of them", async () => {
    const body = utf8("{}")
    const signature = await signAttempt("a secret", "1", "1", body)
    const headers = { "webhook-id": "1", "webhook-timestamp": "1", "webhook-signature": signature }
    for (const name of Object.keys(headers)) {
      for (const value of [undefined, ""]) {
        const sent: Record<string, string | undefined> = { ...headers, [name]: value }
        const refusal = await attemptRefusalOf({ body, secrets: ["a secret"] }, (header) => sent[header], 1000, 1)
        assert.strictEqual(refusal, "missing-header", name)
      }
    }
  })

  it("an empty secret verifies nothing", async () => {
    const body = utf8("{}")
    const signature = await signAttempt("", "1", "1", body)
    const headers = { "webhook-id": "1", "webhook-timestamp": "1", "webhook-signature": signature }
    const read = (header: string) => Object.entries(headers).find(([name]) => name === header)?.[1]
    for (const secrets of [[""], ["", ""], ["whsec_"], ["", "whsec_"], ["whsec_ "]]) {
      assert.strictEqual(await attemptRefusalOf({ body, secrets }, read, 1000, 1), "mismatch")
    }
  })

  it("the key is the decoded base64 of `whsec_…`, else the secret's UTF-8 bytes", async () => {
    assert.deepStrictEqual(attemptKey("whsec_AAEC/w=="), Uint8Array.of(0, 1, 2, 255))
    const bytes = ["whsec_!!!", "whsec_é", "whsec_a", "whsec_AAEC_w", "WHSEC_AAEC", "a secret"]
    for (const secret of [...bytes, "whsec_", "whsec_ ", "whsec_\r\n"]) {
      assert.deepStrictEqual(attemptKey(secret), utf8(secret))
      const signature = await signAttempt(secret, "1", "1", utf8("{}"))
      assert.match(signature, /^v1,/)
      // What the service signs with, a receiver takes.
      const headers = { "webhook-id": "1", "webhook-timestamp": "1", "webhook-signature": signature }
      const read = (header: string) => Object.entries(headers).find(([name]) => name === header)?.[1]
      assert.isUndefined(await attemptRefusalOf({ body: utf8("{}"), secrets: [secret] }, read, 1000, 1))
    }
  })
})
