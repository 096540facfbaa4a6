/** What the bank has and the books have not: looked up at the provider, and applied or raised. */
import { assert, layer } from "@effect/vitest"
import { inter } from "@pix-payments/psp-double/http/Profiles"
import { bookedLines } from "@pix-payments/psp-double/statement/BookedLines"
import { bankDay } from "@pix-payments/psp-double/statement/StatementFile"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { SqlClient } from "effect/sql/SqlClient"
import { retrieve } from "../support/ChargeRequests.ts"
import {
  type ConnectedBank,
  connectedBank,
  connectedServiceLayer,
  payAll,
  pendingCharges,
  sweepNow
} from "../support/ConnectedBank.ts"
import { startDouble } from "../support/Bank.ts"
import { connectTo, fund, operatorCredentials } from "../support/Connections.ts"
import { assertLedgerHolds, operated, paidOut, payoutReaching } from "../support/Money.ts"
import { eventually } from "../support/Receiver.ts"
import { TestService } from "../support/TestService.ts"
import { extra, importing, comparedDay, comparedToday, withoutSweeps, counted } from "../support/BankDays.ts"

/** Inter's rail has no list of what came back. */
const paidOutAtInter = Effect.fnUntraced(function* (seed: number) {
  const { makeCaller } = yield* TestService
  const double = yield* startDouble({ seed, variant: inter, settings: { openingCents: 100_000 } })
  const credentials = { ...operatorCredentials(double), current_account: "1" }
  const { id: connectionId } = yield* connectTo(double, { profile: "inter", credentials })
  const bank: ConnectedBank = { double, connectionId, ...(yield* makeCaller()), url: "", secretUrl: "" }
  yield* fund(bank.accountId, 10_000)
  yield* operated("PATCH", `/accounts/${bank.accountId}`, { connection_id: connectionId })
  const { id } = yield* paidOut(bank.key, { amount: 800 })
  return { bank, payout: yield* payoutReaching(bank.key, id, "completed") }
})

const returnsOf = ({ id }: { readonly id: string }) =>
  Effect.map(
    operated<{ data: ReadonlyArray<{ payout_id: string }> }>("GET", "/exceptions?kind=returned_payout"),
    ({ data }) => data.filter(({ payout_id }) => payout_id === id)
  )

layer(connectedServiceLayer(), { excludeTestServices: true })("lines that the bank alone has", (it) => {
  it.effect(
    "OPR-279: 200 Pix are looked up at once; neither payments out nor those of another key hold a lost one back",
    () =>
      Effect.gen(function* () {
        const bank = yield* connectedBank({ settings: { keys: [OWN_KEY, OTHER_KEY] } })
        const { double, key } = bank
        yield* withoutSweeps(bank)
        const charges = yield* pendingCharges(bank, 1, 1000)
        for (let index = 0; index < 210; index++) double.provider.receipts.receive({ key: OTHER_KEY, cents: 7 })
        payAll(bank, charges)
        const out = Array.from({ length: 210 }, (_, index) => ({
          ...extra(double, -5000, "PIX ENVIADO"),
          endToEndId: `E1234567820261125120000000000${String(index).padStart(3, "0")}`
        }))
        yield* importing(bank, [...out, ...bookedLines(double.provider)])
        const first = counted(yield* comparedToday(bank))
        // Whose ids come first is chance: the lost one is among those that are looked up, or behind them.
        assert.include(["200 1400", "199 1393"], first.other_key)
        // It is due again by itself, an hour later.
        const [due] = yield* (yield* SqlClient)<{ minutes: number }>`
        SELECT round(extract(epoch FROM due_at - now()) / 60)::integer AS minutes FROM reconciliations
        WHERE connection_id = ${bank.connectionId}::uuid AND day = ${bankDay(double.now())}::date`
        assert.isTrue(due !== undefined && due.minutes > 30 && due.minutes <= 60, `${due?.minutes}`)
        const second = counted(yield* comparedToday(bank))
        assert.deepStrictEqual([second.other_key, second.missing_here], ["210 1470", `210 ${-210 * 5000}`])
        assert.strictEqual((yield* retrieve(key, charges[0]!.id)).body.status, "paid")
      })
  )

  it.effect(
    "OPR-279: Pix that the provider does not know hold no lost one back: the next comparison goes on behind them",
    () =>
      Effect.gen(function* () {
        const bank = yield* connectedBank()
        const { double, key } = bank
        const sql = yield* SqlClient
        yield* withoutSweeps(bank)
        const charges = yield* pendingCharges(bank, 1, 1000)
        payAll(bank, charges)
        const unknown = Array.from({ length: 210 }, (_, index) => ({
          ...extra(double, 5, "PIX RECEBIDO"),
          endToEndId: `E0000000020261125120000000000${String(index).padStart(3, "0")}`
        }))
        const without = Array.from({ length: 210 }, () => extra(double, 3, "PIX RECEBIDO"))
        yield* importing(bank, [...unknown, ...without, ...bookedLines(double.provider)])
        const isDone = (after: string) =>
          eventually(
            sql<{ done: string | null; due: number | null }>`
            SELECT done_at::text AS done, extract(epoch FROM due_at - now())::float8 / 60 AS due FROM reconciliations
            WHERE connection_id = ${bank.connectionId}::uuid AND day = ${bankDay(double.now())}::date AND status = 'done'`,
            ([row]) => row !== undefined && row.done !== after
          )
        const [first] = yield* isDone("")
        assert.isTrue(first!.due! > 30 && first!.due! <= 60, `${first!.due}`)
        assert.strictEqual((yield* retrieve(key, charges[0]!.id)).body.status, "pending")
        let last = first!
        while (last.due! <= 60) {
          yield* sql`UPDATE reconciliations SET due_at = now() WHERE connection_id = ${bank.connectionId}::uuid`
          const [next] = yield* isDone(last.done!)
          last = next!
        }
        // All had their turn: they are looked up again a day later.
        assert.strictEqual((yield* retrieve(key, charges[0]!.id)).body.status, "paid")
      })
  )

  it.effect(
    "OPR-86, OPR-279: a payout that came back at a rail without a list is an exception once, that no rule accepts",
    () =>
      Effect.gen(function* () {
        const { bank, payout } = yield* paidOutAtInter(77)
        yield* operated("PATCH", `/connections/${bank.connectionId}`, { exception_rule: "accept" })
        const { id } = payout
        const sent = Result.getOrThrow(bank.double.provider.payouts.getByEndToEndId(payout.end_to_end_id ?? ""))
        Result.getOrThrow(bank.double.provider.payouts.receiveReturn(sent.id, 800))

        yield* importing(bank, bookedLines(bank.double.provider))
        const day = yield* comparedToday(bank)
        assert.deepStrictEqual(counted(day), { matched: "2 0" })
        const { data } = yield* operated<{
          data: ReadonlyArray<{ payout_id: string; amount: number; status: string }>
        }>("GET", `/exceptions?kind=returned_payout`)
        assert.deepStrictEqual(
          data.filter(({ payout_id }) => payout_id === id).map(({ amount, status }) => [amount, status]),
          [[800, "open"]]
        )
        yield* comparedToday(bank)
        const again = yield* operated<{ data: ReadonlyArray<{ payout_id: string }> }>(
          "GET",
          `/exceptions?kind=returned_payout`
        )
        assert.lengthOf(again.data, data.length)
        yield* assertLedgerHolds
      })
  )

  /** The books learn a day later that the payout was paid. */
  const learnedLater = ({ id }: { readonly id: string }) =>
    Effect.flatMap(SqlClient, (sql) =>
      sql.withTransaction(
        Effect.andThen(
          sql`SET LOCAL session_replication_role = replica`,
          sql`UPDATE ledger_transfers SET day = day + 1 WHERE resource_id = ${id}::uuid AND reason = 'payout.completed'`
        )
      )
    )

  it.effect("OPR-279: so is one that came back before the books learned that it was paid", () =>
    Effect.gen(function* () {
      const { bank, payout } = yield* paidOutAtInter(76)
      yield* learnedLater(payout)
      const sent = Result.getOrThrow(bank.double.provider.payouts.getByEndToEndId(payout.end_to_end_id ?? ""))
      Result.getOrThrow(bank.double.provider.payouts.receiveReturn(sent.id, 800))
      yield* importing(bank, bookedLines(bank.double.provider))
      yield* comparedToday(bank)
      assert.lengthOf(yield* returnsOf(payout), 1)
      yield* assertLedgerHolds
    })
  )

  const amountsOf = (payout: { readonly id: string }) =>
    Effect.flatMap(
      SqlClient,
      (sql) => sql<{ amount: number; external_id: string }>`
        SELECT amount::integer, external_id FROM acquirer_exceptions
        WHERE payout_id = ${payout.id}::uuid AND kind = 'returned_payout' ORDER BY amount, id`
    )

  it.effect("BAL-17, OPR-279: two lines with the payout's id are two returns, each raised once", () =>
    Effect.gen(function* () {
      const { bank, payout } = yield* paidOutAtInter(72)
      const id = payout.end_to_end_id ?? ""
      const returned = (cents: number) => extra(bank.double, cents, "PIX DEVOLVIDO", id)
      const before = bookedLines(bank.double.provider)
      yield* importing(bank, [...before, returned(300)])
      yield* comparedToday(bank)
      // The file of the whole day has the first line again.
      const lines = [...before, returned(300), returned(200)]
      yield* importing(bank, lines)
      assert.deepStrictEqual(counted(yield* comparedToday(bank)), { matched: "3 0" })
      const both = [
        { amount: 200, external_id: id },
        { amount: 300, external_id: id }
      ]
      assert.deepStrictEqual(yield* amountsOf(payout), both)
      // So has another form of the file.
      yield* importing(bank, lines, { format: "cnab240" })
      assert.deepStrictEqual(counted(yield* comparedToday(bank)), { matched: "3 0" })
      assert.deepStrictEqual(yield* amountsOf(payout), both)
      yield* assertLedgerHolds
    })
  )

  it.effect("BAL-17, OPR-279: so are two of one amount, on one day and on two", () =>
    Effect.gen(function* () {
      const { bank, payout } = yield* paidOutAtInter(71)
      const { double } = bank
      const id = payout.end_to_end_id ?? ""
      const returned = extra(double, 200, "PIX DEVOLVIDO", id)
      const earlier = { ...returned, atMs: returned.atMs - 86_400_000 }
      const before = bookedLines(double.provider)
      yield* importing(bank, [earlier, ...before], {}, bankDay(earlier.atMs))
      yield* comparedDay(bank, bankDay(earlier.atMs))
      const raised = (times: number) => Array.from({ length: times }, () => ({ amount: 200, external_id: id }))
      assert.deepStrictEqual(yield* amountsOf(payout), raised(1))
      // Today's line pairs with what the books have of the earlier one, which is then alone.
      yield* importing(bank, [returned, ...before])
      yield* comparedToday(bank)
      yield* comparedDay(bank, bankDay(earlier.atMs))
      assert.deepStrictEqual(yield* amountsOf(payout), raised(2))
      yield* importing(bank, [returned, returned, ...before])
      for (const day of [returned, earlier, returned]) yield* comparedDay(bank, bankDay(day.atMs))
      assert.deepStrictEqual(yield* amountsOf(payout), raised(3))
      yield* assertLedgerHolds
    })
  )

  it.effect("OPR-279: none is raised beside one of its amount of which nobody knows whether it was paid", () =>
    Effect.gen(function* () {
      const { bank, payout } = yield* paidOutAtInter(74)
      const { double } = bank
      double.faults.always("dropped-before", { path: /banking/ })
      const unclear = yield* paidOut(bank.key, { amount: 800, description: "another" })
      yield* eventually(
        Effect.flatMap(SqlClient, (sql) => sql`SELECT FROM payouts WHERE id = ${unclear.id}::uuid AND attempts > 0`),
        ({ length }) => length > 0
      )
      yield* importing(bank, [
        ...bookedLines(double.provider),
        extra(double, 800, "PIX DEVOLVIDO", "D1234567820261125120000000000002")
      ])
      yield* comparedToday(bank)
      assert.lengthOf(yield* returnsOf(payout), 0)
    })
  )

  it.effect("OPR-279: one that was sent after a line is not the one that came back with it", () =>
    Effect.gen(function* () {
      const { bank, payout } = yield* paidOutAtInter(75)
      const sql = yield* SqlClient
      yield* learnedLater(payout)
      // Approved at the bank two days later.
      yield* sql`UPDATE payouts
        SET end_to_end_id = overlay(end_to_end_id PLACING to_char(now() + interval '2 days', 'YYYYMMDDHH24MI') FROM 10)
        WHERE id = ${payout.id}::uuid`
      yield* importing(bank, [extra(bank.double, 800, "PIX DEVOLVIDO", "D1234567820261125120000000000001")])
      yield* comparedToday(bank)
      assert.lengthOf(yield* returnsOf(payout), 0)
    })
  )

  it.effect(
    "OPR-279: a Pix whose id the bank may have written in capitals is no payout of its amount that came back",
    () =>
      Effect.gen(function* () {
        const { bank, payout } = yield* paidOutAtInter(73)
        const { double } = bank
        yield* importing(bank, [
          ...bookedLines(double.provider),
          extra(double, 800, "PIX RECEBIDO", "E12345678202611251200ABCDEFGHIJK")
        ])
        assert.strictEqual(counted(yield* comparedToday(bank)).missing_here, "1 800")
        assert.lengthOf(yield* returnsOf(payout), 0)
      })
  )

  it.effect("OPR-279: a Pix that the provider has as received is no payout of its amount that came back", () =>
    Effect.gen(function* () {
      const { bank, payout } = yield* paidOutAtInter(79)
      const { double } = bank
      const charges = yield* pendingCharges(bank, 1, 800)
      yield* sweepNow(bank)
      yield* withoutSweeps(bank)
      payAll(bank, charges)

      yield* importing(bank, bookedLines(double.provider))
      assert.deepStrictEqual(counted(yield* comparedToday(bank)), { matched: "2 0" })
      assert.strictEqual((yield* retrieve(bank.key, charges[0]!.id)).body.status, "paid")
      assert.lengthOf(yield* returnsOf(payout), 0)
      yield* assertLedgerHolds
    })
  )

  it.effect(
    "OPR-279: of two lines with the amount of a payout neither came back, although one is looked up later",
    () =>
      Effect.gen(function* () {
        const { bank, payout } = yield* paidOutAtInter(80)
        yield* withoutSweeps(bank)
        const unknown = (index: number, cents: number) => ({
          ...extra(bank.double, cents, "PIX RECEBIDO"),
          endToEndId: `E0000000020261125120000000000${String(index).padStart(3, "0")}`
        })
        const others = Array.from({ length: 210 }, (_, index) => unknown(index + 1, 5))
        yield* importing(bank, [unknown(0, 800), ...others, unknown(211, 800), ...bookedLines(bank.double.provider)])
        for (const _ of ["first", "second"]) {
          yield* comparedToday(bank)
          assert.lengthOf(yield* returnsOf(payout), 0)
        }
      })
  )

  it.effect("OPR-279: so is one that the rail's list had too late, and the list does not raise it again", () =>
    Effect.gen(function* () {
      const double = yield* startDouble({ seed: 78, profile: "efi", settings: { openingCents: 100_000 } })
      const { id: connectionId } = yield* connectTo(double, { profile: "efi" })
      const { makeCaller } = yield* TestService
      const bank: ConnectedBank = { double, connectionId, ...(yield* makeCaller()), url: "", secretUrl: "" }
      yield* fund(bank.accountId, 10_000)
      yield* operated("PATCH", `/accounts/${bank.accountId}`, { connection_id: connectionId })
      const { id } = yield* paidOut(bank.key, { amount: 800 })
      yield* payoutReaching(bank.key, id, "completed")
      // No sweep finds it at the same moment.
      yield* sweepNow(bank)
      const sql = yield* SqlClient
      yield* sql`UPDATE acquirer_connections SET due_at = now() + interval '1 minute' WHERE id = ${connectionId}::uuid`
      const [sent] = double.provider.payouts.list({ fromMs: 0, toMs: Infinity }, () => true, { page: 0, size: 1 }).items
      Result.getOrThrow(double.provider.payouts.receiveReturn(sent!.id, 800))
      // A line of its amount that is no return does not make it one of two.
      const other = { ...extra(double, 800, "PIX RECEBIDO"), endToEndId: "E0000000020261125120000000000001" }
      yield* importing(bank, [...bookedLines(double.provider), other])
      assert.deepStrictEqual(counted(yield* comparedToday(bank)), { matched: "2 0", missing_here: "1 800" })
      yield* sweepNow(bank)
      const { data } = yield* operated<{ data: ReadonlyArray<{ payout_id: string; amount: number }> }>(
        "GET",
        "/exceptions?kind=returned_payout"
      )
      assert.deepStrictEqual(
        data.flatMap(({ amount, payout_id }) => (payout_id === id ? [amount] : [])),
        [800]
      )
      yield* assertLedgerHolds
    })
  )
})

const OWN_KEY = "7d9f0335-8dcc-4054-9bf9-0dbd61d36906"
const OTHER_KEY = "pix@example.com"
