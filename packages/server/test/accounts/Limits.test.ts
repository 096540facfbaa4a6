/** Limits of accounts and API keys: what they refuse, who may loosen them, and that no race exceeds them. */
import { assert, layer } from "@effect/vitest"
import type { Approval } from "@pix-payments/api/operator/Approvals"
import type { ApiKey } from "@pix-payments/api/operator/Keys"
import { DEFAULT_TIMEZONE } from "@pix-payments/domain/Installation"
import type { LimitChanges } from "@pix-payments/domain/Limits"
import { maskPixKey } from "@pix-payments/domain/PersonalData"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { approve, makeApprovers } from "../support/Approvals.ts"
import { assertRefused } from "../support/ChargeRequests.ts"
import { availableOf, funded, holding, operated, paidOut, payOut, somePayout } from "../support/Money.ts"
import { makeOperator, newestEntries } from "../support/Operators.ts"
import { createMigratedDatabase, temporaryFolder } from "../support/Postgres.ts"
import { eventually } from "../support/Receiver.ts"
import {
  type Answer,
  type Call,
  newKey,
  TestService,
  type TestServiceOptions,
  whenFree
} from "../support/TestService.ts"

const settings = { acquirerTimeoutMs: 300, simulatorSettleMs: 0 }

const limitAccount = (id: string, limits: LimitChanges) => operated("PATCH", `/accounts/${id}`, { limits })
const limitKey = (id: string, limits: LimitChanges) => operated<ApiKey>("PATCH", `/keys/${id}`, { limits })

/** Refused for at most this long. */
const assertLimited = (answer: Answer<unknown>, seconds: number) => {
  assertRefused(answer, "RATE_LIMITED")
  const wait = Number(answer.headers["retry-after"])
  assert.isAbove(wait, 0)
  assert.isAtMost(wait, seconds)
}

const HOUR = 3600
const DAY = 24 * HOUR

/** Waits where an hour is about to end, so that a test's payouts are of one hour, and of one day. */
const withinAnHour = Effect.flatMap(SqlClient, (sql) =>
  eventually(
    sql<{ left: number }>`
      SELECT extract(epoch FROM date_trunc('hour', now()) + interval '1 hour' - now())::float8 AS left`,
    ([row]) => row!.left > 60
  )
)

/** 100 payouts of 1000 at once, over all of these services. */
const hundred = (calls: ReadonlyArray<Call>, key: string) =>
  Effect.forEach(
    Array.from({ length: 100 }, (_, index) => calls[index % calls.length]!),
    (call) => {
      const idempotencyKey = newKey()
      const body = { ...somePayout, ...holding, amount: 1000 }
      return whenFree(call("POST", "/v1/payouts", { key, idempotencyKey, body }))
    },
    { concurrency: "unbounded" }
  )

layer(TestService.layer({ settings }), { excludeTestServices: true })("Limits", (it) => {
  it.effect(
    "OPR-333: payouts of an account or a key beyond its number or cents are 429 until the hour or day ends",
    () =>
      Effect.gen(function* () {
        yield* withinAnHour
        const { makeKey } = yield* TestService
        const { accountId, applicationId, key, keyId } = yield* funded(100_000)
        yield* limitKey(keyId, { payouts_per_hour: 2 })
        for (const _ of [1, 2]) yield* paidOut(key)
        assertLimited(yield* payOut(key), HOUR)
        // Another key of the account has its own.
        const other = yield* makeKey(applicationId)
        yield* paidOut(other.key)
        yield* limitAccount(accountId, { payout_cents_per_day: 1500 })
        yield* paidOut(other.key, { amount: 1500 })
        assertLimited(yield* payOut(other.key), DAY)
        yield* limitAccount(accountId, { payout_cents_per_day: null, payouts_per_day: 1 })
        assertLimited(yield* payOut(other.key), DAY)
        yield* limitAccount(accountId, { payouts_per_day: 2 })
        const { id } = yield* paidOut(other.key)
        assertLimited(yield* payOut(other.key), DAY)
        // A payout that moved nothing in the end counts.
        yield* operated("GET", `/payouts/${id}`)
        assert.strictEqual(yield* availableOf(key), 100_000 - 3 * 500 - 1500 - 500)
      })
  )

  it.effect("OPR-333: a known idempotency key is replayed beyond the limit, and a refused payout counts nothing", () =>
    Effect.gen(function* () {
      yield* withinAnHour
      const { key, keyId } = yield* funded(5000)
      yield* limitKey(keyId, { payouts_per_day: 1, payout_cents_per_day: 4000 })
      assertLimited(yield* payOut(key, { amount: 4001 }), DAY)
      assertRefused(yield* payOut(key, { amount: 100 }), "AMOUNT_BELOW_MINIMUM", ["amount"])
      const once = newKey()
      const { id } = yield* paidOut(key, { amount: 4000 }, once)
      assertLimited(yield* payOut(key), DAY)
      assert.strictEqual((yield* paidOut(key, {}, once)).id, id)
    })
  )

  it.effect("OPR-333: a payout beyond the balance does not count", () =>
    Effect.gen(function* () {
      const { key, keyId } = yield* funded(1000)
      yield* limitKey(keyId, { payouts_per_day: 1 })
      assertRefused(yield* payOut(key, { amount: 1001 }), "INSUFFICIENT_BALANCE")
      yield* paidOut(key, { amount: 1000 })
    })
  )

  it.effect("OPR-333: the next hour and the next day of the installation's zone begin anew", () =>
    Effect.gen(function* () {
      yield* withinAnHour
      const sql = yield* SqlClient
      const { key, keyId } = yield* funded(10_000)
      yield* limitKey(keyId, { payouts_per_hour: 1, payouts_per_day: 2 })
      yield* paidOut(key)
      assertLimited(yield* payOut(key), HOUR)
      yield* sql`UPDATE limits SET hour = hour - interval '1 hour' WHERE owner_id = ${keyId}::uuid`
      yield* paidOut(key)
      yield* sql`UPDATE limits SET hour = hour - interval '1 hour' WHERE owner_id = ${keyId}::uuid`
      const [row] = yield* sql<{ of_zone: boolean; left: number }>`
        SELECT day = (now() AT TIME ZONE ${DEFAULT_TIMEZONE})::date AS of_zone,
          extract(epoch FROM ((day + 1)::timestamp AT TIME ZONE ${DEFAULT_TIMEZONE}) - now())::float8 AS left
        FROM limits WHERE owner_id = ${keyId}::uuid`
      assert.isTrue(row!.of_zone)
      assertLimited(yield* payOut(key), Math.ceil(row!.left) + 1)
      yield* sql`UPDATE limits SET day = day - 1 WHERE owner_id = ${keyId}::uuid`
      yield* paidOut(key)
      // A clock that goes back begins none anew.
      yield* sql`UPDATE limits SET hour = hour + interval '2 hours' WHERE owner_id = ${keyId}::uuid`
      assertLimited(yield* payOut(key), 4 * HOUR)
    })
  )

  it.effect("OPR-334: payouts go to the listed Pix keys only, in any spelling, also those of operators", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { accountId, key } = yield* funded(10_000)
      const refused = yield* operate("PATCH", `/operator/v1/accounts/${accountId}`, {
        body: { limits: { recipients: ["no key"] } }
      })
      assertRefused(refused, "VALIDATION_ERROR", ["limits.recipients.0"])
      const changed = yield* operated<{ limits: { recipients: ReadonlyArray<string> } }>(
        "PATCH",
        `/accounts/${accountId}`,
        {
          limits: { recipients: ["Ana@Example.com", "529.982.247-25", "ana@example.com"] }
        }
      )
      assert.deepStrictEqual(changed.limits.recipients, ["52998224725", "ana@example.com"])
      yield* paidOut(key)
      yield* paidOut(key, { pix_key: "52998224725", pix_key_type: "cpf" })
      assertRefused(yield* payOut(key, { pix_key: "bia@example.com" }), "ACCOUNT_RESTRICTED")
      const byOperator = (fields: object) =>
        operate("POST", `/operator/v1/accounts/${accountId}/payouts`, { body: { ...somePayout, ...fields } })
      assertRefused(yield* byOperator({ pix_key: "bia@example.com" }), "ACCOUNT_RESTRICTED")
      const ted = { bank: "00000000", branch: "0001", account: "12345-6", account_type: "checking" }
      assertRefused(
        yield* operate("POST", `/operator/v1/accounts/${accountId}/payouts`, {
          body: { method: "ted", amount: 500, recipient_name: "Ana", recipient_document: "52998224725", ...ted }
        }),
        "ACCOUNT_RESTRICTED"
      )
      assert.strictEqual((yield* byOperator({})).status, 201)
      // An operator who sees masked data sees no recipient.
      const { call } = yield* makeOperator("viewer")
      const shown = yield* call<typeof changed>("GET", `/operator/v1/accounts/${accountId}`)
      assert.deepStrictEqual(shown.body.limits.recipients, ["52998224725", "ana@example.com"].map(maskPixKey))
    })
  )

  it.effect("OPR-332: requests a minute of a key, and of all keys of an account, without a restart", () =>
    Effect.gen(function* () {
      const { call, makeCaller, makeKey } = yield* TestService
      const { accountId, applicationId, key, keyId } = yield* makeCaller()
      const other = yield* makeKey(applicationId)
      const get = (with_: string) => call("GET", "/v1/charges", { key: with_ })
      for (let n = 0; n < 5; n++) assert.strictEqual((yield* get(key)).status, 200)
      yield* limitKey(keyId, { requests_per_minute: 2 })
      for (let n = 0; n < 2; n++) assert.strictEqual((yield* get(key)).status, 200)
      assertLimited(yield* get(key), 60)
      assert.strictEqual((yield* get(other.key)).status, 200)
      // The next request is the first one that is counted for the account.
      yield* limitAccount(accountId, { requests_per_minute: 1 })
      assert.strictEqual((yield* get(other.key)).status, 200)
      assertLimited(yield* get(other.key), 60)
      yield* limitAccount(accountId, { requests_per_minute: null })
      assert.strictEqual((yield* get(other.key)).status, 200)
    })
  )

  it.effect("OPR-330: a field that is absent stays, null removes a limit, and an absent one is null", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { keyId } = yield* makeCaller()
      const none = {
        requests_per_minute: null,
        payouts_per_hour: null,
        payouts_per_day: null,
        payout_cents_per_day: null,
        recipients: null
      }
      assert.deepStrictEqual((yield* operated<ApiKey>("GET", `/keys/${keyId}`)).limits, none)
      yield* limitKey(keyId, { payouts_per_hour: 3 })
      const both = yield* limitKey(keyId, { payouts_per_day: 0, recipients: ["ana@example.com"] })
      assert.deepStrictEqual(both.limits, {
        ...none,
        payouts_per_hour: 3,
        payouts_per_day: 0,
        recipients: ["ana@example.com"]
      })
      const cleared = yield* limitKey(keyId, { payouts_per_hour: null, payouts_per_day: null, recipients: null })
      assert.deepStrictEqual(cleared.limits, none)
      for (const limits of [{ payouts_per_hour: -1 }, { requests_per_minute: 0 }, { recipients: [] }, null]) {
        const answer = yield* operate("PATCH", `/operator/v1/keys/${keyId}`, { body: { limits } })
        assert.strictEqual(answer.status, 400, answer.text)
      }
      assertRefused(yield* operate("PATCH", `/operator/v1/keys/${newKey()}`, { body: { limits: {} } }), "NOT_FOUND")
    })
  )

  it.effect("OPR-331: a higher limit of an account or a key needs two operators and shows before and after", () =>
    Effect.gen(function* () {
      const { accountId, keyId } = yield* funded(1000)
      const { one, other } = yield* makeApprovers
      for (const path of [`/accounts/${accountId}`, `/keys/${keyId}`]) {
        const change = (limits: LimitChanges) =>
          one.call<Approval & Pick<ApiKey, "limits">>("PATCH", `/operator/v1${path}`, { body: { limits } })
        const tight: LimitChanges = {
          payouts_per_day: 10,
          payout_cents_per_day: 5000,
          recipients: ["ana@example.com", "bia@example.com"]
        }
        assert.strictEqual((yield* change(tight)).status, 200)
        assert.strictEqual((yield* change({ payouts_per_day: 5, recipients: ["ana@example.com"] })).status, 200)
        for (const looser of [
          { payouts_per_day: null },
          { payouts_per_day: 6 },
          { payout_cents_per_day: 5001 },
          { recipients: null },
          { recipients: ["ana@example.com", "cid@example.com"] }
        ]) {
          assert.strictEqual((yield* change(looser)).status, 202, JSON.stringify(looser))
        }
        const asked = yield* change({ payouts_per_day: 7, payouts_per_hour: 2 })
        assert.deepStrictEqual(asked.body.summary.changes, [
          { field: "payouts_per_hour", before: null, after: 2 },
          { field: "payouts_per_day", before: 5, after: 7 }
        ])
        // It is done as the requester saw it, or not at all.
        const stale = yield* change({ payouts_per_day: 8 })
        assert.strictEqual((yield* approve(other.call, asked.body.id)).status, 200)
        const { limits } = yield* operated<ApiKey>("GET", path)
        assert.deepInclude(limits, { payouts_per_day: 7, payouts_per_hour: 2, payout_cents_per_day: 5000 })
        assertRefused(yield* approve(other.call, stale.body.id), "INVALID_STATE")
        const [entry] = yield* newestEntries(1)
        assert.deepInclude(entry!, { action: path.startsWith("/keys") ? "keys.update" : "accounts.update" })
      }
      // Tightening needs nobody.
      assert.strictEqual(
        (yield* one.call("PATCH", `/operator/v1/keys/${keyId}`, { body: { limits: { payouts_per_day: 0 } } })).status,
        200
      )
      yield* operated("PATCH", "/installation", { four_eyes: "off" })
    })
  )

  it.effect("OPR-333: an approved payout beyond the limit is 429 and can be approved later", () =>
    Effect.gen(function* () {
      const { accountId } = yield* funded(10_000)
      yield* operated("PATCH", `/accounts/${accountId}`, { approval_limit: 100 })
      yield* operated("PATCH", "/installation", { four_eyes: "auto" })
      const { one, other } = yield* makeApprovers
      const asked = yield* one.call<Approval>("POST", `/operator/v1/accounts/${accountId}/payouts`, {
        body: { ...somePayout, ...holding }
      })
      assert.strictEqual(asked.status, 202, asked.text)
      yield* limitAccount(accountId, { payouts_per_day: 0 })
      assertLimited(yield* approve(other.call, asked.body.id), DAY)
      yield* limitAccount(accountId, { payouts_per_day: 1 })
      assert.strictEqual((yield* approve(other.call, asked.body.id)).status, 200)
      yield* operated("PATCH", "/installation", { four_eyes: "off" })
    })
  )

  it.effect("OPR-333: a stolen key moves at most what it may, a hundred at once", () =>
    Effect.gen(function* () {
      yield* withinAnHour
      const { call } = yield* TestService
      const { key, keyId } = yield* funded(100_000)
      // The callers of the key are cached without the limit.
      yield* paidOut(key, holding)
      yield* limitKey(keyId, { payouts_per_hour: 30, payout_cents_per_day: 7500 })
      const answers = yield* hundred([call], key)
      assert.lengthOf(
        answers.filter(({ status }) => status === 201),
        7
      )
      for (const answer of answers) if (answer.status !== 201) assertLimited(answer, DAY)
      assert.strictEqual(yield* availableOf(key), 100_000 - 500 - 7000)
    })
  )
})

layer(Layer.empty, { excludeTestServices: true })("Limits of two services on one database", (it) => {
  it.effect("OPR-333: together they store no more than the limit, and both know it from the next request on", () =>
    Effect.gen(function* () {
      const databaseUrl = yield* createMigratedDatabase
      const dataDir = yield* temporaryFolder
      const options: TestServiceOptions = { databaseUrl, settings: { ...settings, dataDir } }
      const start = Effect.flatMap(Effect.scope, (scope) =>
        Layer.buildWithMemoMap(TestService.layer(options), Layer.makeMemoMapUnsafe(), scope)
      )
      const [first, second] = yield* Effect.all([start, start], { concurrency: 2 })
      const calls = [Context.get(first, TestService).call, Context.get(second, TestService).call] as const
      yield* Effect.gen(function* () {
        yield* withinAnHour
        const { accountId, key } = yield* funded(200_000)
        for (const call of calls) {
          const body = { ...somePayout, ...holding }
          assert.strictEqual((yield* call("POST", "/v1/payouts", { key, idempotencyKey: newKey(), body })).status, 201)
        }
        yield* limitAccount(accountId, { payouts_per_day: 12 })
        const answers = yield* hundred(calls, key)
        assert.lengthOf(
          answers.filter(({ status }) => status === 201),
          12
        )
        yield* limitAccount(accountId, { payouts_per_day: 15 })
        const more = yield* hundred(calls, key)
        assert.lengthOf(
          more.filter(({ status }) => status === 201),
          3
        )
        assert.strictEqual(yield* availableOf(key), 200_000 - 2 * 500 - 15_000)
      }).pipe(Effect.provideContext(first))
    }).pipe(Effect.scoped)
  )
})
