/** Sweeps, with every callback lost. */
import { assert, layer } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { ReportStore } from "../../src/reports/ReportStore.ts"
import {
  connectedBank,
  connectedServiceLayer,
  listings,
  payAll,
  pendingCharges,
  progressOf,
  statusesOf,
  sweepNow
} from "../support/ConnectedBank.ts"
import { created, retrieve, until } from "../support/ChargeRequests.ts"
import { newPix, notified } from "../support/Exceptions.ts"
import { assertLedgerHolds, availableOf, operated } from "../support/Money.ts"
import { eventually } from "../support/Receiver.ts"
import { TestService } from "../support/TestService.ts"

const HOUR_MS = 3_600_000

layer(connectedServiceLayer(), { excludeTestServices: true })("A sweep", (it) => {
  it.effect("OPR-95: with every callback lost, every payment is credited within two sweeps, and once", () =>
    Effect.gen(function* () {
      const bank = yield* connectedBank()
      const charges = yield* pendingCharges(bank, 25)
      payAll(bank, charges)
      yield* sweepNow(bank)
      yield* sweepNow(bank)
      assert.deepStrictEqual(new Set(yield* statusesOf(bank)), new Set(["paid"]))
      assert.strictEqual(yield* availableOf(bank.key), 25_000)
      // What is known is skipped: the sweeps after it record no notification.
      const sql = yield* SqlClient
      const recorded = sql`SELECT 1 FROM notifications WHERE connection_id = ${bank.connectionId}::uuid`
      const before = (yield* recorded).length
      yield* sweepNow(bank)
      assert.strictEqual((yield* recorded).length, before)
      yield* assertLedgerHolds
      assert.deepStrictEqual(bank.double.violations, [])
      const { operate } = yield* TestService
      const { text } = yield* operate("GET", "/metrics")
      const valueOf = (name: string) =>
        new RegExp(`^pix_payments_${name}\\{connection="${bank.connectionId}"\\} (\\S+)`, "m").exec(text)?.[1]
      assert.strictEqual(valueOf("acquirer_sweep_found_total"), "25")
      assert.isBelow(Number(valueOf("acquirer_sweep_age_seconds")), 60)
    })
  )

  it.effect(
    "OPR-64, OPR-95: a paused connection is swept; what waited for it is sent when it is resumed, and done once",
    () =>
      Effect.gen(function* () {
        const bank = yield* connectedBank()
        const [paid, refunded] = yield* pendingCharges(bank, 2)
        payAll(bank, [refunded!])
        yield* sweepNow(bank)
        const pause = (paused: boolean) => operated("PATCH", `/connections/${bank.connectionId}`, { paused })
        const sent = () =>
          bank.double.exchanges
            .filter(({ method, path }) => method !== "GET" && !path.includes("oauth"))
            .map(({ method, path }) => `${method} ${path}`)
        yield* pause(true)
        const before = sent().length
        const waiting = yield* created(bank.key)
        assert.strictEqual(waiting.status, "processing")
        yield* operated("POST", `/charges/${refunded!.id}/refund`, { amount: 100 })
        payAll(bank, [paid!])
        yield* sweepNow(bank)
        assert.strictEqual((yield* retrieve(bank.key, paid!.id)).body.status, "paid")
        assert.deepStrictEqual(sent().slice(before), [])
        yield* pause(false)
        yield* until(retrieve(bank.key, waiting.id), ({ body }) => body.status === "pending")
        const sql = yield* SqlClient
        yield* eventually(
          sql`SELECT 1 FROM refunds WHERE charge_id = ${refunded!.id}::uuid AND status = 'completed'`,
          ({ length }) => length === 1
        )
        // A request that is repeated under its id is refused by the provider, and looked up.
        const accepted = bank.double.exchanges.filter(({ method, status }) => method === "PUT" && status === 201)
        assert.strictEqual(accepted.length, before + 2)
        assert.strictEqual(yield* availableOf(bank.key), 1900)
        yield* assertLedgerHolds
      })
  )

  it.effect("OPR-96: after an outage of hours, what arrived meanwhile is credited, slice by slice", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      let behindMs = 0
      const clock = yield* Clock.Clock
      const bank = yield* connectedBank({ now: () => clock.currentTimeMillisUnsafe() - behindMs })
      const charges = yield* pendingCharges(bank, 3)
      // The first sweep would store its progress over this.
      yield* sweepNow(bank)
      yield* sql`UPDATE acquirer_connections SET created_at = now() - interval '3 days',
        swept_until = now() - interval '30 hours', last_days_at = now() WHERE id = ${bank.connectionId}::uuid`
      for (const [index, charge] of charges.entries()) {
        behindMs = [29, 15, 1][index]! * HOUR_MS
        payAll(bank, [charge])
      }
      behindMs = 0
      const before = listings(bank)
      yield* sweepNow(bank)
      assert.isAtLeast(listings(bank) - before, 6)
      assert.deepStrictEqual(yield* statusesOf(bank), ["paid", "paid", "paid"])
      assert.isAbove((yield* progressOf(bank)).swept_until!.getTime(), (yield* Clock.currentTimeMillis) - HOUR_MS)
    })
  )

  it.effect("OPR-96: a database whose clock was ahead sweeps again once it is set back", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const bank = yield* connectedBank()
      yield* sweepNow(bank)
      yield* sql`UPDATE acquirer_connections SET due_at = now() + interval '6 hours', swept_until = now() + interval '6 hours',
        last_days_at = now() + interval '6 hours' WHERE id = ${bank.connectionId}::uuid`
      const charges = yield* pendingCharges(bank, 1)
      payAll(bank, charges)
      yield* eventually(statusesOf(bank), (statuses) => statuses.every((status) => status === "paid"))
      const [row] =
        yield* sql`SELECT last_days_at <= now() AS is_past FROM acquirer_connections WHERE id = ${bank.connectionId}::uuid`
      assert.deepStrictEqual(row, { is_past: true })
    })
  )

  it.effect("OPR-96: progress that a wrong clock set into the future leaves nothing out", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const bank = yield* connectedBank()
      const [charge] = yield* pendingCharges(bank, 1)
      yield* sweepNow(bank)
      yield* sql`UPDATE acquirer_connections SET swept_until = now() + interval '1 hour'
        WHERE id = ${bank.connectionId}::uuid`
      payAll(bank, [charge!])
      yield* sweepNow(bank)
      yield* sweepNow(bank)
      assert.strictEqual((yield* retrieve(bank.key, charge!.id)).body.status, "paid")
      const ahead = yield* sql`SELECT 1 FROM acquirer_connections
        WHERE id = ${bank.connectionId}::uuid AND swept_until > now()`
      assert.lengthOf(ahead, 0)
    })
  )

  it.effect(
    "OPR-96: once a day the last five days are read again: a Pix that was blocked is listed days after its beginning",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        let behindMs = 0
        const clock = yield* Clock.Clock
        const bank = yield* connectedBank({ now: () => clock.currentTimeMillisUnsafe() - behindMs })
        yield* sweepNow(bank)
        const [charge] = yield* pendingCharges(bank, 1)
        behindMs = 90 * HOUR_MS
        payAll(bank, [charge!])
        behindMs = 0
        yield* sql`UPDATE acquirer_connections SET created_at = now() - interval '5 days' WHERE id = ${bank.connectionId}::uuid`
        yield* sweepNow(bank)
        assert.deepStrictEqual(yield* statusesOf(bank), ["pending"])
        const row = Effect.map(
          sql<{ from: Date | null; failed: Date | null }>`SELECT last_days_from AS from, last_days_failed AS failed
            FROM acquirer_connections WHERE id = ${bank.connectionId}::uuid`,
          ([found]) => found!
        )
        assert.deepInclude(yield* row, { from: null })
        const begin = sql`UPDATE acquirer_connections SET last_days_at = now() - interval '25 hours'
          WHERE id = ${bank.connectionId}::uuid`
        yield* begin
        // Two slices of six hours in a sweep: the payment is in the sixth of them, and a new one waits for none.
        for (const states of [["pending"], ["pending", "paid"], ["paid", "paid"]]) {
          yield* sweepNow(bank)
          assert.deepStrictEqual((yield* statusesOf(bank)).toSorted(), states.toSorted())
          assert.isNotNull((yield* row).from)
          if (states.length === 1) payAll(bank, yield* pendingCharges(bank, 1))
        }
        const rest = Effect.gen(function* () {
          let sweeps = 0
          for (; (yield* row).from !== null; sweeps += 1) yield* sweepNow(bank)
          return sweeps
        })
        assert.strictEqual(yield* rest, 8)
        // A slice that cannot be read is read again with what follows it, also once it is older than five days.
        yield* begin
        const end = bank.double.faults.always("proxy-page", { path: /\/pix$/ })
        yield* sweepNow(bank)
        end()
        assert.isAbove(yield* rest, 7)
        const { failed } = yield* row
        assert.isNotNull(failed)
        yield* sql`UPDATE acquirer_connections SET created_at = created_at - interval '2 days',
          last_days_failed = last_days_failed - interval '1 day', last_days_at = now() - interval '11 minutes'
          WHERE id = ${bank.connectionId}::uuid`
        yield* sweepNow(bank)
        const again = yield* row
        assert.isNull(again.failed)
        assert.strictEqual(again.from!.getTime(), failed!.getTime() - 12 * HOUR_MS)
      })
  )

  it.effect(
    "OPR-162: a return that comes days after its payment is found without a callback, and its reading is resumed",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const clock = yield* Clock.Clock
        let behindMs = 0
        const bank = yield* connectedBank({ now: () => clock.currentTimeMillisUnsafe() - behindMs })
        yield* sweepNow(bank)
        const charges = yield* pendingCharges(bank, 2, 5000)
        const pix = charges.map((charge, index) => {
          behindMs = [5, 187][index]! * 24 * HOUR_MS
          return payAll(bank, [charge])[0]!
        })
        behindMs = 0
        for (const { endToEndId, txid } of pix) {
          yield* notified({
            _tag: "charge.paid",
            connectionId: bank.connectionId,
            txid: txid!,
            endToEndId,
            amount: 5000
          })
          bank.double.provider.receipts.takeBack(endToEndId, 5000)
        }
        assert.strictEqual(yield* availableOf(bank.key), 10_000)
        // Once in 24 hours, twenty days in a sweep.
        const age = (fields: string) =>
          sql.unsafe(
            `UPDATE acquirer_connections SET created_at = now() - interval '300 days', swept_until = now(),
            last_days_at = now(), ${fields} WHERE id = $1::uuid`,
            [bank.connectionId]
          )
        /** How many days ago it goes on; null: it is read. */
        const daysLeft = Effect.map(
          sql<{ days: number | null }>`SELECT extract(day from now() - returns_from)::integer AS days
            FROM acquirer_connections WHERE id = ${bank.connectionId}::uuid`,
          ([row]) => row!.days
        )
        const readOn = Effect.andThen(sweepNow(bank), daysLeft)
        const before = listings(bank)
        yield* age("returns_at = now() - interval '25 hours'")
        // The bank leaves out what the first slice has: those after it are read, and all again within an hour.
        const end = bank.double.faults.always("missing-entry", { method: "GET", path: /\/pix$/ })
        assert.strictEqual(yield* readOn, 170)
        end()
        // The rolling list, and the bound of the slices.
        assert.strictEqual(listings(bank) - before, 5)
        yield* until(readOn, (days) => days === null)
        assert.strictEqual(yield* availableOf(bank.key), 5000)
        assert.strictEqual((yield* retrieve(bank.key, charges[0]!.id)).body.status, "charged_back")
        assert.isNull(yield* readOn)
        yield* age("returns_at = returns_at - interval '1 hour'")
        assert.strictEqual(yield* readOn, 170)
        assert.strictEqual(yield* availableOf(bank.key), 0)
        yield* until(readOn, (days) => days === null)
        // It is not due again before a day has passed.
        yield* age("returns_at = returns_at - interval '23 hours'")
        assert.isNull(yield* readOn)
        yield* assertLedgerHolds
      })
  )

  it.effect("OPR-95, DSP-10: a payment whose settlement its return has claimed is not taken for known", () =>
    Effect.gen(function* () {
      const { known } = yield* ReportStore
      const sql = yield* SqlClient
      const { connectionId } = yield* connectedBank()
      const payment = { _tag: "charge.paid", txid: "", endToEndId: newPix(), connectionId } as const
      const isApplied = Effect.map(
        known(connectionId, { notifications: [payment], recordKeys: [], orderIds: [], payoutIds: [] }),
        (facts) => facts.isApplied(payment)
      )
      assert.isFalse(yield* isApplied)
      yield* notified({ ...payment, _tag: "charge.refunded", amount: 100 })
      assert.lengthOf(yield* sql`SELECT FROM charge_settlements WHERE end_to_end_id = ${payment.endToEndId}`, 1)
      assert.isFalse(yield* isApplied)
      assert.strictEqual(yield* notified({ ...payment, amount: 100 }), "exception")
      assert.isTrue(yield* isApplied)
    })
  )
})
