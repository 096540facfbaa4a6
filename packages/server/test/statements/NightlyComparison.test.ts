/** Days that have ended are compared in the night, also of a bank without a balance by API and before any file of it. */
import { assert, layer } from "@effect/vitest"
import type { Reconciliation } from "@pix-payments/api/operator/Reconciliations"
import { type Dialect, statementFile, tidy } from "@pix-payments/psp-double/statement/StatementFile"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { startOf, TODAY } from "../../src/database/statements/Days.ts"
import { BankDays } from "../../src/statements/BankDays.ts"
import { BankReconciliation } from "../../src/statements/BankReconciliation.ts"
import { ReconciliationDays } from "../../src/statements/ReconciliationDays.ts"
import { ReconciliationStore } from "../../src/statements/ReconciliationStore.ts"
import { counted, extra, importing } from "../support/BankDays.ts"
import { connectedBank, connectedServiceLayer } from "../support/ConnectedBank.ts"
import { operated } from "../support/Money.ts"
import { eventually } from "../support/Receiver.ts"

layer(connectedServiceLayer(), { excludeTestServices: true })("nightly comparison", (it) => {
  /** A day of the bank account on which the books have a movement, and its close. */
  const closedDay = Effect.fnUntraced(function* (connectionId: string, accountId: string, daysAgo: number) {
    const sql = yield* SqlClient
    const day = sql.literal(`(${TODAY} - ${daysAgo})`)
    yield* sql`INSERT INTO ledger_transfers (id, account_id, debit, credit, amount, resource_id, reason, created_at, position, day,
        connection_id)
      SELECT uuidv7(), ${accountId}::uuid, 'acquirer', 'available', 100, uuidv7(), 'charge.paid', now(), 1, ${day}, ${connectionId}::uuid`
    const [closed] = yield* sql<{ day: string }>`
      INSERT INTO closes (id, owner_id, book, day, opening, credits, debits, fees, closing, lines, last_position, balances, lines_hash,
        hash, closed_at)
      VALUES (uuidv7(), ${connectionId}::uuid, 'bank', ${day}, 0, 100, 0, 0, 100, 1, 1, '{}', '', '', now())
      RETURNING day::text AS day`
    return closed!.day
  })

  /** What the night asks for, once it has been compared. */
  const night = Effect.fnUntraced(function* (connectionId: string) {
    yield* (yield* BankReconciliation).requestEnded
    const { data } = yield* eventually(
      operated<{ data: ReadonlyArray<Reconciliation> }>("GET", `/reconciliations?connection_id=${connectionId}`),
      ({ data: days }) => days.every(({ status }) => status !== "requested")
    )
    return data
  })

  const imported = (connectionId: string, from: string, to: string, dialect: Partial<Dialect> = {}) =>
    operated(
      "POST",
      "/bank-statements",
      {
        connection_id: connectionId,
        content: Buffer.from(
          statementFile(
            { bank: "364", branch: "0001", account: "12345-6", from, to, openingCents: 0, lines: [] },
            { ...tidy, ...dialect }
          )
        ).toString("base64")
      },
      201
    )

  it.effect(
    "OPR-280: a day that ended without a file of it is named in the night, and those of nights that nothing ran",
    () =>
      Effect.gen(function* () {
        const { accountId, connectionId } = yield* connectedBank()
        const yesterday = yield* closedDay(connectionId, accountId, 1)
        const before = yield* closedDay(connectionId, accountId, 4)
        const days = yield* night(connectionId)
        assert.deepStrictEqual(
          days.map(({ day, reason, status }) => [day, status, reason]).toSorted(),
          [before, yesterday].map((day) => [day, "failed", "no statement of the bank has this day"])
        )
        const done = days.map(({ done_at }) => done_at)
        // They are compared: the night has no more to do.
        assert.deepStrictEqual(
          (yield* night(connectionId)).map(({ done_at }) => done_at),
          done
        )
        yield* imported(connectionId, before, yesterday)
        const after = yield* night(connectionId)
        assert.deepStrictEqual(
          after.map(({ difference, status }) => [status, difference]),
          [
            ["done", -100],
            ["done", -100]
          ]
        )
      })
  )

  it.effect("OPR-280: a bank account whose statements stop is named by the age of its first day without one", () =>
    Effect.gen(function* () {
      const { connectionId, accountId } = yield* connectedBank()
      const { missingSeconds } = yield* BankDays
      const before = yield* missingSeconds
      const [eight, five, four] = [
        yield* closedDay(connectionId, accountId, 8),
        yield* closedDay(connectionId, accountId, 5),
        yield* closedDay(connectionId, accountId, 4)
      ]
      // Where no file ever came, nobody expects one.
      assert.strictEqual(yield* missingSeconds, before)
      yield* imported(connectionId, eight, eight)
      // The days between have no movement, and may have no file.
      const days = (yield* missingSeconds) / 86_400
      assert.isTrue(days >= 4 && days < 6, `${days}`)
      yield* imported(connectionId, five, four)
      assert.strictEqual(yield* missingSeconds, before)
      // A day between two files.
      yield* closedDay(connectionId, accountId, 6)
      assert.isAbove(yield* missingSeconds, 5 * 86_400 - 1)
    })
  )

  it.effect("OPR-280: a day that was compared before its end is compared after it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { accountId, connectionId } = yield* connectedBank()
      const yesterday = yield* closedDay(connectionId, accountId, 1)
      yield* imported(connectionId, yesterday, yesterday)
      const [first] = yield* night(connectionId)
      assert.deepStrictEqual([first!.status, first!.difference], ["done", -100])
      yield* sql`UPDATE reconciliations SET done_at = done_at - interval '26 hours', books_total = 0
        WHERE connection_id = ${connectionId}::uuid`
      const [again] = yield* night(connectionId)
      assert.deepStrictEqual([again!.status, again!.difference], ["done", -100])
      assert.isAbove(Date.parse(again!.done_at!), Date.parse(`${yesterday}T03:00:00Z`) + 86_400_000 - 1)
    })
  )

  it.effect("OPR-277, OPR-280: a day that pairs with one beside it is compared again when that one has ended", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const bank = yield* connectedBank()
      const { accountId, connectionId, double } = bank
      const before = yield* closedDay(connectionId, accountId, 2)
      const line = { ...extra(double, 100, "PIX RECEBIDO"), atMs: double.now() - 86_400_000 }
      yield* importing(bank, [line], {}, before)
      const statesOf = (days: ReadonlyArray<Reconciliation>, day: string) =>
        counted(days.find((each) => each.day === day)!)
      assert.deepStrictEqual(statesOf(yield* night(connectionId), before), { timing: "1 -100" })
      // The movement of the line is in the books later on its day, after the comparison.
      const yesterday = yield* closedDay(connectionId, accountId, 1)
      yield* sql`UPDATE reconciliations SET done_at = ${sql.literal(startOf(TODAY))} - interval '1 hour'
        WHERE connection_id = ${connectionId}::uuid AND status = 'done'`
      const days = yield* night(connectionId)
      assert.deepStrictEqual(statesOf(days, yesterday), { matched: "1 0" })
      assert.deepStrictEqual(statesOf(days, before), { missing_there: "1 -100" })
      const done = days.map(({ done_at }) => done_at)
      assert.deepStrictEqual(
        (yield* night(connectionId)).map(({ done_at }) => done_at),
        done
      )
    })
  )

  it.effect("OPR-280: what a comparison found is not kept where the day was asked for since it began", () =>
    Effect.gen(function* () {
      const { connectionId } = yield* connectedBank()
      const sql = yield* SqlClient
      const { failed } = yield* ReconciliationDays
      const { done } = yield* ReconciliationStore
      // Claimed by nobody here.
      const [row] = yield* sql<{ id: string; day: string }>`
        INSERT INTO reconciliations (id, connection_id, day, status, due_at, created_at)
        VALUES (uuidv7(), ${connectionId}::uuid, ${sql.literal(TODAY)} - 1, 'requested', '2100-01-01T00:00:00Z', now())
        RETURNING id, day::text AS day`
      const due = { ...row!, bankAccount: connectionId, lookedUpTo: null }
      const status = Effect.map(operated<Reconciliation>("GET", `/reconciliations/${row!.id}`), (shown) => shown.status)
      const before = { ...due, claimedUntil: "2099-12-31 00:00:00+00" }
      yield* done(before, { opening: null, closing: null }, [], NONE_LEFT)
      yield* failed(before, "no statement of the bank has this day", false)
      assert.strictEqual(yield* status, "requested")
      yield* done({ ...due, claimedUntil: "2100-01-01 00:00:00+00" }, { opening: null, closing: null }, [], NONE_LEFT)
      assert.strictEqual(yield* status, "done")
    })
  )

  it.effect("OPR-280: a day that the header of a file leaves out is compared where a line of it has it", () =>
    Effect.gen(function* () {
      const { connectionId } = yield* connectedBank()
      const sql = yield* SqlClient
      const [row] = yield* sql<{ day: string }>`SELECT (${sql.literal(TODAY)} - 1)::text AS day`
      const digits = row!.day.replaceAll("-", "")
      const content = Buffer.from(
        `<OFX><BANKMSGSRSV1><STMTTRNRS><STMTRS><CURDEF>BRL<BANKACCTFROM><BANKID>364<ACCTID>12345-6</BANKACCTFROM><BANKTRANLIST>` +
          `<DTSTART>20260101<DTEND>20260102<STMTTRN><TRNTYPE>CREDIT<DTPOSTED>${digits}<TRNAMT>1.50<FITID>1<MEMO>TED</STMTTRN>` +
          `</BANKTRANLIST></STMTRS></STMTTRNRS></BANKMSGSRSV1></OFX>`
      ).toString("base64")
      yield* operated("POST", "/bank-statements", { connection_id: connectionId, content }, 201)
      const { data } = yield* eventually(
        operated<{ data: ReadonlyArray<Reconciliation> }>("GET", `/reconciliations?connection_id=${connectionId}`),
        ({ data: days }) => days.some(({ day, status }) => day === row!.day && status === "done")
      )
      assert.strictEqual(data.find(({ day }) => day === row!.day)?.bank_total, 150)
    })
  )
})

const NONE_LEFT = { isSoon: false, lookedUpTo: null }
