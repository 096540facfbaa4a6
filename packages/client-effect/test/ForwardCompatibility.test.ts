// @effect-diagnostics strictEffectProvide:off
import {
  startFailingService,
  startFutureService,
  future,
  someEndpoint,
  somePayout
} from "@pix-payments/client/test/FutureRelease"
import { someCharge } from "@pix-payments/client/test/Samples"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import { assert, describe, it } from "vitest"
import { PaymentsClient, type PaymentsClientShape } from "../src/index.ts"

const effectClient = <A, E>(baseUrl: string, use: (payments: PaymentsClientShape) => Effect.Effect<A, E>): Promise<A> =>
  Effect.runPromise(
    Effect.flatMap(PaymentsClient, use).pipe(
      Effect.provide(PaymentsClient.layer({ baseUrl, apiKey: Redacted.make("pix_"), maxRetries: 0 }))
    )
  )

describe("API-12: responses of a later release", () => {
  it("unknown fields and values are kept", async () => {
    await using stub = await startFutureService()
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
        waited: payments.charges.waitUntil("1", ({ amount }) => amount > 0)
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
  )("$status $body.code is the reason of a PaymentsError", async ({ body, status }) => {
    await using stub = await startFailingService(status, body)
    const { reason } = await effectClient(stub.url, (payments) => Effect.flip(payments.charges.create(someCharge)))
    assert.strictEqual(reason._tag, body.code === "INSUFFICIENT_BALANCE" ? "INSUFFICIENT_BALANCE" : "UnknownApiError")
    if (!("status" in reason)) return assert.fail()
    assert.strictEqual(reason.status, status)
    assert.strictEqual(reason.code, body.code ?? "UNKNOWN")
    assert.strictEqual(reason.charge_id, body.charge_id)
    assert.deepStrictEqual(reason.body, body)
  })
})
