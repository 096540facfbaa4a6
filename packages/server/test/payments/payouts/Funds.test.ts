/** What a payout may spend, under concurrent changes of its account and key. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { SqlClient } from "effect/sql/SqlClient"
import { assertRefused } from "../../support/ChargeRequests.ts"
import {
  availableOf,
  balanceOf,
  funded,
  holding,
  ledgerBalancesOf,
  listedPayouts,
  operated,
  type OperatorPayout,
  paidCharge,
  paidOut,
  payOut,
  somePayout
} from "../../support/Money.ts"
import { loopback } from "../../support/Receiver.ts"
import { type Fields, newKey, TestService } from "../../support/TestService.ts"

const settings = { acquirerTimeoutMs: 300, simulatorSettleMs: 0, webhookAllowedNetworks: loopback }

layer(TestService.layer({ settings }), { excludeTestServices: true })("Funds of a payout", (it) => {
  it.effect("PAY-9: the terms of a payout are re-checked when it is stored: fee, mode, guard, state and caller", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const sql = yield* SqlClient
      // Each account has had a payout, so that the process has cached its terms.
      const known = Effect.gen(function* () {
        const caller = yield* funded(100_000, { auto_payout_enabled: true })
        assert.deepInclude<unknown>(yield* paidOut(caller.key, holding), { fee: 0, status: "processing" })
        const change = (body: Fields) => operated("PATCH", `/accounts/${caller.accountId}`, body)
        const ask = () => payOut(caller.key, holding)
        const count = Effect.map(
          sql<{ count: number }>`SELECT count(*)::integer AS count FROM payouts
            WHERE account_id = ${caller.accountId}::uuid`,
          ([row]) => row?.count
        )
        return { ...caller, change, ask, count }
      })

      const dearer = yield* known
      yield* dearer.change({ payout_fee: { fixed: 35, basis_points: 0 } })
      assert.deepInclude<unknown>((yield* dearer.ask()).body, { fee: 35 })
      yield* dearer.change({ payout_fee: { fixed: 35, basis_points: 1000 } })
      assert.deepInclude<unknown>((yield* dearer.ask()).body, { fee: 85 })
      assert.strictEqual(yield* availableOf(dearer.key), 100_000 - 3 * 500 - 35 - 85)

      const slower = yield* known
      yield* slower.change({ auto_payout_enabled: false })
      assert.deepInclude<unknown>((yield* slower.ask()).body, { status: "pending" })

      const guarded = yield* known
      yield* guarded.change({ payout_duplicate_window: 60 })
      const duplicate = (yield* guarded.ask()).body
      assert.deepInclude<unknown>(duplicate, { status: "pending" })
      assert.isNotNull((yield* operated<OperatorPayout>("GET", `/payouts/${duplicate.id}`)).duplicate_of)

      const ended = yield* known
      yield* ended.change({ status: "inactive" })
      const forIt = { body: { ...somePayout, ...holding } }
      const byOperator = yield* operate<Fields>("POST", `/operator/v1/accounts/${ended.accountId}/payouts`, forIt)
      assertRefused(byOperator, "ACCOUNT_INACTIVE")
      assert.strictEqual(yield* ended.count, 1)

      const ends = [
        ({ keyId }: { keyId: string }) => operated("POST", `/keys/${keyId}/revoke`),
        ({ applicationId }: { applicationId: string }) =>
          operated("PATCH", `/applications/${applicationId}`, { active: false }),
        ({ keyId }: { keyId: string }) => sql`UPDATE api_keys SET expires_at = now() WHERE id = ${keyId}::uuid`
      ]
      for (const end of ends) {
        const revoked = yield* known
        yield* end(revoked)
        assertRefused(yield* revoked.ask(), "UNAUTHORIZED")
        assert.strictEqual(yield* revoked.count, 1)
      }
    })
  )

  it.effect("a locked balance delays no payout of another account", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { key } = yield* funded(10_000)
      const { accountId, key: locked } = yield* funded(100)
      const refused = yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`SELECT balance FROM ledger_accounts WHERE owner_id = ${accountId}::uuid FOR UPDATE`
          const waiting = yield* Effect.forkChild(payOut(locked), { startImmediately: true })
          const answers = yield* Effect.all([payOut(key), payOut(key), payOut(key)], { concurrency: 3 })
          assert.deepStrictEqual(
            answers.map(({ status }) => status),
            [201, 201, 201]
          )
          return waiting
        })
      )
      assertRefused(yield* Fiber.join(refused), "INSUFFICIENT_BALANCE")
    })
  )
  it.effect("PAY-2: When available is lower than amount plus fee, the answer is 400 `INSUFFICIENT_BALANCE`", () =>
    Effect.gen(function* () {
      const { accountId, applicationId, key } = yield* funded(10_000, { payout_fee: { fixed: 30, basis_points: 100 } })
      // 9872 + 30 + 99 = 10001; 9871 + 30 + 99 = 10000
      const idempotencyKey = newKey()
      const refused = yield* payOut(key, { amount: 9872 }, idempotencyKey)
      assertRefused(refused, "INSUFFICIENT_BALANCE")
      const lower = "The available balance is lower than amount plus fee."
      assert.strictEqual(
        refused.text.match(/"message":"(.*?)"/)?.[1],
        `${lower} 10001 cents are needed, 10000 are available.`
      )
      const { makeKey } = yield* TestService
      const blind = yield* makeKey(applicationId, { scopes: ["payout:write"] })
      const toBlind = yield* payOut(blind.key, { amount: 9872 })
      assert.strictEqual(toBlind.text.match(/"message":"(.*?)"/)?.[1], `${lower} 10001 cents are needed.`)
      assert.deepStrictEqual((yield* listedPayouts(key)).data, [])
      assert.strictEqual(yield* availableOf(key), 10_000)
      // Nothing was created with the key: it is still free.
      const { fee } = yield* paidOut(key, { amount: 9871, ...holding }, idempotencyKey)
      assert.strictEqual(fee, 129)
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, payouts_in_transit: 10_000 })
      assertRefused(yield* payOut(key), "INSUFFICIENT_BALANCE")
    })
  )

  it.effect("BAL-1: money that is received but not yet released cannot be spent", () =>
    Effect.gen(function* () {
      const { key } = yield* funded(10_000, { release_delay: 3600 })
      assertRefused(yield* payOut(key), "INSUFFICIENT_BALANCE")
      assert.deepInclude(yield* balanceOf(key), { available: 0, pending: 10_000 })
    })
  )

  it.effect(
    "BAL-1: `available` is net of payouts in progress; `pending` received but not yet released; `total` both",
    () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { accountId, key } = yield* makeCaller()
        const zero = { object: "balance", currency: "BRL", available: 0, pending: 0, total: 0 }
        assert.deepStrictEqual<unknown>(yield* balanceOf(key), zero)
        yield* paidCharge(key, 3000)
        assert.deepStrictEqual<unknown>(yield* balanceOf(key), { ...zero, available: 3000, total: 3000 })
        yield* operated("PATCH", `/accounts/${accountId}`, { release_delay: 3600 })
        yield* paidCharge(key, 700)
        const both = { ...zero, available: 3000, pending: 700, total: 3700 }
        assert.deepStrictEqual<unknown>(yield* balanceOf(key), both)
        yield* paidOut(key, { amount: 1000, ...holding })
        const left = { ...zero, available: 2000, pending: 700, total: 2700 }
        assert.deepStrictEqual<unknown>(yield* balanceOf(key), left)
        const account = yield* operated<{ balance: unknown }>("GET", `/accounts/${accountId}`)
        assert.deepStrictEqual<unknown>(account.balance, left)
      })
  )
})
