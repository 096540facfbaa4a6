/**
 * A settlement (connection and end-to-end id) has one effect, whichever server reports it and in whatever way, and never
 * misses what arrived before it or arrives with it. Two servers share a database, as two processes do.
 */
import { assert, layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { AcquirerNotification, Outcome } from "../../src/providers/AcquirerNotification.ts"
import { created, retrieve } from "../support/ChargeRequests.ts"
import {
  exceptionOf,
  exceptionsOf,
  movedTo,
  newConnection,
  newPix,
  notified,
  paymentOf,
  resolved,
  txidOf,
  unallocated
} from "../support/Exceptions.ts"
import { incompleteKeys } from "../support/KeyTables.ts"
import { assertLedgerHolds, eventStatusesOf, ledgerBalancesOf, operated, simulated } from "../support/Money.ts"
import { createMigratedDatabase } from "../support/Postgres.ts"
import { secretsKeys } from "../support/StoppableService.ts"
import { TestService } from "../support/TestService.ts"

type Server = Layer.Success<ReturnType<typeof TestService.layer>>

class Servers extends Context.Service<Servers, readonly [Context.Context<Server>, Context.Context<Server>]>()(
  "Servers"
) {}

/** Two servers on one database. The second one answers the tests' own requests. */
const servers = Layer.effectContext(
  Effect.gen(function* () {
    const databaseUrl = yield* createMigratedDatabase
    const service = TestService.layer({
      databaseUrl,
      settings: { acquirerTimeoutMs: 5000, simulatorSettleMs: 0, secretsKeys }
    })
    const pair = [yield* Layer.build(Layer.fresh(service)), yield* Layer.build(Layer.fresh(service))] as const
    return Context.add(pair[1], Servers, pair)
  })
)

/** Sends each to both servers, all at once and twice. Gives the outcomes. */
const raced = (all: ReadonlyArray<AcquirerNotification>) =>
  Effect.flatMap(Servers, (pair) =>
    Effect.forEach(
      [...all, ...all].flatMap((notification) => pair.map((server) => ({ notification, server }))),
      ({ notification, server }) => Effect.provide(notified(notification), server),
      { concurrency: "unbounded" }
    )
  )

const isEffect = (outcome: Outcome) => outcome !== "ignored" && outcome !== "unknown"

/** The row of a settlement, and the keys that name it. */
const claimsOf = (endToEndId: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const rows = yield* sql<{ charge_id: string | null }>`
      SELECT charge_id FROM charge_settlements WHERE end_to_end_id = ${endToEndId}`
    const keys = yield* sql<{ key: string }>`
      SELECT replace(key, ${endToEndId}, 'E') AS key FROM notification_keys
      WHERE key LIKE ${`%${endToEndId}%`} AND key LIKE 'paid:%' ORDER BY 1`
    return { of: rows.map(({ charge_id }) => charge_id), keys: keys.map(({ key }) => key) }
  })

const returnOf = (endToEndId: string, amount = 1000) =>
  ({ _tag: "charge.refunded", txid: "", endToEndId, amount, externalId: newPix() }) as const

const medOf = (endToEndId: string, amount = 1000) =>
  ({ _tag: "med.opened", txid: "", endToEndId, amount, reason: "fraud", externalId: newPix() }) as const

const caller = Effect.flatMap(TestService, ({ makeCaller }) => makeCaller())

layer(servers, { excludeTestServices: true })("A settlement", (it) => {
  it.effect("CHG-8, CHG-9, BAL-11: that is reported in every way at once has one effect", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { accountId, key } = yield* caller
      const before = yield* unallocated()
      const pixes: Array<string> = []
      for (let round = 0; round < 6; round++) {
        const [one, two] = [yield* created(key, { amount: 1000 }), yield* created(key, { amount: 1000 })]
        const endToEndId = newPix()
        pixes.push(endToEndId)
        const outcomes = yield* raced([
          // In a batch, unless it comes second.
          paymentOf(one.id, { endToEndId }),
          paymentOf(two.id, { endToEndId, amount: 1000 }),
          // In a transaction.
          paymentOf("", { endToEndId, amount: 1000 }),
          paymentOf("", { endToEndId, amount: 1000, externalId: newPix() })
        ])
        assert.lengthOf(outcomes.filter(isEffect), 1, outcomes.join())
        const effects = yield* sql`SELECT id FROM charges WHERE end_to_end_id = ${endToEndId}
          UNION ALL SELECT id FROM acquirer_exceptions WHERE end_to_end_id = ${endToEndId}`
        assert.lengthOf(effects, 1)
      }
      const paid = yield* sql`SELECT FROM charges WHERE end_to_end_id IN ${sql.in(pixes)}`
      assert.strictEqual((yield* ledgerBalancesOf(accountId))["available"], paid.length * 1000)
      assert.strictEqual((yield* unallocated()) - before, (pixes.length - paid.length) * 1000)
      yield* assertLedgerHolds
    })
  )

  it.effect("CHG-9, BAL-11: is of its connection: another one may report the same id, before and after", () =>
    Effect.gen(function* () {
      const { accountId, key } = yield* caller
      const [bankA, bankB] = [yield* newConnection(), yield* newConnection()]
      for (const isBefore of [true, false]) {
        const { id } = yield* created(key, { amount: 5000 })
        yield* movedTo(bankB, id)
        const before = [yield* unallocated(bankA), (yield* ledgerBalancesOf(accountId))["available"]!] as const
        const endToEndId = newPix()
        const foreign = paymentOf("", { endToEndId, amount: 1, connectionId: bankA })
        const own = paymentOf(id, { endToEndId, amount: 5000, connectionId: bankB })
        const outcomes = yield* Effect.forEach(isBefore ? [foreign, own] : [own, foreign], notified)
        assert.deepStrictEqual(outcomes.toSorted(), ["applied", "exception"])
        assert.deepStrictEqual((yield* raced([foreign, own])).filter(isEffect), [])
        assert.strictEqual((yield* retrieve(key, id)).body.status, "paid")
        assert.deepInclude(yield* exceptionOf(endToEndId), { connection_id: bankA, unallocated: 1 })
        const after = [yield* unallocated(bankA), (yield* ledgerBalancesOf(accountId))["available"]!] as const
        assert.deepStrictEqual([after[0] - before[0], after[1] - before[1]], [1, 5000])
        // A return is of the Pix of its own connection.
        const back = { ...returnOf(endToEndId, 5000), connectionId: bankB }
        assert.strictEqual(yield* notified(back), "applied")
        assert.strictEqual((yield* retrieve(key, id)).body.status, "refunded")
        assert.strictEqual(yield* unallocated(bankB), 0)
        const found = yield* operated<{ data: ReadonlyArray<{ id: string }> }>(
          "GET",
          `/charges?end_to_end_id=${endToEndId}`
        )
        assert.deepStrictEqual(
          found.data.map((charge) => charge.id),
          [id]
        )
      }
      // Both may pay a charge.
      const charges = [yield* created(key, { amount: 1000 }), yield* created(key, { amount: 2000 })]
      const endToEndId = newPix()
      for (const [at, connectionId] of [bankA, bankB].entries()) {
        yield* movedTo(connectionId, charges[at]!.id)
        assert.strictEqual(yield* notified(paymentOf(charges[at]!.id, { endToEndId, connectionId })), "applied")
      }
      const found = yield* operated<{ data: ReadonlyArray<{ id: string }> }>(
        "GET",
        `/charges?end_to_end_id=${endToEndId}`
      )
      assert.sameMembers(
        found.data.map((charge) => charge.id),
        charges.map((charge) => charge.id)
      )
      yield* assertLedgerHolds
    })
  )

  it.effect("BAL-13: reported again with another amount is one exception, with the difference", () =>
    Effect.gen(function* () {
      const { accountId, key } = yield* caller
      const connection = yield* newConnection("return")
      for (const other of [1500, 900]) {
        const before = yield* unallocated(connection)
        const { id } = yield* created(key, { amount: 1000 })
        yield* movedTo(connection, id)
        const payment = paymentOf(id, { amount: 1000, connectionId: connection })
        const endToEndId = payment.endToEndId!
        assert.strictEqual(yield* notified(payment), "applied")
        const outcomes = yield* raced([{ ...payment, amount: other }, payment])
        assert.deepStrictEqual(outcomes.filter(isEffect), ["exception"])
        assert.deepInclude(yield* exceptionOf(endToEndId), {
          kind: "conflicting_settlement",
          // The rule of the connection is not applied.
          status: "open",
          action: null,
          amount: other,
          expected_amount: 1000,
          unallocated: other - 1000,
          charge_id: id,
          account_id: accountId
        })
        // A third amount changes nothing.
        assert.strictEqual(yield* notified({ ...payment, amount: 7777 }), "ignored")
        assert.strictEqual((yield* unallocated(connection)) - before, other - 1000)
        assert.strictEqual((yield* retrieve(key, id)).body.status, "paid")
        // A return of all of it takes the charge's money, then that of the exception.
        if (other < 1000) continue
        assert.strictEqual(yield* notified({ ...returnOf(endToEndId, other), connectionId: connection }), "applied")
        assert.strictEqual((yield* retrieve(key, id)).body.status, "refunded")
        assert.deepInclude(yield* exceptionOf(endToEndId), { status: "resolved", action: "return", unallocated: 0 })
        assert.strictEqual(yield* unallocated(connection), before)
      }
      yield* assertLedgerHolds
    })
  )

  it.effect("BAL-13: an exception that is reported again with another amount, and both at once", () =>
    Effect.gen(function* () {
      const { accountId, key } = yield* caller
      const connection = yield* newConnection()
      for (let round = 0; round < 6; round++) {
        const before = [yield* unallocated(connection), (yield* ledgerBalancesOf(accountId))["available"]!] as const
        const { id } = yield* created(key, { amount: 1000 })
        yield* movedTo(connection, id)
        const payment = paymentOf(id, { amount: 1000, connectionId: connection })
        const outcomes = yield* raced([payment, { ...payment, amount: 999 }])
        assert.lengthOf(outcomes.filter(isEffect), 2, outcomes.join())
        const isPaid = (yield* retrieve(key, id)).body.status === "paid"
        assert.sameMembers(
          (yield* exceptionsOf(payment.endToEndId)).map(({ kind, unallocated: left }) => `${kind} ${left}`),
          isPaid ? ["conflicting_settlement -1"] : ["wrong_amount 999", "conflicting_settlement 1"]
        )
        const after = [yield* unallocated(connection), (yield* ledgerBalancesOf(accountId))["available"]!] as const
        assert.deepStrictEqual([after[0] - before[0], after[1] - before[1]], isPaid ? [-1, 1000] : [1000, 0])
      }
      yield* assertLedgerHolds
    })
  )

  it.effect("DSP-10, BAL-11: and its return, in either order and at once: both are applied, once", () =>
    Effect.gen(function* () {
      const pair = yield* Servers
      const { accountId, key } = yield* caller
      const before = yield* unallocated()
      const assertReturned = (id: string) =>
        Effect.gen(function* () {
          assert.strictEqual((yield* retrieve(key, id)).body.status, "refunded")
          assert.strictEqual(yield* unallocated(), before)
          assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0 })
        })
      for (const server of pair) {
        for (const next of pair) {
          const [early, late] = [yield* created(key, { amount: 1000 }), yield* created(key, { amount: 1000 })]
          const payment = paymentOf(early.id)
          const back = returnOf(payment.endToEndId!)
          assert.strictEqual(yield* Effect.provide(notified(back), server), "exception")
          assert.strictEqual((yield* unallocated()) - before, -1000)
          assert.strictEqual(yield* Effect.provide(notified(payment), next), "applied")
          assert.strictEqual(yield* Effect.provide(notified(payment), server), "ignored")
          assert.strictEqual(yield* Effect.provide(notified({ ...payment, txid: "", amount: 1000 }), next), "ignored")
          yield* assertReturned(early.id)
          const paid = paymentOf(late.id)
          assert.strictEqual(yield* Effect.provide(notified(paid), server), "applied")
          assert.strictEqual(yield* Effect.provide(notified(returnOf(paid.endToEndId!)), next), "applied")
          yield* assertReturned(late.id)
        }
      }
      for (let round = 0; round < 12; round++) {
        const { id } = yield* created(key, { amount: 1000 })
        const payment = paymentOf(id)
        const back = returnOf(payment.endToEndId!)
        yield* raced([payment, round % 2 === 0 ? back : { ...back, txid: txidOf(id) }])
        yield* assertReturned(id)
        assert.lengthOf(
          (yield* eventStatusesOf(id)).filter((each) => each.startsWith("charge.pix.refunded")),
          1
        )
      }
      // The payment is an exception itself.
      for (let round = 0; round < 8; round++) {
        const payment = paymentOf("", { amount: 1000 })
        const outcomes = yield* raced([payment, returnOf(payment.endToEndId!)])
        assert.isAtMost(outcomes.filter(isEffect).length, 2)
        assert.strictEqual(yield* unallocated(), before)
      }
      yield* assertLedgerHolds
    })
  )

  it.effect("DSP-10, BAL-11: and a MED of it at once: its money is blocked, once", () =>
    Effect.gen(function* () {
      const { accountId, key } = yield* caller
      for (let round = 1; round <= 12; round++) {
        const { id } = yield* created(key, { amount: 1000 })
        const payment = paymentOf(id)
        const med = medOf(payment.endToEndId!)
        yield* raced([payment, round % 2 === 0 ? med : { ...med, txid: txidOf(id) }])
        assert.strictEqual((yield* retrieve(key, id)).body.status, "infraction")
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, blocked: round * 1000 })
      }
      yield* assertLedgerHolds
    })
  )

  it.effect("DSP-10: and a return that names its charge, at once: both are applied, once", () =>
    Effect.gen(function* () {
      const { accountId, key } = yield* caller
      for (let round = 0; round < 12; round++) {
        const { id } = yield* created(key, { amount: 1000 })
        const payment = paymentOf(id)
        const endToEndId = payment.endToEndId!
        yield* raced([payment, { _tag: "charge.refunded", txid: txidOf(id), endToEndId, externalId: newPix() }])
        assert.strictEqual((yield* retrieve(key, id)).body.status, "refunded")
        assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0 })
      }
      yield* assertLedgerHolds
    })
  )

  it.effect("CHG-9, BAL-12: an accepted exception and copies of it, of another charge too: one payment", () =>
    Effect.gen(function* () {
      const { accountId, key } = yield* caller
      for (const server of yield* Servers) {
        const [one, two] = [yield* created(key, { amount: 1000 }), yield* created(key, { amount: 1000 })]
        const before = (yield* ledgerBalancesOf(accountId))["available"]!
        const payment = paymentOf("", { amount: 1000 })
        assert.strictEqual(yield* Effect.provide(notified(payment), server), "exception")
        const { id } = yield* exceptionOf(payment.endToEndId)
        yield* resolved(id, { action: "accept", charge_id: one.id })
        assert.deepStrictEqual((yield* claimsOf(payment.endToEndId!)).of, [one.id])
        const copies = yield* raced([payment, paymentOf(two.id, { endToEndId: payment.endToEndId! })])
        assert.deepStrictEqual(copies.filter(isEffect), [])
        assert.strictEqual((yield* ledgerBalancesOf(accountId))["available"], before + 1000)
        assert.strictEqual((yield* retrieve(key, two.id)).body.status, "pending")
      }
      yield* assertLedgerHolds
    })
  )

  it.effect("CHG-9, BAL-11: is claimed in one place, by its charge or its exception, or waits there", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { key } = yield* caller
      const { id } = yield* created(key, { amount: 1000 })
      const endToEndId = newPix()
      yield* simulated(`/charges/${id}/pay`, { end_to_end_id: endToEndId })
      assert.deepStrictEqual(yield* claimsOf(endToEndId), { of: [id], keys: [] })

      const externalId = newPix()
      const another = yield* created(key, { amount: 1000 })
      yield* notified(paymentOf(another.id, { externalId }))
      assert.deepStrictEqual((yield* claimsOf(externalId)).keys, ["paid:E"])

      const payment = paymentOf("", { amount: 500 })
      yield* notified(returnOf(payment.endToEndId!, 500))
      assert.deepStrictEqual(yield* claimsOf(payment.endToEndId!), { of: [null], keys: [] })
      yield* notified(payment)
      const exception = (yield* exceptionsOf(payment.endToEndId)).find(({ kind }) => kind === "unidentified_payment")
      assert.deepStrictEqual(yield* claimsOf(payment.endToEndId!), { of: [exception!.id], keys: [] })
      assert.deepStrictEqual(yield* sql`SELECT FROM early_reversals WHERE end_to_end_id = ${payment.endToEndId!}`, [])
      assert.deepStrictEqual(yield* sql.unsafe(incompleteKeys), [])
    })
  )
})
