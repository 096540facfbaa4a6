/** The recoveries of new charges (CHG-4). */
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, describe, it, layer } from "@effect/vitest"
import { lowestIdAt, makeGenerator } from "@pix-payments/domain/Uuid"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { randomFillSync } from "node:crypto"
import { recoveriesOf } from "../../../src/payments/charges/NewRecoveries.ts"
import { claimDueRecoveries } from "../../../src/payments/charges/RecoveryStore.ts"
import * as Migrations from "../../../src/schema/Migrations.ts"
import { created, listed, retrieve } from "../../support/ChargeRequests.ts"
import { unusedCapacity } from "../../support/DueCalls.ts"
import { createDatabase } from "../../support/Postgres.ts"
import { eventually } from "../../support/Receiver.ts"
import { TestService } from "../../support/TestService.ts"

const nowMs = Date.UTC(2026, 10, 25)

// Nothing is due in the time of a test unless the test makes it due.
const settings = { simulatorSettleMs: 0, acquirerTimeoutMs: 60_000 }

layer(TestService.layer({ settings }), { excludeTestServices: true })("New charges", (it) => {
  const recoveriesWith = (id: string) =>
    SqlClient.use((sql) => sql`SELECT FROM charge_recoveries WHERE ${id}::uuid = ANY (charge_ids)`)

  it.effect("CHG-4: of one batch share a recovery, which has each of them", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const together = yield* Effect.forEach(Array.from({ length: 100 }), () => created(key), {
        concurrency: "unbounded"
      })
      for (const { id } of together) assert.lengthOf(yield* recoveriesWith(id), 1, id)
      const { length } = yield* SqlClient.use((sql) => sql`SELECT FROM charge_recoveries`)
      assert.isBelow(length, 100)
    })
  )

  it.effect("CHG-4, CHG-20: are listed while they wait, and recovered where the process died before the answer", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const sql = yield* SqlClient
      const { key } = yield* makeCaller()
      const { id } = yield* created(key)
      yield* created(key)
      yield* sql`UPDATE charges SET status = 'processing', sequence = 1 WHERE id = ${id}::uuid`
      const { data } = yield* listed(key, "?status=processing")
      assert.deepStrictEqual(
        data.map((charge) => charge.id),
        [id]
      )
      yield* sql`UPDATE charge_recoveries SET due_at = now()`
      yield* eventually(retrieve(key, id), ({ body }) => body.status === "pending")
      yield* eventually(recoveriesWith(id), ({ length }) => length === 0)
    })
  )
})

const database = Effect.gen(function* () {
  const url = yield* createDatabase()
  const sql = Context.get(yield* Layer.build(Layer.fresh(PgClient.layer({ url, maxConnections: 2 }))), SqlClient)
  yield* Effect.provideService(Migrations.run, SqlClient, sql)
  return sql
})

describe("A claim of charges to recover", () => {
  it.live("splits batches that are due: only charges that wait get their own recovery", () =>
    Effect.gen(function* () {
      const sql = yield* database
      const [waiting, answered, later] = [0, 1, 2].map((n) => lowestIdAt(nowMs + n))
      yield* sql.unsafe(`INSERT INTO charges (id, account_id, application_id, origin, status, method, amount, created_at, sequence)
        VALUES ('${waiting}', uuidv7(), uuidv7(), 'api', 'processing', 'pix', 100, now(), 1),
          ('${answered}', uuidv7(), uuidv7(), 'api', 'pending', 'pix', 100, now(), 2),
          ('${later}', uuidv7(), uuidv7(), 'api', 'processing', 'pix', 100, now(), 1)`)
      yield* sql.unsafe(`INSERT INTO charge_recoveries (due_at, id, charge_ids)
        VALUES (now(), uuidv7(), '{${waiting},${answered}}'), (now() + interval '1 hour', uuidv7(), '{${later}}')`)
      assert.strictEqual((yield* claimDueRecoveries(sql, unusedCapacity(0), 1000)).examined, 1)
      const left = yield* sql`SELECT id, charge_ids FROM charge_recoveries WHERE account_id IS NOT NULL`
      assert.deepStrictEqual(left, [{ id: waiting, charge_ids: [waiting] }])
      assert.lengthOf(yield* sql`SELECT FROM charge_recoveries WHERE account_id IS NULL`, 1)
    }).pipe(Effect.scoped)
  )

  it.live("takes as many as fit of the account that has some due, however many accounts wait for later", () =>
    Effect.gen(function* () {
      const sql = yield* database
      yield* sql`INSERT INTO charge_recoveries (due_at, id, charge_ids, account_id)
        SELECT now() - interval '1 minute', uuidv7(), '{}'::uuid[], ${lowestIdAt(0)}::uuid FROM generate_series(1, 100)
        UNION ALL SELECT now() + interval '1 hour', uuidv7(), '{}', uuidv7() FROM generate_series(1, 100)`
      const { examined } = yield* claimDueRecoveries(sql, unusedCapacity(64), 1000)
      assert.strictEqual(examined, 64)
    }).pipe(Effect.scoped)
  )
})

describe("Recoveries of a batch", () => {
  it("list its charges, fifty each", () => {
    const generate = makeGenerator((target) => randomFillSync(target))
    const ids = Array.from({ length: 120 }, (_, n) => generate(nowMs + n).id)
    const { recoveries } = recoveriesOf({ next: () => generate(nowMs) }, ids, 1000)
    assert.deepStrictEqual(
      recoveries.flatMap(({ charge_ids }) => charge_ids.split(",")),
      ids
    )
    assert.deepStrictEqual(
      recoveries.map(({ charge_ids }) => charge_ids.split(",").length),
      [50, 50, 20]
    )
  })
})
