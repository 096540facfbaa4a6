/**
 * The key tables: they are complete after a migration and beside servers of the release before, and no key or settlement is
 * taken twice without the unique indexes of `charges` and `payouts`.
 */
import { assert, describe, it, layer } from "@effect/vitest"
import * as PgClient from "@effect/sql-pg/PgClient"
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { randomUUID } from "node:crypto"
import { isDuplicate } from "../../src/providers/NotificationStore.ts"
import { decideChange } from "../../src/payments/charges/ChargeDecision.ts"
import { ChargeStore } from "../../src/payments/charges/ChargeStore.ts"
import { textDigest } from "../../src/events/Outbox.ts"
import { Ids } from "../../src/base/Ids.ts"
import * as Migrations from "../../src/schema/Migrations.ts"
import { fixtures, readFixture } from "../durability/upgrade/Fixture.ts"
import { createSchema } from "../durability/upgrade/Schema.ts"
import { create, created } from "../support/ChargeRequests.ts"
import { incompleteKeys } from "../support/KeyTables.ts"
import { assertLedgerHolds, funded, paidCharge, paidOut, payOut } from "../support/Money.ts"
import { createDatabase } from "../support/Postgres.ts"
import { loopback } from "../support/Receiver.ts"
import { newKey, TestService } from "../support/TestService.ts"
import { upgradedService } from "../support/UpgradedDatabase.ts"

const settings = { webhookAllowedNetworks: loopback, simulatorSettleMs: 0 }

const assertComplete = Effect.gen(function* () {
  const sql = yield* SqlClient
  assert.deepStrictEqual(yield* sql.unsafe(incompleteKeys), [])
})

/** Stores a charge as a server of the release before does; its ids, none where its key exists. */
const insertAsBefore = (idempotencyKey: string, like: string) =>
  Effect.flatMap(
    SqlClient,
    (sql) => sql<{ readonly id: string }>`
      INSERT INTO charges SELECT (jsonb_populate_record(c, jsonb_build_object('id', uuidv7(),
        'idempotency_key', ${idempotencyKey}::text, 'end_to_end_id', NULL, 'key_stored', false,
        'settlement_stored', false))).*
      FROM charges c WHERE id = ${like}::uuid
      ON CONFLICT (application_id, origin, idempotency_key) WHERE idempotency_key IS NOT NULL DO NOTHING
      RETURNING id`
  )

const insertPayoutAsBefore = (idempotencyKey: string, like: string) =>
  Effect.flatMap(
    SqlClient,
    (sql) => sql<{ readonly id: string }>`
      INSERT INTO payouts SELECT (jsonb_populate_record(p, jsonb_build_object('id', uuidv7(),
        'idempotency_key', ${idempotencyKey}::text, 'key_stored', false))).*
      FROM payouts p WHERE id = ${like}::uuid
      ON CONFLICT (coalesce(application_id, account_id), origin, idempotency_key) WHERE idempotency_key IS NOT NULL
        DO NOTHING
      RETURNING id`
  )

describe.each(fixtures)("Key tables of an installation of %s", (name) => {
  it.live("have every key and settlement that there was", () =>
    Effect.gen(function* () {
      const { rows, schema } = readFixture(name)
      const url = yield* createDatabase()
      const built = yield* Layer.build(Layer.fresh(PgClient.layer({ url, maxConnections: 2 })))
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient
        yield* createSchema(schema, rows)
        yield* Migrations.run
        yield* assertComplete
        const keys = yield* sql<{ digest: string; of: string }>`
          SELECT k.digest, concat_ws(' ', c.application_id, c.origin, c.idempotency_key) AS of
          FROM charge_keys k JOIN charges c ON c.id = k.charge_id
          UNION ALL SELECT k.digest, concat_ws(' ', coalesce(p.application_id, p.account_id), p.origin, p.idempotency_key)
          FROM payout_keys k JOIN payouts p ON p.id = k.payout_id`
        assert.isAbove(keys.length, 5)
        for (const { digest, of } of keys) assert.strictEqual(digest, textDigest(of))
        assert.isNotEmpty(yield* sql`SELECT FROM charge_settlements`)
      }).pipe(Effect.provide(built))
    }).pipe(Effect.scoped)
  )
})

layer(upgradedService({ settings }), { excludeTestServices: true })("Beside a server of the release before", (it) => {
  it.effect("IDEM-4, IDEM-5: a key is of one charge, whichever release stored it", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const [ours, theirs] = [newKey(), newKey()]
      const { id } = yield* created(key, {}, ours)
      assert.deepStrictEqual(yield* insertAsBefore(ours, id), [])
      const [stored] = yield* insertAsBefore(theirs, id)
      const replayed = yield* create(key, {}, theirs)
      assert.deepStrictEqual(
        [replayed.status, replayed.headers["idempotent-replayed"], replayed.body.id],
        [201, "true", stored?.id]
      )
      yield* assertComplete
    })
  )

  it.effect("IDEM-5: of calls with one key at the same moment, to both releases, one stores it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { makeCaller } = yield* TestService
      const { applicationId, key } = yield* makeCaller()
      const { id } = yield* created(key)
      const keys = Array.from({ length: 8 }, () => newKey())
      yield* Effect.forEach(
        [...keys, ...keys],
        (each) => Effect.all([created(key, {}, each), insertAsBefore(each, id)], { concurrency: 2 }),
        { concurrency: "unbounded" }
      )
      const stored = yield* sql`
        SELECT FROM charges WHERE application_id = ${applicationId}::uuid AND idempotency_key = ANY (${keys}::text[])`
      assert.lengthOf(stored, keys.length)
      yield* assertComplete
    })
  )

  it.effect("IDEM-4: a key is of one payout, whichever release stored it", () =>
    Effect.gen(function* () {
      const { key } = yield* funded(10_000)
      const [ours, theirs] = [newKey(), newKey()]
      const { id } = yield* paidOut(key, {}, ours)
      assert.deepStrictEqual(yield* insertPayoutAsBefore(ours, id), [])
      const [stored] = yield* insertPayoutAsBefore(theirs, id)
      assert.isDefined(stored)
      const replayed = yield* payOut(key, {}, theirs)
      assert.deepStrictEqual([replayed.status, replayed.body.id], [201, stored?.id])
      yield* assertComplete
    })
  )

  it.effect("CHG-9: has the settlement of a charge that it settles", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const { id } = yield* created(key)
      const settlement = endToEndId()
      yield* sql`UPDATE charges SET end_to_end_id = ${settlement} WHERE id = ${id}::uuid`
      assert.deepStrictEqual(yield* sql`SELECT charge_id FROM charge_settlements WHERE end_to_end_id = ${settlement}`, [
        { charge_id: id }
      ])
      yield* paidCharge(key)
      yield* assertComplete
    })
  )
})

layer(TestService.layer({ settings }), { excludeTestServices: true })("Without the unique indexes", (it) => {
  const withoutIndexes = Effect.gen(function* () {
    const sql = yield* SqlClient
    yield* sql.unsafe("DROP INDEX IF EXISTS charges_idempotency, charges_settlement, payouts_idempotency")
  })

  it.effect("IDEM-5: a key at a hundred calls at once is of one charge", () =>
    Effect.gen(function* () {
      yield* withoutIndexes
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const idempotencyKey = newKey()
      const answers = yield* Effect.forEach(Array.from({ length: 100 }), () => created(key, {}, idempotencyKey), {
        concurrency: "unbounded"
      })
      assert.lengthOf(new Set(answers.map(({ id }) => id)), 1)
      yield* assertComplete
    })
  )

  it.effect("IDEM-5: a key at fifty calls at once is of one payout", () =>
    Effect.gen(function* () {
      yield* withoutIndexes
      const { key } = yield* funded(100_000)
      const idempotencyKey = newKey()
      const answers = yield* Effect.forEach(Array.from({ length: 50 }), () => paidOut(key, {}, idempotencyKey), {
        concurrency: "unbounded"
      })
      assert.lengthOf(new Set(answers.map(({ id }) => id)), 1)
      yield* assertLedgerHolds
      yield* assertComplete
    })
  )

  it.effect("CHG-9: a settlement pays one charge, and the second is refused as a duplicate", () =>
    Effect.gen(function* () {
      yield* withoutIndexes
      const store = yield* ChargeStore
      const ids = yield* Ids
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const settlement = endToEndId()
      const pay = Effect.fnUntraced(function* (id: string) {
        const facts = { emitted: { brCode: "00020126", receiver: null }, endToEndId: settlement }
        const decided = decideChange((yield* store.find(id))!, "paid", facts, {
          ids,
          nowMs: yield* Clock.currentTimeMillis,
          releaseDelayMs: 0
        })
        return yield* store.change(decided!)
      })
      assert.isTrue(yield* pay((yield* created(key)).id))
      const second = yield* created(key)
      const refused = yield* Effect.exit(pay(second.id))
      assert.isTrue(Exit.isFailure(refused) && isDuplicate(Cause.squash(refused.cause)), String(refused))
      assert.strictEqual((yield* store.find(second.id))?.status, "pending")
      yield* assertComplete
    })
  )
})

const endToEndId = (): string => `E99999010202611210800${randomUUID().replaceAll("-", "").slice(0, 11)}`
