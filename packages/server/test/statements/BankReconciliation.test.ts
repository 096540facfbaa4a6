/** A bank account's day against the books: what matches, and what is named. */
import { assert, layer } from "@effect/vitest"
import type { BalanceTransaction } from "@pix-payments/api/operator/Books"
import type { Reconciliation, ReconciliationLine } from "@pix-payments/api/operator/Reconciliations"
import { bookedLines } from "@pix-payments/psp-double/statement/BookedLines"
import { bankDay } from "@pix-payments/psp-double/statement/StatementFile"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { SqlClient } from "effect/sql/SqlClient"
import { assertRefused, retrieve, until } from "../support/ChargeRequests.ts"
import { connectedBank, connectedServiceLayer, payAll, pendingCharges, sweepNow } from "../support/ConnectedBank.ts"
import { withoutTriggers } from "../support/Million.ts"
import { assertLedgerHolds, operated } from "../support/Money.ts"
import { eventually } from "../support/Receiver.ts"
import { newKey, TestService } from "../support/TestService.ts"
import {
  extra,
  importing,
  importingEmpty,
  comparedAll,
  comparedToday,
  comparedDay,
  withoutSweeps,
  counted
} from "../support/BankDays.ts"

layer(connectedServiceLayer(), { excludeTestServices: true })("reconciliation with the bank", (it) => {
  it.effect("OPR-277, OPR-278, OPR-279: a day is matched, healed, and explained cent by cent", () =>
    Effect.gen(function* () {
      const bank = yield* connectedBank({ settings: { keys: [OWN_KEY, OTHER_KEY] } })
      const { double, key } = bank
      const charges = yield* pendingCharges(bank, 5, 1000)
      payAll(bank, charges.slice(0, 3))
      yield* sweepNow(bank)
      yield* until(retrieve(key, charges[2]!.id), ({ body }) => body.status === "paid")
      yield* withoutSweeps(bank)

      // The callback of the fourth is lost, and another system uses the client's other key.
      const [lost] = payAll(bank, charges.slice(3, 4))
      const other = double.provider.receipts.receive({ key: OTHER_KEY, cents: 777 })
      const booked = bookedLines(double.provider)
      const [first, second] = booked
      const lines = [
        ...booked.filter((line) => line !== first && line !== second),
        { ...second!, cents: 999 },
        extra(double, -150, "TARIFA PIX"),
        extra(double, -50_000, "APLICACAO CDB")
      ]
      yield* importing(bank, lines)
      const day = yield* comparedToday(bank)
      assert.deepStrictEqual([day.status, day.reason], ["done", null])
      assert.deepStrictEqual(counted(day), {
        matched: "2 0",
        missing_there: "1 -1000",
        amount_differs: "1 -1",
        other_key: "1 777",
        bank_fee: "1 -150",
        owner: "1 -50000"
      })
      // What was lost is paid now, and was so through the ordinary path.
      assert.strictEqual((yield* retrieve(key, charges[3]!.id)).body.status, "paid")
      assert.strictEqual(day.difference, day.bank_total - day.books_total)
      assert.strictEqual(
        day.lines.reduce((sum, { difference }) => sum + difference, 0),
        day.difference
      )
      const byState = new Map(day.lines.map((line) => [line.state, line]))
      assert.strictEqual(byState.get("other_key")?.end_to_end_id, other.endToEndId)
      assert.deepStrictEqual(byState.get("missing_there")?.source?.object, "charge")
      assert.strictEqual(byState.get("missing_there")?.account_id, bank.accountId)
      assert.strictEqual(byState.get("amount_differs")?.bank?.amount, 999)
      assert.strictEqual(byState.get("amount_differs")?.books?.amount, 1000)
      assert.isFalse(day.lines.some(({ end_to_end_id }) => end_to_end_id === lost!.endToEndId))
      yield* assertLedgerHolds

      // Compared again, it is the same. With the whole statement, only what is not Pix differs.
      assert.deepStrictEqual(counted(yield* comparedToday(bank)), counted(day))
    })
  )

  it.effect("OPR-282: a line that an operator explained is unmatched no more, as long as it is the same", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const sql = yield* SqlClient
      const bank = yield* connectedBank()
      // The owner paid a supplier from the bank's own app.
      const own = {
        ...extra(bank.double, -12_300, "PIX ENVIADO FORNECEDOR"),
        endToEndId: "E1234567820261125120000000001234"
      }
      yield* importing(bank, [
        own,
        extra(bank.double, 4242, "PIX RECEBIDO MARIA"),
        extra(bank.double, -150, "TARIFA PIX")
      ])
      const day = yield* comparedToday(bank)
      assert.deepStrictEqual([day.status, day.unmatched], ["done", 2])
      const lineOf = (of: ReadonlyArray<ReconciliationLine>, amount: number) =>
        of.find(({ bank: line }) => line?.amount === amount)!
      const explain = (line: ReconciliationLine, explanation: string | null, id = day.id) =>
        operate<ReconciliationLine>("POST", `/operator/v1/reconciliations/${id}/explain`, {
          body: { line_id: line.id, explanation }
        })
      const shown = operated<Reconciliation>("GET", `/reconciliations/${day.id}`)
      const unmatched = Effect.map(shown, (of) => of.unmatched)
      const text = "Pagamento de fornecedor pelo app do banco"

      const explained = yield* explain(lineOf(day.lines, -12_300), text)
      assert.deepStrictEqual([explained.status, explained.body.explanation], [200, text])
      assert.strictEqual(yield* unmatched, 1)
      // A repetition, another text: it is one line.
      yield* explain(lineOf(day.lines, -12_300), text)
      assert.strictEqual(yield* unmatched, 1)

      assertRefused(yield* explain(lineOf(day.lines, -150), text), "INVALID_STATE")
      assertRefused(yield* explain({ ...lineOf(day.lines, 4242), id: newKey() }, text), "NOT_FOUND")
      assertRefused(yield* explain(lineOf(day.lines, 4242), ""), "VALIDATION_ERROR", ["explanation"])
      assertRefused(yield* explain(lineOf(day.lines, 4242), text, newKey()), "NOT_FOUND")
      assert.strictEqual(yield* unmatched, 1)

      // Another comparison keeps it, and the difference of the day is what it was.
      const again = yield* comparedToday(bank)
      assert.deepStrictEqual([again.unmatched, again.difference], [1, day.difference])
      assert.deepStrictEqual(counted(again), counted(day))
      assert.strictEqual(lineOf(again.lines, -12_300).explanation, text)
      yield* explain(lineOf(again.lines, 4242), text)
      assert.strictEqual(yield* unmatched, 0)
      const [due] = yield* sql<{ due_at: Date | null }>`SELECT due_at FROM reconciliations WHERE id = ${day.id}::uuid`
      assert.isNotNull(due!.due_at)
      const whole = yield* comparedToday(bank)
      assert.strictEqual(whole.unmatched, 0)
      const [rested] = yield* sql<{
        due_at: Date | null
      }>`SELECT due_at FROM reconciliations WHERE id = ${day.id}::uuid`
      assert.isNull(rested!.due_at)
      // Without the explanation it is compared again, and the line is still the same one.
      yield* explain(lineOf(day.lines, 4242), null)
      assert.strictEqual(yield* unmatched, 1)
      const [woken] = yield* sql<{ due_at: Date | null }>`SELECT due_at FROM reconciliations WHERE id = ${day.id}::uuid`
      assert.isNotNull(woken!.due_at)
      yield* explain(lineOf(day.lines, 4242), text)

      // The amount of the line changes: somebody has to look again.
      yield* sql`UPDATE bank_statement_lines SET amount = -12301 WHERE connection_id = ${bank.connectionId}::uuid AND amount = -12300`
      const changed = yield* comparedToday(bank)
      assert.strictEqual(changed.unmatched, 1)
      assert.isNull(lineOf(changed.lines, -12_301).explanation)
      assert.strictEqual((yield* explain(lineOf(changed.lines, 4242), null)).body.explanation, null)
      assert.strictEqual(yield* unmatched, 2)

      const { data: entries } = yield* operated<{ data: ReadonlyArray<{ resource_id: string; after: object }> }>(
        "GET",
        "/audit?action=reconciliations.explain&limit=100"
      )
      const explanations = entries.filter(({ resource_id }) => resource_id === day.id)
      assert.lengthOf(explanations, 6)
      assert.containsSubset(explanations.at(-1)!.after, {
        state: "missing_here",
        difference: -12_300,
        end_to_end_id: own.endToEndId,
        explanation: text
      })
    })
  )

  it.effect("OPR-277: a bank without ids matches by amount, and its unknown Pix is missing here", () =>
    Effect.gen(function* () {
      const bank = yield* connectedBank()
      const charges = yield* pendingCharges(bank, 3, 1200)
      payAll(bank, charges)
      yield* sweepNow(bank)
      yield* until(retrieve(bank.key, charges[2]!.id), ({ body }) => body.status === "paid")
      const lines = bookedLines(bank.double.provider).map((line) => ({ ...line, endToEndId: "" }))
      yield* importing(bank, [...lines, extra(bank.double, 4242, "PIX RECEBIDO MARIA")], { format: "cnab240" })
      const day = yield* comparedToday(bank)
      assert.deepStrictEqual(counted(day), { matched: "3 0", missing_here: "1 4242" })
    })
  )

  it.effect("OPR-277: a line whose movement is days later is of another day on both days", () =>
    Effect.gen(function* () {
      const bank = yield* connectedBank()
      const today = bankDay(bank.double.now())
      payAll(bank, yield* pendingCharges(bank, 1, 1300))
      yield* sweepNow(bank)
      const lines = bookedLines(bank.double.provider).map((line) => ({ ...line, atMs: line.atMs - 3 * 86_400_000 }))
      const before = bankDay(bank.double.now() - 3 * 86_400_000)
      yield* importing(bank, lines, {}, before)
      assert.deepStrictEqual(counted(yield* comparedDay(bank, before)), { timing: "1 1300" })
      assert.deepStrictEqual(counted(yield* comparedDay(bank, today)), { timing: "1 -1300" })
    })
  )

  it.effect(
    "OPR-253, OPR-277: returns that were ordered here match by the bank's ids, or by amount where none is known",
    () =>
      Effect.gen(function* () {
        const { operate } = yield* TestService
        const bank = yield* connectedBank()
        const order = (path: string, body: object) =>
          operate("POST", `/operator/v1${path}`, { body, idempotencyKey: newKey() })
        const [charge] = yield* pendingCharges(bank, 1, 3000)
        payAll(bank, [charge!])
        bank.double.provider.receipts.receive({ key: bank.double.key, cents: 4242 })
        yield* sweepNow(bank)
        yield* until(retrieve(bank.key, charge!.id), ({ body }) => body.status === "paid")
        const refunded = yield* order(`/charges/${charge!.id}/refund`, { amount: 500 })
        assert.strictEqual(refunded.status, 200, refunded.text)
        const { data: open } = yield* operated<{ data: ReadonlyArray<{ id: string; amount: number }> }>(
          "GET",
          "/exceptions?status=open"
        )
        const exception = open.find(({ amount }) => amount === 4242)
        const resolved = yield* order(`/exceptions/${exception!.id}/resolve`, { action: "return" })
        assert.strictEqual(resolved.status, 200, resolved.text)
        const sql = yield* SqlClient
        yield* eventually(
          Effect.andThen(
            sql`UPDATE acquirer_orders SET due_at = now() WHERE state = 'ordered'`,
            sql`SELECT FROM acquirer_orders WHERE state = 'ordered'`
          ),
          ({ length }) => length === 0
        )
        const lines = bookedLines(bank.double.provider)
        yield* importing(bank, lines)
        assert.deepStrictEqual(counted(yield* comparedToday(bank)), { matched: "4 0" })
        const { data } = yield* operated<{ data: ReadonlyArray<BalanceTransaction> }>(
          "GET",
          `/connections/${bank.connectionId}/transactions?type=charge_refund`
        )
        assert.deepStrictEqual(
          data.map(({ net, return_id }) => [net, return_id]),
          [[-500, lines.find(({ cents }) => cents === -500)!.endToEndId]]
        )
      })
  )

  it.effect("OPR-277: returns of money that fits no charge meet the bank's lines of other days", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const bank = yield* connectedBank()
      const { receipts } = bank.double.provider
      const [open, accepted] = [4242, 4343].map((cents) => receipts.receive({ key: bank.double.key, cents }))
      yield* sweepNow(bank)
      const { data } = yield* operated<{ data: ReadonlyArray<{ id: string; amount: number }> }>(
        "GET",
        "/exceptions?status=open"
      )
      const accept = yield* operate(
        "POST",
        `/operator/v1/exceptions/${data.find(({ amount }) => amount === 4343)?.id}/resolve`,
        { body: { action: "accept", account_id: bank.accountId }, idempotencyKey: newKey() }
      )
      assert.strictEqual(accept.status, 200, accept.text)
      // Two of one amount: only their ids tell which is which.
      for (const { endToEndId } of [open!, open!, accepted!]) Result.getOrThrow(receipts.takeBack(endToEndId, 300))
      yield* sweepNow(bank)
      const lines = bookedLines(bank.double.provider)
      const days = [3, 4, 5]
      const moved = lines.map((line) =>
        line.cents < 0 ? { ...line, atMs: line.atMs - days.pop()! * 86_400_000 } : line
      )
      const dayBefore = (count: number) => bankDay(bank.double.now() - count * 86_400_000)
      yield* importing(bank, moved, {}, dayBefore(5))
      for (const count of [3, 4, 5])
        assert.deepStrictEqual(counted(yield* comparedDay(bank, dayBefore(count))), { timing: "1 -300" })
      assert.deepStrictEqual(counted(yield* comparedToday(bank)), { matched: "2 0", timing: "3 900" })
      const { data: returned } = yield* operated<{ data: ReadonlyArray<BalanceTransaction> }>(
        "GET",
        `/connections/${bank.connectionId}/transactions`
      )
      assert.sameMembers(
        returned.flatMap(({ net, return_id }) => (net < 0 ? [return_id] : [])),
        lines.flatMap(({ cents, endToEndId }) => (cents < 0 ? [endToEndId] : []))
      )
    })
  )

  it.effect("OPR-280: a day of a file without a line of it is compared where the books have a movement", () =>
    Effect.gen(function* () {
      const { bank, dayBefore } = yield* neverBooked(4)
      yield* importing(bank, [], {}, dayBefore(6))
      const compared = yield* comparedAll(bank)
      const found = compared.filter(({ states }) => states.some(({ state }) => state === "missing_there"))
      assert.deepStrictEqual(
        found.map(({ day, difference }) => [day, difference]),
        [[dayBefore(4), -1300]]
      )
    })
  )

  it.effect("OPR-277, OPR-280: what the bank never booked is missing there once any later day has a statement", () =>
    Effect.gen(function* () {
      const { bank, dayBefore } = yield* neverBooked(6)
      const statesOf = Effect.map(comparedAll(bank), (data) => counted(data.find(({ day }) => day === dayBefore(6))!))
      yield* importingEmpty(bank, dayBefore(6), dayBefore(6))
      assert.deepStrictEqual(yield* statesOf, { timing: "1 -1300" })
      // A bank without files of weekends.
      yield* importingEmpty(bank, dayBefore(3), dayBefore(3))
      assert.deepStrictEqual(yield* statesOf, { missing_there: "1 -1300" })
    })
  )

  it.effect("OPR-278: a balance that was stored before the end of its day is not the day's", () =>
    Effect.gen(function* () {
      const bank = yield* connectedBank()
      const dayBefore = (count: number) => bankDay(bank.double.now() - count * 86_400_000)
      yield* importingEmpty(bank, dayBefore(3), dayBefore(2))
      yield* importingEmpty(bank, dayBefore(1), dayBefore(0))
      const balances = yield* Effect.forEach([2, 1, 0], (count) =>
        Effect.map(comparedDay(bank, dayBefore(count)), ({ closing, opening }) => [opening, closing])
      )
      assert.deepStrictEqual(balances, [
        [null, 0],
        [0, null],
        [null, null]
      ])
    })
  )

  it.effect("OPR-277, OPR-280: a day without a statement is not compared, and what is wrong is refused", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const bank = yield* connectedBank()
      const day = yield* comparedToday(bank)
      assert.deepStrictEqual([day.status, day.reason], ["failed", "no statement of the bank has this day"])
      const ask = (body: object) => operate("POST", "/operator/v1/reconciliations", { body })
      assertRefused(yield* ask({ connection_id: bank.connectionId, day: "2026-02-30" }), "VALIDATION_ERROR", ["day"])
      assertRefused(
        yield* ask({ connection_id: "01a2027c-27ce-74b6-88f7-06b8f8b33cb6", day: "2026-02-03" }),
        "VALIDATION_ERROR",
        ["connection_id"]
      )
      assertRefused(
        yield* operate("GET", `/operator/v1/reconciliations/${day.id}/lines?state=lost`),
        "VALIDATION_ERROR",
        ["state"]
      )
      const { data } = yield* operated<{ data: ReadonlyArray<Reconciliation> }>(
        "GET",
        `/reconciliations?connection_id=${bank.connectionId}`
      )
      assert.deepStrictEqual(
        data.map(({ id }) => id),
        [day.id]
      )
    })
  )
})

const OWN_KEY = "7d9f0335-8dcc-4054-9bf9-0dbd61d36906"
const OTHER_KEY = "pix@example.com"

/** The books have a payment some days ago that the bank never booked. */
const neverBooked = Effect.fnUntraced(function* (daysAgo: number) {
  const bank = yield* connectedBank()
  const sql = yield* SqlClient
  payAll(bank, yield* pendingCharges(bank, 1, 1300))
  yield* sweepNow(bank)
  const dayBefore = (count: number) => bankDay(bank.double.now() - count * 86_400_000)
  yield* withoutTriggers(sql`UPDATE ledger_transfers SET day = ${dayBefore(daysAgo)}::date
    WHERE connection_id = ${bank.connectionId}::uuid`)
  return { bank, dayBefore }
})
