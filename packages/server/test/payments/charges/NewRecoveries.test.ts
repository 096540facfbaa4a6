/** A range of new charges has one recovery, which has every charge that is inserted until it ends (CHG-4). */
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, describe, it, layer } from "@effect/vitest"
import { lowestIdAt, makeGenerator } from "@pix-payments/domain/Uuid"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { randomFillSync } from "node:crypto"
import { makeNewRecoveries, type NewRecoveries, newRecoveries } from "../../../src/payments/charges/NewRecoveries.ts"
import { claimDueRecoveries } from "../../../src/payments/charges/RecoveryStore.ts"
import * as Migrations from "../../../src/schema/Migrations.ts"
import { LOWEST } from "../../../src/database/statements/Seek.ts"
import { statement } from "../../../src/database/statements/Statement.ts"
import { created, listed, retrieve } from "../../support/ChargeRequests.ts"
import { unusedCapacity } from "../../support/DueCalls.ts"
import { makeExplainer, makeRecorder } from "../../support/Plans.ts"
import { asService, createDatabase } from "../../support/Postgres.ts"
import { eventually } from "../../support/Receiver.ts"
import { TestService } from "../../support/TestService.ts"

const nowMs = Date.UTC(2026, 10, 25)

const epochMsOf = (id: string) => Number.parseInt(id.replaceAll("-", "").slice(0, 12), 16)

// Nothing is due in the time of a test unless the test makes it due.
const settings = { simulatorSettleMs: 0, acquirerTimeoutMs: 60_000 }

const recorder = makeRecorder()

const service = TestService.layer({ settings }).pipe(Layer.provide(recorder.layer))

layer(service, { excludeTestServices: true })("New charges", (it) => {
  const rangesWith = (id: string) =>
    Effect.flatMap(
      SqlClient,
      (sql) => sql`SELECT FROM charge_recoveries WHERE ${id}::uuid BETWEEN first_id AND last_id`
    )

  it.effect("CHG-4: of one second share a recovery, which has each of them", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const sql = yield* SqlClient
      const { key } = yield* makeCaller()
      const ids: Array<string> = []
      for (let n = 0; n < 20; n++) ids.push((yield* created(key)).id)
      for (const id of ids) assert.isNotEmpty(yield* rangesWith(id), id)
      const { length } = yield* sql`SELECT FROM charge_recoveries`
      assert.isAtMost(length, 2 + Math.ceil((epochMsOf(ids.at(-1)!) - epochMsOf(ids[0]!)) / 1000))
      const together = yield* Effect.forEach(Array.from({ length: 100 }), () => created(key), {
        concurrency: "unbounded"
      })
      for (const { id } of together) assert.isNotEmpty(yield* rangesWith(id), id)
    })
  )

  it.effect("those that wait are counted by reading their ranges only", () =>
    Effect.gen(function* () {
      const { databaseUrl, makeCaller, operate } = yield* TestService
      const sql = yield* SqlClient
      const { key } = yield* makeCaller()
      yield* created(key)
      yield* insertCharges(
        sql,
        Array.from({ length: 25_000 }, (_, n) => ({ id: lowestIdAt(nowMs - n), isAnswered: true }))
      )
      yield* sql`ANALYZE charges`
      recorder.take()
      assert.strictEqual((yield* operate("GET", "/operator/v1/stats")).status, 200)
      const sent = recorder.take().filter(({ text }) => text.includes("FROM charge_recoveries r CROSS JOIN LATERAL"))
      assert.lengthOf(sent, 1)
      const { explain } = yield* makeExplainer(asService(databaseUrl), recorder.settings())
      assert.isBelow((yield* explain(sent[0]!)).rows, 1000)
    })
  )

  it.effect("CHG-4, CHG-20: are listed while they wait, and recovered where the process died before the answer", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const sql = yield* SqlClient
      const { key } = yield* makeCaller()
      const { id } = yield* created(key)
      yield* created(key)
      yield* sql`UPDATE charges SET acquirer_answered = false, sequence = 1 WHERE id = ${id}::uuid`
      const { data } = yield* listed(key, "?status=processing")
      assert.deepStrictEqual(
        data.map((charge) => charge.id),
        [id]
      )
      yield* sql`UPDATE charge_recoveries SET due_at = now()`
      yield* eventually(retrieve(key, id), ({ body }) => body.status === "pending")
      yield* eventually(rangesWith(id), ({ length }) => length === 0)
    })
  )
})

const insert = statement(
  { recoveries: newRecoveries },
  (p) => `WITH ${p.recoveries} SELECT due_at::text AS due_at FROM inserted_recoveries`
)

/** A client of a new database, and another one of the same. */
const clients = Effect.gen(function* () {
  const url = yield* createDatabase()
  const connected = Effect.map(Layer.build(Layer.fresh(PgClient.layer({ url, maxConnections: 2 }))), (built) =>
    Context.get(built, SqlClient)
  )
  const sql = yield* connected
  yield* Effect.provideService(Migrations.run, SqlClient, sql)
  return { sql, other: yield* connected }
})

const generate = makeGenerator((target) => randomFillSync(target))
const makeIds = (epochMs: () => number) => ({ next: () => generate(epochMs()) })

const HOUR_MS = 3_600_000

describe("The recovery of a range", () => {
  /** One that is due a second after some time, and whether another charge of its range needs no other one. */
  const setUp = Effect.fnUntraced(function* (dueInMs: number, recoverInMs = 0) {
    const { other, sql } = yield* clients
    const recoveries = makeNewRecoveries(
      makeIds(() => nowMs),
      true
    )
    const insertBy = (client: SqlClient, needed: NewRecoveries) =>
      Effect.map(client.unsafe<{ due_at: string }>(...insert({ recoveries: needed })), ([row]) => row?.due_at)
    const first = recoveries.of([lowestIdAt(nowMs)], dueInMs)
    const dueAt = yield* insertBy(sql, first)
    assert.isDefined(dueAt)
    recoveries.inserted(first, dueAt)
    const next = recoveries.of([lowestIdAt(nowMs + 900)], recoverInMs)
    const isShared = (client = sql) => Effect.map(insertBy(client, next), (another) => another === undefined)
    return { other, sql, range: { id: first.rows[0]!.id, dueAt }, next, isShared }
  })

  it.live("has later charges, while it is not due too soon for them", () =>
    Effect.gen(function* () {
      assert.isFalse(yield* (yield* setUp(HOUR_MS, HOUR_MS + 1001)).isShared())
      const { isShared, range, next } = yield* setUp(HOUR_MS, HOUR_MS - 60_000)
      assert.strictEqual(next.older?.id, range.id)
      assert.isTrue(yield* isShared())
    })
  )

  it.live("has none once it is due, is deleted, or has another time", () =>
    Effect.gen(function* () {
      const due = yield* setUp(-HOUR_MS)
      assert.isDefined(due.next.older)
      assert.isFalse(yield* due.isShared())
      for (const change of [
        "DELETE FROM charge_recoveries",
        "UPDATE charge_recoveries SET due_at = due_at + '1 hour'"
      ]) {
        const { isShared, sql } = yield* setUp(HOUR_MS)
        yield* sql.unsafe(change)
        assert.isFalse(yield* isShared(), change)
      }
    })
  )

  it.live("has none that another transaction has not committed", () =>
    Effect.gen(function* () {
      const { other, sql } = yield* clients
      const recoveries = makeNewRecoveries(
        makeIds(() => nowMs),
        true
      )
      const first = recoveries.of([lowestIdAt(nowMs)], HOUR_MS)
      yield* sql.withTransaction(
        Effect.gen(function* () {
          const [row] = yield* sql.unsafe<{ due_at: string }>(...insert({ recoveries: first }))
          recoveries.inserted(first, row!.due_at)
          assert.lengthOf(
            yield* other.unsafe(...insert({ recoveries: recoveries.of([lowestIdAt(nowMs + 1)], HOUR_MS) })),
            1
          )
        })
      )
    })
  )

  it.live("CHG-4: ends only after the transactions that insert charges into it, and then has their charges", () =>
    Effect.gen(function* () {
      const { isShared, other, sql } = yield* setUp(1500)
      const claim = claimDueRecoveries(other, unusedCapacity(0), 1000, LOWEST)
      yield* sql.withTransaction(
        Effect.gen(function* () {
          assert.isTrue(yield* isShared())
          yield* insertCharges(sql, [{ id: lowestIdAt(nowMs + 900), isAnswered: false }])
          yield* eventually(other`SELECT FROM charge_recoveries WHERE due_at <= now()`, ({ length }) => length === 1)
          assert.strictEqual((yield* claim).examined, 0)
        })
      )
      assert.isAbove((yield* claim).examined, 0)
      const left = yield* sql<{ id: string }>`SELECT id FROM charge_recoveries`
      assert.deepStrictEqual(left, [{ id: lowestIdAt(nowMs + 900) }])
    })
  )

  it.live("CHG-4: gets no charges while it ends", () =>
    Effect.gen(function* () {
      const { isShared, other, sql } = yield* setUp(HOUR_MS)
      yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`SELECT pg_advisory_xact_lock(hashtextextended(id::text, 0)) FROM charge_recoveries`
          assert.isFalse(yield* isShared(other))
        })
      )
    })
  )

  it.live("is split in parts where it is large, and only charges that wait get their own", () =>
    Effect.gen(function* () {
      const { other, sql } = yield* clients
      const waiting = [0, 4999, 5000, 11_999]
      const charges = Array.from({ length: 12_000 }, (_, n) => ({
        id: lowestIdAt(nowMs + n),
        isAnswered: !waiting.includes(n)
      }))
      yield* insertCharges(sql, [{ id: lowestIdAt(nowMs - 1), isAnswered: false }, ...charges])
      yield* insertCharges(sql, [{ id: lowestIdAt(nowMs + 12_000), isAnswered: false }])
      yield* sql`INSERT INTO charge_recoveries (due_at, id, charge_ids, first_id, last_id)
        VALUES (now(), uuidv7(), '{}', ${charges[0]!.id}::uuid, ${charges.at(-1)!.id}::uuid)`
      const examined: Array<number> = []
      while (examined.at(-1) !== 0 && examined.length < 10) {
        examined.push((yield* claimDueRecoveries(other, unusedCapacity(0), 1000, LOWEST)).examined)
      }
      // A part begins with the last charge of the one before.
      assert.deepStrictEqual(examined, [5000, 5000, 2002, 0])
      const own = yield* sql<{ id: string }>`SELECT id FROM charge_recoveries ORDER BY id`
      assert.deepStrictEqual(
        own.map(({ id }) => id),
        waiting.map((n) => charges[n]!.id)
      )
    })
  )
})

describe("Recoveries of a batch", () => {
  const idsOver = (ms: number, count: number) =>
    Array.from({ length: count }, (_, n) => generate(nowMs + Math.round((n * ms) / count)).id)

  it("list their charges, fifty each, for servers of the release before", () => {
    const recoveries = makeNewRecoveries(
      makeIds(() => nowMs),
      false
    )
    const ids = idsOver(100, 120)
    const { older, rows } = recoveries.of(ids, 1000)
    assert.isUndefined(older)
    assert.deepStrictEqual(
      rows.flatMap(({ charge_ids }) => charge_ids.split(",")),
      ids
    )
    assert.deepStrictEqual(
      rows.map(({ charge_ids, first_id }) => [charge_ids.split(",").length, first_id]),
      [
        [50, undefined],
        [50, undefined],
        [20, undefined]
      ]
    )
  })

  it("list their charges where a clock has jumped: a range is of seconds", () => {
    const recoveries = makeNewRecoveries(
      makeIds(() => nowMs),
      true
    )
    assert.strictEqual(recoveries.of(idsOver(5000, 10), 1000).rows[0]!.charge_ids, "")
    assert.isNotEmpty(recoveries.of(idsOver(HOUR_MS, 10), 1000).rows[0]!.charge_ids)
  })
})

describe("A claim of charges to recover", () => {
  it.live("takes as many as fit of the account that has some due, however many accounts wait for later", () =>
    Effect.gen(function* () {
      const { sql } = yield* clients
      yield* sql`INSERT INTO charge_recoveries (due_at, id, charge_ids, account_id)
        SELECT now() - interval '1 minute', uuidv7(), '{}'::uuid[], ${lowestIdAt(0)}::uuid FROM generate_series(1, 100)
        UNION ALL SELECT now() + interval '1 hour', uuidv7(), '{}', uuidv7() FROM generate_series(1, 100)`
      const { examined } = yield* claimDueRecoveries(sql, unusedCapacity(64), 1000, LOWEST)
      assert.strictEqual(examined, 64)
    })
  )
})

/** Charges as a new installation stores them. */
const insertCharges = (sql: SqlClient, charges: ReadonlyArray<{ readonly id: string; readonly isAnswered: boolean }>) =>
  sql.unsafe(
    `INSERT INTO charges (id, account_id, application_id, origin, status, method, amount, created_at, sequence,
        acquirer_answered)
      SELECT id, uuidv7(), uuidv7(), 'api', 'pending', 'pix', 100, now(), 1, answered
      FROM unnest(string_to_array($1, ',')::uuid[], string_to_array($2, ',')::boolean[]) AS c(id, answered)`,
    [charges.map(({ id }) => id).join(","), charges.map(({ isAnswered }) => String(isAnswered)).join(",")]
  )
