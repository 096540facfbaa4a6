import { assert, describe, it, vi } from "vitest"
import * as client from "../src/index.ts"
import * as webhooks from "../src/webhooks.ts"

/** The same modules once more, as another copy of the package is. */
const another = async () => {
  vi.resetModules()
  return { client: await import("../src/index.ts"), webhooks: await import("../src/webhooks.ts") }
}

const facts = { operation: "charges.create", attempts: 1 }

describe("two copies of the package", () => {
  it("agree on instanceof and isCode, class by class", async () => {
    const copy = await another()
    assert.notStrictEqual(copy.client.ApiError, client.ApiError)
    const error = new copy.client.RateLimitError("no", facts)
    for (const name of ["RateLimitError", "ApiError", "PaymentsError"] as const) {
      assert.isTrue(error instanceof client[name], name)
    }
    for (const name of ["NotFoundError", "ServerError", "ConnectionError", "UsageError"] as const) {
      assert.isFalse(error instanceof client[name], name)
    }
    assert.isTrue(client.isCode(Object.assign(error, { code: "RATE_LIMITED" }), "RATE_LIMITED"))
    const refused: unknown = await copy.webhooks
      .verify({ body: "", secrets: "s", headers: {} })
      .catch((caught: unknown) => caught)
    assert.isTrue(refused instanceof webhooks.WebhookSignatureError)
  })

  it("take nothing else for an error of theirs", async () => {
    for (const other of [new Error("no"), {}, null, undefined, "RateLimitError", { name: "RateLimitError" }]) {
      assert.isFalse(other instanceof client.PaymentsError)
      assert.isFalse(other instanceof client.RateLimitError)
    }
    // A class made of one is a class like any other.
    class OutOfStock extends client.PaymentsError {}
    assert.isTrue(new OutOfStock("none", facts) instanceof client.PaymentsError)
    assert.isTrue(new OutOfStock("none", facts) instanceof OutOfStock)
    assert.isFalse(new client.PaymentsError("no", facts) instanceof OutOfStock)
  })
})
