/** The transactional outbox: no endpoint, address or failing delivery fails the commit of a change. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { assertRefused, created } from "../support/ChargeRequests.ts"
import { changeSchema } from "../support/LiveSchema.ts"
import { statusOf } from "../support/Deliveries.ts"
import { balanceOf, operated, paidCharge, payOut, simulated } from "../support/Money.ts"
import { eventually, loopback, receiver } from "../support/Receiver.ts"
import { TestService } from "../support/TestService.ts"
import { changed, deliveriesOf, deliveryOf, fannedOut, registered } from "../support/Webhooks.ts"
import { longUrl, poisoned, failuresOf } from "../support/FailingDeliveries.ts"

const settings = { webhookAllowedNetworks: loopback, simulatorSettleMs: 0, webhookEndpointsPerApplication: 100 }

const DISPUTE_EVENTS = ["dispute.pix.opened", "dispute.pix.lost"]

layer(TestService.layer({ settings }), { excludeTestServices: true })("A change", (it) => {
  it.effect("EVT-11: of money is committed whatever the address of an endpoint is", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const sql = yield* SqlClient
      const endpoint = yield* registered(key, { events: DISPUTE_EVENTS })
      yield* sql`UPDATE webhook_endpoints SET url = ${longUrl}, normalized_url = ${longUrl},
        destination = ${new URL(longUrl).origin} WHERE id = ${endpoint.id}::uuid`
      const charge = yield* paidCharge(key, 5000)
      const dispute = yield* simulated<{ id: string }>(`/charges/${charge.id}/infraction`, { reason: "fraud" }, 201)
      assert.deepInclude(yield* balanceOf(key), { available: 0 })
      assertRefused(yield* payOut(key, { amount: 5000 }), "INSUFFICIENT_BALANCE")
      yield* simulated(`/disputes/${dispute.id}/lose`)
      // Its deliveries follow, at the address that they cannot reach.
      const deliveries = yield* eventually(deliveriesOf(`endpoint_id=${endpoint.id}`), ({ length }) => length === 2)
      for (const { url } of deliveries) assert.strictEqual(url, longUrl)
      yield* eventually(deliveryOf(deliveries[0]!.id), ({ attempts }) => attempts.length > 0)
    })
  )

  it.effect("EVT-11: with such a `webhook_url` goes through all its states", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const sql = yield* SqlClient
      const charge = yield* created(key, { webhook_url: "http://nobody.invalid/" })
      yield* sql`UPDATE charges SET webhook_url = ${longUrl} WHERE id = ${charge.id}::uuid`
      yield* simulated(`/charges/${charge.id}/pay`)
      const deliveries = yield* eventually(
        deliveriesOf(`resource_id=${charge.id}&event=charge.pix.paid`),
        ({ length }) => length === 1
      )
      assert.strictEqual(deliveries[0]!.url, longUrl)
    })
  )

  it.effect(
    "EVT-11, OPR-29: is committed and delivered to the others when one endpoint's deliveries fail for an unknown reason",
    () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        const hooks = yield* receiver()
        const events = ["charge.pix.paid"]
        const bad = yield* registered(key, { url: `${hooks.url}/bad`, events })
        const good = yield* registered(key, { url: `${hooks.url}/good`, events })
        const { mend } = yield* poisoned("INSERT", `NEW.endpoint_id = '${bad.id}'`)
        const charges = yield* Effect.forEach(Array.from({ length: 5 }), () => paidCharge(key), { concurrency: 5 })
        const idsAt = (path: string) => hooks.received.flatMap((each) => (each.path === path ? [each.body.id] : []))
        yield* eventually(
          Effect.sync(() => new Set(idsAt("/good")).size),
          (count) => count === 5
        )
        yield* fannedOut
        const failures = yield* eventually(failuresOf(bad.id), ({ length }) => length === 5)
        for (const failure of failures) {
          assert.match(failure.error, /poisoned/)
          assert.strictEqual(failure.failures, 1)
        }
        // A retry that fails is counted; one after the repair delivers, once.
        yield* operated("POST", `/outbox-failures/${failures[0]!.id}/retry`, undefined, 202)
        yield* eventually(failuresOf(bad.id), (all) => all.some((each) => each.failures === 2))
        // A retry sends nothing again that is stored.
        yield* statusOf(good.id, "delivered", 5)
        const sent = idsAt("/good").length
        // Sent before PostgreSQL refused them: once each, until the account was quarantined.
        const early = idsAt("/bad")
        assert.strictEqual(new Set(early).size, early.length)
        yield* mend
        for (const { id } of failures) yield* operated("POST", `/outbox-failures/${id}/retry`, undefined, 202)
        yield* eventually(failuresOf(bad.id), ({ length }) => length === 0)
        yield* eventually(
          Effect.sync(() => idsAt("/bad").length),
          (count) => count === early.length + 5
        )
        assert.strictEqual(new Set(idsAt("/bad").slice(early.length)).size, 5)
        assert.strictEqual(new Set(idsAt("/bad")).size, 5)
        assert.strictEqual(new Set(idsAt("/good")).size, 5)
        assert.strictEqual(idsAt("/good").length, sent)
        for (const { id } of charges) assert.lengthOf(yield* deliveriesOf(`resource_id=${id}`), 2)
        yield* operated("POST", `/outbox-failures/${failures[0]!.id}/retry`, undefined, 404)
      })
  )

  it.effect(
    "EVT-10, EVT-11: does not wait for changes of endpoints; its deliveries go to the endpoints subscribed at its commit",
    () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        const hooks = yield* receiver()
        const sql = yield* SqlClient
        const events = ["charge.pix.emitted"]
        const left = yield* registered(key, { url: `${hooks.url}/left`, events })
        const removed = yield* registered(key, { url: `${hooks.url}/removed`, events })
        const joined = yield* registered(key, { url: `${hooks.url}/joined`, events: ["charge.pix.refunded"] })
        // Its delivery to the endpoint with this URL would have been the only one.
        const charge = yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`SELECT id FROM webhook_endpoints WHERE id = ${left.id}::uuid FOR UPDATE`
            const stored = yield* created(key, { webhook_url: `${hooks.url}/removed` })
            yield* sql`UPDATE webhook_endpoints SET events = '{charge.pix.refunded}' WHERE id = ${left.id}::uuid`
            yield* sql`UPDATE webhook_endpoints SET events = '{charge.pix.emitted}' WHERE id = ${joined.id}::uuid`
            yield* sql`UPDATE webhook_endpoints SET deleted_at = now() WHERE id = ${removed.id}::uuid`
            assert.deepStrictEqual(hooks.received, [])
            return stored
          })
        )
        yield* eventually(
          Effect.sync(() => hooks.received.length),
          (count) => count === 3
        )
        const deliveries = yield* deliveriesOf(`resource_id=${charge.id}`)
        assert.deepStrictEqual(
          deliveries.map(({ endpoint_id, event, url }) => [event, url.replace(hooks.url, ""), endpoint_id]).toSorted(),
          [
            ["charge.pix.created", "/removed", null],
            ["charge.pix.emitted", "/left", left.id],
            ["charge.pix.emitted", "/removed", null]
          ]
        )
      })
  )

  it.effect("DLV-4: has deliveries with derived ids: a fan-out done again makes none twice", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const hooks = yield* receiver()
      yield* registered(key, { url: `${hooks.url}/a`, events: ["charge.pix.emitted"] })
      const { id } = yield* created(key, { webhook_url: `${hooks.url}/own` })
      yield* eventually(
        Effect.sync(() => hooks.received.length),
        (count) => count === 3
      )
      const sql = yield* SqlClient
      const before = yield* eventually(deliveriesOf(`resource_id=${id}`), ({ length }) => length === 3)
      // As after a crash: the lease of the change has expired.
      yield* sql`INSERT INTO outbox (account_id, change_id, endpoints_version, normalized_hash, destination_hash,
          leased_until)
        SELECT account_id, id, 1, text_digest(${`${hooks.url}/own`}), text_digest(${hooks.url}), now() FROM changes
        WHERE resource_id = ${id}::uuid`
      yield* fannedOut
      const after = yield* deliveriesOf(`resource_id=${id}`)
      assert.deepStrictEqual(
        after.map((delivery) => delivery.id),
        before.map((delivery) => delivery.id)
      )
      assert.lengthOf(hooks.received, 3)
      for (const delivery of before) {
        assert.match(delivery.id, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
      }
    })
  )

  it.effect("makes no outbox row where nothing can be delivered", () =>
    Effect.gen(function* () {
      const { call, makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const sql = yield* SqlClient
      yield* sql`CREATE TABLE outbox_seen (change_id uuid)`
      yield* sql`GRANT INSERT ON outbox_seen TO PUBLIC`
      yield* sql`CREATE FUNCTION outbox_seen() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN INSERT INTO outbox_seen VALUES (NEW.change_id); RETURN NULL; END $$`
      yield* changeSchema(
        `CREATE TRIGGER outbox_seen AFTER INSERT ON outbox FOR EACH ROW EXECUTE FUNCTION outbox_seen()`
      )
      const hooks = yield* receiver()
      const isSeen = Effect.fnUntraced(function* (options: Readonly<Record<string, unknown>> = {}) {
        const { id } = yield* created(key, options)
        const rows = yield* sql`SELECT FROM outbox_seen o JOIN changes c ON c.id = o.change_id
          WHERE c.resource_id = ${id}::uuid`
        return rows.length > 0
      })
      const own = { webhook_url: `${hooks.url}/own` }
      assert.deepStrictEqual([yield* isSeen(), yield* isSeen(own)], [false, true], "without an endpoint")

      const one = yield* registered(key, { url: `${hooks.url}/one`, events: ["charge.pix.paid"] })
      assert.deepStrictEqual([yield* isSeen(), yield* isSeen(own)], [false, true], "with one for other events")
      const other = yield* registered(key, { url: `${hooks.url}/other`, events: ["charge.pix.created"] })
      assert.isTrue(yield* isSeen(), "with one for its events")
      yield* changed(key, one.id, { events: ["charge.pix.emitted"] })
      yield* call("DELETE", `/v1/webhooks/${other.id}`, { key })
      assert.isTrue(yield* isSeen(), "after the events of an endpoint were changed")
      yield* call("DELETE", `/v1/webhooks/${one.id}`, { key })
      assert.deepStrictEqual([yield* isSeen(), yield* isSeen(own)], [false, true], "after the last one was deleted")
      yield* changeSchema(`DROP TRIGGER outbox_seen ON outbox`)
      yield* sql`DROP FUNCTION outbox_seen`
      yield* sql`DROP TABLE outbox_seen`
    })
  )
})
