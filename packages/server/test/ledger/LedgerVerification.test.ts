/** The verification of the ledger: what it reads, and what it finds on either side of a close. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { closeDays, tampered } from "../support/Closing.ts"
import { notified, paymentOf } from "../support/Exceptions.ts"
import { assertLedgerHolds, operated, paidCharge, verification, type Verification } from "../support/Money.ts"
import { makeExplainer, makeRecorder } from "../support/Plans.ts"
import { asService } from "../support/Postgres.ts"
import { TestService } from "../support/TestService.ts"

const recorder = makeRecorder()

layer(TestService.layer().pipe(Layer.provide(recorder.layer)), { excludeTestServices: true })(
  "Verification of the ledger",
  (it) => {
    const inFull = operated<Verification>("GET", "/ledger/verify?full=true")

    it.effect("BAL-8, OPR-30: an incremental verification reads the transfers after the last closes", () =>
      Effect.gen(function* () {
        const { databaseUrl, makeCaller } = yield* TestService
        const { accountId, key } = yield* makeCaller()
        yield* paidCharge(key, 500)
        yield* addPayments(accountId, 3000)
        yield* closeDays(1)
        for (const amount of [500, 500]) yield* paidCharge(key, amount)
        yield* assertLedgerHolds
        const { explain } = yield* makeExplainer(asService(databaseUrl), recorder.settings())
        recorder.take()
        const since = yield* verification
        const sent = recorder.take().find(({ text }) => text.includes("closed_owners AS MATERIALIZED"))
        const work = yield* explain(sent!)
        assert.include(work.indexes, "ledger_transfers_of_day")
        assert.isBelow(work.rows, 500)
        const balances = ({ accounts }: Verification) => accounts.map(({ kept }) => kept).toSorted()
        assert.deepStrictEqual(balances(yield* inFull), balances(since))
        assert.include(
          since.accounts.map(({ kept }) => kept),
          3000 * 100 + 3 * 500
        )
      })
    )

    it.effect(
      "BAL-8: a balance that its transfers do not explain is found, whether they are before or after the close",
      () =>
        Effect.gen(function* () {
          const { makeCaller } = yield* TestService
          const sql = yield* SqlClient
          const { accountId: closed, key: closedKey } = yield* makeCaller()
          yield* paidCharge(closedKey, 1000)
          yield* closeDays(4)
          const { accountId: open, key } = yield* makeCaller()
          yield* paidCharge(key, 1000)
          const changed = (accountId: string, by: number) =>
            sql`UPDATE ledger_accounts SET balance = balance + ${by}::bigint
            WHERE owner_id = ${accountId}::uuid AND kind = 'available'`
          for (const accountId of [closed, open]) {
            yield* changed(accountId, 7)
            const { consistent, differences } = yield* verification
            assert.isFalse(consistent)
            assert.deepStrictEqual(differences, [
              { account: { account_id: accountId, name: "available" }, kept: 1007, computed: 1000 }
            ])
            yield* changed(accountId, -7)
          }
          yield* assertLedgerHolds
        })
    )

    it.effect("BAL-8: a close that hides a difference is found: what differs is summed from all its transfers", () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const sql = yield* SqlClient
        const { accountId, key } = yield* makeCaller()
        yield* paidCharge(key, 1000)
        yield* closeDays(8)
        const changed = (by: number) =>
          sql.withTransaction(
            Effect.andThen(
              sql`SET LOCAL session_replication_role = replica`,
              sql`UPDATE closes SET balances = jsonb_set(balances, '{available}', to_jsonb(1000 + ${by}::integer))
                WHERE owner_id = ${accountId}::uuid`
            )
          )
        yield* changed(7)
        const { closes, consistent, differences } = yield* verification
        assert.isFalse(consistent)
        assert.deepStrictEqual(differences, [])
        assert.deepStrictEqual(
          closes.map(({ account_id, problem }) => [account_id, problem]),
          [[accountId, "close"]]
        )
        yield* changed(0)
        yield* assertLedgerHolds
      })
    )
  }
)

layer(TestService.layer(), { excludeTestServices: true })("A day that ended", (it) => {
  it.effect("BAL-8, OPR-255: and is not closed yet is not broken: money of nobody, too", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      yield* notified(paymentOf("", { amount: 900 }))
      yield* tampered("UPDATE ledger_transfers SET day = day - 1")
      yield* tampered("UPDATE ledger_accounts SET open_day = open_day - 1 WHERE open_day IS NOT NULL")
      const { closes } = yield* operated<Verification>("GET", "/ledger/verify?full=true")
      assert.deepStrictEqual(closes, [])
      assert.lengthOf(yield* sql`SELECT FROM closes`, 0)
    })
  )
})

/** Payments of one real to an account, after the one that it has. */
const addPayments = Effect.fnUntraced(function* (accountId: string, count: number) {
  const sql = yield* SqlClient
  yield* sql`INSERT INTO ledger_transfers (id, account_id, debit, credit, amount, resource_id, reason, created_at, position, day)
    SELECT uuidv7(), ${accountId}::uuid, 'acquirer', 'available', 100, gen_random_uuid(), 'charge.paid', now(), n + 1,
      (SELECT day FROM ledger_accounts WHERE owner_id = ${accountId}::uuid AND kind = 'available')
    FROM generate_series(1, ${count}::integer) n`
  yield* sql`UPDATE ledger_accounts SET
    balance = balance + CASE kind WHEN 'available' THEN 1 ELSE -1 END * ${count * 100}::bigint,
    position = CASE kind WHEN 'available' THEN position + ${count}::bigint ELSE 0 END
    WHERE owner_id = ${accountId}::uuid AND kind IN ('available', 'acquirer')`
})
