/** Resending deliveries. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { assertRefused, created } from "../../support/ChargeRequests.ts"
import { changeSchema } from "../../support/LiveSchema.ts"
import { eventually, loopback, receiver } from "../../support/Receiver.ts"
import { newestEntries } from "../../support/Operators.ts"
import { type Fields, TestService } from "../../support/TestService.ts"
import { deliveriesOf, deliveryOf, registered, resend, resendFailed } from "../../support/Webhooks.ts"
import {
  answer,
  receivedEventsOf,
  attempted,
  statusOf,
  makeDue,
  assertDueAfter,
  assertSigned,
  longAgo
} from "../../support/Deliveries.ts"

const settings = { webhookAllowedNetworks: loopback, simulatorSettleMs: 0 }

// Retries are due after the test has ended, unless it makes them due.
const patient = { ...settings, webhookRetryDelaysMs: [3_600_000, 3_600_000], webhookTimeoutMs: 60_000 }

layer(TestService.layer({ settings: patient }), { excludeTestServices: true })("Resends", (it) => {
  it.effect(
    "DLV-8: A resend makes one attempt at once, keeps the delivery's id, and starts the curve again if it fails",
    () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        let status = 500
        const hooks = yield* receiver((_, response) => answer(response, status))
        const { id: chargeId } = yield* created(key, { webhook_url: hooks.url, webhook_secret: "s" })
        const deliveries = yield* attempted(chargeId, 1)
        const id = deliveries[0]!.id

        // Scheduled: at once, and the curve of two delays begins again.
        assert.strictEqual((yield* resend(id)).status, 202)
        yield* eventually(deliveryOf(id), (seen) => seen.attempts_made === 2 && seen.status === "scheduled")
        for (const made of [3, 4]) {
          yield* makeDue(id)
          yield* eventually(deliveryOf(id), (seen) => seen.attempts_made === made && seen.status !== "delivering")
        }
        assert.deepInclude(yield* deliveryOf(id), { status: "failed", next_attempt_at: null })

        // Failed: the same.
        assert.strictEqual((yield* resend(id)).status, 202)
        const again = yield* eventually(
          deliveryOf(id),
          (seen) => seen.attempts_made === 5 && seen.status === "scheduled"
        )
        const [attempt] = again.attempts.slice(-1)
        assertDueAfter(again, attempt!, 3_600_000)
        status = 200
        assert.strictEqual((yield* resend(id)).status, 202)
        yield* eventually(deliveryOf(id), (seen) => seen.status === "delivered")

        // Delivered: once more, and it fails this time.
        status = 410
        assert.strictEqual((yield* resend(id)).status, 202)
        const gone = yield* eventually(
          deliveryOf(id),
          (seen) => seen.attempts_made === 7 && seen.status === "scheduled"
        )
        assert.deepStrictEqual(
          gone.attempts.map(({ error, status_code }) => [status_code, error]),
          [...Array.from({ length: 5 }, () => [500, "status 500"]), [200, null], [410, "410 Gone"]]
        )
        for (const { address, at, duration_ms } of gone.attempts) {
          assert.strictEqual(address, "127.0.0.1")
          assert.match(at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
          assert.isTrue(Number.isInteger(duration_ms) && duration_ms >= 0)
        }
        const sent = hooks.received.filter(({ body }) => body.id === id)
        assert.lengthOf(sent, 7)
        for (const one of sent) {
          assert.isTrue(one.bytes.equals(sent[0]!.bytes))
          assertSigned(one, "s")
        }
      })
  )

  it.effect("DLV-8: A resend of a delivery in flight, canceled, or unknown is refused", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const hooks = yield* receiver(() => {})
      const charge = yield* created(key, { webhook_url: hooks.url })
      yield* receivedEventsOf(hooks, charge.id, 2)
      for (const { id, status } of yield* deliveriesOf(`resource_id=${charge.id}`)) {
        assert.strictEqual(status, "delivering")
        assertRefused(yield* resend(id), "INVALID_STATE")
      }
      assert.strictEqual((yield* resendFailed({ resource_id: charge.id, since: longAgo })).body.count, 0)
      assertRefused(yield* resend(charge.id), "NOT_FOUND")
      assertRefused(yield* resend("nothing"), "NOT_FOUND")
      assert.lengthOf(hooks.received, 2)
    })
  )

  it.effect("OPR-138: a resend by filter counts what it would send, sends it once, and leaves the rest alone", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const hooks = yield* receiver((_, response) => answer(response, 500))
      const events = ["charge.pix.created"]
      const endpoint = yield* registered(key, { url: `${hooks.url}/one`, events })
      const gone = yield* registered(key, { url: `${hooks.url}/gone`, events })
      const { id } = yield* created(key, { webhook_url: `${hooks.url}/own` })
      yield* attempted(id, 1, 4)
      const sql = yield* SqlClient
      yield* sql`UPDATE deliveries SET status = 'failed', due_at = NULL WHERE resource_id = ${id}::uuid`
      yield* sql`UPDATE webhook_endpoints SET deleted_at = now() WHERE id = ${gone.id}::uuid`
      const event = "charge.pix.created"
      const of = (filter: object) => Effect.map(resendFailed({ ...filter, dry_run: true }), ({ body }) => body)
      // One of the endpoint, and what the charge's own URL gets; nothing of the deleted endpoint.
      assert.deepStrictEqual<unknown>(yield* of({ resource_id: id, event }), {
        object: "resend",
        count: 2,
        has_more: false,
        dry_run: true
      })
      assert.strictEqual((yield* of({ endpoint_id: endpoint.id, event })).count, 1)
      assert.strictEqual((yield* of({ endpoint_id: endpoint.id, event: "charge.pix.paid" })).count, 0)
      assert.strictEqual((yield* of({ endpoint_id: gone.id })).count, 0)
      assert.strictEqual((yield* of({ resource_id: id, since: "2099-01-01T00:00:00Z" })).count, 0)
      // Nothing was sent so far.
      const before = yield* deliveriesOf(`resource_id=${id}`)
      assert.isTrue(before.every(({ status }) => status === "failed"))
      const again = yield* Effect.forEach([1, 2, 3], () => resendFailed({ event, since: longAgo }), { concurrency: 3 })
      assert.strictEqual(
        again.reduce((sum, { body }) => sum + body.count, 0),
        2,
        "requests at the same moment send each delivery once"
      )
      const left = yield* deliveriesOf(`endpoint_id=${gone.id}`)
      assert.isTrue(left.every(({ status }) => status === "failed"))
      for (const { after } of yield* newestEntries(3)) assert.deepInclude(after, { event, since: longAgo })
    })
  )

  it.effect("OPR-138: a resend takes the filters of the list, and sends what the list shows", () =>
    Effect.gen(function* () {
      const { accountId, id } = yield* endpointWithFailures(3, 60)
      const other = yield* endpointWithFailures(2)
      const listed = yield* deliveriesOf(`account_id=${accountId}&status=failed`)
      assert.lengthOf(listed, 3)
      const [newest, middle, oldest] = listed.map(({ created_at }) => created_at)
      const account = { account_id: accountId }
      const filters: ReadonlyArray<readonly [Fields, number]> = [
        [account, 3],
        [{ account_id: accountId.toUpperCase(), created_after: null }, 3],
        [{ ...account, endpoint_id: other.id }, 0],
        [{ ...account, event: "charge.pix.created" }, 3],
        [{ ...account, event: "charge.pix.paid" }, 0],
        [{ ...account, created_after: oldest }, 2],
        [{ ...account, created_before: middle }, 1],
        [{ ...account, created_after: oldest, created_before: newest }, 1],
        [{ ...account, since: newest }, 1],
        [{ endpoint_id: id, created_before: newest }, 2],
        [{ resource_id: accountId, created_after: middle }, 1]
      ]
      for (const [filter, count] of filters) {
        const { body } = yield* resendFailed({ ...filter, dry_run: true })
        assert.deepInclude(body, { count, has_more: false }, JSON.stringify(filter))
      }
      yield* stopped(id)
      assert.strictEqual((yield* resendFailed({ ...account, created_before: middle })).body.count, 1)
      assert.strictEqual((yield* resendFailed(account)).body.count, 2)
      assert.lengthOf(yield* deliveriesOf(`account_id=${other.accountId}&status=failed`), 2)
      const [entry] = yield* newestEntries(1)
      assert.deepInclude(entry!, { resource_id: accountId, after: account })
    })
  )

  it.effect("OPR-391: a resend leaves out the deliveries of an account that moves to another cell", () =>
    Effect.gen(function* () {
      const { accountId, id, sql } = yield* endpointWithFailures(2)
      yield* stopped(id)
      const count = (filter: Fields) => Effect.map(resendFailed(filter), ({ body }) => body.count)
      yield* sql`UPDATE accounts SET moved_to = 'b' WHERE id = ${accountId}::uuid`
      for (const filter of [{ account_id: accountId }, { endpoint_id: id }, { resource_id: accountId }]) {
        assert.strictEqual(yield* count({ ...filter, dry_run: true }), 0)
        assert.strictEqual(yield* count(filter), 0)
      }
      assert.lengthOf(yield* deliveriesOf(`account_id=${accountId}&status=failed`), 2)
      yield* sql`UPDATE accounts SET moved_to = NULL WHERE id = ${accountId}::uuid`
      assert.strictEqual(yield* count({ account_id: accountId }), 2)
    })
  )

  it.effect("OPR-138: a resend of many goes in turns, and says what is left", () =>
    Effect.gen(function* () {
      const { id } = yield* endpointWithFailures(10_050)
      const of = (filter: object) => Effect.map(resendFailed({ endpoint_id: id, ...filter }), ({ body }) => body)
      assert.deepInclude(yield* of({ dry_run: true }), { count: 10_000, has_more: true })
      yield* stopped(id)
      assert.deepInclude(yield* of({}), { count: 10_000, has_more: true })
      assert.deepInclude(yield* of({}), { count: 50, has_more: false })
      assert.deepInclude(yield* of({}), { count: 0, has_more: false })
    })
  )

  it.effect("OPR-138: a resend of many continues where a turn's last delivery is removed before the next", () =>
    Effect.gen(function* () {
      const { id, sql } = yield* endpointWithFailures(250)
      yield* stopped(id)
      yield* sql`CREATE FUNCTION remove_last() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
        BEGIN DELETE FROM deliveries WHERE id = (SELECT id FROM resent ORDER BY id LIMIT 1); RETURN NULL; END $$`
      yield* changeSchema(`CREATE TRIGGER remove_last AFTER UPDATE ON deliveries REFERENCING NEW TABLE AS resent
        FOR EACH STATEMENT EXECUTE FUNCTION remove_last()`)
      const { body } = yield* resendFailed({ endpoint_id: id })
      yield* changeSchema(`DROP TRIGGER remove_last ON deliveries`)
      assert.deepInclude(body, { count: 250, has_more: false })
    })
  )

  it.effect("OPR-193: a delivery whose change was removed by retention is not resent, and keeps its status", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const hooks = yield* receiver((_, response) => answer(response, 200))
      const { id: resourceId } = yield* created(key, { webhook_url: hooks.url })
      const deliveries = yield* eventually(
        deliveriesOf(`resource_id=${resourceId}`),
        (seen) => seen.length === 2 && seen.every(({ status }) => status === "delivered")
      )
      const [delivered, failed] = deliveries.map(({ id }) => id)
      const sql = yield* SqlClient
      yield* sql`UPDATE deliveries SET status = 'failed' WHERE id = ${failed!}::uuid`
      yield* sql`DELETE FROM changes WHERE resource_id = ${resourceId}::uuid`
      for (const id of [delivered!, failed!]) assertRefused(yield* resend(id), "INVALID_STATE")
      for (const dryRun of [true, false]) {
        const { body } = yield* resendFailed({ resource_id: resourceId, dry_run: dryRun })
        assert.deepInclude(body, { count: 0, has_more: false })
      }
      assert.strictEqual((yield* deliveryOf(delivered!)).status, "delivered")
      assert.strictEqual((yield* deliveryOf(failed!)).status, "failed")
    })
  )

  it.effect(
    "OPR-27: All failed deliveries of an endpoint or a resource since an instant are sent again, and no others",
    () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        let status = 500
        const hooks = yield* receiver((_, response) => answer(response, status))
        const events = ["charge.pix.created"]
        const endpoint = yield* registered(key, { url: `${hooks.url}/endpoint`, events })
        const other = yield* registered(key, { url: `${hooks.url}/other`, events })
        const charges = yield* Effect.forEach([1, 2, 3, 4], () => created(key, { webhook_url: `${hooks.url}/own` }))
        const [old, recent, scheduled, delivered] = charges.map(({ id }) => id)
        for (const { id } of charges) yield* attempted(id, 1, 4)
        const sql = yield* SqlClient
        const ids = `${old},${recent}`
        yield* sql`UPDATE deliveries SET status = 'failed', due_at = NULL
        WHERE resource_id = ANY (string_to_array(${ids}, ',')::uuid[])`
        yield* sql`UPDATE deliveries SET created_at = '2026-01-01T00:00:00Z' WHERE resource_id = ${old!}::uuid`
        yield* sql`UPDATE deliveries SET status = 'delivered', due_at = NULL WHERE resource_id = ${delivered!}::uuid`
        const before = hooks.received.length
        status = 200

        const since = "2026-01-01T00:00:00.001Z"
        const answered = yield* resendFailed({ endpoint_id: endpoint.id, since })
        assert.strictEqual(answered.status, 202)
        assert.deepStrictEqual(answered.body, { object: "resend", count: 1, has_more: false, dry_run: false })
        const [first] = yield* statusOf(endpoint.id, "delivered", 2)
        assert.isTrue([recent, delivered].includes(first!.resource_id))
        // The instant itself is within.
        const both = { endpoint_id: other.id, resource_id: old, since: "2025-12-31T21:00:00-03:00" }
        assert.strictEqual((yield* resendFailed(both)).body.count, 1)
        yield* statusOf(other.id, "delivered", 2)
        // What is left of the resources: two of their own each, one of an endpoint each.
        assert.strictEqual((yield* resendFailed({ resource_id: recent, since })).body.count, 3)
        assert.strictEqual((yield* resendFailed({ resource_id: old, since })).body.count, 0)
        assert.strictEqual((yield* resendFailed({ resource_id: old, since: longAgo })).body.count, 3)
        assert.strictEqual((yield* resendFailed({ resource_id: scheduled, since: longAgo })).body.count, 0)
        yield* eventually(
          sql`SELECT id FROM deliveries WHERE resource_id = ANY (string_to_array(${ids}, ',')::uuid[])
          AND status <> 'delivered'`,
          ({ length }) => length === 0
        )
        assert.lengthOf(hooks.received, before + 8)

        const all = ["account_id", "created_after", "created_before", "endpoint_id", "event", "resource_id", "since"]
        for (const none of [{}, { account_id: null }]) {
          assertRefused(yield* resendFailed(none), "VALIDATION_ERROR", all)
        }
        assertRefused(
          yield* resendFailed({ ...Object.fromEntries(all.map((name) => [name, "x"])), status: "delivered" }),
          "VALIDATION_ERROR",
          [...all, "status"]
        )
      })
  )
})

/** An endpoint with so many failed deliveries of one charge. */
const endpointWithFailures = Effect.fnUntraced(function* (count: number, secondsApart = 0) {
  const { makeCaller } = yield* TestService
  const { accountId, key } = yield* makeCaller()
  const charge = yield* created(key)
  const { id } = yield* registered(key, { url: "http://127.0.0.1:9/", events: ["charge.pix.created"] })
  const sql = yield* SqlClient
  yield* sql`INSERT INTO deliveries (id, change_id, event, resource_id, account_id, endpoint_id, url, destination, destination_hash, status, created_at)
    SELECT new.id, c.id, 'charge.pix.created', ${accountId}::uuid, ${accountId}::uuid, ${id}::uuid,
      'http://127.0.0.1:9/', '127.0.0.1', text_digest('127.0.0.1'), 'failed', uuid_extract_timestamp(new.id)
    FROM generate_series(1, ${count}::integer) n, uuidv7(make_interval(secs => -n * ${secondsApart}::integer)) new (id),
      (SELECT id FROM changes WHERE resource_id = ${charge.id}::uuid LIMIT 1) c`
  return { accountId, id, sql }
})

/** An operator's stop keeps its deliveries from being sent. */
const stopped = (endpoint: string) =>
  Effect.flatMap(SqlClient, (sql) => sql`UPDATE webhook_endpoints SET disabled_at = now() WHERE id = ${endpoint}::uuid`)
