/** Sweeps that fail, hang or end early: their progress stays, and no payment waits for another one. */
import { assert, layer } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Logger from "effect/Logger"
import { SqlClient } from "effect/sql/SqlClient"
import { Sweep } from "../../src/reports/Sweep.ts"
import {
  connectedBank,
  type ConnectedBank,
  connectedServiceLayer,
  listings,
  payAll,
  pendingCharges,
  progressOf,
  statusesOf,
  sweepNow
} from "../support/ConnectedBank.ts"
import { until } from "../support/ChargeRequests.ts"
import { changeSchema } from "../support/LiveSchema.ts"
import { availableOf } from "../support/Money.ts"
import { eventually } from "../support/Receiver.ts"

const HOUR_MS = 3_600_000

layer(connectedServiceLayer(), { excludeTestServices: true })("Failing sweeps", (it) => {
  it.effect("OPR-97: a connection that hangs or fails delays no other, and its progress stays", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const [hanging, failing, sound] = [yield* connectedBank(), yield* connectedBank(), yield* connectedBank()]
      for (const bank of [hanging, failing, sound]) {
        payAll(bank, yield* pendingCharges(bank, 2))
        yield* sweepNow(bank)
      }
      payAll(sound, yield* pendingCharges(sound, 2))
      const endings = [
        hanging.double.faults.always("hang", { method: "GET", path: /\/pix$/ }),
        failing.double.faults.always("error-after", { method: "GET", path: /\/pix$/ })
      ]
      const before = yield* progressOf(failing)
      payAll(failing, yield* pendingCharges(failing, 1))
      yield* sql`UPDATE acquirer_connections SET due_at = NULL`
      yield* eventually(statusesOf(sound), (all) => all.length === 4 && all.every((status) => status === "paid"))
      yield* sweepNow(failing)
      assert.deepStrictEqual((yield* progressOf(failing)).swept_until, before.swept_until)
      for (const end of endings) end()
      // The circuit of the connection closes again.
      yield* until(Effect.andThen(sweepNow(failing), statusesOf(failing)), (all) =>
        all.every((status) => status === "paid")
      )
    })
  )

  it.effect("OPR-97: a notification that fails stops no other, and the sweep is repeated from where it began", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const bank = yield* connectedBank()
      const charges = yield* pendingCharges(bank, 5)
      yield* sweepNow(bank)
      const before = yield* progressOf(bank)
      payAll(bank, charges)
      yield* sql.unsafe(`CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF NEW.id = '${charges[2]!.id}' THEN RAISE 'poison'; END IF; RETURN NEW; END $$`)
      yield* changeSchema(`CREATE TRIGGER poison BEFORE UPDATE ON charges FOR EACH ROW EXECUTE FUNCTION poison()`)
      yield* sweepNow(bank)
      assert.deepStrictEqual((yield* statusesOf(bank)).toSorted(), ["paid", "paid", "paid", "paid", "pending"])
      assert.deepStrictEqual((yield* progressOf(bank)).swept_until, before.swept_until)
      yield* changeSchema(`DROP TRIGGER poison ON charges`)
      yield* sweepNow(bank)
      assert.deepStrictEqual(new Set(yield* statusesOf(bank)), new Set(["paid"]))
      assert.strictEqual(yield* availableOf(bank.key), 5000)
    })
  )

  it.effect("OPR-97: hours after a notification or a list began to fail, payments are still credited", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const clock = yield* Clock.Clock
      let behindMs = 0
      const now = () => clock.currentTimeMillisUnsafe() - behindMs
      const [poisoned, listless] = [yield* connectedBank({ now }), yield* connectedBank({ now, profile: "efi" })]
      const before = new Map<ConnectedBank, Date | null>()
      for (const bank of [poisoned, listless]) {
        yield* sweepNow(bank)
        yield* sql`UPDATE acquirer_connections SET created_at = now() - interval '3 days',
          swept_until = now() - interval '30 hours', last_days_at = now() WHERE id = ${bank.connectionId}::uuid`
        before.set(bank, (yield* progressOf(bank)).swept_until)
        const charges = yield* pendingCharges(bank, 2)
        for (const [index, charge] of charges.entries()) {
          behindMs = [29, 1][index]! * HOUR_MS
          payAll(bank, [charge])
        }
        behindMs = 0
        if (bank === poisoned) {
          yield* sql.unsafe(`CREATE OR REPLACE FUNCTION poison_early() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF NEW.id = '${charges[0]!.id}' THEN RAISE 'poison'; END IF; RETURN NEW; END $$`)
          yield* changeSchema(
            `CREATE TRIGGER poison_early BEFORE UPDATE ON charges FOR EACH ROW EXECUTE FUNCTION poison_early()`
          )
        }
      }
      const end = listless.double.faults.always("error-after", { method: "GET", path: /\/infracoes$/ })
      for (const bank of [poisoned, listless]) {
        yield* sweepNow(bank)
        assert.deepStrictEqual((yield* progressOf(bank)).swept_until, before.get(bank))
      }
      assert.deepStrictEqual((yield* statusesOf(poisoned)).toSorted(), ["paid", "pending"])
      assert.deepStrictEqual(yield* statusesOf(listless), ["paid", "paid"])
      end()
      yield* changeSchema(`DROP TRIGGER poison_early ON charges`)
      for (const bank of [poisoned, listless]) {
        yield* until(
          Effect.andThen(sweepNow(bank), progressOf(bank)),
          (progress) => progress.swept_until!.getTime() > before.get(bank)!.getTime() + 29 * HOUR_MS
        )
        assert.deepStrictEqual(yield* statusesOf(bank), ["paid", "paid"])
      }
    })
  )

  it.effect(
    "OPR-95: a list that has less than it says keeps the sweep from being complete, and no payment from its charge",
    () =>
      Effect.gen(function* () {
        const bank = yield* connectedBank()
        yield* sweepNow(bank)
        const before = yield* progressOf(bank)
        payAll(bank, yield* pendingCharges(bank, 2))
        const end = bank.double.faults.always("missing-entry", { method: "GET", path: /\/pix$/ })
        yield* sweepNow(bank)
        assert.deepStrictEqual((yield* statusesOf(bank)).toSorted(), ["paid", "pending"])
        assert.deepStrictEqual((yield* progressOf(bank)).swept_until, before.swept_until)
        end()
        yield* sweepNow(bank)
        assert.deepStrictEqual(yield* statusesOf(bank), ["paid", "paid"])
        assert.isAbove((yield* progressOf(bank)).swept_until!.getTime(), before.swept_until!.getTime())
      })
  )

  it.effect(
    "OPR-95: a page whose numbers cannot be read is applied, no page after it is asked for, and the sweep is not complete",
    () =>
      Effect.gen(function* () {
        const bank = yield* connectedBank()
        yield* sweepNow(bank)
        const before = yield* progressOf(bank)
        // One Pix alone, where a list of one belongs.
        payAll(bank, yield* pendingCharges(bank, 1))
        const isList = { method: "GET", path: /\/pix$/ }
        const endObject = bank.double.faults.always("entry-as-object", isList)
        yield* sweepNow(bank)
        assert.deepStrictEqual(yield* statusesOf(bank), ["paid"])
        assert.isAbove((yield* progressOf(bank)).swept_until!.getTime(), before.swept_until!.getTime())
        endObject()
        const end = bank.double.faults.always("no-page", isList)
        const swept = yield* progressOf(bank)
        payAll(bank, yield* pendingCharges(bank, 2))
        const listed = listings(bank)
        yield* sweepNow(bank)
        assert.strictEqual(listings(bank) - listed, 1)
        assert.deepStrictEqual(yield* statusesOf(bank), ["paid", "paid", "paid"])
        assert.deepStrictEqual((yield* progressOf(bank)).swept_until, swept.swept_until)
        end()
        yield* sweepNow(bank)
        assert.isAbove((yield* progressOf(bank)).swept_until!.getTime(), swept.swept_until!.getTime())
      })
  )

  it.effect("OPR-97: a sweep that fails logs its reason", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { claimDue } = yield* Sweep
      const bank = yield* connectedBank()
      yield* sweepNow(bank)
      const end = bank.double.faults.always("proxy-page", { method: "GET", path: /\/pix$/ })
      const logged: Array<string> = []
      const logger = Logger.make(({ message }) => void logged.push(JSON.stringify(message)))
      // This process claims before the loop does.
      const swept = yield* until(
        Effect.andThen(
          sql`UPDATE acquirer_connections SET due_at = CASE WHEN id = ${bank.connectionId}::uuid THEN now() ELSE 'infinity' END`,
          claimDue(1)
        ),
        ({ length }) => length === 1
      )
      yield* Effect.provideService(swept[0]!, Logger.CurrentLoggers, new Set([logger]))
      end()
      assert.match(logged.find((text) => text.includes("is not complete")) ?? "", /AcquirerUnclear: .*status 200/)
    })
  )

  it.effect("OPR-97: a process that ends between the provider's answer and the commit leaves the sweep to others", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { claimDue } = yield* Sweep
      const bank = yield* connectedBank()
      yield* sweepNow(bank)
      const before = yield* progressOf(bank)
      payAll(bank, yield* pendingCharges(bank, 3))
      const locked = yield* Deferred.make<void>()
      const rows = yield* Effect.forkChild(
        sql.withTransaction(
          sql`SELECT 1 FROM charges WHERE account_id = ${bank.accountId}::uuid FOR UPDATE`.pipe(
            Effect.andThen(Deferred.succeed(locked, undefined)),
            Effect.andThen(Effect.never)
          )
        )
      )
      yield* Deferred.await(locked)
      // This process claims before the loop does.
      const listed = listings(bank)
      const swept = yield* until(
        Effect.andThen(
          sql`UPDATE acquirer_connections SET due_at = CASE WHEN id = ${bank.connectionId}::uuid THEN now() ELSE 'infinity' END`,
          claimDue(1)
        ),
        ({ length }) => length === 1
      )
      const sweeping = yield* Effect.forkChild(swept[0]!)
      yield* until(
        Effect.sync(() => listings(bank)),
        (count) => count > listed
      )
      yield* Fiber.interrupt(sweeping)
      yield* Fiber.interrupt(rows)
      assert.deepStrictEqual((yield* progressOf(bank)).swept_until, before.swept_until)
      yield* sweepNow(bank)
      assert.deepStrictEqual(yield* statusesOf(bank), ["paid", "paid", "paid"])
      assert.strictEqual(yield* availableOf(bank.key), 3000)
    })
  )
})
