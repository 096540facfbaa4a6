/** Services that start at the same moment on an empty database. */
import type { Charge } from "@pix-payments/domain/Charge"
import { assert, layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import * as Migrations from "../../src/schema/Migrations.ts"
import { createDatabase, temporaryFolder } from "../support/Postgres.ts"
import { eventually, loopback, receiver } from "../support/Receiver.ts"
import { newKey, TestService, type TestServiceOptions, whenFree } from "../support/TestService.ts"

// A delivery that is answered within its time-out is sent once, however busy the machine is.
const settings = {
  webhookAllowedNetworks: loopback,
  webhookTimeoutMs: 60_000,
  // A short one would push charges into pauses of minutes on a busy machine.
  acquirerTimeoutMs: 1000,
  simulatorSettleMs: 0
}

layer(Layer.empty, { excludeTestServices: true })("Several processes", (it) => {
  it.effect("KEY-4, IDEM-5: start at the same moment on an empty database, and share the work", () =>
    Effect.gen(function* () {
      const databaseUrl = yield* createDatabase()
      const dataDir = yield* temporaryFolder
      const start = startService({
        databaseUrl,
        settings: { ...settings, dataDir, webhookRetryDelaysMs: [50, 50, 50] }
      })
      const [first, second, third] = yield* Effect.all([start, start, start] as const, { concurrency: 3 })
      const one = Context.get(first, TestService)
      const two = Context.get(second, TestService)
      const sql = Context.get(third, SqlClient)
      const applied = yield* sql`SELECT migration_id FROM effect_sql_migrations`
      assert.strictEqual(applied.length, Object.keys(Migrations.migrations).length)

      // A key of one service works at the other at once, and is revoked there at once.
      const { applicationId, key } = yield* one.makeCaller()
      const { key: shortLived, keyId } = yield* two.makeKey(applicationId)
      assert.strictEqual((yield* one.call("GET", "/v1/account", { key: shortLived })).status, 200)
      assert.strictEqual((yield* one.operate("POST", `/operator/v1/keys/${keyId}/revoke`)).status, 200)
      assert.strictEqual((yield* two.call("GET", "/v1/account", { key: shortLived })).status, 401)

      // One idempotency key at several processes creates one charge.
      const idempotencyKey = newKey()
      const same = yield* Effect.forEach(
        [one, two, one, two],
        ({ call }) => call<Charge>("POST", "/v1/charges", { key, idempotencyKey, body: someCharge }),
        { concurrency: 4 }
      )
      assert.deepStrictEqual(
        same.map(({ status }) => status),
        [201, 201, 201, 201]
      )
      assert.strictEqual(new Set(same.map(({ body }) => body.id)).size, 1)

      const failing = new Map<string, number>()
      const { received, url } = yield* receiver(({ body }, response) => {
        const count = (failing.get(body.id) ?? 0) + 1
        failing.set(body.id, count)
        response.statusCode = count === 1 && body.event.endsWith("emitted") ? 500 : 200
        response.end()
      })
      const created = yield* Effect.forEach(
        Array.from({ length: 120 }, (_, index) => (index % 2 === 0 ? one : two)),
        ({ call }, index) =>
          whenFree(
            call<Charge>("POST", "/v1/charges", {
              key,
              idempotencyKey: newKey(),
              body: {
                ...someCharge,
                customer: {
                  ...someCharge.customer,
                  email: index % 3 === 0 ? "timeout@simulator.test" : "pay@simulator.test"
                },
                webhook_url: url
              }
            })
          ),
        { concurrency: 40 }
      )
      yield* eventually(
        sql`SELECT id FROM deliveries WHERE status = 'delivered'`,
        ({ length }) => length === 40 * 2 + 80 * 3
      )
      assert.deepStrictEqual(yield* sql`SELECT id FROM charges WHERE status = 'processing'`, [])
      // Each charge has its events once, and each delivery the attempts that it needed.
      const eventsByResource = yield* sql<{
        events: string
      }>`SELECT string_agg(name, ' ' ORDER BY name) AS events FROM events
        WHERE resource_id <> ${same[0]!.body.id}::uuid GROUP BY resource_id`
      assert.strictEqual(eventsByResource.length, created.length)
      assert.deepStrictEqual(
        new Set(eventsByResource.map(({ events }) => events)),
        new Set(["charge.pix.created charge.pix.emitted", "charge.pix.created charge.pix.emitted charge.pix.paid"])
      )
      assert.strictEqual(received.length, 40 * 3 + 80 * 4)
      const [paid] = yield* sql<{ count: bigint }>`SELECT count(*) AS count FROM ledger_transfers`
      assert.strictEqual(paid?.count, 80n)
      yield* Effect.provideService(assertLedgerHolds, SqlClient, sql)
    }).pipe(Effect.scoped)
  )
})

const someCharge = {
  amount: 1990,
  customer: { name: "Ana Souza", email: "ana@example.com", document: "529.982.247-25" }
}

/** One more service in this process; it stops with the scope. */
const startService = (options: TestServiceOptions) =>
  Effect.flatMap(Effect.scope, (scope) =>
    Layer.buildWithMemoMap(TestService.layer(options), Layer.makeMemoMapUnsafe(), scope)
  )

/** All ledger accounts sum to zero, and each stored balance is the sum of its transfers. */
const assertLedgerHolds = Effect.gen(function* () {
  const sql = yield* SqlClient
  const [{ total } = { total: "" }] = yield* sql<{
    total: string
  }>`SELECT sum(balance)::text AS total FROM ledger_accounts`
  assert.strictEqual(total, "0")
  const different = yield* sql`
    SELECT owner_id, kind, sum(amount) FROM (
      SELECT owner_id, kind, balance AS amount FROM ledger_accounts
      UNION ALL
      SELECT account_id, credit, -amount FROM ledger_transfers
      UNION ALL
      SELECT account_id, debit, amount FROM ledger_transfers
    ) sides GROUP BY owner_id, kind HAVING sum(amount) <> 0`
  assert.deepStrictEqual(different, [])
  const wrong = yield* sql`
    SELECT c.id FROM charges c FULL JOIN ledger_transfers t ON t.resource_id = c.id
    WHERE (c.status = 'paid') IS DISTINCT FROM (t.id IS NOT NULL) OR t.amount <> c.amount`
  assert.deepStrictEqual(wrong, [])
})
