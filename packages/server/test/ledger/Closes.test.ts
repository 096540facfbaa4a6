/** Daily closes: complete days, chained by hashes, and what verification says of a tampered one. */
import { assert, layer } from "@effect/vitest"
import type { BalanceTransaction, Close, OverdueClose } from "@pix-payments/api/operator/Books"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as LedgerWatch from "../../src/alerts/LedgerWatch.ts"
import { measure, OverdueCloses } from "../../src/ledger/OverdueCloses.ts"
import { allowCloses, closeDays, daysAhead, refuseCloses, tampered } from "../support/Closing.ts"
import {
  assertLedgerHolds,
  availableOf,
  operated,
  paidCharge,
  paidOut,
  payoutReaching,
  verification,
  type Verification
} from "../support/Money.ts"
import { makeOperator } from "../support/Operators.ts"
import { gauge } from "../support/RawConnection.ts"
import { eventually } from "../support/Receiver.ts"
import { TestService } from "../support/TestService.ts"

const settings = { acquirerTimeoutMs: 300, simulatorSettleMs: 0 }

layer(TestService.layer({ settings }), { excludeTestServices: true })("Daily closes", (it) => {
  const fee = { fixed: 30, basis_points: 0 }

  const closesOf = (owner: string) =>
    Effect.map(operated<{ data: ReadonlyArray<Close> }>("GET", `/${owner}/closes`), ({ data }) => data.toReversed())

  const linesOf = (owner: string) =>
    Effect.map(
      operated<{ data: ReadonlyArray<BalanceTransaction> }>("GET", `/${owner}/transactions?limit=100`),
      ({ data }) => data.toReversed()
    )

  const inFull = operated<Verification>("GET", "/ledger/verify?full=true")

  /** Days ahead of the clock by which a test closes: each test has later ones, because a raised day stays. */
  let ahead = 1

  it.effect(
    "OPR-255: opening, credits, debits, fees and closing of each day with lines, and none of a day without",
    () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { accountId, key } = yield* makeCaller({ account: { payout_fee: fee } })
        const owner = `accounts/${accountId}`
        yield* paidCharge(key, 2000)
        const payout = yield* paidOut(key, { amount: 500 })
        yield* payoutReaching(key, payout.id, "completed")
        assert.deepStrictEqual(yield* closesOf(owner), [])
        yield* closeDays(ahead)
        const [first, ...others] = yield* closesOf(owner)
        assert.deepStrictEqual(others, [])
        assert.deepInclude(first, {
          opening: 0,
          credits: 2000,
          debits: 530,
          fees: 30,
          closing: 1470,
          // The charge, the payout, and its end: amount and fee leave transit.
          lines: 4,
          last_position: 4,
          previous_hash: null
        })
        assert.deepStrictEqual(first!.balances, {
          acquirer: -1500,
          available: 1470,
          fees: 30,
          payouts_in_transit: 0
        })
        const [line] = yield* linesOf(owner)
        assert.strictEqual(first!.day, line!.day)
        // Four days pass, of which the last has a payment.
        assert.strictEqual(yield* closeDays(ahead), 0)
        ahead += 3
        yield* closeDays(ahead)
        assert.strictEqual((yield* closesOf(owner)).length, 1)
        yield* paidCharge(key, 100)
        const late = (yield* linesOf(owner)).at(-1)!
        assert.isAbove(Date.parse(late.day), Date.parse(line!.day))
        ahead += 3
        yield* closeDays(ahead)
        const [, second] = yield* closesOf(owner)
        assert.deepInclude(second, { day: late.day, opening: 1470, closing: 1570, previous_hash: first!.hash })
        assert.strictEqual(second!.closing, yield* availableOf(key))
        yield* assertLedgerHolds
      })
  )

  it.effect("OPR-255: of a connection, what its bank moved; the chain of an account and of a bank account hold", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const owner = `connections/${SIMULATOR_CONNECTION}`
      yield* paidCharge(key, 700)
      ahead += 3
      yield* closeDays(ahead)
      const closes = yield* closesOf(owner)
      const lines = yield* linesOf(owner)
      assert.strictEqual(
        closes.at(-1)!.closing,
        lines.reduce((sum, { net }) => sum + net, 0)
      )
      assert.deepStrictEqual(closes.at(-1)!.balances, {})
      for (const [index, close] of closes.entries()) {
        const ofDay = lines.filter(({ day }) => day === close.day)
        assert.strictEqual(close.opening, closes[index - 1]?.closing ?? 0)
        assert.strictEqual(close.previous_hash, closes[index - 1]?.hash ?? null)
        assert.strictEqual(close.lines, ofDay.length)
        assert.strictEqual(
          close.closing - close.opening,
          ofDay.reduce((sum, { net }) => sum + net, 0)
        )
      }
      assert.deepStrictEqual((yield* inFull).closes, [])
    })
  )

  it.effect("OPR-255: payments while days close, by several rounds at once, are each in one close", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const owner = `accounts/${accountId}`
      const before = (yield* closesOf(`connections/${SIMULATOR_CONNECTION}`)).at(-1)?.closing ?? 0
      for (let round = 0; round < 4; round++) {
        ahead += 1
        yield* Effect.all(
          [
            ...Array.from({ length: 8 }, (_, n) => paidCharge(key, 100 + n)),
            ...Array.from({ length: 3 }, () => closeDays(ahead))
          ],
          { concurrency: "unbounded" }
        )
      }
      ahead += 3
      yield* closeDays(ahead)
      const closes = yield* closesOf(owner)
      const lines = yield* linesOf(owner)
      assert.isAbove(closes.length, 1)
      assert.strictEqual(closes.at(-1)!.closing, yield* availableOf(key))
      for (const close of closes) {
        const ofDay = lines.filter(({ day }) => day === close.day)
        assert.strictEqual(close.lines, ofDay.length)
        assert.strictEqual(close.closing, ofDay.at(-1)!.balance_after)
      }
      const bank = (yield* closesOf(`connections/${SIMULATOR_CONNECTION}`)).at(-1)!
      assert.strictEqual(bank.closing - before, yield* availableOf(key))
      assert.deepStrictEqual((yield* inFull).closes, [])
    })
  )

  it.effect(
    "OPR-255, OPR-264: an owner that cannot be closed delays no other, is counted and named, and is closed later",
    () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { list } = yield* OverdueCloses
        const overdue = Effect.suspend(() => daysAhead(ahead)(list(10)))
        const counted = Effect.andThen(measure, gauge("closes_overdue"))
        const bank = `connections/${SIMULATOR_CONNECTION}`
        // The insert of a close, of an account and of a bank account; and the update of many accounts before they are closed.
        for (const { on, of } of [
          { on: "INSERT ON closes", of: "account" },
          { on: "UPDATE ON ledger_accounts", of: "account" },
          { on: "INSERT ON closes", of: "connection" }
        ] as const) {
          const { accountId: failing, key: failingKey } = yield* makeCaller()
          const { accountId, key } = yield* makeCaller()
          const charge = yield* paidCharge(failingKey, 100)
          yield* paidCharge(key, 100)
          const before = (yield* closesOf(bank)).length
          const broken = of === "account" ? failing : SIMULATOR_CONNECTION
          yield* refuseCloses(broken, on)
          ahead += 3
          yield* closeDays(ahead)
          assert.strictEqual((yield* closesOf(`accounts/${accountId}`)).length, 1)
          assert.strictEqual((yield* closesOf(`accounts/${failing}`)).length, of === "account" ? 0 : 1)
          assert.strictEqual((yield* closesOf(bank)).length, of === "account" ? before + 1 : before)
          const [line] = yield* linesOf(of === "account" ? `accounts/${failing}` : `${bank}`).pipe(
            Effect.map((lines) => lines.filter(({ source }) => source.id === charge.id))
          )
          const isConnection = of === "connection"
          assert.deepStrictEqual(yield* overdue, [{ owner_id: broken, is_connection: isConnection, day: line!.day }])
          // By the service's clock too.
          const opened = tampered(
            `UPDATE ledger_accounts SET open_day = '2026-01-02' WHERE owner_id = '${broken}' AND open_day IS NOT NULL`
          )
          // The service's own round finds no line of that day, and opens the day of the next one.
          yield* eventually(Effect.andThen(opened, counted), (count) => count === (isConnection ? 0 : 1))
          yield* allowCloses(on)
          yield* closeDays(ahead)
          assert.deepStrictEqual(yield* overdue, [])
          assert.strictEqual(yield* counted, 0)
        }
      })
  )

  it.effect("OPR-264, OPR-39: operators see the overdue days of their accounts", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const sql = yield* SqlClient
      const { accountId } = yield* makeCaller()
      const { accountId: other } = yield* makeCaller()
      const overdue = operated<{ data: ReadonlyArray<OverdueClose> }>("GET", "/closes/overdue")
      assert.deepStrictEqual((yield* overdue).data, [])
      yield* refuseCloses(accountId, "UPDATE ON ledger_accounts")
      yield* tampered(
        `UPDATE ledger_accounts SET open_day = '2026-01-02' WHERE owner_id = '${accountId}' AND kind = 'available'`
      )
      const named: OverdueClose = {
        object: "overdue_close",
        account_id: accountId,
        connection_id: null,
        day: "2026-01-02"
      }
      assert.deepStrictEqual((yield* overdue).data, [named])
      for (const [limitedTo, seen] of [
        [accountId, [named]],
        [other, new Array<OverdueClose>()]
      ] as const) {
        const { call } = yield* makeOperator("viewer", [limitedTo])
        const { body } = yield* call<{ data: ReadonlyArray<OverdueClose> }>("GET", "/operator/v1/closes/overdue")
        assert.deepStrictEqual(body.data, seen)
      }
      yield* allowCloses("UPDATE ON ledger_accounts")
      yield* sql`UPDATE ledger_accounts SET open_day = NULL WHERE owner_id = ${accountId}::uuid`
    })
  )

  it.effect("OPR-30, OPR-256: a day that is not as it was closed is a difference of the ledger's metric", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      yield* paidCharge(key, 100)
      ahead += 3
      yield* closeDays(ahead)
      assert.strictEqual(yield* LedgerWatch.check, 0)
      yield* tampered(`UPDATE closes SET closing = closing + 1 WHERE owner_id = '${accountId}'`)
      assert.strictEqual(yield* LedgerWatch.check, 1)
      assert.strictEqual(yield* gauge("ledger_differences"), 1)
      yield* tampered(`UPDATE closes SET closing = closing - 1 WHERE owner_id = '${accountId}'`)
      assert.strictEqual(yield* LedgerWatch.check, 0)
    })
  )

  it.effect(
    "OPR-256, BAL-8: verification names a tampered entry, close and chain; nobody changes them by mistake",
    () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const sql = yield* SqlClient
        const { accountId, key } = yield* makeCaller()
        yield* paidCharge(key, 100)
        ahead += 3
        yield* closeDays(ahead)
        yield* paidCharge(key, 200)
        ahead += 3
        yield* closeDays(ahead)
        const [first, second] = yield* closesOf(`accounts/${accountId}`)
        const named = Effect.map(inFull, ({ closes }) =>
          closes.filter(({ account_id }) => account_id === accountId).map(({ day, problem }) => `${day} ${problem}`)
        )
        assert.deepStrictEqual(yield* named, [])
        for (const text of ["UPDATE closes SET closing = 1", "DELETE FROM closes", "TRUNCATE closes"]) {
          const error = yield* Effect.flip(sql.unsafe(text))
          assert.include(String(error.reason.cause), "closes cannot be changed or deleted")
        }
        const ofFirst = `account_id = '${accountId}' AND day = '${first!.day}'`
        // The reason decides the type of the line; balances stay as they are.
        yield* tampered(`UPDATE ledger_transfers SET reason = 'adjustment' WHERE ${ofFirst}`)
        assert.deepStrictEqual(yield* named, [`${first!.day} transfers`])
        yield* tampered(`UPDATE ledger_transfers SET reason = 'charge.paid' WHERE ${ofFirst}`)
        assert.deepStrictEqual(yield* named, [])
        yield* tampered(`UPDATE closes SET closing = closing + 1, credits = credits + 1 WHERE id = '${first!.id}'`)
        assert.deepStrictEqual(yield* named, [`${first!.day} close`, `${second!.day} chain`])
        yield* tampered(`UPDATE closes SET closing = closing - 1, credits = credits - 1 WHERE id = '${first!.id}'`)
        yield* tampered(`UPDATE closes SET day = day - 1 WHERE id = '${first!.id}'`)
        assert.include(yield* named, `${first!.day} missing`)
        yield* tampered(`UPDATE closes SET day = day + 1 WHERE id = '${first!.id}'`)
        // The newest closed day is checked each time.
        yield* tampered(`UPDATE ledger_transfers SET created_at = created_at + interval '1 second'
        WHERE account_id = '${accountId}' AND day = '${second!.day}'`)
        assert.deepInclude((yield* verification).closes, {
          account_id: accountId,
          connection_id: null,
          day: second!.day,
          problem: "transfers"
        })
        assert.isFalse((yield* verification).consistent)
        yield* tampered(`UPDATE ledger_transfers SET created_at = created_at - interval '1 second'
        WHERE account_id = '${accountId}' AND day = '${second!.day}'`)
        yield* assertLedgerHolds
      })
  )

  it.effect("OPR-257: The time zone of days is a setting until the first close", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const patched = (timezone: string) => operate("PATCH", "/operator/v1/installation", { body: { timezone } })
      assert.strictEqual((yield* patched("Brazil")).status, 400)
      assert.strictEqual((yield* patched("America/Sao_Paulo")).status, 200)
      assert.strictEqual((yield* patched("America/Manaus")).status, 409)
    })
  )
})

layer(TestService.layer({ settings }), { excludeTestServices: true })("Before the first close", (it) => {
  it.effect("OPR-257: another time zone dates lines by its days", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      // Fourteen hours ahead of UTC, and twelve behind: one of them has another day than UTC.
      const days: Array<string> = []
      for (const timezone of ["Etc/GMT+12", "Pacific/Kiritimati"]) {
        assert.strictEqual((yield* operate("PATCH", "/operator/v1/installation", { body: { timezone } })).status, 200)
        yield* paidCharge(key, 100)
        const { data } = yield* operated<{ data: ReadonlyArray<BalanceTransaction> }>(
          "GET",
          `/accounts/${accountId}/transactions?limit=1`
        )
        days.push(data[0]!.day)
      }
      assert.strictEqual(Date.parse(days[1]!) - Date.parse(days[0]!) >= 86_400_000, true)
    })
  )
})
