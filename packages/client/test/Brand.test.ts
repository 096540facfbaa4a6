import { assert, describe, it, vi } from "vitest"
import * as client from "../src/index.ts"
import * as webhooks from "../src/webhooks.ts"

/** A second copy of the modules. */
const loadCopy = async () => {
  vi.resetModules()
  return { client: await import("../src/index.ts"), webhooks: await import("../src/webhooks.ts") }
}

const call = { operation: "charges.create", attempts: 1 }

describe("two copies of the package", () => {
  it("agree on instanceof and isCode for every class", async () => {
    const copy = await loadCopy()
    assert.notStrictEqual(copy.client.ApiError, client.ApiError)
    const error = new copy.client.RateLimitError("no", call)
    for (const name of ["RateLimitError", "ApiError", "PaymentsError"] as const) {
      assert.isTrue(error instanceof client[name], name)
    }
    for (const name of ["NotFoundError", "ServerError", "ConnectionError", "UsageError"] as const) {
      assert.isFalse(error instanceof client[name], name)
    }
    assert.isTrue(client.isCode(Object.assign(error, { code: "RATE_LIMITED" }), "RATE_LIMITED"))
    const rejected: unknown = await copy.webhooks
      .verify({ body: "", secrets: "s", headers: {} })
      .catch((caught: unknown) => caught)
    assert.isTrue(rejected instanceof webhooks.WebhookSignatureError)
  })

  it("do not accept other errors, objects or values", async () => {
    for (const other of [new Error("no"), {}, null, undefined, "RateLimitError", { name: "RateLimitError" }]) {
      assert.isFalse(other instanceof client.PaymentsError)
      assert.isFalse(other instanceof client.RateLimitError)
    }
    // Subclasses use plain instanceof.
    class OutOfStock extends client.PaymentsError {}
    assert.isTrue(new OutOfStock("none", call) instanceof client.PaymentsError)
    assert.isTrue(new OutOfStock("none", call) instanceof OutOfStock)
    assert.isFalse(new client.PaymentsError("no", call) instanceof OutOfStock)
  })
})
