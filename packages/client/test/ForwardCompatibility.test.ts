import { assert, describe, it } from "vitest"
import { ApiError, isCode, Payments } from "../src/index.ts"
import { signForTest } from "../src/testing.ts"
import { unwrap, type WebhookEvent } from "../src/webhooks.ts"
import { someCharge } from "./support/Samples.ts"
import {
  startFailingService,
  startFutureService,
  future,
  listed,
  someEndpoint,
  somePayout
} from "./support/FutureRelease.ts"

describe("API-12: responses of a later release", () => {
  it("unknown fields and values are kept", async () => {
    await using stub = await startFutureService()
    const payments = new Payments({ baseUrl: stub.url, apiKey: "pix_" })
    assert.deepStrictEqual(await payments.charges.create(someCharge), future.charge)
    assert.deepStrictEqual(await payments.charges.retrieve("1"), future.charge)
    assert.deepStrictEqual<unknown>(await payments.charges.list(), listed(future.charge))
    assert.deepStrictEqual(await payments.charges.list().toArray({ limit: 5 }), [future.charge])
    assert.deepStrictEqual(await payments.payouts.create(somePayout), future.payout)
    assert.deepStrictEqual(await payments.payouts.retrieve("1"), future.payout)
    assert.deepStrictEqual(await payments.payouts.list().toArray({ limit: 5 }), [future.payout])
    assert.deepStrictEqual(await payments.balance.retrieve(), future.balance)
    assert.deepStrictEqual(await payments.account.retrieve(), future.account)
    assert.deepStrictEqual(await payments.webhooks.create(someEndpoint), future.webhook)
    assert.deepStrictEqual(await payments.webhooks.update("1", { active: true }), future.webhook)
    assert.deepStrictEqual(await payments.webhooks.list().toArray({ limit: 5 }), [future.webhook])
    assert.deepStrictEqual(await payments.webhooks.events().toArray({ limit: 5 }), [future.catalogEntry])
    assert.deepStrictEqual(await payments.charges.waitUntil("1", ({ amount }) => amount > 0), future.charge)
  })

  it.each<{ readonly status: number; readonly body: { readonly code?: string; readonly charge_id?: string } }>(
    future.errors
  )("$status $body.code is an ApiError", async ({ body, status }) => {
    await using stub = await startFailingService(status, body)
    const payments = new Payments({ baseUrl: stub.url, apiKey: "pix_", maxRetries: 0 })
    const error: unknown = await payments.charges.create(someCharge).catch((caught: unknown) => caught)
    assert.instanceOf(error, ApiError)
    assert.strictEqual(error.status, status)
    assert.strictEqual(error.code, body.code ?? "UNKNOWN")
    assert.isTrue(isCode(error, error.code))
    assert.strictEqual(error.charge_id, body.charge_id)
    assert.deepStrictEqual(error.body, body)
    assert.isAbove(error.message.length, 0)
  })
})

describe("API-12: webhooks of a later release", () => {
  /** A handler written for this release. */
  const handled = (event: WebhookEvent): string => {
    switch (event.resource) {
      case "charge":
        return `charge ${event.data.status}`
      case "payment":
        return `payment ${event.data.status}`
      case "dispute":
        return `dispute ${event.data.status}`
      default:
        return `other ${event.data.object}`
    }
  }

  it("unknown events, resources and fields are unwrapped and kept", async () => {
    const seen: Array<string> = []
    for (const event of future.events) {
      const unwrapped = await unwrap({ ...(await signForTest({ event, secret: "s" })), secrets: "s" })
      assert.deepStrictEqual(unwrapped, event)
      seen.push(handled(unwrapped))
    }
    assert.deepStrictEqual(seen, ["charge partially_paid", "payment scheduled", "other refund"])
  })
})
