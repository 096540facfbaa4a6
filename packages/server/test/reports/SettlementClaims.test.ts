/** A settlement has one effect, whichever server and connection reports it. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { AcquirerNotification, Outcome } from "../../src/providers/AcquirerNotification.ts"
import { created, retrieve } from "../support/ChargeRequests.ts"
import {
  exceptionOf,
  exceptionsOf,
  newConnection,
  newPix,
  notified,
  paymentOf,
  resolved,
  unallocated
} from "../support/Exceptions.ts"
import { incompleteKeys } from "../support/KeyTables.ts"
import { assertLedgerHolds, ledgerBalancesOf, simulated } from "../support/Money.ts"
import { createDatabase } from "../support/Postgres.ts"
import { secretsKeys } from "../support/StoppableService.ts"
import { TestService } from "../support/TestService.ts"

const settings = { acquirerTimeoutMs: 5000, simulatorSettleMs: 0 }

const NIL = "00000000-0000-0000-0000-000000000000"

const isEffect = (outcome: Outcome) => outcome !== "ignored" && outcome !== "unknown"

/** The row of a settlement, and the keys that name it. */
const claimsOf = (endToEndId: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const rows = yield* sql<{ charge_id: string }>`
      SELECT charge_id FROM charge_settlements WHERE end_to_end_id = ${endToEndId}`
    const keys = yield* sql<{ key: string }>`
      SELECT replace(key, ${endToEndId}, 'E') AS key FROM acquirer_notifications
      WHERE key LIKE ${`%${endToEndId}%`} AND key LIKE 'paid:%' ORDER BY 1`
    return { of: rows.map(({ charge_id }) => charge_id), keys: keys.map(({ key }) => key) }
  })

const returnOf = (endToEndId: string, amount = 1000) =>
  ({ _tag: "charge.refunded", txid: "", endToEndId, amount, externalId: newPix() }) as const

/** Two servers of one installation. */
const pair = Effect.gen(function* () {
  const service = TestService.layer({ databaseUrl: yield* createDatabase(), settings: { ...settings, secretsKeys } })
  return [yield* Layer.build(Layer.fresh(service)), yield* Layer.build(Layer.fresh(service))] as const
})

type Pair = Effect.Success<typeof pair>

/** Sends each to both servers, all at once and twice. Gives the outcomes. */
const raced = (pair: Pair, all: ReadonlyArray<AcquirerNotification>) =>
  Effect.forEach(
    [...all, ...all].flatMap((notification) => pair.map((server) => ({ notification, server }))),
    ({ notification, server }) => Effect.provide(notified(notification), server),
    { concurrency: "unbounded" }
  )

describe("Two servers", () => {
  const run = <E>(test: (pair: Pair) => Effect.Effect<void, E, TestService | SqlClient>) =>
    Effect.gen(function* () {
      const servers = yield* pair
      yield* Effect.provide(Effect.andThen(test(servers), assertLedgerHolds), servers[1])
    }).pipe(Effect.scoped)

  it.live("CHG-8, CHG-9, BAL-11: one settlement that is reported in every way at once has one effect", () =>
    run((pair) =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const sql = yield* SqlClient
        const { accountId, key } = yield* makeCaller()
        const other = yield* newConnection()
        for (let round = 0; round < 6; round++) {
          const [one, two] = [yield* created(key, { amount: 1000 }), yield* created(key, { amount: 1000 })]
          const endToEndId = newPix()
          const outcomes = yield* raced(pair, [
            // In a batch, unless it comes second.
            paymentOf(one.id, { endToEndId }),
            paymentOf(two.id, { endToEndId, amount: 1000 }),
            // In a transaction.
            paymentOf(one.id, { endToEndId, amount: 999 }),
            paymentOf("", { endToEndId, amount: 1000 }),
            paymentOf("", { endToEndId, amount: 1000, connectionId: other, externalId: newPix() })
          ])
          assert.lengthOf(outcomes.filter(isEffect), 1, outcomes.join())
          const effects = yield* sql`SELECT id FROM charges WHERE end_to_end_id = ${endToEndId}
            UNION ALL SELECT id FROM acquirer_exceptions WHERE end_to_end_id = ${endToEndId}`
          assert.lengthOf(effects, 1)
        }
        const { available } = yield* ledgerBalancesOf(accountId)
        const [posted] = yield* sql<{ sum: string }>`
          SELECT coalesce(sum(amount), 0)::text AS sum FROM acquirer_exceptions`
        assert.strictEqual((yield* unallocated()) + (yield* unallocated(other)), Number(posted!.sum))
        const paid = yield* sql`SELECT FROM charges WHERE end_to_end_id IS NOT NULL`
        assert.strictEqual(available, paid.length * 1000)
      })
    )
  )

  it.live("DSP-10, BAL-11: a return and its payment, in either order and at once: both are applied, once", () =>
    run((pair) =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { accountId, key } = yield* makeCaller()
        const assertReturned = (id: string) =>
          Effect.gen(function* () {
            assert.strictEqual((yield* retrieve(key, id)).body.status, "refunded")
            assert.strictEqual(yield* unallocated(), 0)
            assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0 })
          })
        for (const server of pair) {
          for (const next of pair) {
            const [early, late] = [yield* created(key, { amount: 1000 }), yield* created(key, { amount: 1000 })]
            const payment = paymentOf(early.id)
            const back = returnOf(payment.endToEndId!)
            assert.strictEqual(yield* Effect.provide(notified(back), server), "exception")
            assert.strictEqual(yield* unallocated(), -1000)
            assert.strictEqual(yield* Effect.provide(notified(payment), next), "applied")
            assert.strictEqual(yield* Effect.provide(notified(payment), server), "ignored")
            assert.strictEqual(yield* Effect.provide(notified({ ...payment, txid: "" }), next), "ignored")
            yield* assertReturned(early.id)
            const paid = paymentOf(late.id)
            assert.strictEqual(yield* Effect.provide(notified(paid), server), "applied")
            assert.strictEqual(yield* Effect.provide(notified(returnOf(paid.endToEndId!)), next), "applied")
            yield* assertReturned(late.id)
          }
        }
        for (let round = 0; round < 8; round++) {
          const { id } = yield* created(key, { amount: 1000 })
          const payment = paymentOf(id)
          yield* raced(pair, [payment, returnOf(payment.endToEndId!)])
          yield* assertReturned(id)
        }
        // The payment is an exception itself.
        for (let round = 0; round < 8; round++) {
          const payment = paymentOf("", { amount: 1000 })
          const outcomes = yield* raced(pair, [payment, returnOf(payment.endToEndId!)])
          assert.isAtMost(outcomes.filter(isEffect).length, 2)
          assert.strictEqual(yield* unallocated(), 0)
        }
      })
    )
  )

  it.live("CHG-9, BAL-12: an accepted exception and copies of it, of another charge too: one payment", () =>
    run((pair) =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { accountId, key } = yield* makeCaller()
        for (const server of pair) {
          const [one, two] = [yield* created(key, { amount: 1000 }), yield* created(key, { amount: 1000 })]
          const before = (yield* ledgerBalancesOf(accountId))["available"]!
          const payment = paymentOf("", { amount: 1000 })
          assert.strictEqual(yield* Effect.provide(notified(payment), server), "exception")
          const { id } = yield* exceptionOf(payment.endToEndId)
          yield* resolved(id, { action: "accept", charge_id: one.id })
          assert.deepStrictEqual((yield* claimsOf(payment.endToEndId!)).of, [one.id])
          const copies = yield* raced(pair, [payment, paymentOf(two.id, { endToEndId: payment.endToEndId! })])
          assert.deepStrictEqual(copies.filter(isEffect), [])
          assert.strictEqual((yield* ledgerBalancesOf(accountId))["available"], before + 1000)
          assert.strictEqual((yield* retrieve(key, two.id)).body.status, "pending")
        }
      })
    )
  )
})

describe("A settlement", () => {
  it.live("CHG-9, BAL-11: is claimed in one place, by its charge, its exception or its return", () =>
    Effect.gen(function* () {
      const [server] = yield* pair
      yield* Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const sql = yield* SqlClient
        const { key } = yield* makeCaller()
        const { id } = yield* created(key, { amount: 1000 })
        const endToEndId = newPix()
        yield* simulated(`/charges/${id}/pay`, { end_to_end_id: endToEndId })
        assert.deepStrictEqual(yield* claimsOf(endToEndId), { of: [id], keys: [] })
        assert.deepStrictEqual(yield* sql`SELECT FROM acquirer_notifications`, [])

        const externalId = newPix()
        const another = yield* created(key, { amount: 1000 })
        yield* notified(paymentOf(another.id, { externalId }))
        assert.deepStrictEqual(yield* sql`SELECT key FROM acquirer_notifications`, [{ key: `paid:${externalId}` }])

        const payment = paymentOf("", { amount: 500 })
        yield* notified(returnOf(payment.endToEndId!, 500))
        assert.deepStrictEqual(yield* claimsOf(payment.endToEndId!), { of: [NIL], keys: [] })
        yield* notified(payment)
        const exception = (yield* exceptionsOf(payment.endToEndId)).find(({ kind }) => kind === "unidentified_payment")
        assert.deepStrictEqual(yield* claimsOf(payment.endToEndId!), { of: [exception!.id], keys: [] })
        assert.deepStrictEqual(yield* sql.unsafe(incompleteKeys), [])
      }).pipe(Effect.provide(server))
    }).pipe(Effect.scoped)
  )
})
