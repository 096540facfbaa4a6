/**
 * An upgrade: the installation that an earlier release left (`fixtures/schema-*.json`), under this release.
 *
 * `WRITE_UPGRADE_FIXTURE=1` writes the fixture of the schema as it is now: at a release, before the next migration.
 *
 * Guarantees
 * - Migrations turn the earlier schema into the schema of a new installation.
 * - Answers of the earlier release are given again, and unfinished work continues.
 * - The upgraded schema accepts every statement of the earlier release, for the service's role, and its inserts.
 *
 * This does not prove that both releases mean the same by what they write. `npm run rolling -- <commit>` runs both,
 * where the history of the repository is available.
 */
import { assert, describe, it, layer } from "@effect/vitest"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Tracer from "effect/Tracer"
import { SqlClient } from "effect/sql/SqlClient"
import { createHmac } from "node:crypto"
import * as Migrations from "../../src/schema/Migrations.ts"
import { prepare } from "../../src/schema/partitions/Partitions.ts"
import * as ReleaseBefore from "../../src/schema/partitions/ReleaseBefore.ts"
import { storedForms } from "../../src/schema/StoredForms.ts"
import { assertRefused, created, retrieve } from "../support/ChargeRequests.ts"
import { wrongStates } from "../support/ChargeStates.ts"
import { assertLedgerHolds, operated, payoutReaching, simulated } from "../support/Money.ts"
import { asService, createDatabase } from "../support/Postgres.ts"
import { eventually, loopback, receiver } from "../support/Receiver.ts"
import { TestService } from "../support/TestService.ts"
import { fixtures, readFixture, writeFixture } from "./upgrade/Fixture.ts"
import { populate, SECRET } from "./upgrade/Populate.ts"
import { createSchema, type DescribedSchema, describeSchema, rowsOf } from "./upgrade/Schema.ts"

const secretsKeys = Option.some(Redacted.make(Buffer.alloc(32, 3).toString("base64")))
const settings = {
  webhookAllowedNetworks: loopback,
  webhookRetryDelaysMs: [10],
  simulatorSettleMs: 0,
  acquirerTimeoutMs: 200,
  secretsKeys
}

const connected = (url: Redacted.Redacted<string>) =>
  Effect.map(Layer.build(Layer.fresh(PgClient.layer({ url, maxConnections: 3 }))), (built) =>
    Context.get(built, SqlClient)
  )

if (process.env["WRITE_UPGRADE_FIXTURE"] === "1") {
  const statements = new Set<string>()
  const recording = Tracer.make({
    span: (options) => {
      const span = new Tracer.NativeSpan(options)
      const { attribute } = span
      span.attribute = (name, value) => {
        if (name === "db.query.text") statements.add(String(value))
        attribute.call(span, name, value)
      }
      return span
    }
  })
  layer(TestService.layer({ settings }).pipe(Layer.provide(Layer.succeed(Tracer.Tracer, recording))), {
    excludeTestServices: true
  })("The fixture", (it) => {
    it.effect("is written", () =>
      Effect.gen(function* () {
        const left = yield* populate
        const schema = yield* describeSchema
        writeFixture({
          migrations: Object.keys(Migrations.migrations),
          schema,
          rows: yield* rowsOf(schema),
          left,
          statements: [...statements].filter((text) => /^\s*(SELECT|INSERT|UPDATE|WITH)\b/i.test(text)).toSorted()
        })
      }).pipe(Effect.scoped)
    )
  })
}

describe.each(fixtures)("An installation of %s", (name) => {
  const { left, migrations, rows, schema, statements } = readFixture(name)

  /** The earlier installation, before the upgrade. */
  const earlier = Effect.gen(function* () {
    const url = yield* createDatabase()
    const sql = yield* connected(url)
    yield* Effect.provideService(createSchema(schema, rows), SqlClient, sql)
    return { url, sql }
  })

  it.live("gets the schema of a new installation", () =>
    Effect.gen(function* () {
      const { sql } = yield* earlier
      const before = yield* Effect.provideService(describeSchema, SqlClient, sql)
      assert.deepStrictEqual<unknown>(before, schema, "the fixture is created as it was")
      const applied = yield* Effect.provideService(Migrations.run, SqlClient, sql)
      assert.lengthOf(applied, Object.keys(Migrations.migrations).length - migrations.length)
      const fresh = yield* connected(yield* createDatabase())
      yield* Effect.provideService(Migrations.run, SqlClient, fresh)
      const wanted = yield* Effect.provideService(describeSchema, SqlClient, fresh)
      // Servers of the earlier release read the forms of before only.
      const forms = (of: SqlClient) =>
        Effect.map(
          of<{ name: string }>`SELECT name FROM installation WHERE name = ANY (${[...storedForms]}) ORDER BY name`,
          (found) => found.map(({ name }) => name)
        )
      assert.deepStrictEqual(yield* forms(sql), [])
      assert.deepStrictEqual(yield* forms(fresh), storedForms.toSorted())
      const upgraded = yield* Effect.provideService(describeSchema, SqlClient, sql)
      assert.deepStrictEqual(upgraded.functions, { ...wanted.functions, ...pick(upgraded.functions, ofReleaseBefore) })
      const { charge_settlements_paid: _, ...indexes } = wanted.indexes
      assert.deepStrictEqual(upgraded.indexes, { ...indexes, ...pick(upgraded.indexes, ofReleaseBefore) })
      for (const each of [sql, fresh]) {
        yield* Effect.provideService(Effect.andThen(ReleaseBefore.drop, prepare), SqlClient, each)
      }
      const [one, other] = [
        yield* Effect.provideService(describeSchema, SqlClient, sql),
        yield* Effect.provideService(describeSchema, SqlClient, fresh)
      ]
      assert.deepStrictEqual(inNameOrder(one), inNameOrder(other))
      assert.deepStrictEqual(yield* forms(sql), storedForms.toSorted())
      assert.deepStrictEqual(yield* sql.unsafe(wrongStates), [])
      const subscribed = yield* sql`
        SELECT account_id, events FROM webhook_endpoint_counters WHERE events <> '{}' ORDER BY 1`
      assert.isAbove(subscribed.length, 0)
      const ofEndpoints = sql`
        SELECT account_id, array_agg(DISTINCT event ORDER BY event) AS events
        FROM webhook_endpoints CROSS JOIN LATERAL unnest(events) AS event WHERE deleted_at IS NULL GROUP BY 1 ORDER BY 1`
      assert.deepStrictEqual(subscribed, yield* ofEndpoints)
    }).pipe(Effect.scoped)
  )

  it.live("gives the same answers, and finishes the earlier release's work", () =>
    Effect.gen(function* () {
      const { sql, url } = yield* earlier
      const service = yield* Layer.build(
        Layer.fresh(TestService.layer({ settings: { ...settings, acquirerTimeoutMs: 5000 }, databaseUrl: url }))
      )
      yield* Effect.gen(function* () {
        const { call, operate } = yield* TestService
        const { key } = left
        for (const { body, path } of left.answers) assertKeeps((yield* call("GET", path, { key })).body, body, path)
        for (const { body, path } of left.operatorAnswers) assertKeeps((yield* operate("GET", path)).body, body, path)
        for (const refused of left.refusedKeys) {
          assertRefused(yield* call("GET", "/v1/account", { key: refused }), "UNAUTHORIZED")
        }
        yield* assertLedgerHolds

        // Unfinished work continues: a charge with an uncertain emission, a payout, deliveries with a sealed secret.
        yield* sql`UPDATE charges SET recover_at = now() WHERE id = ${left.processingId}::uuid`
        yield* eventually(retrieve(key, left.processingId), ({ body }) => body.status === "pending")
        yield* simulated(`/charges/${left.processingId}/pay`)
        yield* simulated(`/payouts/${left.openId}/complete`)
        yield* payoutReaching(key, left.openId, "completed")
        yield* operated("POST", `/payouts/${left.waitingId}/approve`)
        yield* payoutReaching(key, left.waitingId, "completed")
        const { received, url: to } = yield* receiver()
        yield* sql`UPDATE deliveries SET url = ${to}, destination = ${to}, endpoint_id = NULL, due_at = now()
          WHERE resource_id = ${left.paidId}::uuid AND status IN ('scheduled', 'delivering') AND held_due_at IS NULL`
        yield* eventually(
          Effect.sync(() => received.length),
          (count) => count >= 2
        )
        for (const { body, bytes, headers } of received) {
          assert.strictEqual(body.data.id, left.paidId)
          const signature = `sha256=${createHmac("sha256", SECRET).update(bytes).digest("hex")}`
          assert.strictEqual(headers["x-webhook-signature"], signature)
        }
        // New charges are created.
        yield* created(key)
        yield* assertLedgerHolds
      }).pipe(Effect.provide(service))
    }).pipe(Effect.scoped)
  )

  it.live("accepts the statements and inserts of the earlier release, whose servers run during the restart", () =>
    Effect.gen(function* () {
      const { sql, url } = yield* earlier
      // The new release starts: it migrates and grants privileges.
      const service = yield* Layer.build(Layer.fresh(TestService.layer({ settings, databaseUrl: url })))
      assert.isDefined(Context.get(service, TestService))
      const after = yield* Effect.provideService(describeSchema, SqlClient, sql)
      for (const [table, columns] of Object.entries(schema.tables)) {
        const now = after.tables[table] ?? []
        for (const { name: column, type } of columns) {
          const found = now.find((each) => each.name === column)
          assert.strictEqual(found?.type, type, `${table}.${column}: expand first, contract a release later`)
        }
        for (const added of now.filter((each) => !columns.some((column) => column.name === each.name))) {
          assert.isTrue(added.isNullable || added.default !== null, `${table}.${added.name} must have a default`)
        }
      }
      const role = yield* connected(asService(url))
      assert.isAbove(statements.length, 60)
      for (const [index, text] of statements.entries()) {
        const refusal = yield* role.withTransaction(role.unsafe(`PREPARE earlier_${index} AS ${text}`).raw).pipe(
          Effect.as(""),
          Effect.catch((error) => Effect.succeed(String(error.reason.cause)))
        )
        assert.strictEqual(refusal, "", text)
      }
    }).pipe(Effect.scoped)
  )
})

/** What a new installation does not have, because only servers of the release before use it. */
const ofReleaseBefore = [
  "charge_stores_settlement",
  "charges_settlement",
  "charges_unpaid",
  "charges_not_pending",
  "charges_to_recover"
]

const pick = (all: Readonly<Record<string, string>>, names: ReadonlyArray<string>) =>
  Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(name)))

/** The columns of charges are in another order in a new installation. */
const inNameOrder = (schema: DescribedSchema): DescribedSchema => ({
  ...schema,
  tables: {
    ...schema.tables,
    charges: schema.tables["charges"]!.toSorted((one, other) => (one.name < other.name ? -1 : 1))
  }
})

/** Every field of the earlier answer has the same value now; fields may have been added. */
const assertKeeps = (now: unknown, before: unknown, where: string): void => {
  if (Array.isArray(before)) {
    assert.isArray(now, where)
    assert.lengthOf(now as Array<unknown>, before.length, where)
    before.forEach((each, index) => assertKeeps((now as Array<unknown>)[index], each, `${where}[${index}]`))
  } else if (typeof before === "object" && before !== null) {
    assert.isObject(now, where)
    for (const [name, value] of Object.entries(before)) {
      assertKeeps((now as Readonly<Record<string, unknown>>)[name], value, `${where}.${name}`)
    }
  } else {
    assert.strictEqual(now, before, where)
  }
}
