/** Sealed webhook secrets: they open only for the row that they were sealed for, in both of two releases. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { createHmac } from "node:crypto"
import { Secrets } from "../../src/base/Secrets.ts"
import { create, settled } from "../support/ChargeDeliveries.ts"
import { eventually, loopback, type Received, receiver } from "../support/Receiver.ts"
import { newKey, TestService } from "../support/TestService.ts"
import { changed, registered } from "../support/Webhooks.ts"

const settings = {
  webhookAllowedNetworks: loopback,
  webhookRetryDelaysMs: [],
  simulatorSettleMs: 0,
  secretsKeys: Option.some(Redacted.make(Buffer.alloc(32, 5).toString("base64")))
}

const isSignedWith = (secret: string, { bytes, headers }: Received): boolean =>
  headers["x-webhook-signature"] === `sha256=${createHmac("sha256", secret).update(bytes).digest("hex")}`

/** The outcome of each attempt at a charge's deliveries. */
const errorsOf = (chargeId: string, deliveries: number) =>
  Effect.map(settled(chargeId, deliveries), (all) => all.map(({ attempts }) => attempts.map(({ error }) => error)))

layer(TestService.layer({ settings }), { excludeTestServices: true })("Sealed secrets", (it) => {
  it.effect("signs with the secret of an endpoint, before and after it changes", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const { received, url } = yield* receiver()
      const endpoint = yield* registered(key, { url, secret: "the first", events: ["charge.pix.created"] })
      yield* create({ key })
      yield* eventually(
        Effect.sync(() => received),
        ({ length }) => length === 1
      )
      // An id in capitals names the same row.
      yield* changed(key, endpoint.id.toUpperCase(), { secret: "the second" })
      yield* create({ key })
      yield* eventually(
        Effect.sync(() => received),
        ({ length }) => length === 2
      )
      assert.isTrue(isSignedWith("the first", received[0]!))
      assert.isTrue(isSignedWith("the second", received[1]!))
    }).pipe(Effect.scoped)
  )

  it.effect("a secret put into another endpoint's row signs nothing", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const sql = yield* SqlClient
      const [ours, theirs] = [yield* makeCaller(), yield* makeCaller()]
      const hook = yield* receiver()
      const one = yield* registered(ours.key, {
        url: hook.url,
        secret: "our own secret",
        events: ["charge.pix.created"]
      })
      const other = yield* registered(theirs.key, {
        url: hook.url,
        secret: "their own secret",
        events: ["charge.pix.created"]
      })
      yield* sql`UPDATE webhook_endpoints SET secret = (SELECT secret FROM webhook_endpoints
          WHERE id = ${one.id}::uuid) WHERE id = ${other.id}::uuid`
      const { body: charge } = yield* create({ key: theirs.key })
      assert.deepStrictEqual(yield* errorsOf(charge.id, 1), [["the secret cannot be opened"]])
      assert.deepStrictEqual(hook.received, [])
    }).pipe(Effect.scoped)
  )

  it.effect("a secret of a charge or a payout signs the events of that resource only", () =>
    Effect.gen(function* () {
      const { call, makeCaller, operate } = yield* TestService
      const sql = yield* SqlClient
      const { key } = yield* makeCaller()
      const hook = yield* receiver((_, response) => {
        response.statusCode = 500
        response.end()
      })
      const { body: one } = yield* create({ key, webhook_url: hook.url, webhook_secret: "of one" })
      const { body: other } = yield* create({ key, webhook_url: hook.url, webhook_secret: "of the other" })
      const { body: paid } = yield* create({ key, amount: 5000 })
      yield* operate("POST", `/operator/v1/simulator/charges/${paid.id}/pay`, { body: {} })
      const payout = yield* call("POST", "/v1/payouts", {
        key,
        idempotencyKey: newKey(),
        body: {
          amount: 700,
          pix_key_type: "email",
          pix_key: "ana@example.com",
          webhook_url: hook.url,
          webhook_secret: "of the payout"
        }
      })
      assert.strictEqual(payout.status, 201, payout.text)
      const payoutId = String(payout.body["id"])
      for (const id of [one.id, other.id, payoutId]) yield* settled(id, 2)
      const secretOf = new Map([
        [one.id, "of one"],
        [other.id, "of the other"],
        [payoutId, "of the payout"]
      ])
      assert.strictEqual(hook.received.length, 6)
      for (const each of hook.received) assert.isTrue(isSignedWith(secretOf.get(each.body.data.id)!, each))

      const before = hook.received.length
      for (const [from, to] of [
        [one.id, other.id],
        [one.id, payoutId]
      ]) {
        yield* sql`UPDATE deliveries SET secret = (SELECT webhook_secret FROM charges WHERE id = ${from!}::uuid)
            WHERE resource_id = ${to!}::uuid`
        for (const { id } of yield* settled(to!, 2)) {
          const resent = yield* operate("POST", `/operator/v1/deliveries/${id}/resend`)
          assert.isBelow(resent.status, 300, resent.text)
        }
        const errors = yield* eventually(errorsOf(to!, 2), (all) => all.every(({ length }) => length === 2))
        assert.deepStrictEqual(errors, [
          ["status 500", "the secret cannot be opened"],
          ["status 500", "the secret cannot be opened"]
        ])
      }
      assert.strictEqual(hook.received.length, before)
    }).pipe(Effect.scoped)
  )
})

layer(TestService.layer({ settings }), { excludeTestServices: true })("A sealed secret", (it) => {
  it.effect("opens for its own row only", () =>
    Effect.gen(function* () {
      const secrets = yield* Secrets
      const owner = { kind: "charge", id: "0198c0de-1234-7abc-8def-0123456789ab" } as const
      const sealed = secrets.seal("segredo é 🔑", owner)
      assert.match(sealed, /^[0-9a-f]{8}\.[A-Za-z0-9+/=]+$/)
      assert.strictEqual(Redacted.value(secrets.open(sealed, owner)), "segredo é 🔑")
      assert.throws(() => secrets.open(sealed, { ...owner, id: "0198c0de-1234-7abc-8def-0123456789ac" }))
      assert.throws(() => secrets.open(sealed, { ...owner, kind: "payout" }))
    })
  )
})
