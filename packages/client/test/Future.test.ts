// @effect-diagnostics strictEffectProvide:off
import { assert, describe, it } from "vitest"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import { readFile } from "node:fs/promises"
import { join } from "node:path"
import { PaymentsClient, type PaymentsClientShape } from "../src/effect.ts"
import { ApiError, isCode, Payments } from "../src/index.ts"
import { signForTest, unwrap, type WebhookEvent } from "../src/webhooks.ts"
import { someCharge } from "./support/Samples.ts"
import { startStub } from "./support/Stub.ts"

/** What a later release of the service may say inside v1. */
const future = JSON.parse(await readFile(join(import.meta.dirname, "fixtures/future.json"), "utf8"))

const listed = (item: unknown) => ({ object: "list", data: [item], has_more: false, total_hint: 1 })

const answers: Readonly<Record<string, unknown>> = {
  "POST /v1/charges": future.charge,
  "GET /v1/charges/1": future.charge,
  "GET /v1/charges": listed(future.charge),
  "POST /v1/payouts": future.payout,
  "GET /v1/payouts/1": future.payout,
  "GET /v1/payouts": listed(future.payout),
  "GET /v1/balance": future.balance,
  "GET /v1/account": future.account,
  "POST /v1/webhooks": future.webhook,
  "PATCH /v1/webhooks/1": future.webhook,
  "GET /v1/webhooks": listed(future.webhook),
  "GET /v1/webhooks/events": listed(future.catalogEntry)
}

const aService = () =>
  startStub((response, { method, path }) => {
    const answer = answers[`${method} ${path.split("?", 1)[0]}`]
    response.writeHead(answer === undefined ? 501 : method === "POST" ? 201 : 200).end(JSON.stringify(answer))
  })

const aRefusal = (status: number, body: unknown) =>
  startStub((response) => {
    response.writeHead(status).end(typeof body === "string" ? body : JSON.stringify(body))
  })

const somePayout = { amount: 500, pix_key_type: "email", pix_key: "ana@example.com" } as const
const someEndpoint = { url: "https://example.com/hooks", events: ["charge.pix.paid"] } as const

const effectClient = <A, E>(baseUrl: string, use: (payments: PaymentsClientShape) => Effect.Effect<A, E>): Promise<A> =>
  Effect.runPromise(
    Effect.flatMap(PaymentsClient, use).pipe(
      Effect.provide(PaymentsClient.layer({ baseUrl, apiKey: Redacted.make("pix_"), maxRetries: 0 }))
    )
  )

describe("a later release of the service answers", () => {
  it("`.`: unknown fields stay, unknown values are values", async () => {
    await using stub = await aService()
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
    // Neither wanted nor final: the question goes on, and the caller can ask for it by name.
    assert.deepStrictEqual(await payments.charges.waitUntil("1", "partially_paid"), future.charge)
  })

  it("`./effect`: unknown fields stay, unknown values are values", async () => {
    await using stub = await aService()
    const read = await effectClient(stub.url, (payments) =>
      Effect.all({
        created: payments.charges.create(someCharge),
        charge: payments.charges.retrieve("1"),
        charges: Stream.runCollect(payments.charges.list()),
        paid: payments.payouts.create(somePayout),
        payout: payments.payouts.retrieve("1"),
        payouts: Stream.runCollect(payments.payouts.list()),
        balance: payments.balance.retrieve(),
        account: payments.account.retrieve(),
        registered: payments.webhooks.create(someEndpoint),
        updated: payments.webhooks.update("1", { active: true }),
        endpoints: Stream.runCollect(payments.webhooks.list()),
        events: Stream.runCollect(payments.webhooks.events()),
        waited: payments.charges.waitUntil("1", "partially_paid")
      })
    )
    assert.deepStrictEqual<unknown>(read, {
      created: future.charge,
      charge: future.charge,
      charges: [future.charge],
      paid: future.payout,
      payout: future.payout,
      payouts: [future.payout],
      balance: future.balance,
      account: future.account,
      registered: future.webhook,
      updated: future.webhook,
      endpoints: [future.webhook],
      events: [future.catalogEntry],
      waited: future.charge
    })
  })

  it.each<{ readonly status: number; readonly body: { readonly code?: string; readonly charge_id?: string } }>(
    future.errors
  )("with $status $body.code: an error of `.` like any other", async ({ body, status }) => {
    await using stub = await aRefusal(status, body)
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

  it.each<{ readonly status: number; readonly body: { readonly code?: string; readonly charge_id?: string } }>(
    future.errors
  )("with $status $body.code: a reason of `./effect` like any other", async ({ body, status }) => {
    await using stub = await aRefusal(status, body)
    const { reason } = await effectClient(stub.url, (payments) => Effect.flip(payments.charges.create(someCharge)))
    assert.strictEqual(reason._tag, body.code === "INSUFFICIENT_BALANCE" ? "INSUFFICIENT_BALANCE" : "UnknownRefusal")
    if (!("status" in reason)) return assert.fail()
    assert.strictEqual(reason.status, status)
    assert.strictEqual(reason.code, body.code ?? "UNKNOWN")
    assert.strictEqual(reason.charge_id, body.charge_id)
    assert.deepStrictEqual(reason.body, body)
  })
})

describe("a later release of the service sends", () => {
  /** What a receiver of today makes of an event. */
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

  it("`./webhooks`: events, resources and fields that today does not know", async () => {
    const seen: Array<string> = []
    for (const event of future.events) {
      const unwrapped = await unwrap({ ...(await signForTest({ event, secret: "s" })), secrets: "s" })
      assert.deepStrictEqual(unwrapped, event)
      seen.push(handled(unwrapped))
    }
    assert.deepStrictEqual(seen, ["charge partially_paid", "payment scheduled", "other refund"])
  })
})
