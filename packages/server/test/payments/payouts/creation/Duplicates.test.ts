/** The guard against duplicate payouts: `payout_duplicate_window`. */
import { assert, layer } from "@effect/vitest"
import { lowestIdAt } from "@pix-payments/domain/Uuid"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { assertRefused } from "../../../support/ChargeRequests.ts"
import {
  availableOf,
  failing,
  funded,
  submittedPayout,
  holding,
  listedPayouts,
  operated,
  type OperatorPayout,
  paidOut,
  payOut,
  payoutReaching,
  somePayout,
  eventStatusesOf
} from "../../../support/Money.ts"
import { eventually, loopback } from "../../../support/Receiver.ts"
import { type Fields, newKey, TestService } from "../../../support/TestService.ts"

const settings = { acquirerTimeoutMs: 300, simulatorSettleMs: 0, webhookAllowedNetworks: loopback }

layer(TestService.layer({ settings }), { excludeTestServices: true })("The duplicate guard", (it) => {
  /** A funded account with the guard on. */
  const guarded = (account: Fields = {}, window = 60) =>
    Effect.gen(function* () {
      const caller = yield* funded(100_000, account)
      yield* operated("PATCH", `/accounts/${caller.accountId}`, { payout_duplicate_window: window })
      return caller
    })
  const seen = (id: string) => operated<OperatorPayout>("GET", `/payouts/${id}`)

  it.effect("is off by default", () =>
    Effect.gen(function* () {
      const { accountId, key } = yield* funded(10_000)
      const made = yield* Effect.forEach([1, 2, 3], () => paidOut(key, holding))
      for (const { id } of made) assert.deepInclude(yield* seen(id), { status: "processing", duplicate_of: null })
      const account = yield* operated("GET", `/accounts/${accountId}`)
      assert.strictEqual(account["payout_duplicate_window"], 0)
    })
  )

  it.effect(
    "OPR-25: makes a duplicate wait for approval: same recipient key and amount, another idempotency key, within the window",
    () =>
      Effect.gen(function* () {
        const { key } = yield* guarded()
        const idempotencyKey = newKey()
        const first = yield* paidOut(key, holding, idempotencyKey)
        assert.strictEqual(first.status, "processing")
        const duplicateKey = newKey()
        const duplicate = yield* paidOut(
          key,
          { ...holding, pix_key: "HOLD@simulator.test", reference: "other" },
          duplicateKey
        )
        assert.strictEqual(duplicate.status, "pending")
        assert.deepInclude(yield* seen(duplicate.id), { duplicate_of: first.id, status: "pending" })
        assert.deepStrictEqual(yield* eventStatusesOf(duplicate.id), ["payment.pix.created pending"])
        assert.strictEqual(yield* availableOf(key), 99_000)
        // The same idempotency keys replay.
        assert.strictEqual((yield* paidOut(key, holding, idempotencyKey)).id, first.id)
        assert.strictEqual((yield* paidOut(key, holding, duplicateKey)).id, duplicate.id)
        // Another amount, another key, another type of key: no duplicate.
        for (const fields of [
          { ...holding, amount: 501 },
          { pix_key: "other@example.com" },
          { pix_key_type: "phone", pix_key: "+5511999998888" }
        ]) {
          const other = yield* paidOut(key, fields)
          assert.strictEqual(other.status, "processing")
          assert.isNull((yield* seen(other.id)).duplicate_of)
        }
        const approved = yield* operated<OperatorPayout>("POST", `/payouts/${duplicate.id}/approve`)
        assert.deepInclude(approved, { status: "processing", duplicate_of: first.id })
        yield* submittedPayout(key, duplicate.id)
      })
  )

  it.effect("covers all applications and operators of an account", () =>
    Effect.gen(function* () {
      const { makeApplication, makeKey } = yield* TestService
      const { accountId, key } = yield* guarded()
      const { key: other } = yield* makeKey(yield* makeApplication(accountId))
      const { key: stranger } = yield* guarded()
      const first = yield* paidOut(key, holding)
      const second = yield* paidOut(other, holding)
      const third = yield* operated<OperatorPayout>(
        "POST",
        `/accounts/${accountId}/payouts`,
        { ...somePayout, ...holding },
        201
      )
      assert.deepStrictEqual([second.status, third.status], ["pending", "pending"])
      assert.strictEqual((yield* seen(second.id)).duplicate_of, first.id)
      assert.isNotNull(third.duplicate_of)
      assert.strictEqual((yield* paidOut(stranger, holding)).status, "processing")
    })
  )

  it.effect("lets one of many concurrent duplicates go out", () =>
    Effect.gen(function* () {
      const { key } = yield* guarded()
      const made = yield* Effect.forEach(Array.from({ length: 30 }), () => paidOut(key, holding), {
        concurrency: "unbounded"
      })
      assert.strictEqual(made.filter(({ status }) => status === "processing").length, 1)
      assert.strictEqual(made.filter(({ status }) => status === "pending").length, 29)
      const ids = new Set<string | null>(made.map(({ id }) => id))
      for (const { id, status } of made) {
        const { duplicate_of } = yield* seen(id)
        assert.strictEqual(duplicate_of === null, status === "processing")
        if (duplicate_of !== null) assert.isTrue(ids.has(duplicate_of) && duplicate_of < id)
      }
    })
  )

  it.effect("ignores payouts that failed or were canceled", () =>
    Effect.gen(function* () {
      const { key } = yield* guarded()
      const first = yield* paidOut(key, failing)
      yield* payoutReaching(key, first.id, "failed")
      assert.isNull((yield* seen((yield* paidOut(key, failing)).id)).duplicate_of)
      const { key: manual } = yield* guarded({ auto_payout_enabled: false })
      const canceled = yield* paidOut(manual)
      yield* operated("POST", `/payouts/${canceled.id}/cancel`)
      assert.isNull((yield* seen((yield* paidOut(manual)).id)).duplicate_of)
    })
  )

  it.effect("ignores payouts outside the window", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { key } = yield* guarded({ auto_payout_enabled: false })
      // Ids carry the time: a payout grows older with its id.
      const aged = (id: string, ms: number) =>
        Effect.gen(function* () {
          const older = lowestIdAt((yield* Clock.currentTimeMillis) - ms)
          yield* sql`UPDATE payouts SET id = ${older}::uuid WHERE id = ${id}::uuid`
          return older
        })
      yield* aged((yield* paidOut(key)).id, 61_000)
      const second = yield* paidOut(key)
      assert.isNull((yield* seen(second.id)).duplicate_of)
      const old = yield* aged(second.id, 40_000)
      assert.strictEqual((yield* seen((yield* paidOut(key)).id)).duplicate_of, old)
    })
  )

  it.effect("can be turned off", () =>
    Effect.gen(function* () {
      const { accountId, key } = yield* guarded()
      yield* paidOut(key, holding)
      assert.strictEqual((yield* paidOut(key, holding)).status, "pending")
      yield* operated("PATCH", `/accounts/${accountId}`, { payout_duplicate_window: 0 })
      assert.strictEqual((yield* paidOut(key, holding)).status, "processing")
      const refused = yield* Effect.flatMap(TestService, ({ operate }) =>
        operate("PATCH", `/operator/v1/accounts/${accountId}`, { body: { payout_duplicate_window: -1 } })
      )
      assertRefused(refused, "VALIDATION_ERROR", ["payout_duplicate_window"])
    })
  )

  it.effect("checks the balance before a duplicate waits", () =>
    Effect.gen(function* () {
      const { key } = yield* guarded()
      yield* paidOut(key, { ...holding, amount: 60_000 })
      assertRefused(yield* payOut(key, { ...holding, amount: 60_000 }), "INSUFFICIENT_BALANCE")
      yield* eventually(listedPayouts(key), ({ data }) => data.length === 1)
    })
  )
})
