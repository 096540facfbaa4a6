/** Receivers that hang, and addresses that may not be called. */
import { parseNetworks } from "@pix-payments/domain/PublicUrl"
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { SqlClient } from "effect/sql/SqlClient"
import { eventually, loopback, receiver } from "../../support/Receiver.ts"
import { create, type DeliveryDetail, settled } from "../../support/ChargeDeliveries.ts"
import { TestService } from "../../support/TestService.ts"
import { fannedOut } from "../../support/Webhooks.ts"

const settings = {
  webhookAllowedNetworks: loopback,
  webhookTimeoutMs: 1000,
  webhookRetryDelaysMs: [20, 20, 20, 20, 20, 20, 20]
}

layer(TestService.layer({ settings: { ...settings, webhookTimeoutMs: 600_000 } }), { excludeTestServices: true })(
  "Deliveries to a receiver that hangs",
  (it) => {
    it.effect("DLV-9: do not delay deliveries to others, however many they are", () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        const hanging = yield* receiver(() => {})
        const { received, url } = yield* receiver()
        yield* Effect.forEach(Array.from({ length: 600 }), () => create({ key, webhook_url: hanging.url }), {
          concurrency: 50,
          discard: true
        })
        const others = yield* Effect.forEach(Array.from({ length: 60 }), () => create({ key, webhook_url: url }), {
          concurrency: 50
        })
        yield* eventually(
          Effect.sync(() => received.length),
          (count) => count === 120
        )
        for (const { body } of others) {
          for (const delivery of yield* settled(body.id, 2)) assert.strictEqual(delivery.attempts_made, 1)
        }
        // No hanging attempt has ended by then.
        const sql = yield* SqlClient
        const ended = yield* sql`SELECT id FROM deliveries WHERE url = ${hanging.url} AND attempts_made > 0`
        assert.deepStrictEqual(ended, [])
        assert.isAtMost(hanging.received.length, 50)
      })
    )
  }
)

// With some network allowed, `localhost` is judged by the addresses that it resolves to.
const elsewhere = Result.getOrThrow(parseNetworks("192.0.2.1/32"))

layer(
  TestService.layer({
    settings: { ...settings, webhookRetryDelaysMs: [20], webhookAllowedNetworks: elsewhere }
  }),
  { excludeTestServices: true }
)("Deliveries to forbidden addresses", (it) => {
  it.effect("URL-5: are refused at creation, before any charge is issued", () =>
    Effect.gen(function* () {
      const { call, makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const urls = [
        "http://127.0.0.1/",
        "http://127.1/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://[::1]/",
        "http://[::ffff:10.0.0.1]/",
        "http://10.0.0.1/",
        "http://192.168.1.1/",
        "http://169.254.169.254/latest/meta-data",
        "http://100.64.0.1/",
        "http://[fd00:ec2::254]/",
        "http://localhost/",
        "http://localhost.:8080/",
        "ftp://example.com/",
        "http://user:pass@example.com/",
        "no url"
      ]
      for (const webhook_url of urls) {
        const { body, status } = yield* create({ key, webhook_url })
        assert.strictEqual(status, 422, webhook_url)
        assert.deepInclude<unknown>(body, { code: "INVALID_WEBHOOK_URL", details: ["webhook_url"] }, webhook_url)
      }
      const { body } = yield* call<{ data: ReadonlyArray<unknown> }>("GET", "/v1/charges", { key })
      assert.deepStrictEqual(body.data, [])
    })
  )

  it.effect("URL-6: are not attempted when a row already contains one", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const { received, url } = yield* receiver()
      const sql = yield* SqlClient
      const targets = [
        url,
        `${url.replace("127.0.0.1", "localhost")}/`,
        url.replace("127.0.0.1", "[::ffff:127.0.0.1]"),
        "http://169.254.169.254/latest/meta-data",
        "http://10.0.0.1/",
        "file:///etc/passwd"
      ]
      for (const target of targets) {
        const { body: charge } = yield* create({ key, webhook_url: "http://nobody.invalid/" })
        yield* fannedOut
        yield* sql`UPDATE deliveries SET url = ${target}, status = 'scheduled', attempts_made = 0, due_at = now()
          WHERE resource_id = ${charge.id}::uuid`
        for (const delivery of yield* settled(charge.id, 2)) {
          assert.strictEqual(delivery.status, "failed", target)
          assert.deepStrictEqual(
            outcomesOf(delivery).at(-1),
            { status_code: null, error: "forbidden address", response_body: null },
            target
          )
        }
      }
      assert.deepStrictEqual(received, [])
    })
  )
})

const outcomesOf = ({ attempts }: DeliveryDetail) =>
  attempts.map(({ error, response_body, status_code }) => ({ status_code, error, response_body }))
