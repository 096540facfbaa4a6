/**
 * A settlement has one effect, whichever server and connection reports it, and whether it is claimed as servers of the
 * release before claim it, in `charge_settlements` alone, or by servers of both kinds.
 */
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
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
import { eventually } from "../support/Receiver.ts"
import { TestService } from "../support/TestService.ts"
import { upgradedServices } from "../support/UpgradedDatabase.ts"

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

type Pair = readonly [Started, Started]
type Started = Effect.Success<Effect.Success<ReturnType<typeof upgradedServices>>["start"]>

/** The servers of an installation: as before the upgrade has ended, as after it, and one of each kind. */
const pairs = {
  "that claim it as the release before": Effect.gen(function* () {
    const { start } = yield* upgradedServices(settings)
    return [yield* start, yield* start] as const
  }),
  "that claim it once": Effect.gen(function* () {
    const { endUpgrade, start } = yield* upgradedServices(settings)
    yield* start
    yield* endUpgrade
    return [yield* start, yield* start] as const
  }),
  "of which one started before the upgrade ended": Effect.gen(function* () {
    const { endUpgrade, start } = yield* upgradedServices(settings)
    const before = yield* start
    yield* endUpgrade
    return [before, yield* start] as const
  })
}

/** Sends each to both servers, all at once and twice. Gives the outcomes. */
const raced = (pair: Pair, all: ReadonlyArray<AcquirerNotification>) =>
  Effect.forEach(
    [...all, ...all].flatMap((notification) => pair.map((server) => ({ notification, server }))),
    ({ notification, server }) => Effect.provide(notified(notification), server),
    { concurrency: "unbounded" }
  )

describe.each(Object.entries(pairs))("Two servers %s", (_, started) => {
  const run = <E>(test: (pair: Pair) => Effect.Effect<void, E, TestService | SqlClient>) =>
    Effect.gen(function* () {
      const pair = yield* started
      yield* Effect.provide(Effect.andThen(test(pair), assertLedgerHolds), pair[1])
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
      const { endUpgrade, start } = yield* upgradedServices(settings)
      yield* start
      yield* endUpgrade
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
      }).pipe(Effect.provide(yield* start))
    }).pipe(Effect.scoped)
  )

  it.live("CHG-9, BAL-11, DSP-10: that was claimed before the upgrade ended stays claimed", () =>
    Effect.gen(function* () {
      const { endUpgrade, start } = yield* upgradedServices(settings)
      const before = yield* start
      const left = yield* Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        const charges = yield* Effect.forEach(Array.from({ length: 5 }), () => created(key, { amount: 1000 }))
        const [paid, awaited, later, returned, accepted] = charges.map(({ id }) => paymentOf(id))
        const exception = paymentOf("", { amount: 700 })
        const held = { ...accepted!, txid: "", amount: 1000 }
        yield* notified(paid!)
        for (const each of [exception, held]) yield* notified(each)
        for (const each of [awaited!, later!, returned!]) yield* notified(returnOf(each.endToEndId!))
        assert.strictEqual(yield* notified(returned!), "applied")
        // As servers of the release before store them.
        const keysOf = (payment: typeof exception) => claimsOf(payment.endToEndId!)
        assert.deepStrictEqual(yield* keysOf(paid!), { of: [charges[0]!.id], keys: ["paid:E"] })
        assert.deepStrictEqual(yield* keysOf(exception), { of: [], keys: ["paid:E"] })
        assert.deepStrictEqual(yield* keysOf(awaited!), { of: [], keys: ["paid:E", "paid:E:before"] })
        assert.deepStrictEqual(yield* keysOf(returned!), {
          of: [charges[3]!.id],
          keys: ["paid:E", "paid:E:after", "paid:E:before"]
        })
        return { charges, paid: paid!, awaited: awaited!, later: later!, returned: returned!, exception, held }
      }).pipe(Effect.provide(before))

      yield* endUpgrade
      const after = yield* start
      yield* Effect.gen(function* () {
        const sql = yield* SqlClient
        const { awaited, charges, exception, held, later, paid, returned } = left
        assert.deepStrictEqual((yield* claimsOf(awaited.endToEndId!)).of, [NIL])
        const raised = (yield* exceptionOf(exception.endToEndId)).id
        assert.deepStrictEqual((yield* claimsOf(exception.endToEndId!)).of, [raised])
        assert.deepStrictEqual(yield* sql.unsafe(incompleteKeys), [])
        const copies = yield* raced(
          [before, after],
          [
            paid,
            returned,
            exception,
            { ...paid, txid: "", amount: 1000 },
            { ...returned, txid: "", amount: 1000 },
            paymentOf(charges[4]!.id, { endToEndId: exception.endToEndId! })
          ]
        )
        assert.deepStrictEqual(copies.filter(isEffect), [])
        // The payments of returns that came before arrive at a server of either kind.
        assert.strictEqual(yield* Effect.provide(notified(awaited), after), "applied")
        assert.strictEqual(yield* Effect.provide(notified(later), before), "applied")
        const again = yield* raced([before, after], [awaited, later])
        assert.deepStrictEqual(again.filter(isEffect), [])
        yield* resolved((yield* exceptionOf(held.endToEndId)).id, { action: "accept", charge_id: charges[4]!.id })
        assert.deepStrictEqual((yield* raced([before, after], [held])).filter(isEffect), [])
        const statuses = yield* sql<{ status: string }>`SELECT status FROM charges ORDER BY id`
        assert.deepStrictEqual(
          statuses.map(({ status }) => status),
          ["paid", "refunded", "refunded", "refunded", "paid"]
        )
        assert.strictEqual(yield* unallocated(), 700)
        assert.deepStrictEqual(yield* sql.unsafe(incompleteKeys), [])
        yield* assertLedgerHolds
      }).pipe(Effect.provide(after))
    }).pipe(Effect.scoped)
  )

  it.live("CHG-9, BAL-11: that is claimed while the upgrade ends is claimed for servers that start afterwards", () =>
    Effect.gen(function* () {
      const { endUpgrade, start } = yield* upgradedServices(settings)
      const before = yield* start
      const owner = Context.get(before, SqlClient)
      const waiting = (table: string, mode: string) =>
        eventually(
          owner`SELECT FROM pg_locks WHERE NOT granted AND relation = ${table}::regclass AND mode = ${mode}`,
          ({ length }) => length > 0
        )
      const payments = [0, 1].map(() => paymentOf("", { amount: 700 })) as [AcquirerNotification, AcquirerNotification]
      const copies = Effect.forEach(payments, notified)

      // The end waits for the one, which has claimed its key and commits afterwards.
      const unblocked = yield* Effect.gen(function* () {
        yield* owner`LOCK TABLE acquirer_exceptions IN SHARE MODE`
        const first = yield* Effect.forkChild(Effect.provide(notified(payments[0]), before))
        yield* waiting("acquirer_exceptions", "RowExclusiveLock")
        const ended = yield* Effect.forkChild(endUpgrade)
        yield* waiting("acquirer_notifications", "ShareRowExclusiveLock")
        return { ended, first }
      }).pipe(owner.withTransaction)
      assert.strictEqual(yield* Fiber.join(unblocked.first), "exception")
      yield* Fiber.join(unblocked.ended)
      // The other one comes to a server that started before.
      assert.strictEqual(yield* Effect.provide(notified(payments[1]), before), "exception")

      const after = yield* start
      assert.deepStrictEqual(yield* Effect.provide(copies, after), ["ignored", "ignored"])
      assert.deepStrictEqual(yield* Effect.provide(copies, before), ["ignored", "ignored"])
      assert.strictEqual(yield* Effect.provide(unallocated(), after), 1400)
    }).pipe(Effect.scoped)
  )
})
