/**
 * What one account's rows can do to others: on real PostgreSQL, where locks, time-outs and deadlocks are its own.
 * "An account whose balance is locked by somebody waits by itself; the rest of its batch continues."
 */
import { assert, layer } from "@effect/vitest"
import type { Charge } from "@pix-payments/domain/Charge"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { assertRefused, create, created, retrieve } from "../../support/ChargeRequests.ts"
import { newPix } from "../../support/Exceptions.ts"
import { changeSchema } from "../../support/LiveSchema.ts"
import { assertLedgerHolds, availableOf, funded, payOut } from "../../support/Money.ts"
import { createMigratedDatabase } from "../../support/Postgres.ts"
import { eventually, loopback } from "../../support/Receiver.ts"
import { newKey, TestService, whenFree } from "../../support/TestService.ts"

const settings = {
  webhookAllowedNetworks: loopback,
  simulatorSettleMs: 0,
  maxRequestsInFlight: 5000,
  secretsKeys: Option.some(Redacted.make(Buffer.alloc(32, 3).toString("base64")))
}

const paid = (id: string, endToEndId = newPix()) =>
  Effect.flatMap(TestService, ({ operate }) =>
    operate<Charge>("POST", `/operator/v1/simulator/charges/${id}/pay`, { body: { end_to_end_id: endToEndId } })
  )

layer(TestService.layer({ settings }), { excludeTestServices: true })("An account whose balance is locked", (it) => {
  it.effect("waits by itself: 100 other accounts are paid, and pay out", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { accountId, key } = yield* funded(5000)
      const others = yield* Effect.forEach(
        Array.from({ length: 100 }, (_, index) => index),
        () => funded(5000),
        { concurrency: 25 }
      )
      const own = yield* created(key)
      const pix = newPix()
      const idempotencyKey = newKey()
      const charges = yield* Effect.forEach(others, (other) => created(other.key), { concurrency: 25 })
      const waiting = yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`SELECT FROM ledger_accounts WHERE owner_id = ${accountId}::uuid AND kind = 'acquirer' FOR UPDATE`
          yield* sql`SELECT FROM ledger_accounts WHERE owner_id = ${accountId}::uuid AND kind = 'available' FOR UPDATE`
          // In the same batches as the others' where they come at once.
          const locked = yield* Effect.forkChild(
            Effect.all([paid(own.id, pix), payOut(key, {}, idempotencyKey)], { concurrency: 2 }),
            { startImmediately: true }
          )
          const answers = yield* Effect.forEach(
            charges.map(({ id }, index) => [id, others[index]!.key] as const),
            ([id, theirs]) => {
              const [theirPix, theirKey] = [newPix(), newKey()]
              return Effect.all([whenFree(paid(id, theirPix)), whenFree(payOut(theirs, {}, theirKey))], {
                concurrency: 2
              })
            },
            { concurrency: "unbounded" }
          )
          // One that happened, and was answered 503, is refused when it is repeated.
          for (const [ofCharge, ofPayout] of answers) {
            assert.include([200, 409], ofCharge.status, "the others continue during the lock")
            assert.strictEqual(ofPayout.status, 201, "the others continue during the lock")
          }
          return locked
        })
      )
      // The locked account waited, for as long as it may: a busy machine needs longer for the others, and it asks again.
      const [ofCharge, ofPayout] = yield* Fiber.join(waiting)
      assert.include([200, 503], ofCharge.status, ofCharge.text)
      assert.include([201, 503], ofPayout.status, ofPayout.text)
      // A 503 leaves open whether it happened.
      if (ofCharge.status === 503) assert.include([200, 409], (yield* paid(own.id, pix)).status)
      if (ofPayout.status === 503) assert.include([200, 201], (yield* payOut(key, {}, idempotencyKey)).status)
      assert.strictEqual(yield* availableOf(key), 5500)
      yield* assertLedgerHolds
    })
  )

  it.effect("is answered 503 when the lock lasts too long, and nothing is partially done", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { accountId, key } = yield* funded(5000)
      const other = yield* funded(5000)
      yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`SELECT FROM ledger_accounts WHERE owner_id = ${accountId}::uuid FOR UPDATE`
          const [late, fine] = yield* Effect.all([payOut(key), payOut(other.key)], { concurrency: 2 })
          assertRefused(late, "SERVICE_UNAVAILABLE")
          assert.strictEqual(fine.status, 201)
        })
      )
      assert.strictEqual(yield* availableOf(key), 5000)
      yield* assertLedgerHolds
    })
  )
})

layer(TestService.layer({ settings }), { excludeTestServices: true })("A row that takes too long", (it) => {
  it.effect("is refused alone: the others of its batch are done, and later ones do not wait for it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      yield* sql`CREATE FUNCTION linger() RETURNS trigger LANGUAGE plpgsql AS
          'BEGIN PERFORM pg_sleep(30); RETURN NEW; END'`
      yield* changeSchema(`CREATE TRIGGER linger BEFORE INSERT ON charges FOR EACH ROW
          WHEN (NEW.reference = 'poison') EXECUTE FUNCTION linger()`)
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const references = Array.from({ length: 40 }, (_, index) => (index === 20 ? "poison" : `fine ${index}`))
      const batch = yield* Effect.forkChild(
        Effect.forEach(references, (reference) => create(key, { reference }), { concurrency: "unbounded" }),
        { startImmediately: true }
      )
      yield* eventually(
        sql<{ count: bigint }>`SELECT count(*) AS count FROM pg_stat_activity
            WHERE wait_event = 'PgSleep' AND datname = current_database()`,
        ([row]) => Number(row?.count) > 0
      )
      // While the statement runs.
      const later = yield* create(key, { reference: "later" })
      assert.strictEqual(later.status, 201)
      assert.isUndefined(batch.pollUnsafe())
      const answers = yield* Fiber.join(batch)
      const others = answers.filter((_, index) => references[index] !== "poison")
      assertRefused(answers[references.indexOf("poison")]!, "SERVICE_UNAVAILABLE")
      // On a busy machine the time of a part of the batch may end before its rows are written.
      const refused = others.filter(({ status }) => status !== 201)
      assert.isAtMost(refused.length, 8)
      for (const answer of refused) assertRefused(answer, "SERVICE_UNAVAILABLE")
    })
  )
})

layer(Layer.empty, { excludeTestServices: true })("Two services with opposite orders of arrival", (it) => {
  it.effect("never end in a deadlock that a caller hears of, and every charge is paid once", () =>
    Effect.gen(function* () {
      const databaseUrl = yield* createMigratedDatabase
      const build = Layer.build(Layer.fresh(TestService.layer({ databaseUrl, settings })))
      const first = yield* build
      const second = yield* build
      const ids = yield* Effect.gen(function* () {
        const accounts = yield* Effect.forEach(
          Array.from({ length: 40 }, (_, index) => index),
          () => funded(1000),
          { concurrency: 20 }
        )
        return yield* Effect.forEach(
          accounts.flatMap((account) => [account, account]),
          ({ key }) => Effect.map(created(key), ({ id }) => ({ id, key })),
          { concurrency: 20 }
        )
      }).pipe(Effect.provide(first))
      const payAll = (order: ReadonlyArray<{ id: string }>) =>
        Effect.forEach(order, ({ id }) => whenFree(paid(id)), { concurrency: "unbounded" })
      const [forth, back] = yield* Effect.all(
        [payAll(ids).pipe(Effect.provide(first)), payAll(ids.toReversed()).pipe(Effect.provide(second))],
        { concurrency: 2 }
      )
      // The second of two settlements is an exception. One that happened, and was answered 503, is refused when it is repeated.
      for (const { status, text } of [...forth, ...back]) assert.include([200, 202, 409], status, text)
      yield* Effect.gen(function* () {
        for (const { id, key } of ids) {
          yield* eventually(retrieve(key, id), ({ body }) => body.status === "paid")
        }
        const sql = yield* SqlClient
        const [stat] = yield* sql<{ deadlocks: bigint }>`
            SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`
        assert.strictEqual(stat?.deadlocks, 0n)
        yield* assertLedgerHolds
      }).pipe(Effect.provide(first))
    }).pipe(Effect.scoped)
  )
})
