import { assert, describe, it } from "@effect/vitest"
import { sign } from "@pix-payments/domain/Signature"
import { vectors } from "../../domain/test/vectors.ts"
import { unwrap, WebhookSignatureError } from "../src/webhooks.ts"

const bytes = (text: string) => new TextEncoder().encode(text)

const refusal = async (delivery: Parameters<typeof unwrap>[0]) => {
  try {
    await unwrap(delivery)
  } catch (error) {
    assert.instanceOf(error, WebhookSignatureError)
    return error.reason
  }
  return assert.fail("it was accepted")
}

const body = `{"id":"1","object":"event","event":"charge.pix.paid","data":{"object":"charge","note":"ação"}}`

describe("unwrap", () => {
  it("a delivery whose signature holds gives its event", async () => {
    const signature = await sign("a secret", bytes(body))
    const event = await unwrap({ body, signature, secrets: "a secret" })
    assert.deepStrictEqual(event, JSON.parse(body))
  })

  it("the raw bytes are as good as the text", async () => {
    const signature = await sign("a secret", bytes(body))
    assert.strictEqual((await unwrap({ body: bytes(body), signature, secrets: "a secret" })).event, "charge.pix.paid")
  })

  it("while a secret is rotated, the old and the new one pass", async () => {
    for (const secret of ["old secret", "new secret"]) {
      const signature = await sign(secret, bytes(body))
      assert.strictEqual((await unwrap({ body, signature, secrets: ["old secret", "new secret"] })).id, "1")
    }
  })

  it("a receiver refuses a mismatching signature", async () => {
    const signature = await sign("a secret", bytes(body))
    assert.strictEqual(await refusal({ body, signature, secrets: "another secret" }), "mismatch")
    assert.strictEqual(await refusal({ body: `${body} `, signature, secrets: "a secret" }), "mismatch")
  })

  it("each refusal has its name", async () => {
    const signature = await sign("a secret", bytes("not json"))
    assert.strictEqual(await refusal({ body, signature: undefined, secrets: "s" }), "missing-header")
    assert.strictEqual(await refusal({ body, signature: null, secrets: "s" }), "missing-header")
    assert.strictEqual(await refusal({ body, signature: "sha256=00", secrets: "s" }), "wrong-length")
    assert.strictEqual(await refusal({ body: "not json", signature, secrets: "a secret" }), "body-not-json")
    // What a framework parsed already cannot be verified any more.
    const parsed: unknown = JSON.parse(body)
    assert.strictEqual(await refusal({ body: parsed as Uint8Array, signature, secrets: "s" }), "body-not-raw")
  })

  it.each(vectors.signatures.valid.filter(({ body }) => body.startsWith("{")))(
    "accepts what the server's vectors call valid: $name",
    async ({ body, header, secret }) => {
      assert.deepStrictEqual(await unwrap({ body, signature: header, secrets: secret }), JSON.parse(body))
    }
  )

  it.each(vectors.signatures.refused)("refuses by the reason of the server's vectors: $name", async (vector) => {
    const { body, header, reason, secrets } = vector
    assert.strictEqual(await refusal({ body, signature: header, secrets }), reason)
  })
})
