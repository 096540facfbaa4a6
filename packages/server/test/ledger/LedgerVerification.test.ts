/** Verification since the last checkpoint, and in full: what it reads, what it finds, and wrong checkpoints. */
import { assert, layer } from "@effect/vitest"
import { lowestIdAt } from "@pix-payments/domain/Uuid"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { CHECKPOINT_AGE_MS, LedgerVerification } from "../../src/ledger/LedgerVerification.ts"
import { assertLedgerHolds, operated, paidCharge, type Verification, verification } from "../support/Money.ts"
import { makeExplainer, makeRecorder } from "../support/Plans.ts"
import { asService } from "../support/Postgres.ts"
import { TestService } from "../support/TestService.ts"

const recorder = makeRecorder()
const service = TestService.layer({ settings: { simulatorSettleMs: 0 } }).pipe(Layer.provide(recorder.layer))

layer(service, { excludeTestServices: true })("The verification of the ledger", (it) => {
  it.effect("BAL-8: since the checkpoint it reads only the transfers after it, and finds the same as in full", () =>
    Effect.gen(function* () {
      const { databaseUrl, makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      yield* addOldPayments(accountId, 3000)
      yield* advanced
      for (let n = 0; n < 3; n++) yield* paidCharge(key, 500)
      yield* assertLedgerHolds
      const { explain } = yield* makeExplainer(asService(databaseUrl), recorder.settings())
      recorder.take()
      const since = yield* verification
      const sent = recorder.take().find(({ text }) => text.includes("FROM ledger_checkpoints"))
      const work = yield* explain(sent!)
      assert.include(work.indexes, "ledger_transfers_pkey")
      assert.isBelow(work.rows, 200)
      assert.deepStrictEqual(yield* inFull, since)
      assert.include(
        since.accounts.map(({ kept }) => kept),
        3000 * 100 + 3 * 500
      )
    })
  )

  it.effect(
    "BAL-8: a balance that its transfers do not explain is found, whether they are before or after the checkpoint",
    () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const sql = yield* SqlClient
        const { accountId, key } = yield* makeCaller()
        yield* addOldPayments(accountId, 10)
        yield* advanced
        yield* paidCharge(key, 500)
        const tamper = (by: number) =>
          sql`UPDATE ledger_accounts SET balance = balance + ${by}::bigint
          WHERE owner_id = ${accountId}::uuid AND kind = 'available'`
        yield* tamper(7)
        const expected = [{ account: { account_id: accountId, name: "available" }, kept: 1507, computed: 1500 }]
        assert.deepStrictEqual((yield* verification).differences, expected)
        // The next one finds it again: the difference is not in the checkpoint.
        assert.deepStrictEqual((yield* verification).differences, expected)
        assert.deepStrictEqual((yield* inFull).differences, expected)
        yield* tamper(-7)
        yield* assertLedgerHolds
      })
  )

  it.effect(
    "a transfer that is committed below the checkpoint makes no difference, and its checkpoint is replaced",
    () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { accountId } = yield* makeCaller()
        yield* addOldPayments(accountId, 10)
        yield* advanced
        yield* addOldPayments(accountId, 5, 9 * CHECKPOINT_AGE_MS)
        assert.strictEqual(yield* checkpointOf(accountId), 1000n)
        assert.deepInclude(yield* verification, { consistent: false, differences: [], states: [] })
        assert.strictEqual(yield* checkpointOf(accountId), 1500n)
        yield* assertLedgerHolds
      })
  )

  it.effect("a checkpoint that was changed is replaced; a full verification does not read it", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const sql = yield* SqlClient
      const { accountId } = yield* makeCaller()
      yield* addOldPayments(accountId, 10)
      yield* advanced
      // Balance and checkpoint agree, and the transfers do not.
      const tamper = (table: string) =>
        sql.unsafe(`UPDATE ${table} SET balance = balance + 3 WHERE owner_id = '${accountId}' AND kind = 'available'`)
      yield* tamper("ledger_checkpoints")
      yield* tamper("ledger_accounts")
      assert.deepInclude(yield* verification, { consistent: true, replaced_checkpoints: [] })
      assert.deepStrictEqual((yield* inFull).differences, [
        { account: { account_id: accountId, name: "available" }, kept: 1003, computed: 1000 }
      ])
      yield* sql`UPDATE ledger_accounts SET balance = 1000 WHERE owner_id = ${accountId}::uuid AND kind = 'available'`
      assert.deepStrictEqual((yield* verification).replaced_checkpoints, [
        { account: { account_id: accountId, name: "available" }, kept: 1003, computed: 1000 }
      ])
      yield* assertLedgerHolds
      assert.strictEqual(yield* checkpointOf(accountId), 1000n)
    })
  )

  it.effect("BAL-8: an entry of before the checkpoint that is changed, and changed back, is reported both times", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const sql = yield* SqlClient
      const { accountId } = yield* makeCaller()
      yield* addOldPayments(accountId, 10)
      yield* advanced
      // As the owner of the tables can, with triggers off.
      const change = (by: number) =>
        sql.withTransaction(
          Effect.andThen(sql`SELECT set_config('session_replication_role', 'replica', true)`, changed(by))
        )
      const changed = (by: number) =>
        sql`WITH changed AS (
            UPDATE ledger_transfers SET amount = amount + ${by}::bigint
            WHERE id = (SELECT id FROM ledger_transfers WHERE account_id = ${accountId}::uuid ORDER BY id LIMIT 1)
          )
          UPDATE ledger_accounts SET balance = balance + CASE kind WHEN 'available' THEN 1 ELSE -1 END * ${by}::bigint
          WHERE owner_id = ${accountId}::uuid AND kind IN ('available', 'acquirer')`
      for (const by of [50, -50]) {
        yield* change(by)
        const [was, is] = by > 0 ? [1000, 1050] : [1050, 1000]
        const { consistent, replaced_checkpoints } = yield* verification
        assert.isFalse(consistent)
        assert.deepStrictEqual(replaced_checkpoints, [
          { account: { account_id: accountId, name: "acquirer" }, kept: -was, computed: -is },
          { account: { account_id: accountId, name: "available" }, kept: was, computed: is }
        ])
        yield* assertLedgerHolds
      }
    })
  )

  it.effect(
    "checkpoints take in each transfer once when several processes move them on, and none of the last hour",
    () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const sql = yield* SqlClient
        const { accountId, key } = yield* makeCaller()
        yield* addOldPayments(accountId, 500)
        yield* paidCharge(key, 900)
        const rounds = yield* Effect.all(
          Array.from({ length: 20 }, () => LedgerVerification.use(({ advance }) => advance)),
          { concurrency: "unbounded" }
        )
        yield* advanced
        assert.isAtMost(
          rounds.reduce((sum, count) => sum + count, 0),
          500
        )
        assert.strictEqual(yield* checkpointOf(accountId), 50_000n)
        const rows = yield* sql<{ behind: boolean }>`
        SELECT through_id < ${yield* lowestIdBefore(CHECKPOINT_AGE_MS)}::uuid AS behind FROM ledger_checkpoint_position`
        assert.deepStrictEqual(rows, [{ behind: true }])
        yield* assertLedgerHolds
      })
  )
})

const inFull = operated<Verification>("GET", "/ledger/verify?full=true")

/** Moves the checkpoints on until there is nothing left for them. The service's own loop may do it first. */
const advanced = LedgerVerification.use(({ advance }) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const before = yield* lowestIdBefore(2 * CHECKPOINT_AGE_MS)
    let left = 1
    while (left > 0) {
      yield* advance
      left = (yield* sql`SELECT 1 FROM ledger_transfers
        WHERE id > (SELECT through_id FROM ledger_checkpoint_position) AND id < ${before}::uuid LIMIT 1`).length
    }
  })
)

/** Payments of one real to an account, as they were posted some hours ago. */
const addOldPayments = Effect.fnUntraced(function* (accountId: string, count: number, ageMs = 3 * CHECKPOINT_AGE_MS) {
  const sql = yield* SqlClient
  const time = (yield* lowestIdBefore(ageMs)).slice(0, 13)
  yield* sql`INSERT INTO ledger_transfers (id, account_id, debit, credit, amount, resource_id, reason, created_at, position, day)
    SELECT (${time}::text || '-7' || lpad(to_hex(n % 4096), 3, '0') || substr(gen_random_uuid()::text, 19))::uuid,
      ${accountId}::uuid, 'acquirer', 'available', 100, gen_random_uuid(), 'charge.paid', now(),
      (SELECT count(*) FROM ledger_transfers WHERE account_id = ${accountId}::uuid) + n, now()
    FROM generate_series(1, ${count}::integer) n`
  yield* sql`UPDATE ledger_accounts SET balance = balance + CASE kind WHEN 'available' THEN 1 ELSE -1 END * ${count * 100}::bigint
    WHERE owner_id = ${accountId}::uuid AND kind IN ('available', 'acquirer')`
})

const lowestIdBefore = (ageMs: number) => Effect.map(Clock.currentTimeMillis, (nowMs) => lowestIdAt(nowMs - ageMs))

const checkpointOf = (accountId: string) =>
  Effect.flatMap(SqlClient, (sql) =>
    Effect.map(
      sql<{ balance: bigint }>`SELECT balance FROM ledger_checkpoints
        WHERE owner_id = ${accountId}::uuid AND kind = 'available'`,
      ([row]) => row?.balance
    )
  )
