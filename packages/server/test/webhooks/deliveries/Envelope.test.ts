/** The envelope of an event, and the headers of a delivery. */
import { assert, layer } from "@effect/vitest"
import type { Payout } from "@pix-payments/domain/Payout"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { randomBytes } from "node:crypto"
import { created } from "../../support/ChargeRequests.ts"
import { loopback, receiver } from "../../support/Receiver.ts"
import { newKey, TestService } from "../../support/TestService.ts"
import { registered } from "../../support/Webhooks.ts"
import { simulate, data, receivedOf, receivedEventsOf, isStandard } from "../../support/Deliveries.ts"

const settings = { webhookAllowedNetworks: loopback, simulatorSettleMs: 0 }

layer(TestService.layer({ settings }), { excludeTestServices: true })("Envelope", (it) => {
  it.effect(
    "EVT-5, EVT-6: every event of a charge or payout has its `reference`, and payouts are called `payment`",
    () =>
      Effect.gen(function* () {
        const { call, makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        const hooks = yield* receiver()
        const charge = yield* created(key, { amount: 100_000, webhook_url: hooks.url, reference: "pedido-1" })
        yield* simulate(`/charges/${charge.id}/pay`)
        assert.lengthOf(yield* receivedEventsOf(hooks, charge.id, 3), 3)
        const { body: payout } = yield* call<Payout>("POST", "/v1/payouts", {
          key,
          idempotencyKey: newKey(),
          body: {
            amount: 500,
            pix_key_type: "email",
            pix_key: "fail@simulator.test",
            webhook_url: hooks.url,
            reference: "saida-1"
          }
        })
        assert.deepStrictEqual(yield* receivedEventsOf(hooks, payout.id, 3), [
          "/ payment.pix.created",
          "/ payment.pix.failed",
          "/ payment.pix.processing"
        ])
        for (const received of receivedOf(hooks, charge.id)) {
          assert.deepInclude(data(received), { object: "charge", reference: "pedido-1" })
        }
        for (const received of receivedOf(hooks, payout.id)) {
          assert.deepInclude(data(received), { object: "payment", reference: "saida-1" })
        }
        const failed = receivedOf(hooks, payout.id).find(({ body }) => body.event === "payment.pix.failed")
        const { body: read } = yield* call<Payout>("GET", `/v1/payouts/${payout.id}`, { key })
        assert.deepStrictEqual<unknown>(data(failed!), { ...read, object: "payment" })
      })
  )

  it.effect("ADD-1: `sequence` is the resource's after the change, in the envelope and in `data`, and grows", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const hooks = yield* receiver()
      const charge = yield* created(key, { webhook_url: hooks.url })
      yield* simulate(`/charges/${charge.id}/pay`)
      yield* simulate(`/charges/${charge.id}/refund`)
      yield* receivedEventsOf(hooks, charge.id, 4)
      const sequences = Object.fromEntries(hooks.received.map(({ body }) => [body.event, body.sequence]))
      const emitted = sequences["charge.pix.emitted"]!
      assert.deepStrictEqual(sequences, {
        "charge.pix.created": emitted,
        "charge.pix.emitted": emitted,
        "charge.pix.paid": emitted + 1,
        "charge.pix.refunded": emitted + 2
      })
      for (const received of hooks.received) assert.strictEqual(data(received)["sequence"], received.body.sequence)
    })
  )

  it.effect(
    "ADD-2: Standard Webhooks headers beside the contract's: a verifier of that specification accepts them",
    () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        const hooks = yield* receiver()
        const events = ["charge.pix.created"]
        const bytes = randomBytes(32)
        const keys: Record<string, Buffer> = {
          "/whsec": bytes,
          "/raw": Buffer.from("segredo é 🔑"),
          "/prefix": Buffer.from("whsec-is-not-the-prefix"),
          "/odd": Buffer.from("whsec_!!!")
        }
        yield* registered(key, { url: `${hooks.url}/whsec`, events, secret: `whsec_${bytes.toString("base64")}` })
        yield* registered(key, { url: `${hooks.url}/raw`, events, secret: "segredo é 🔑" })
        yield* registered(key, { url: `${hooks.url}/prefix`, events, secret: "whsec-is-not-the-prefix" })
        yield* registered(key, { url: `${hooks.url}/odd`, events, secret: "whsec_!!!" })
        yield* registered(key, { url: `${hooks.url}/none`, events })
        const before = yield* Clock.currentTimeMillis
        const charge = yield* created(key)
        yield* receivedEventsOf(hooks, charge.id, 5)
        for (const received of hooks.received) {
          const { body, headers, path } = received
          const secret = keys[path]
          if (secret === undefined) {
            for (const name of ["id", "timestamp", "signature"]) assert.notProperty(headers, `webhook-${name}`)
            assert.notProperty(headers, "x-webhook-signature")
            continue
          }
          assert.strictEqual(headers["webhook-id"], body.id)
          assert.match(String(headers["webhook-timestamp"]), /^\d{10}$/)
          assert.isAtLeast(Number(headers["webhook-timestamp"]), Math.floor(before / 1000))
          assert.isTrue(isStandard(received, secret), path)
          assert.isFalse(isStandard({ ...received, bytes: Buffer.concat([received.bytes, Buffer.from(" ")]) }, secret))
          assert.isFalse(isStandard({ ...received, headers: { ...headers, "webhook-timestamp": "1" } }, secret))
          assert.isFalse(isStandard({ ...received, headers: { ...headers, "webhook-id": "other" } }, secret))
        }
      })
  )
})
