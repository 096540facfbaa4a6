/** How many statements the failing fan-out of one account costs: its own, and those that others wait for. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { created } from "../../support/ChargeRequests.ts"
import { changeSchema } from "../../support/LiveSchema.ts"
import { paidCharge } from "../../support/Money.ts"
import { eventually, loopback, receiver } from "../../support/Receiver.ts"
import { TestService } from "../../support/TestService.ts"
import { fannedOut, registered } from "../../support/Webhooks.ts"

const settings = { webhookAllowedNetworks: loopback, simulatorSettleMs: 0, webhookEndpointsPerApplication: 100 }

const events = ["charge.pix.paid"]

/** Counts the statements that insert deliveries, failed ones included. */
const statementsCounted = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* sql`CREATE SEQUENCE IF NOT EXISTS fan_outs`
  yield* sql`GRANT ALL ON SEQUENCE fan_outs TO PUBLIC`
  yield* sql`CREATE OR REPLACE FUNCTION fan_outs() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN PERFORM nextval('fan_outs'); RETURN NULL; END $$`
  yield* changeSchema(
    `CREATE OR REPLACE TRIGGER fan_outs BEFORE INSERT ON deliveries FOR EACH STATEMENT EXECUTE FUNCTION fan_outs()`
  )
  return { count: Effect.map(sql<{ n: number }>`SELECT last_value::integer AS n FROM fan_outs`, ([row]) => row!.n) }
})

/** PostgreSQL refuses deliveries with this condition. */
const poisoned = (condition: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    yield* sql.unsafe(`CREATE OR REPLACE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN RAISE EXCEPTION 'poisoned'; END $$`)
    yield* changeSchema(`CREATE OR REPLACE TRIGGER poison BEFORE INSERT ON deliveries FOR EACH ROW
      WHEN (${condition}) EXECUTE FUNCTION poison()`)
    return { mend: Effect.andThen(changeSchema(`DROP TRIGGER poison ON deliveries`), sql`DROP FUNCTION poison()`) }
  })

/** So many rounds find nothing meanwhile: two in a second, which are many on a slow machine. */
const emptyRounds = (sinceMs: number) => Math.ceil((performance.now() - sinceMs) / 500)

const failedEndpoints = (accountId: string) =>
  Effect.flatMap(
    SqlClient,
    (sql) => sql<{ endpoint_id: string }>`SELECT endpoint_id FROM outbox_failures WHERE account_id = ${accountId}::uuid`
  )

layer(TestService.layer({ settings }), { excludeTestServices: true })("A change with 64 endpoints", (it) => {
  it.effect("of which one fails is bisected: some 2 log2(64) statements, not 64", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const hooks = yield* receiver()
      const endpoints = yield* Effect.forEach(
        Array.from({ length: 64 }),
        (_, index) => registered(key, { url: `${hooks.url}/${index}`, events }),
        { concurrency: 8 }
      )
      const bad = endpoints[40]!
      const { count } = yield* statementsCounted
      const { mend } = yield* poisoned(`NEW.endpoint_id = '${bad.id}'`)
      const before = yield* count
      const startedAt = performance.now()
      yield* paidCharge(key)
      // Some were sent before PostgreSQL refused one, and are sent again.
      const others = () => new Set(hooks.received.flatMap(({ path, body }) => (path === "/40" ? [] : [body.id])))
      yield* eventually(Effect.sync(others), ({ size }) => size === 63)
      yield* fannedOut
      assert.deepStrictEqual(yield* failedEndpoints(accountId), [{ endpoint_id: bad.id }])
      assert.isAtMost((yield* count) - before - emptyRounds(startedAt), 48)
      yield* mend
    })
  )
})

layer(TestService.layer({ settings }), { excludeTestServices: true })(
  "An account of which every change fails",
  (it) => {
    it.effect("costs others only the statements that find it, and its changes are stored as failed", () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const hostile = yield* makeCaller()
        const { accountId, key } = yield* makeCaller()
        const hooks = yield* receiver()
        const sql = yield* SqlClient
        yield* Effect.forEach(Array.from({ length: 30 }), () => paidCharge(hostile.key), { concurrency: 8 })
        const endpoints = yield* Effect.forEach(
          Array.from({ length: 8 }),
          (_, index) => registered(hostile.key, { url: `${hooks.url}/${index}`, events }),
          { concurrency: 8 }
        )
        const { count } = yield* statementsCounted
        const { mend } = yield* poisoned(`NEW.account_id = '${hostile.accountId}'`)
        // All of its changes wait at once, before the other account's.
        const before = yield* count
        const startedAt = performance.now()
        yield* sql`INSERT INTO outbox (account_id, change_id, endpoints_version)
        SELECT c.account_id, c.id, n.version FROM changes c JOIN webhook_endpoint_counters n USING (account_id)
        WHERE c.account_id = ${hostile.accountId}::uuid AND 'paid' = ANY (c.actions)`
        yield* created(key, { webhook_url: `${hooks.url}/other` })
        yield* eventually(
          sql`SELECT id FROM deliveries WHERE account_id = ${accountId}::uuid`,
          ({ length }) => length === 2
        )
        assert.isAtMost((yield* count) - before - emptyRounds(startedAt), 60)
        yield* fannedOut
        assert.lengthOf(yield* failedEndpoints(hostile.accountId), 30 * endpoints.length)
        yield* mend
      })
    )
  }
)
