/**
 * Which rows a batch locks, in which order, and which it passes by. A transaction of the test holds a lock that the batch
 * needs, as another process would.
 */
import { assert, layer } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { SqlClient } from "effect/sql/SqlClient"
import { decideChange } from "../../../src/payments/charges/ChargeDecision.ts"
import { ChargeStore } from "../../../src/payments/charges/ChargeStore.ts"
import { Ids } from "../../../src/base/Ids.ts"
import { NewPayoutStore } from "../../../src/payments/payouts/creation/NewPayoutStore.ts"
import { decideChange as decidePayoutChange } from "../../../src/payments/payouts/PayoutDecision.ts"
import { PayoutStore } from "../../../src/payments/payouts/PayoutStore.ts"
import { created } from "../../support/ChargeRequests.ts"
import {
  assertLedgerHolds,
  availableOf,
  funded,
  holding,
  operated,
  paidCharge,
  paidOut,
  payOut
} from "../../support/Money.ts"
import { eventually, loopback } from "../../support/Receiver.ts"
import { newKey, TestService } from "../../support/TestService.ts"

// No recovery in the time of a test.
const settings = { webhookAllowedNetworks: loopback, simulatorSettleMs: 0, acquirerTimeoutMs: 60_000 }

/** Until a statement waits for a lock of the test's transaction. */
const isWaitedFor = Effect.flatMap(SqlClient, (sql) =>
  eventually(
    sql`SELECT FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY (pg_blocking_pids(pid))`,
    ({ length }) => length > 0
  )
)

const inOneBatch = <A, B, E, R>(members: ReadonlyArray<A>, one: (member: A) => Effect.Effect<B, E, R>) =>
  Effect.forkChild(Effect.forEach(members, one, { concurrency: "unbounded" }), { startImmediately: true })

/** The change of a charge by a report. */
const changeOf = Effect.fnUntraced(function* (id: string, report: "emitted" | "paid") {
  const charge = yield* (yield* ChargeStore).find(id)
  const facts = { emitted: { brCode: "00020126", receiver: null }, endToEndId: newKey() }
  const change = decideChange(charge!, report, facts, {
    ids: yield* Ids,
    nowMs: yield* Clock.currentTimeMillis,
    releaseDelayMs: 0
  })
  return change!
})

layer(TestService.layer({ settings }), { excludeTestServices: true })("A batch that waits for a lock", (it) => {
  it.effect("has locked no charge with a higher id", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const store = yield* ChargeStore
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const ids = [yield* created(key), yield* created(key)].map(({ id }) => id)
      const [low = "", high = ""] = ids.toSorted()
      yield* sql`UPDATE charges SET status = 'processing', sequence = 1 WHERE ${sql.in("id", ids)}`
      const changes = [yield* changeOf(high, "emitted"), yield* changeOf(low, "emitted")]
      const batch = yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`SELECT FROM charges WHERE id = ${low}::uuid FOR UPDATE`
          const batch = yield* inOneBatch(changes, store.change)
          yield* isWaitedFor
          yield* sql`SELECT FROM charges WHERE id = ${high}::uuid FOR UPDATE NOWAIT`
          return batch
        })
      )
      assert.deepStrictEqual(yield* Fiber.join(batch), [true, true])
    })
  )

  it.effect("has locked no payout with a higher id", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const store = yield* PayoutStore
      const ids = yield* Ids
      const { accountId, key } = yield* funded(5000)
      yield* operated("PATCH", `/accounts/${accountId}`, { auto_payout_enabled: false })
      const payoutIds = [yield* paidOut(key), yield* paidOut(key)].map(({ id }) => id)
      const [low = "", high = ""] = payoutIds.toSorted()
      const nowMs = yield* Clock.currentTimeMillis
      const changes = yield* Effect.forEach([high, low], (id) =>
        Effect.map(store.find(id), (payout) => decidePayoutChange(payout!, "canceled", {}, nowMs, ids)!)
      )
      const batch = yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`SELECT FROM payouts WHERE id = ${low}::uuid FOR UPDATE`
          const batch = yield* inOneBatch(changes, store.change)
          yield* isWaitedFor
          yield* sql`SELECT FROM payouts WHERE id = ${high}::uuid FOR UPDATE NOWAIT`
          return batch
        })
      )
      assert.deepStrictEqual(yield* Fiber.join(batch), [true, true])
    })
  )

  it.effect("IDEM-5: has inserted no charge with a later key", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const store = yield* ChargeStore
      const ids = yield* Ids
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const { id } = yield* created(key)
      const charge = (yield* store.find(id))!
      const insertElsewhere = (idempotencyKey: string) => sql`
        WITH made AS MATERIALIZED (SELECT uuidv7() AS id),
        claimed AS (
          INSERT INTO charge_keys (digest, charge_id)
          SELECT idempotency_digest(c.application_id, c.origin, ${idempotencyKey}), made.id FROM charges c, made
          WHERE c.id = ${id}::uuid
        )
        INSERT INTO charges SELECT (jsonb_populate_record(c,
          jsonb_build_object('id', made.id, 'idempotency_key', ${idempotencyKey}::text))).*
        FROM charges c, made WHERE c.id = ${id}::uuid`
      const batch = yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* insertElsewhere("key a")
          const batch = yield* inOneBatch(["key b", "key a"], (idempotencyKey) =>
            store.insert({ ...charge, id: ids.next().id, idempotencyKey, sequence: 1 }, 60_000, undefined)
          )
          yield* isWaitedFor
          // A deadlock where the batch has inserted it.
          yield* insertElsewhere("key b")
          return batch
        })
      )
      const answers = yield* Fiber.join(batch)
      assert.deepStrictEqual(
        answers.map(({ existing }) => existing?.idempotencyKey),
        ["key b", "key a"]
      )
    })
  )

  it.effect("BAL-7: has locked `available` of its account before any other ledger account", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { operate } = yield* TestService
      const { accountId, key } = yield* funded(5000)
      const { id } = yield* created(key)
      const pay = operate("POST", `/operator/v1/simulator/charges/${id}/pay`)
      const paid = yield* paidCharge(key)
      const giveBack = operate("POST", `/operator/v1/simulator/charges/${paid.id}/return`, { body: { as: "refunded" } })
      for (const movement of [payOut(key, holding), pay, giveBack]) {
        const waiting = yield* sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`SELECT FROM ledger_accounts WHERE owner_id = ${accountId}::uuid AND kind = 'available' FOR UPDATE`
            const waiting = yield* Effect.forkChild(movement, { startImmediately: true })
            yield* isWaitedFor
            yield* sql`SELECT FROM ledger_accounts WHERE owner_id = ${accountId}::uuid AND kind <> 'available'
              FOR UPDATE NOWAIT`
            return waiting
          })
        )
        assert.include([200, 201], (yield* Fiber.join(waiting)).status)
      }
      yield* assertLedgerHolds
    })
  )
})

layer(TestService.layer({ settings }), { excludeTestServices: true })("A locked balance", (it) => {
  it.effect("is passed by: the payment of another account in the same batch is stored meanwhile", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const store = yield* ChargeStore
      const own = yield* funded(1000)
      const other = yield* funded(1000)
      const changes = yield* Effect.forEach([own, other], ({ key }) =>
        Effect.flatMap(created(key), ({ id }) => changeOf(id, "paid"))
      )
      const locked = yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`SELECT FROM ledger_accounts WHERE owner_id = ${own.accountId}::uuid FOR UPDATE`
          const [locked, free] = yield* Effect.forEach(changes, (change) =>
            Effect.forkChild(store.change(change), { startImmediately: true })
          )
          assert.isTrue(yield* Fiber.join(free!))
          assert.isUndefined(locked!.pollUnsafe())
          return locked!
        })
      )
      assert.isTrue(yield* Fiber.join(locked))
      assert.deepStrictEqual([yield* availableOf(own.key), yield* availableOf(other.key)], [2000, 2000])
      yield* assertLedgerHolds
    })
  )

  it.effect("is passed by: another account's payout that is decided under the lock is stored meanwhile", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const payouts = yield* PayoutStore
      const { create } = yield* NewPayoutStore
      const ids = yield* Ids
      // Accounts with a duplicate guard: their payouts are decided under the lock.
      const [own, other] = [yield* funded(5000), yield* funded(5000)]
      const requests = yield* Effect.forEach([own, other], ({ accountId, key }) =>
        Effect.gen(function* () {
          yield* operated("PATCH", `/accounts/${accountId}`, { payout_duplicate_window: 60 })
          const payout = (yield* payouts.find((yield* paidOut(key)).id))!
          const requested = { ...payout, id: ids.next().id, amount: 700, idempotencyKey: newKey(), sequence: 1 }
          return { requested, caller: undefined }
        })
      )
      const locked = yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`SELECT FROM ledger_accounts WHERE owner_id = ${own.accountId}::uuid FOR UPDATE`
          const [locked, free] = yield* Effect.forEach(requests, (request) =>
            Effect.forkChild(create(request), { startImmediately: true })
          )
          assert.strictEqual((yield* Fiber.join(free!))._tag, "Created")
          assert.isUndefined(locked!.pollUnsafe())
          return locked!
        })
      )
      assert.strictEqual((yield* Fiber.join(locked))._tag, "Created")
      yield* assertLedgerHolds
    })
  )

  it.effect("CHG-4: delays no answer of the acquirer to its own account's charges", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { operate } = yield* TestService
      const { accountId, key } = yield* funded(1000)
      const { id } = yield* created(key)
      const payment = yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`SELECT FROM ledger_accounts WHERE owner_id = ${accountId}::uuid FOR UPDATE`
          const payment = yield* Effect.forkChild(operate("POST", `/operator/v1/simulator/charges/${id}/pay`), {
            startImmediately: true
          })
          yield* isWaitedFor
          assert.strictEqual((yield* created(key)).status, "pending")
          assert.isUndefined(payment.pollUnsafe())
          return payment
        })
      )
      assert.strictEqual((yield* Fiber.join(payment)).status, 200)
    })
  )
})
