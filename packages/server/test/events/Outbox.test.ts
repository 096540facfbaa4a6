/** The transactional outbox: no endpoint, address or failing row reaches the commit of a change, or another's deliveries. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { SqlClient } from "effect/sql/SqlClient"
import { randomBytes } from "node:crypto"
import { assertRefused, created } from "../support/ChargeRequests.ts"
import { balanceOf, operated, paidCharge, payOut, simulated } from "../support/Money.ts"
import { eventually, loopback, receiver } from "../support/Receiver.ts"
import { TestService } from "../support/TestService.ts"
import { changed, deliveriesOf, deliveryOf, fannedOut, register, registered, remove } from "../support/Webhooks.ts"

const settings = { webhookAllowedNetworks: loopback, simulatorSettleMs: 0, webhookEndpointsPerApplication: 100 }

const DISPUTE_EVENTS = ["dispute.pix.opened", "dispute.pix.lost"]

/** As long as a host of 1,900 CJK characters is in punycode, and as hard to compress: more than a btree index takes. */
const longUrl = `http://xn--${randomBytes(2900).toString("hex")}.example/hook`

/** PostgreSQL refuses this operation on rows of `deliveries` with this condition, as for a fault that nobody knows. */
const poisoned = (operation: "INSERT" | "UPDATE", condition: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const name = `poison_${Math.trunc(performance.now() * 1000)}`
    yield* sql.unsafe(`CREATE FUNCTION ${name}() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'poisoned'; END $$`)
    yield* sql.unsafe(`CREATE TRIGGER ${name} BEFORE ${operation} ON deliveries FOR EACH ROW
      WHEN (${condition}) EXECUTE FUNCTION ${name}()`)
    return sql.unsafe(`DROP TRIGGER ${name} ON deliveries`)
  })

interface Failure {
  readonly id: string
  readonly change_id: string
  readonly endpoint_id: string | null
  readonly error: string
  readonly failures: number
}

const failuresOf = (endpointId: string | null) =>
  Effect.map(operated<{ data: ReadonlyArray<Failure> }>("GET", "/outbox-failures?limit=100"), ({ data }) =>
    data.filter(({ endpoint_id }) => endpoint_id === endpointId)
  )

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
    "EVT-11, OPR-29: is committed and told to the others when one endpoint's deliveries fail for a reason that nobody knows",
    () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        const hooks = yield* receiver()
        const events = ["charge.pix.paid"]
        const bad = yield* registered(key, { url: `${hooks.url}/bad`, events })
        yield* registered(key, { url: `${hooks.url}/good`, events })
        const mend = yield* poisoned("INSERT", `NEW.endpoint_id = '${bad.id}'`)
        const charges = yield* Effect.forEach(Array.from({ length: 5 }), () => paidCharge(key), { concurrency: 5 })
        yield* eventually(
          Effect.sync(() => hooks.received.length),
          (count) => count === 5
        )
        assert.deepStrictEqual(new Set(hooks.received.map(({ path }) => path)), new Set(["/good"]))
        yield* fannedOut
        const failures = yield* eventually(failuresOf(bad.id), ({ length }) => length === 5)
        for (const failure of failures) {
          assert.match(failure.error, /poisoned/)
          assert.strictEqual(failure.failures, 1)
        }
        // A retry that fails counts on; one after the mend delivers, once, and to nobody twice.
        yield* operated("POST", `/outbox-failures/${failures[0]!.id}/retry`, undefined, 202)
        yield* eventually(failuresOf(bad.id), (all) => all.some((each) => each.failures === 2))
        yield* mend
        for (const { id } of failures) yield* operated("POST", `/outbox-failures/${id}/retry`, undefined, 202)
        yield* eventually(failuresOf(bad.id), ({ length }) => length === 0)
        yield* eventually(
          Effect.sync(() => hooks.received.length),
          (count) => count === 10
        )
        for (const { id } of charges) assert.lengthOf(yield* deliveriesOf(`resource_id=${id}`), 2)
        yield* operated("POST", `/outbox-failures/${failures[0]!.id}/retry`, undefined, 404)
      })
  )

  it.effect(
    "EVT-10, EVT-11: waits for nobody who changes an endpoint; its deliveries go to who was subscribed when it was committed",
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
          deliveries.map(({ endpoint_id, event, url }) => [event, new URL(url).pathname, endpoint_id]).toSorted(),
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
      const before = yield* deliveriesOf(`resource_id=${id}`)
      yield* sql`INSERT INTO outbox (account_id, change_id, endpoints_version, normalized_hash, destination_hash)
        SELECT account_id, id, 1, text_digest(${`${hooks.url}/own`}), text_digest(${hooks.url}) FROM changes
        WHERE resource_id = ${id}::uuid`
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
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const sql = yield* SqlClient
      yield* sql`CREATE TABLE outbox_seen (change_id uuid)`
      yield* sql`GRANT INSERT ON outbox_seen TO PUBLIC`
      yield* sql`CREATE FUNCTION outbox_seen() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN INSERT INTO outbox_seen VALUES (NEW.change_id); RETURN NULL; END $$`
      yield* sql`CREATE TRIGGER outbox_seen AFTER INSERT ON outbox FOR EACH ROW EXECUTE FUNCTION outbox_seen()`
      const { id } = yield* created(key)
      const own = yield* created(key, { webhook_url: "http://nobody.invalid/" })
      const seen = yield* sql`SELECT c.resource_id FROM outbox_seen o JOIN changes c ON c.id = o.change_id
        WHERE c.resource_id IN (${id}::uuid, ${own.id}::uuid)`
      assert.deepStrictEqual(seen, [{ resource_id: own.id }])
      yield* sql`DROP TRIGGER outbox_seen ON outbox`
      yield* sql`DROP TABLE outbox_seen`
    })
  )
})

layer(TestService.layer({ settings }), { excludeTestServices: true })("One bad delivery", (it) => {
  it.effect("that was parked and is resumed with an address that no index takes stops nobody's", () =>
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
        sql`SELECT id FROM deliveries WHERE endpoint_id = ${endpoint.id}::uuid AND held_due_at IS NOT NULL`,
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
      // Due without a lease, as what the fan-out left, or the previous release inserted.
      const due = (path: string, count: number) => sql<{ id: string }>`
        WITH made AS (
          INSERT INTO changes (id, resource_id, account_id, kind, actions, status, sequence, data, created_at)
          SELECT uuidv7(), uuidv7(), ${accountId}::uuid, 'charge.pix', '{paid}', 'paid', 3, '{"status":"paid"}', now()
          FROM generate_series(1, ${count}::integer) RETURNING *
        )
        INSERT INTO deliveries (id, change_id, event, resource_id, account_id, url, destination, status, due_at, created_at)
        SELECT uuidv7(), id, 'charge.pix.paid', resource_id, account_id, ${`${hooks.url}${path}`}, ${hooks.url},
          'scheduled', now(), created_at FROM made RETURNING id`
      const mend = yield* poisoned("UPDATE", `NEW.url = '${hooks.url}/bad' AND NEW.status = 'delivering'`)
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

  it.effect("and forty of one account hold none of another's that the same round leased", () =>
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
      const mend = yield* poisoned("UPDATE", `NEW.url = '${hooks.url}/bad' AND NEW.status = 'delivering'`)
      yield* sql`CREATE TABLE ended (nth serial, account_id uuid, status text)`
      yield* sql`GRANT ALL ON TABLE ended TO PUBLIC`
      yield* sql`GRANT ALL ON SEQUENCE ended_nth_seq TO PUBLIC`
      yield* sql`CREATE FUNCTION ended() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN INSERT INTO ended (account_id, status) VALUES (NEW.account_id, NEW.status); RETURN NULL; END $$`
      yield* sql`CREATE TRIGGER ended AFTER UPDATE ON deliveries FOR EACH ROW
        WHEN (NEW.status IN ('failed', 'delivered')) EXECUTE FUNCTION ended()`
      yield* sql.withTransaction(Effect.andThen(due(hostile.accountId, "/bad", 40), due(accountId, "/good", 5)))
      yield* eventually(sql`SELECT nth FROM ended`, ({ length }) => length === 45)
      const [sent] = yield* sql<{ count: number }>`
        SELECT count(*)::integer AS count FROM ended WHERE status = 'failed' AND nth < (
          SELECT min(nth) FROM ended WHERE status = 'delivered')`
      assert.isBelow(sent?.count ?? 40, 40)
      yield* mend
      yield* sql`DROP TRIGGER ended ON deliveries`
    })
  )

  it.effect("that not even the record of its outcome can be made of is set aside, and is not sent for ever", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const hooks = yield* receiver()
      const mend = yield* poisoned("UPDATE", `NEW.url = '${hooks.url}/bad' AND NEW.status = 'delivered'`)
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

  it.effect("whose event is gone is canceled with a reason, and hides nothing that is due", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const hooks = yield* receiver()
      const sql = yield* SqlClient
      yield* sql`
        INSERT INTO deliveries (id, change_id, event, resource_id, account_id, url, destination, status, due_at, created_at)
        SELECT uuidv7(), uuidv7(), 'charge.pix.paid', uuidv7(), ${accountId}::uuid, ${`${hooks.url}/gone`}, ${hooks.url},
          'scheduled', now(), now() FROM generate_series(1, 400)`
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

layer(TestService.layer({ settings }), { excludeTestServices: true })("Operators", (it) => {
  it.effect(
    "OPR-28: disable an endpoint, which its application cannot undo; its deliveries are parked until it is enabled",
    () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        const hooks = yield* receiver()
        const endpoint = yield* registered(key, { url: hooks.url, events: ["charge.pix.emitted"] })
        const disabled = yield* operated("PATCH", `/webhooks/${endpoint.id}`, { active: false })
        assert.deepInclude(disabled, { id: endpoint.id, active: false })
        assert.isFalse((yield* changed(key, endpoint.id, { active: true })).active)
        yield* created(key)
        yield* parked(`endpoint_id = '${endpoint.id}'`, 1)
        assert.deepStrictEqual(hooks.received, [])
        assert.deepInclude(yield* operated("PATCH", `/webhooks/${endpoint.id}`, { active: true }), { active: true })
        yield* eventually(
          Effect.sync(() => hooks.received.length),
          (count) => count === 1
        )
        yield* remove(key, endpoint.id)
        yield* operated("PATCH", `/webhooks/${endpoint.id}`, { active: true }, 404)
        yield* operated("PATCH", `/webhooks/${endpoint.id}`, { active: "no" }, 400).pipe(Effect.exit)
      })
  )

  it.effect("OPR-28: disable an application or an account: its deliveries are parked, to its `webhook_url`s too", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, applicationId, key } = yield* makeCaller()
      const hooks = yield* receiver()
      yield* registered(key, { url: `${hooks.url}/endpoint`, events: ["charge.pix.paid"] })
      const disable = {
        application: () => operated("PATCH", `/applications/${applicationId}`, { active: false }),
        account: () => operated("PATCH", `/accounts/${accountId}`, { status: "inactive" })
      }
      const enable = {
        application: () => operated("PATCH", `/applications/${applicationId}`, { active: true }),
        account: () => operated("PATCH", `/accounts/${accountId}`, { status: "active" })
      }
      for (const whose of ["application", "account"] as const) {
        const seen = hooks.received.length
        const charge = yield* created(key, { webhook_url: `${hooks.url}/own` })
        yield* eventually(
          Effect.sync(() => hooks.received.length),
          (count) => count === seen + 2
        )
        yield* disable[whose]()
        yield* simulated(`/charges/${charge.id}/pay`)
        yield* parked(`resource_id = '${charge.id}'`, 2)
        assert.lengthOf(hooks.received, seen + 2)
        yield* enable[whose]()
        yield* eventually(
          Effect.sync(() => hooks.received.length),
          (count) => count === seen + 4
        )
      }
    })
  )
})

const parked = (condition: string, count: number) =>
  Effect.flatMap(SqlClient, (sql) =>
    eventually(
      sql.unsafe(`SELECT id FROM deliveries WHERE ${condition} AND held_due_at IS NOT NULL AND due_at IS NULL`),
      ({ length }) => length === count
    )
  )

layer(TestService.layer({ settings: { ...settings, webhookEndpointsPerApplication: 10 } }), {
  excludeTestServices: true
})("An application", (it) => {
  it.effect(
    "END-7: has as many endpoints as WEBHOOK_ENDPOINTS_PER_APPLICATION says, however many are asked for at once",
    () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { accountId, key } = yield* makeCaller()
        const other = yield* makeCaller()
        const sql = yield* SqlClient
        const first = yield* registered(key)
        // More of them than may be stored are under way at once: the counter that their commits increment is locked.
        const asking = yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`SELECT version FROM webhook_endpoint_counters WHERE account_id = ${accountId}::uuid FOR UPDATE`
            const fiber = yield* Effect.forkChild(
              Effect.forEach(Array.from({ length: 20 }), () => register(key), { concurrency: 20 })
            )
            yield* eventually(
              sql`SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
              ({ length }) => length >= 10
            )
            return fiber
          })
        )
        const answers = yield* Fiber.join(asking)
        const stored = answers.filter(({ status }) => status === 201)
        assert.lengthOf(stored, 9)
        for (const answer of answers.filter(({ status }) => status !== 201)) {
          assertRefused(answer, "VALIDATION_ERROR")
          assert.notProperty(answer.body, "details")
        }
        yield* registered(other.key)
        yield* remove(key, first.id)
        yield* registered(key)
        assertRefused(yield* register(key), "VALIDATION_ERROR")
      })
  )
})

layer(TestService.layer({ settings: { ...settings, webhookTimeoutMs: 60_000 } }), { excludeTestServices: true })(
  "A tenant whose receivers hang, all of them",
  (it) => {
    it.effect("DLV-9: takes a quarter of the places, and delays nobody else's deliveries", () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const hostile = yield* makeCaller()
        const { key } = yield* makeCaller()
        const hanging = yield* Effect.forEach(Array.from({ length: 20 }), () => receiver(() => {}))
        const hooks = yield* receiver()
        yield* Effect.forEach(
          Array.from({ length: 400 }),
          (_, index) => created(hostile.key, { webhook_url: `${hanging[index % 20]!.url}/` }),
          { concurrency: 20, discard: true }
        )
        for (let index = 0; index < 10; index++) yield* created(key, { webhook_url: `${hooks.url}/${index}` })
        yield* eventually(
          Effect.sync(() => hooks.received.length),
          (count) => count === 20
        )
        // 192 of the 768, and what one more round may lease.
        const taken = hanging.reduce((count, { received }) => count + received.length, 0)
        assert.isAbove(taken, 100)
        assert.isAtMost(taken, 192 + 100)
        const sql = yield* SqlClient
        const [ended] = yield* sql<{ count: number }>`
          SELECT count(*)::integer AS count FROM delivery_attempts a JOIN deliveries d ON d.id = a.delivery_id
          WHERE d.account_id = ${hostile.accountId}::uuid AND a.error = 'timeout'`
        assert.strictEqual(ended?.count, 0)
      })
    )
  }
)
