/** The entries of every movement, and what the database refuses. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { created } from "../support/ChargeRequests.ts"
import {
  assertLedgerHolds,
  availableOf,
  balanceOf,
  entriesOf,
  failing,
  funded,
  holding,
  ledgerBalancesOf,
  operated,
  paidCharge,
  paidOut,
  payoutReaching,
  simulated,
  verification
} from "../support/Money.ts"
import { eventually } from "../support/Receiver.ts"
import { type Fields, TestService, whenFree } from "../support/TestService.ts"

const settings = { acquirerTimeoutMs: 300, simulatorSettleMs: 0 }

layer(TestService.layer({ settings }), { excludeTestServices: true })("The ledger", (it) => {
  const fee = { fixed: 30, basis_points: 0 }

  it.effect("BAL-2: A paid Pix charge credits `available`", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const waiting = yield* created(key, { amount: 700 })
      assert.deepStrictEqual(yield* entriesOf(waiting.id), [])
      const { id } = yield* paidCharge(key, 1000)
      assert.deepStrictEqual(yield* entriesOf(id), ["charge.paid acquirer>available 1000"])
      assert.deepStrictEqual(yield* ledgerBalancesOf(accountId), {
        available: 1000,
        pending: 0,
        blocked: 0,
        payouts_in_transit: 0,
        returns_in_transit: 0
      })
      yield* assertLedgerHolds
    })
  )

  it.effect("BAL-2: or `pending` when the account has a release delay; a release loop moves it when due", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const sql = yield* SqlClient
      const { accountId, key } = yield* makeCaller({ account: { release_delay: 3600 } })
      const { id } = yield* paidCharge(key, 1000)
      const later = yield* paidCharge(key, 300)
      assert.deepStrictEqual(yield* entriesOf(id), ["charge.paid acquirer>pending 1000"])
      assert.deepInclude(yield* balanceOf(key), { available: 0, pending: 1300, total: 1300 })
      const [row] = yield* sql<{ seconds: number }>`SELECT extract(epoch FROM r.due_at - c.paid_at)::integer AS seconds
        FROM releases r JOIN charges c ON c.id = r.charge_id WHERE c.id = ${id}::uuid`
      assert.strictEqual(row?.seconds, 3600)
      // One of them becomes due; the account's later delay of zero does not matter to it.
      yield* operated("PATCH", `/accounts/${accountId}`, { release_delay: 0 })
      yield* sql`UPDATE releases SET due_at = now() WHERE charge_id = ${id}::uuid`
      yield* eventually(availableOf(key), (available) => available > 0)
      assert.deepStrictEqual(yield* entriesOf(id), [
        "charge.paid acquirer>pending 1000",
        "charge.released pending>available 1000"
      ])
      assert.deepStrictEqual(yield* entriesOf(later.id), ["charge.paid acquirer>pending 300"])
      assert.deepInclude(yield* balanceOf(key), { available: 1000, pending: 300, total: 1300 })
      yield* assertLedgerHolds
    })
  )

  it.effect(
    "DSP-1, DSP-3, DSP-4, CHG-26: MED opened: `available→blocked`. Won: back. Lost: `blocked→acquirer`. Refunded: from `available`",
    () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { accountId, key } = yield* makeCaller()
        const ids = yield* Effect.forEach([100, 200, 400, 800, 1600, 3200], (amount) =>
          Effect.map(paidCharge(key, amount), ({ id }) => id)
        )
        const [open, won, lost, late, refunded, operatorRefunded] = ids as [
          string,
          string,
          string,
          string,
          string,
          string
        ]
        const med = (id: string) =>
          Effect.map(
            simulated<{ id: string }>(`/charges/${id}/infraction`, { reason: "fraud" }, 201),
            (dispute) => dispute.id
          )
        yield* med(open)
        yield* simulated(`/disputes/${yield* med(won)}/win`)
        yield* simulated(`/disputes/${yield* med(lost)}/lose`)
        const lateDispute = yield* med(late)
        yield* simulated(`/disputes/${lateDispute}/win`)
        yield* simulated(`/disputes/${lateDispute}/lose`)
        yield* simulated(`/charges/${refunded}/refund`)
        yield* operated("POST", `/charges/${operatorRefunded}/refund`)
        const paid = (amount: number) => `charge.paid acquirer>available ${amount}`
        const blocked = (amount: number) => `charge.infraction available>blocked ${amount}`
        const freed = (amount: number) => `charge.dispute_won blocked>available ${amount}`
        assert.deepStrictEqual(yield* Effect.forEach(ids, entriesOf), [
          [paid(100), blocked(100)],
          [paid(200), blocked(200), freed(200)],
          [paid(400), blocked(400), "charge.charged_back blocked>acquirer 400"],
          [paid(800), blocked(800), freed(800), "charge.charged_back available>acquirer 800"],
          [paid(1600), "charge.refunded available>acquirer 1600"],
          [
            paid(3200),
            "charge.refund_ordered available>returns_in_transit 3200",
            "charge.refunded returns_in_transit>acquirer 3200"
          ]
        ])
        assert.deepStrictEqual(yield* ledgerBalancesOf(accountId), {
          available: 200,
          pending: 0,
          blocked: 100,
          payouts_in_transit: 0,
          returns_in_transit: 0
        })
        yield* assertLedgerHolds
      })
  )

  it.effect("DSP-5, BAL-5: An immediate return takes from `available`, below zero where it must", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const { id } = yield* paidCharge(key, 1000)
      yield* paidOut(key, { amount: 600, ...holding })
      yield* simulated(`/charges/${id}/return`, { as: "charged_back" })
      assert.deepStrictEqual(yield* entriesOf(id), [
        "charge.paid acquirer>available 1000",
        "charge.charged_back available>acquirer 1000"
      ])
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: -600, pending: 0, blocked: 0 })
      yield* assertLedgerHolds
    })
  )

  it.effect("PAY-1, PAY-5: a payout created, completed, failed, canceled", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { accountId, key } = yield* funded(10_000, { payout_fee: fee, auto_payout_enabled: false })
      const [pending, canceled, failed, completed] = yield* Effect.forEach([{}, {}, failing, {}], (fields) =>
        paidOut(key, { amount: 1000, ...fields })
      )
      const feesOf = sql<{ balance: bigint }>`
        SELECT balance FROM ledger_accounts WHERE kind = 'fees' AND owner_id = ${accountId}::uuid`
      const feesBefore = yield* feesOf
      yield* operated("POST", `/payouts/${canceled!.id}/cancel`)
      for (const { id } of [failed!, completed!]) yield* operated("POST", `/payouts/${id}/approve`)
      yield* payoutReaching(key, failed!.id, "failed")
      yield* payoutReaching(key, completed!.id, "completed")
      const out = "payout.created available>payouts_in_transit 1030"
      assert.deepStrictEqual(yield* entriesOf(pending!.id), [out])
      assert.deepStrictEqual(yield* entriesOf(canceled!.id), [out, "payout.canceled payouts_in_transit>available 1030"])
      assert.deepStrictEqual(yield* entriesOf(failed!.id), [out, "payout.failed payouts_in_transit>available 1030"])
      assert.deepStrictEqual(yield* entriesOf(completed!.id), [
        out,
        "payout.completed payouts_in_transit>acquirer 1000",
        "payout.completed payouts_in_transit>fees 30"
      ])
      const feesAfter = yield* feesOf
      assert.strictEqual(feesAfter[0]!.balance - feesBefore[0]!.balance, 30n)
      assert.deepStrictEqual(yield* ledgerBalancesOf(accountId), {
        available: 10_000 - 2060,
        pending: 0,
        blocked: 0,
        payouts_in_transit: 1030,
        returns_in_transit: 0
      })
      yield* assertLedgerHolds
    })
  )

  it.effect("BAL-3: an entry names both ends; those of the installation belong to no account", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const { id } = yield* paidCharge(key, 1000)
      const { data } = yield* operated<{ data: ReadonlyArray<Fields> }>(
        "GET",
        `/ledger/entries?account_id=${accountId}`
      )
      assert.strictEqual(data.length, 1)
      assert.deepStrictEqual<unknown>(data[0], {
        id: data[0]!["id"],
        object: "ledger_entry",
        reason: "charge.paid",
        resource_id: id,
        from: { account_id: null, name: "acquirer" },
        to: { account_id: accountId, name: "available" },
        amount: 1000,
        created_at: data[0]!["created_at"]
      })
    })
  )

  it.effect("CHG-8: many concurrent equal notifications of many charges move the money of each once", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const made = yield* Effect.forEach(Array.from({ length: 20 }), () => created(key, { amount: 1000 }), {
        concurrency: 20
      })
      /** Sends each notification of each charge five times at once; returns how often each was applied. */
      const outcomesOf = (action: string, bodyOf: (id: string) => Fields | undefined = () => undefined) =>
        Effect.forEach(
          made,
          ({ id }) =>
            Effect.map(
              Effect.forEach(
                Array.from({ length: 5 }),
                () => whenFree(operate("POST", `/operator/v1/simulator/charges/${id}/${action}`, { body: bodyOf(id) })),
                { concurrency: "unbounded" }
              ),
              (answers) => answers.map(({ status }) => status).toSorted()
            ),
          { concurrency: 5 }
        )
      const endToEndIdOf = (id: string) => `E99999999202611220900${id.slice(-11)}`
      /** Each applied once at most; the money says that it was. */
      const assertOnce = (outcomes: ReadonlyArray<ReadonlyArray<number>>, done: number) => {
        for (const [first, ...others] of outcomes) {
          assert.include([done, 409], first)
          assert.deepStrictEqual(others, [409, 409, 409, 409])
        }
      }
      assertOnce(yield* outcomesOf("pay", (id) => ({ end_to_end_id: endToEndIdOf(id) })), 200)
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 20_000, blocked: 0 })
      assertOnce(yield* outcomesOf("infraction", (id) => ({ reason: "x", external_id: id })), 201)
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, blocked: 20_000 })
      assertOnce(yield* outcomesOf("refund"), 200)
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, blocked: 0 })
      yield* assertLedgerHolds
    })
  )

  it.effect("BAL-3: Entries are only ever inserted: the database refuses UPDATE, DELETE and TRUNCATE", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const sql = yield* SqlClient
      const { key } = yield* makeCaller()
      const { id } = yield* paidCharge(key, 1000)
      for (const statement of [
        `UPDATE ledger_transfers SET amount = 1 WHERE resource_id = '${id}'`,
        "UPDATE ledger_transfers SET amount = amount",
        `DELETE FROM ledger_transfers WHERE resource_id = '${id}'`,
        "TRUNCATE ledger_transfers"
      ]) {
        const error = yield* Effect.flip(sql.unsafe(statement))
        assert.include(String(error.reason.cause), "ledger transfers cannot be changed or deleted")
      }
      for (const [debit, credit, amount, position = 1] of [
        ["available", "available", 1],
        ["available", "acquirer", 0],
        ["available", "acquirer", -1],
        ["available", "pocket", 1],
        ["available", "acquirer", 1, 0]
      ]) {
        const error = yield* Effect.flip(
          sql`INSERT INTO ledger_transfers (id, account_id, debit, credit, amount, resource_id, reason, created_at, position, day)
            VALUES (uuidv7(), uuidv7(), ${debit!}, ${credit!}, ${amount!}::bigint, uuidv7(), 'x', now(),
              ${position}::bigint, now())`
        )
        assert.include(String(error.reason.cause), "violates check constraint")
      }
      assert.deepStrictEqual(yield* entriesOf(id), ["charge.paid acquirer>available 1000"])
    })
  )

  it.effect("PAY-1: A payout may be stored only while the account's `available` is not negative afterwards", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { accountId } = yield* funded(1000)
      const insert = (taken: number) => sql`
        WITH moved AS (
          UPDATE ledger_accounts SET balance = balance - ${taken}::bigint
          WHERE owner_id = ${accountId}::uuid AND kind = 'available'
        )
        INSERT INTO payouts (id, account_id, origin, status, method, amount, fee, pix_key_type, pix_key, created_at,
          sequence)
        VALUES (uuidv7(), ${accountId}::uuid, 'dashboard', 'pending', 'pix', ${taken}::bigint, 0, 'email', 'a@b.c',
          now(), 1)`
      const error = yield* Effect.flip(insert(1001))
      assert.include(String(error.reason.cause), "a payout would take the available balance below zero")
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 1000 })
      // Exactly zero is allowed; it is reverted, because no transfer explains it.
      yield* sql.withTransaction(Effect.andThen(insert(1000), Effect.fail("back"))).pipe(Effect.flip)
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 1000 })
      yield* assertLedgerHolds
    })
  )

  it.effect("BAL-8, BAL-7, OPR-30: `verify`: `consistent: true`, or what differs", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const sql = yield* SqlClient
      const { accountId, key } = yield* makeCaller()
      const { id } = yield* paidCharge(key, 1000)
      yield* paidOut(key, holding)
      yield* assertLedgerHolds
      const { accounts, object } = yield* verification
      assert.strictEqual(object, "ledger_verification")
      assert.deepStrictEqual(
        accounts
          .filter(({ account }) => account.account_id === accountId)
          .toSorted((a, b) => (a.account.name < b.account.name ? -1 : 1)),
        [
          { account: { account_id: accountId, name: "acquirer" }, kept: -1000, computed: -1000 },
          { account: { account_id: accountId, name: "available" }, kept: 500, computed: 500 },
          { account: { account_id: accountId, name: "blocked" }, kept: 0, computed: 0 },
          { account: { account_id: accountId, name: "fees" }, kept: 0, computed: 0 },
          { account: { account_id: accountId, name: "payouts_in_transit" }, kept: 500, computed: 500 },
          { account: { account_id: accountId, name: "pending" }, kept: 0, computed: 0 },
          { account: { account_id: accountId, name: "returns_in_transit" }, kept: 0, computed: 0 }
        ]
      )
      const tamper = (kind: string, by: number) =>
        sql`UPDATE ledger_accounts SET balance = balance + ${by}::bigint
          WHERE kind = ${kind} AND owner_id = ${accountId}::uuid`
      for (const kind of ["available", "blocked", "fees", "acquirer"]) {
        yield* tamper(kind, 1)
        const wrong = yield* verification
        assert.isFalse(wrong.consistent)
        assert.deepStrictEqual(
          wrong.differences.map(({ account, computed, kept }) => ({ account, by: kept - computed })),
          [{ account: { account_id: accountId, name: kind }, by: 1 }]
        )
        yield* tamper(kind, -1)
      }
      // A missing ledger account differs as well, and so does a transfer without a balance.
      yield* sql`DELETE FROM ledger_accounts WHERE owner_id = ${accountId}::uuid AND kind = 'payouts_in_transit'`
      const { differences } = yield* verification
      assert.deepStrictEqual(differences, [
        { account: { account_id: accountId, name: "payouts_in_transit" }, kept: 0, computed: 500 }
      ])
      yield* sql`INSERT INTO ledger_accounts (owner_id, kind, balance)
        VALUES (${accountId}::uuid, 'payouts_in_transit', 500)`
      yield* assertLedgerHolds
      yield* sql`
        INSERT INTO ledger_transfers (id, account_id, debit, credit, amount, resource_id, reason, created_at, position, day)
        VALUES (uuidv7(), ${accountId}::uuid, 'acquirer', 'fees', 5, ${id}::uuid, 'x', now(), 1000, now())`
      assert.strictEqual((yield* verification).differences.length, 2)
      yield* sql`UPDATE ledger_accounts SET position = position + 1 WHERE owner_id = ${accountId}::uuid AND kind = 'available'`
      yield* sql`UPDATE ledger_accounts SET balance = balance + 5 WHERE owner_id = ${accountId}::uuid
        AND kind = 'fees'`
      yield* sql`UPDATE ledger_accounts SET balance = balance - 5 WHERE owner_id = ${accountId}::uuid
        AND kind = 'acquirer'`
      yield* assertLedgerHolds
    })
  )
})
