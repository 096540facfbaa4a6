/** What pausing, correcting and deleting an endpoint does to its scheduled deliveries. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import type { ServerResponse } from "node:http"
import { assertRefused, created } from "../../support/ChargeRequests.ts"
import { eventually, loopback, receiver } from "../../support/Receiver.ts"
import { TestService } from "../../support/TestService.ts"
import { changed, deliveriesOf, deliveryOf, registered, remove, resend, resendFailed } from "../../support/Webhooks.ts"
import {
  answer,
  simulate,
  receivedEventsOf,
  attempted,
  statusOf,
  pausedOf,
  makeDue,
  assertSigned,
  longAgo
} from "../../support/Deliveries.ts"

const settings = { webhookAllowedNetworks: loopback, simulatorSettleMs: 0 }

// Retries are due after the test has ended, unless it makes them due.
const patient = { ...settings, webhookRetryDelaysMs: [3_600_000, 3_600_000], webhookTimeoutMs: 20_000 }

layer(TestService.layer({ settings: patient }), { excludeTestServices: true })(
  "Scheduled deliveries of an endpoint",
  (it) => {
    it.effect("END-5, DLV-8: Pausing parks deliveries: they go out after a resume, without using up attempts", () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        let status = 500
        const hooks = yield* receiver((_, response) => answer(response, status))
        const endpoint = yield* registered(key, { url: hooks.url, events: ["charge.pix.created", "charge.pix.paid"] })
        const charge = yield* created(key)
        const [retried] = yield* attempted(charge.id, 1)
        yield* changed(key, endpoint.id, { active: false })

        // A retry that becomes due, and a first attempt: both are paused.
        yield* simulate(`/charges/${charge.id}/pay`)
        yield* makeDue(retried!.id)
        const held = yield* eventually(
          Effect.flatMap(SqlClient, (sql) => sql`SELECT id FROM deliveries WHERE paused_due_at IS NOT NULL`),
          ({ length }) => length === 2
        )
        for (const { id } of held) assert.strictEqual((yield* deliveryOf(String(id))).status, "scheduled")
        assert.lengthOf(hooks.received, 1)
        // A resend waits as well.
        assert.strictEqual((yield* resend(retried!.id)).status, 202)
        // Changes meanwhile do not reschedule it.
        yield* changed(key, endpoint.id, { description: "paused", url: `${hooks.url}/new` })
        const paused = yield* created(key)
        yield* pausedOf(endpoint.id, 3)
        assert.lengthOf(hooks.received, 1)

        status = 200
        yield* changed(key, endpoint.id, { active: true })
        assert.deepStrictEqual(yield* receivedEventsOf(hooks, charge.id, 3), [
          "/ charge.pix.created",
          "/new charge.pix.created",
          "/new charge.pix.paid"
        ])
        yield* receivedEventsOf(hooks, paused.id, 1)
        for (const { id } of yield* deliveriesOf(`endpoint_id=${endpoint.id}`)) {
          const { attempts, attempts_made } = yield* eventually(deliveryOf(id), (seen) => seen.status === "delivered")
          assert.strictEqual(attempts_made, id === retried!.id ? 2 : 1)
          assert.lengthOf(attempts, attempts_made)
        }
      })
    )

    it.effect("END-5: A retry that is not due yet keeps its time over a pause", () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        const hooks = yield* receiver((_, response) => answer(response, 500))
        const endpoint = yield* registered(key, { url: hooks.url, events: ["charge.pix.created"] })
        const charge = yield* created(key)
        const [before] = yield* attempted(charge.id, 1)
        yield* changed(key, endpoint.id, { active: false })
        yield* changed(key, endpoint.id, { active: true })
        assert.deepStrictEqual(yield* deliveryOf(before!.id), before!)
      })
    )

    it.effect("EVT-9: Where the equal endpoint is paused, its delivery is paused", () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        const hooks = yield* receiver()
        const endpoint = yield* registered(key, { url: hooks.url, events: ["charge.pix.created"] })
        yield* changed(key, endpoint.id, { active: false })
        const charge = yield* created(key, { webhook_url: hooks.url })
        yield* pausedOf(endpoint.id, 1)
        assert.deepStrictEqual(yield* receivedEventsOf(hooks, charge.id, 1), ["/ charge.pix.emitted"])
        yield* changed(key, endpoint.id, { active: true })
        assert.deepStrictEqual(yield* receivedEventsOf(hooks, charge.id, 2), [
          "/ charge.pix.created",
          "/ charge.pix.emitted"
        ])
      })
    )

    it.effect("END-6, DLV-8: Deleting an endpoint cancels its scheduled deliveries", () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        const hanging: Array<ServerResponse> = []
        const hooks = yield* receiver(({ path }, response) => {
          if (path === "/hangs") hanging.push(response)
          else answer(response, 500)
        })
        const events = ["charge.pix.created"]
        const failing = yield* registered(key, { url: hooks.url, events })
        const paused = yield* registered(key, { url: `${hooks.url}/paused`, events })
        const inFlight = yield* registered(key, { url: `${hooks.url}/hangs`, events })
        const kept = yield* registered(key, { url: `${hooks.url}/kept`, events })
        yield* changed(key, paused.id, { active: false })
        const charge = yield* created(key)
        yield* receivedEventsOf(hooks, charge.id, 3)
        yield* pausedOf(paused.id, 1)
        yield* statusOf(failing.id, "scheduled", 1)
        yield* statusOf(kept.id, "scheduled", 1)
        for (const { id } of [failing, paused, inFlight]) assert.strictEqual((yield* remove(key, id)).status, 204)
        for (const { id } of [failing, paused]) {
          const [delivery] = yield* deliveriesOf(`endpoint_id=${id}`)
          assert.deepInclude(delivery, { status: "canceled", next_attempt_at: null })
          assertRefused(yield* resend(delivery!.id), "INVALID_STATE")
          assert.strictEqual((yield* resendFailed({ endpoint_id: id, since: longAgo })).body.count, 0)
        }
        // The attempt in flight ends, and is not repeated.
        for (const response of hanging) answer(response, 500)
        const [last] = yield* statusOf(inFlight.id, "canceled", 1)
        assertRefused(yield* resend(last!.id), "INVALID_STATE")
        yield* makeDue(last!.id)
        const sql = yield* SqlClient
        yield* eventually(
          sql`SELECT 1 FROM deliveries WHERE id = ${last!.id}::uuid AND status = 'canceled'`,
          ({ length }) => length === 1
        )
        assert.lengthOf(hooks.received, 3)
        assert.strictEqual((yield* statusOf(kept.id, "scheduled", 1)).length, 1)
      })
    )

    it.effect(
      "DLV-4, DLV-5: A corrected URL or a rotated secret takes effect on scheduled deliveries; id and bytes stay",
      () =>
        Effect.gen(function* () {
          const { makeCaller } = yield* TestService
          const { key } = yield* makeCaller()
          const wrong = yield* receiver((_, response) => answer(response, 404))
          const right = yield* receiver()
          const endpoint = yield* registered(key, {
            url: wrong.url,
            events: ["charge.pix.created"],
            secret: "before it"
          })
          const charge = yield* created(key)
          const [delivery] = yield* attempted(charge.id, 1)
          const secrets = ["before it", "rotated secret", undefined]

          yield* changed(key, endpoint.id, { secret: "rotated secret" })
          yield* makeDue(delivery!.id)
          yield* attempted(charge.id, 2)
          yield* changed(key, endpoint.id, { secret: null, url: `${right.url}/corrected` })
          assert.strictEqual((yield* deliveryOf(delivery!.id)).url, `${right.url}/corrected`)
          yield* makeDue(delivery!.id)
          yield* eventually(deliveryOf(delivery!.id), ({ status }) => status === "delivered")

          const received = [...wrong.received, ...right.received]
          assert.deepStrictEqual(
            received.map(({ path }) => path),
            ["/", "/", "/corrected"]
          )
          for (const [index, one] of received.entries()) {
            assertSigned(one, secrets[index])
            assert.isTrue(one.bytes.equals(received[0]!.bytes))
            assert.strictEqual(one.headers["x-webhook-delivery"], delivery!.id)
          }
        })
    )

    it.effect("DLV-5: A URL corrected during an attempt takes effect on the next one", () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        const hanging: Array<ServerResponse> = []
        const wrong = yield* receiver((_, response) => void hanging.push(response))
        const right = yield* receiver()
        const endpoint = yield* registered(key, { url: wrong.url, events: ["charge.pix.created"] })
        const charge = yield* created(key)
        yield* receivedEventsOf(wrong, charge.id, 1)
        yield* changed(key, endpoint.id, { url: right.url })
        for (const response of hanging) answer(response, 500)
        const [delivery] = yield* attempted(charge.id, 1)
        yield* makeDue(delivery!.id)
        yield* receivedEventsOf(right, charge.id, 1)
        const seen = yield* eventually(deliveryOf(delivery!.id), ({ status }) => status === "delivered")
        assert.strictEqual(seen.url, right.url)
        assert.lengthOf(wrong.received, 1)
      })
    )

    it.effect("Changes of an endpoint and deliveries to it do not wait for each other", () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        const hooks = yield* receiver()
        const endpoint = yield* registered(key, {
          url: hooks.url,
          events: ["charge.pix.created", "charge.pix.emitted"]
        })
        const change = (index: number) =>
          changed(key, endpoint.id, { url: `${hooks.url}/${index}`, active: index % 4 !== 0 })
        const changing = Effect.forEach(
          Array.from({ length: 200 }, (_, index) => index),
          change,
          { discard: true }
        )
        const creating = Effect.forEach(Array.from({ length: 400 }), () => created(key), {
          concurrency: 20,
          discard: true
        })
        // A deadlock would be refused with 503, or give a delivery back to its lease.
        yield* Effect.all([changing, creating], { concurrency: 2 })
        yield* changed(key, endpoint.id, { active: true })
        yield* eventually(
          Effect.sync(() => hooks.received.length),
          (count) => count === 800
        )
        assert.strictEqual(new Set(hooks.received.map(({ body }) => body.id)).size, 800)
        const sql = yield* SqlClient
        const deadlocks = yield* sql<{ deadlocks: number }>`
        SELECT deadlocks::integer FROM pg_stat_database WHERE datname = current_database()`
        assert.deepStrictEqual(deadlocks, [{ deadlocks: 0 }])
      })
    )
  }
)
