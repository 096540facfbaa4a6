/** A delivery that fails its round ends alone, with the reason. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { created } from "../../support/ChargeRequests.ts"
import { changeSchema } from "../../support/LiveSchema.ts"
import { operated } from "../../support/Money.ts"
import { eventually, loopback, receiver } from "../../support/Receiver.ts"
import { TestService } from "../../support/TestService.ts"
import { changed, deliveriesOf, deliveryOf, registered } from "../../support/Webhooks.ts"
import { longUrl, poisoned } from "../../support/FailingDeliveries.ts"

const settings = { webhookAllowedNetworks: loopback, simulatorSettleMs: 0, webhookEndpointsPerApplication: 100 }

layer(TestService.layer({ settings }), { excludeTestServices: true })("One bad delivery", (it) => {
  it.effect("that is resumed with an address that no index accepts delays no other", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const hostile = yield* makeCaller()
      const { key } = yield* makeCaller()
      const hooks = yield* receiver()
      const sql = yield* SqlClient
      const endpoint = yield* registered(hostile.key, { url: `${hooks.url}/hostile`, events: ["charge.pix.emitted"] })
      yield* changed(hostile.key, endpoint.id, { active: false })
      yield* created(hostile.key)
      yield* eventually(
        sql`SELECT id FROM deliveries WHERE endpoint_id = ${endpoint.id}::uuid AND paused_due_at IS NOT NULL`,
        ({ length }) => length === 1
      )
      yield* sql`UPDATE webhook_endpoints SET url = ${longUrl}, normalized_url = ${longUrl},
        destination = ${new URL(longUrl).origin} WHERE id = ${endpoint.id}::uuid`
      yield* changed(hostile.key, endpoint.id, { active: true })
      yield* eventually(
        sql`SELECT 1 FROM deliveries d JOIN delivery_attempts a ON a.delivery_id = d.id
          WHERE d.endpoint_id = ${endpoint.id}::uuid`,
        ({ length }) => length > 0
      )
      yield* created(key, { webhook_url: `${hooks.url}/other` })
      yield* eventually(
        Effect.sync(() => hooks.received.length),
        (count) => count === 2
      )
    })
  )

  it.effect("DLV-9: fails its claim alone, and ends failed with the reason; the others of the round are sent", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { accountId } = yield* makeCaller()
      const hooks = yield* receiver()
      const sql = yield* SqlClient
      // Due without a lease, as the fan-out inserts it.
      const due = (path: string, count: number) => sql<{ id: string }>`
        WITH made AS (
          INSERT INTO changes (id, resource_id, account_id, kind, actions, status, sequence, data, created_at)
          SELECT uuidv7(), uuidv7(), ${accountId}::uuid, 'charge.pix', '{paid}', 'paid', 3, '{"status":"paid"}', now()
          FROM generate_series(1, ${count}::integer) RETURNING *
        )
        INSERT INTO deliveries (id, change_id, event, resource_id, account_id, url, destination, destination_hash, status,
          due_at, created_at)
        SELECT uuidv7(), id, 'charge.pix.paid', resource_id, account_id, ${`${hooks.url}${path}`}, ${hooks.url},
          text_digest(${hooks.url}), 'scheduled', now(), created_at FROM made RETURNING id`
      const { mend } = yield* poisoned("UPDATE", `NEW.url = '${hooks.url}/bad' AND NEW.status = 'delivering'`)
      const bad = yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* due("/good", 10)
          const [row] = yield* due("/bad", 1)
          yield* due("/good", 10)
          return row!
        })
      )
      yield* eventually(
        Effect.sync(() => hooks.received.length),
        (count) => count === 20
      )
      assert.strictEqual(new Set(hooks.received.map(({ body }) => body.id)).size, 20)
      const failed = yield* eventually(deliveryOf(bad.id), ({ status }) => status === "failed")
      assert.match(String(failed.reason), /poisoned/)
      const { text } = yield* operate("GET", `/operator/v1/deliveries/${bad.id}`)
      assert.include(text, "poisoned")
      yield* mend
      // By hand, once the fault is gone.
      yield* operated("POST", `/deliveries/${bad.id}/resend`, undefined, 202)
      const sent = yield* eventually(deliveryOf(bad.id), ({ status }) => status === "delivered")
      assert.isNull(sent.reason)
    })
  )

  it.effect("and forty of one account delay none of another's in the same round", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const hostile = yield* makeCaller()
      const { accountId } = yield* makeCaller()
      const hooks = yield* receiver()
      const sql = yield* SqlClient
      const due = (account: string, path: string, count: number) => sql`
        WITH made AS (
          INSERT INTO changes (id, resource_id, account_id, kind, actions, status, sequence, data, created_at)
          SELECT uuidv7(), uuidv7(), ${account}::uuid, 'charge.pix', '{paid}', 'paid', 3, '{"status":"paid"}', now()
          FROM generate_series(1, ${count}::integer) RETURNING *
        )
        INSERT INTO deliveries (id, change_id, event, resource_id, account_id, url, destination, destination_hash, status,
          due_at, created_at)
        SELECT uuidv7(), id, 'charge.pix.paid', resource_id, account_id, ${`${hooks.url}${path}`}, ${hooks.url},
          text_digest(${hooks.url} || ${path}), 'scheduled', now(), created_at FROM made`
      const { mend } = yield* poisoned("UPDATE", `NEW.url = '${hooks.url}/bad' AND NEW.status = 'delivering'`)
      yield* sql`CREATE TABLE ended (nth serial, account_id uuid, status text)`
      yield* sql`GRANT ALL ON TABLE ended TO PUBLIC`
      yield* sql`GRANT ALL ON SEQUENCE ended_nth_seq TO PUBLIC`
      yield* sql`CREATE FUNCTION ended() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN INSERT INTO ended (account_id, status) VALUES (NEW.account_id, NEW.status); RETURN NULL; END $$`
      yield* changeSchema(`CREATE TRIGGER ended AFTER UPDATE ON deliveries FOR EACH ROW
        WHEN (NEW.status IN ('failed', 'delivered')) EXECUTE FUNCTION ended()`)
      yield* sql.withTransaction(Effect.andThen(due(hostile.accountId, "/bad", 40), due(accountId, "/good", 5)))
      yield* eventually(sql`SELECT nth FROM ended`, ({ length }) => length === 45)
      const [sent] = yield* sql<{ count: number }>`
        SELECT count(*)::integer AS count FROM ended WHERE status = 'failed' AND nth < (
          SELECT min(nth) FROM ended WHERE status = 'delivered')`
      assert.isBelow(sent?.count ?? 40, 40)
      yield* mend
      yield* changeSchema(`DROP TRIGGER ended ON deliveries`)
    })
  )

  it.effect("whose outcome cannot be recorded is ended, and is not sent for ever", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const hooks = yield* receiver()
      const { mend } = yield* poisoned("INSERT OR UPDATE", `NEW.url = '${hooks.url}/bad' AND NEW.status = 'delivered'`)
      const good = yield* Effect.forEach(Array.from({ length: 5 }), () =>
        created(key, { webhook_url: `${hooks.url}/good` })
      )
      const bad = yield* created(key, { webhook_url: `${hooks.url}/bad` })
      const ended = yield* eventually(
        deliveriesOf(`resource_id=${bad.id}`),
        (all) => all.length === 2 && all.every(({ status }) => status === "failed")
      )
      assert.lengthOf(ended, 2)
      for (const { id } of good) {
        yield* eventually(deliveriesOf(`resource_id=${id}`), (all) => all.every(({ status }) => status === "delivered"))
      }
      yield* mend
    })
  )

  it.effect("whose event is missing is canceled with a reason, and delays no due delivery", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const hooks = yield* receiver()
      const sql = yield* SqlClient
      yield* sql`
        INSERT INTO deliveries (id, change_id, event, resource_id, account_id, url, destination, destination_hash, status,
          due_at, created_at)
        SELECT uuidv7(), uuidv7(), 'charge.pix.paid', uuidv7(), ${accountId}::uuid, ${`${hooks.url}/gone`}, ${hooks.url},
          text_digest(${hooks.url}), 'scheduled', now(), now() FROM generate_series(1, 400)`
      yield* created(key, { webhook_url: `${hooks.url}/there` })
      yield* eventually(
        sql`SELECT id FROM deliveries WHERE url = ${`${hooks.url}/gone`} AND status = 'canceled' AND reason = 'event gone'`,
        ({ length }) => length === 400
      )
      yield* eventually(
        Effect.sync(() => hooks.received.length),
        (count) => count === 2
      )
    })
  )
})
