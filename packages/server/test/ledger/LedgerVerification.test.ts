/** The verification of the ledger: what it reads, and what it finds on either side of a close. */
import { assert, layer } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { CurrentTransformer, type Transformer } from "effect/sql/Statement"
import type { Close } from "@pix-payments/api/operator/Books"
import * as LedgerWatch from "../../src/alerts/LedgerWatch.ts"
import { LedgerVerification } from "../../src/ledger/LedgerVerification.ts"
import { OverdueCloses } from "../../src/ledger/OverdueCloses.ts"
import { closeDays, daysAhead, refuseCloses, tampered } from "../support/Closing.ts"
import { notified, paymentOf } from "../support/Exceptions.ts"
import { assertLedgerHolds, operated, paidCharge, verification, type Verification } from "../support/Money.ts"
import { makeOperator } from "../support/Operators.ts"
import { eventually } from "../support/Receiver.ts"
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
        const sent = recorder.take()
        for (const part of ["closed_owners AS MATERIALIZED", "AS lacks_lines"]) {
          const work = yield* explain(sent.find(({ text }) => text.includes(part))!)
          assert.include(work.indexes, "ledger_transfers_of_day")
          assert.isBelow(work.rows, 500)
        }
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
      yield* refuseCloses(SIMULATOR_CONNECTION, "INSERT ON closes")
      yield* tampered("UPDATE ledger_transfers SET day = day - 1")
      yield* tampered("UPDATE ledger_accounts SET open_day = open_day - 1 WHERE open_day IS NOT NULL")
      const { closes } = yield* operated<Verification>("GET", "/ledger/verify?full=true")
      assert.deepStrictEqual(closes, [])
      assert.lengthOf(yield* sql`SELECT FROM closes`, 0)
    })
  )
})

layer(TestService.layer(), { excludeTestServices: true })("What the tables' owner changed", (it) => {
  const closesOf = (accountId: string) =>
    Effect.map(operated<{ data: ReadonlyArray<Close> }>("GET", `/accounts/${accountId}/closes`), ({ data }) => data)

  const namedOf = (accountId: string, { closes }: Verification) =>
    closes.filter(({ account_id }) => account_id === accountId).map(({ day, problem }) => `${day} ${problem}`)

  /** Takes a cent out of a payment of a day, with the balances that it made. */
  const lowered = (accountId: string, day: string) =>
    Effect.andThen(
      tampered(`UPDATE ledger_transfers SET amount = amount - 1 WHERE account_id = '${accountId}' AND day = '${day}'`),
      tampered(`UPDATE ledger_accounts SET balance = balance + CASE kind WHEN 'available' THEN -1 ELSE 1 END
        WHERE owner_id = '${accountId}' AND kind IN ('available', 'acquirer')`)
    )

  it.effect("BAL-8, OPR-256: of a payment of an old day, with its balances, is named with its day each time", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const other = yield* makeCaller()
      yield* paidCharge(other.key, 700)
      for (const ahead of [1, 4]) {
        yield* paidCharge(key, 1000)
        yield* closeDays(ahead)
      }
      yield* paidCharge(key, 1000)
      const [, old] = yield* closesOf(accountId)
      yield* lowered(accountId, old!.day)
      const verified = yield* verification
      assert.deepStrictEqual(namedOf(accountId, verified), [`${old!.day} transfers`])
      assert.deepStrictEqual(verified.differences, [])
      assert.isFalse(verified.consistent)
      // Those that fit are in the answer, too.
      const shown = verified.accounts.find(
        ({ account }) => account.account_id === other.accountId && account.name === "available"
      )
      assert.strictEqual(shown?.kept, 700)
    })
  )

  it.effect("OPR-255, OPR-256, OPR-264: a close that is gone is named each time, and its day is not closed anew", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const sql = yield* SqlClient
      const { accountId, key } = yield* makeCaller()
      for (const ahead of [8, 12]) {
        yield* paidCharge(key, 1000)
        yield* closeDays(ahead)
      }
      yield* paidCharge(key, 1000)
      const [newest, before] = yield* closesOf(accountId)
      yield* sql`CREATE TABLE gone AS SELECT * FROM closes WHERE id = ${newest!.id}::uuid`
      yield* tampered(`DELETE FROM closes WHERE id = '${newest!.id}'`)
      yield* lowered(accountId, newest!.day)
      assert.deepStrictEqual(namedOf(accountId, yield* verification), [`${newest!.day} missing`])
      yield* closeDays(16)
      assert.deepStrictEqual(yield* closesOf(accountId), [before!])
      assert.deepStrictEqual(namedOf(accountId, yield* verification), [`${newest!.day} missing`])
      const { list } = yield* OverdueCloses
      assert.deepStrictEqual(
        (yield* daysAhead(16)(list(10))).map(({ owner_id }) => owner_id),
        [accountId]
      )
      yield* tampered("INSERT INTO closes SELECT * FROM gone")
      yield* closeDays(16)
      assert.lengthOf(yield* closesOf(accountId), 3)
      assert.deepStrictEqual(namedOf(accountId, yield* verification), [`${newest!.day} transfers`])
    })
  )

  it.effect(
    "BAL-8, OPR-251: an entry of the open day that is gone, with its balances, is named, also once it is closed",
    () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { accountId, key } = yield* makeCaller()
        for (let n = 0; n < 3; n++) yield* paidCharge(key, 1000)
        const full = operated<Verification>("GET", "/ledger/verify?full=true")
        assert.deepStrictEqual(namedOf(accountId, yield* verification), [])
        yield* tampered(`DELETE FROM ledger_transfers WHERE account_id = '${accountId}' AND position = 2`)
        yield* tampered(`UPDATE ledger_accounts SET balance = balance + CASE kind WHEN 'available' THEN -1000 ELSE 1000 END
        WHERE owner_id = '${accountId}' AND kind IN ('available', 'acquirer')`)
        for (const verified of [yield* verification, yield* full]) {
          assert.match(namedOf(accountId, verified).join(), /^[0-9-]{10} transfers$/)
          assert.isFalse(verified.consistent)
        }
        yield* closeDays(20)
        for (const verified of [yield* verification, yield* full]) {
          assert.match(namedOf(accountId, verified).join(), /^[0-9-]{10} transfers$/)
        }
      })
  )
})

/** Statements of full verifications, which wait. */
const held = { count: 0, released: Deferred.makeUnsafe<void>() }

const holding: Transformer = (statement, sql) =>
  Effect.suspend(() => {
    const [text] = statement.compile()
    if (!text.includes(" computed AS (") || /closed_owners|unnest/.test(text)) return Effect.succeed(statement)
    held.count++
    return sql`SET LOCAL idle_in_transaction_session_timeout = 0`.pipe(
      Effect.provideService(CurrentTransformer, undefined),
      Effect.orDie,
      Effect.andThen(Deferred.await(held.released)),
      Effect.as(statement)
    )
  })

layer(TestService.layer().pipe(Layer.provide(Layer.succeed(CurrentTransformer, holding))), {
  excludeTestServices: true
})("One who verifies", (it) => {
  it.effect(
    "OPR-30: in full delays no other form and not the background, and shares the next run with all who wait",
    () =>
      Effect.gen(function* () {
        const { verify } = yield* LedgerVerification
        const { call } = yield* makeOperator("viewer")
        const first = yield* Effect.forkChild(call<Verification>("GET", "/operator/v1/ledger/verify?full=true"))
        yield* eventually(
          Effect.sync(() => held.count),
          (count) => count === 1
        )
        const others = yield* Effect.forkChild(
          Effect.all(
            Array.from({ length: 20 }, () => verify("full")),
            { concurrency: "unbounded" }
          ).pipe(Effect.provideService(CurrentTransformer, holding)),
          { startImmediately: true }
        )
        yield* assertLedgerHolds
        assert.strictEqual(yield* LedgerWatch.check, 0)
        assert.strictEqual(held.count, 1)
        yield* Deferred.succeed(held.released, undefined)
        assert.isTrue((yield* Fiber.join(first)).body.consistent)
        assert.lengthOf(yield* Fiber.join(others), 20)
        assert.strictEqual(held.count, 2)
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
