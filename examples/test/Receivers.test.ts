import { Payments } from "@pix-payments/client"
import { signForTest, type WebhookEvent } from "@pix-payments/client/webhooks"
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import { loopback } from "@pix-payments/server/test/Receiver"
import { TestService } from "@pix-payments/server/test/Service"
import { startEffectReceiver } from "../receivers/EffectServer.ts"
import { startExpressReceiver } from "../receivers/Express.ts"
import { startFastifyReceiver } from "../receivers/Fastify.ts"
import { startHonoReceiver } from "../receivers/Hono.ts"
import { startNodeHttpReceiver } from "../receivers/NodeHttp.ts"

const receivers = {
  "node:http": startNodeHttpReceiver,
  Express: startExpressReceiver,
  Fastify: startFastifyReceiver,
  Hono: startHonoReceiver,
  Effect: startEffectReceiver
}

const secrets = ["the old secret", "the new secret, ção"]

const paid = (id: string) => ({
  id,
  object: "event",
  event: "charge.pix.paid",
  resource: "charge",
  data: { object: "charge", id: "c", description: "ação 🎉" }
})

layer(TestService.layer({ settings: { webhookAllowedNetworks: loopback } }), { excludeTestServices: true })(
  "the example of a receiver on",
  (it) => {
    for (const [name, start] of Object.entries(receivers)) {
      /** A receiver that runs, and what it was told of. */
      const running = Effect.gen(function* () {
        const events = yield* Queue.unbounded<WebhookEvent>()
        const receiver = yield* Effect.acquireRelease(
          Effect.promise(() => start({ secrets, onEvent: (event) => Queue.offerUnsafe(events, event) })),
          ({ close }) => Effect.promise(close)
        )
        const deliver = (body: string, headers: Readonly<Record<string, string>>) =>
          Effect.promise(async () => (await fetch(receiver.url, { method: "POST", body, headers })).status)
        return { ...receiver, events, deliver }
      })

      it.effect(`${name} takes what is signed, once, and refuses what is not`, () =>
        Effect.gen(function* () {
          const { deliver, events } = yield* running
          for (const secret of secrets) {
            const { body, headers } = yield* Effect.promise(() => signForTest({ event: paid(secret), secret }))
            assert.strictEqual(yield* deliver(body, headers), 204)
            assert.strictEqual(yield* deliver(body, headers), 204, "a repeat")
            assert.deepStrictEqual<unknown>(yield* Queue.take(events), paid(secret))
            assert.strictEqual(yield* deliver(`${body} `, headers), 401, "one byte more")
            assert.strictEqual(yield* deliver(body, { "content-type": "application/json" }), 401, "no signature")
          }
          const stranger = yield* Effect.promise(() => signForTest({ event: paid("3"), secret: "another" }))
          assert.strictEqual(yield* deliver(stranger.body, stranger.headers), 401)
          const odd = yield* Effect.promise(() => signForTest({ event: "no event", secret: "the old secret" }))
          assert.strictEqual(yield* deliver(odd.body, odd.headers), 401)
          // Were a repeat or a refusal told of, it would come before this one.
          const last = yield* Effect.promise(() => signForTest({ event: paid("last"), secret: "the old secret" }))
          assert.strictEqual(yield* deliver(last.body, last.headers), 204)
          assert.strictEqual((yield* Queue.take(events)).id, "last")
        })
      )

      it.effect(`${name} is told by the service of a charge`, () =>
        Effect.gen(function* () {
          const { makeCaller, publicUrl } = yield* TestService
          const { key } = yield* makeCaller()
          const { events, url } = yield* running
          const payments = new Payments({ baseUrl: publicUrl, apiKey: key })
          const charge = yield* Effect.promise(() =>
            payments.charges.create({
              amount: 1990,
              customer: { name: "Ana Souza", email: "ana@example.com", document: "529.982.247-25" },
              webhook_url: url,
              webhook_secret: "the new secret, ção"
            })
          )
          const told = [yield* Queue.take(events), yield* Queue.take(events)]
          assert.sameMembers(
            told.map(({ event }) => event),
            ["charge.pix.created", "charge.pix.emitted"]
          )
          for (const { data, resource } of told) {
            assert.strictEqual(resource, "charge")
            assert.deepStrictEqual<unknown>(data, charge)
          }
        })
      )
    }
  }
)
