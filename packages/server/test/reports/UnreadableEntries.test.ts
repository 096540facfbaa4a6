/** Entries of a provider's lists that cannot be read, or fail to be applied. */
import { assert, layer } from "@effect/vitest"
import { entriesOf, type Unreadable } from "@pix-payments/api-pix/Decoding"
import { decodeReceivedPix } from "@pix-payments/api-pix/Messages"
import type { Connection, ConnectionCheck } from "@pix-payments/api/operator/Connections"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { UnreadableEntries } from "../../src/payments/exceptions/UnreadableEntries.ts"
import {
  connectedBank,
  type ConnectedBank,
  connectedServiceLayer,
  payAll,
  pendingCharges,
  statusesOf,
  sweepNow
} from "../support/ConnectedBank.ts"
import { assertRefused } from "../support/ChargeRequests.ts"
import { type Exception, newPix, notified, resolved, txidOf } from "../support/Exceptions.ts"
import { changeSchema } from "../support/LiveSchema.ts"
import { assertLedgerHolds, availableOf, operated } from "../support/Money.ts"
import { TestService } from "../support/TestService.ts"

const sweptUntil = ({ connectionId }: ConnectedBank) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const [row] = yield* sql<{ swept_until: Date }>`
      SELECT swept_until FROM acquirer_connections WHERE id = ${connectionId}::uuid`
    return row!.swept_until.getTime()
  })

/** The unreadable exceptions of a connection. */
const unreadableOf = (connectionId: string) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const rows = yield* sql<{ id: string }>`
      SELECT id FROM acquirer_exceptions WHERE connection_id = ${connectionId}::uuid AND kind = 'unreadable' ORDER BY id`
    return yield* Effect.forEach(rows, ({ id }) => operated<Exception>("GET", `/exceptions/${id}`))
  })

layer(connectedServiceLayer(), { excludeTestServices: true })("An entry", (it) => {
  it.effect("OPR-163: an entry that cannot be read hides no other, is an exception once, and the sweep completes", () =>
    Effect.gen(function* () {
      const bank = yield* connectedBank({ profile: "efi" })
      const charges = yield* pendingCharges(bank, 4)
      yield* sweepNow(bank)
      const before = yield* sweptUntil(bank)
      payAll(bank, charges)
      const end = bank.double.faults.always("unknown-entry", { path: /\/pix$/ })
      yield* sweepNow(bank)
      yield* sweepNow(bank)
      assert.deepStrictEqual((yield* statusesOf(bank)).toSorted(), ["paid", "paid", "paid", "pending"])
      assert.isAbove(yield* sweptUntil(bank), before)
      const sql = yield* SqlClient
      const raised = yield* sql<{ id: string }>`
        SELECT id FROM acquirer_exceptions WHERE connection_id = ${bank.connectionId}::uuid`
      assert.lengthOf(raised, 1)
      const exception = yield* operated<Exception>("GET", `/exceptions/${raised[0]!.id}`)
      assert.deepInclude(exception, { kind: "unreadable", status: "open", amount: 0, unallocated: 0 })
      assert.isNotNull(exception.received)
      assert.isNotNull(exception.failure_reason)
      const connection = yield* operated<Connection>("GET", `/connections/${bank.connectionId}`)
      assert.deepInclude(connection, { unreadable_entries: 1, unreadable_since: exception.created_at })
      const { steps } = yield* operated<ConnectionCheck>("POST", `/connections/${bank.connectionId}/check`)
      assert.match(
        steps.find(({ step }) => step === "answers")?.detail ?? "",
        /^Entries of its lists that could not be read since \S+: 1\. They are exceptions\.$/
      )
      yield* resolved(exception.id, { action: "dismiss", reason: "known" })
      assert.deepInclude(yield* operated<Connection>("GET", `/connections/${bank.connectionId}`), {
        unreadable_entries: 0,
        unreadable_since: null
      })
      end()
      yield* sweepNow(bank)
      assert.deepStrictEqual(new Set(yield* statusesOf(bank)), new Set(["paid"]))
      assert.strictEqual(yield* availableOf(bank.key), 4000)
      yield* assertLedgerHolds
    })
  )

  it.effect("OPR-163: an entry that a page has twice is set aside in both places, whenever it is met", () =>
    Effect.gen(function* () {
      const bank = yield* connectedBank()
      const { raise } = yield* UnreadableEntries
      const entry = { text: "{}", reason: "no id", name: undefined, endToEndId: undefined }
      const where = { list: "received", fromMs: 0, toMs: 1 } as const
      for (let times = 0; times < 2; times++) assert.lengthOf(yield* raise(bank.connectionId, where, [entry, entry]), 2)
      assert.lengthOf(yield* unreadableOf(bank.connectionId), 1)
      // Beside an entry that is read again, another one is raised.
      const [digest] = yield* raise(bank.connectionId, where, [entry])
      const again = { ...where, digest: digest!, exceptionId: bank.connectionId }
      yield* raise(bank.connectionId, again, [{ ...entry, text: "[]" }])
      assert.lengthOf(yield* unreadableOf(bank.connectionId), 2)
    })
  )

  it.effect(
    "OPR-163: the one after the hundred that are open is not lost: the sweep is complete once it has its place",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const bank = yield* connectedBank()
        const charges = yield* pendingCharges(bank, 2)
        yield* sweepNow(bank)
        const before = yield* sweptUntil(bank)
        yield* sql`
        INSERT INTO acquirer_exceptions (id, connection_id, kind, status, amount, unallocated, occurred_at, created_at)
        SELECT uuidv7(), ${bank.connectionId}::uuid, 'unreadable', 'open', 0, 0, now(), now() FROM generate_series(1, 100)`
        payAll(bank, charges)
        const end = bank.double.faults.always("unknown-entry", { path: /\/pix$/ })
        for (let times = 0; times < 2; times++) yield* sweepNow(bank)
        assert.strictEqual(yield* sweptUntil(bank), before)
        assert.deepStrictEqual((yield* statusesOf(bank)).toSorted(), ["paid", "pending"])
        const [first] = yield* unreadableOf(bank.connectionId)
        yield* resolved(first!.id, { action: "dismiss", reason: "known" })
        yield* sweepNow(bank)
        assert.isAbove(yield* sweptUntil(bank), before)
        const raised = yield* unreadableOf(bank.connectionId)
        assert.lengthOf(raised, 101)
        assert.include(raised.at(-1)!.received ?? "", "desconhecido")
        end()
      })
  )

  it.effect("OPR-232: an entry that fails alone is set aside after the fifth time, and the sweep completes", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const bank = yield* connectedBank()
      const charges = yield* pendingCharges(bank, 3)
      yield* sweepNow(bank)
      const before = yield* sweptUntil(bank)
      payAll(bank, charges)
      yield* sql.unsafe(`CREATE FUNCTION poison_entry() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF NEW.id = '${charges[2]!.id}' THEN RAISE 'poison'; END IF; RETURN NEW; END $$`)
      yield* changeSchema(
        `CREATE TRIGGER poison_entry BEFORE UPDATE ON charges FOR EACH ROW EXECUTE FUNCTION poison_entry()`
      )
      for (let times = 1; times < 5; times++) {
        yield* sweepNow(bank)
        assert.strictEqual(yield* sweptUntil(bank), before)
        assert.deepStrictEqual(yield* unreadableOf(bank.connectionId), [])
      }
      yield* sweepNow(bank)
      assert.isAbove(yield* sweptUntil(bank), before)
      const [exception, ...others] = yield* unreadableOf(bank.connectionId)
      assert.deepStrictEqual(others, [])
      assert.deepInclude(exception, { status: "open", amount: 0, unallocated: 0 })
      assert.match(exception!.failure_reason ?? "", /^it fails to be applied/)
      assert.include(exception!.received ?? "", txidOf(charges[2]!.id))
      yield* changeSchema(`DROP TRIGGER poison_entry ON charges`)
      yield* sweepNow(bank)
      assert.deepStrictEqual(new Set(yield* statusesOf(bank)), new Set(["paid"]))
      yield* sql`UPDATE unreadable_entries SET read_at = now() - interval '25 hours'`
      yield* sweepNow(bank)
      assert.deepInclude((yield* unreadableOf(bank.connectionId))[0], { status: "resolved", action: null })
      assert.strictEqual(yield* availableOf(bank.key), 3000)
      yield* assertLedgerHolds
    })
  )

  it.effect("OPR-232: one whose instant cannot be read either is one entry, however often it is listed", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const bank = yield* connectedBank()
      const [charge] = yield* pendingCharges(bank, 1)
      yield* sweepNow(bank)
      payAll(bank, [charge!])
      const before = yield* sweptUntil(bank)
      const end = bank.double.faults.always("unreadable-instant", { path: /\/pix$/ })
      yield* sql.unsafe(`CREATE FUNCTION poison_timeless() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF NEW.id = '${charge!.id}' THEN RAISE 'poison'; END IF; RETURN NEW; END $$`)
      yield* changeSchema(
        `CREATE TRIGGER poison_timeless BEFORE UPDATE ON charges FOR EACH ROW EXECUTE FUNCTION poison_timeless()`
      )
      for (let times = 0; times < 6; times++) yield* sweepNow(bank)
      assert.isAbove(yield* sweptUntil(bank), before)
      assert.lengthOf(yield* unreadableOf(bank.connectionId), 1)
      end()
      yield* changeSchema(`DROP TRIGGER poison_timeless ON charges`)
      yield* sweepNow(bank)
      assert.deepStrictEqual(yield* statusesOf(bank), ["paid"])
    })
  )

  it.effect("OPR-163: one that cannot be read is one exception, whatever else of it changes", () =>
    Effect.gen(function* () {
      const bank = yield* connectedBank()
      const { raise } = yield* UnreadableEntries
      const where = { list: "received", fromMs: 0, toMs: 1 } as const
      const [endToEndId, other] = [newPix(), newPix()]
      for (const [id, seenAt, devolucoes] of [
        [endToEndId, "12:00", []],
        [endToEndId, "12:01", []],
        [
          other,
          "12:01",
          [
            { rtrId: "D1", seenAt: 1 },
            { rtrId: "D2", seenAt: 1 }
          ]
        ],
        [
          other,
          "12:02",
          [
            { rtrId: "D1", seenAt: 2 },
            { rtrId: "D2", seenAt: 2 }
          ]
        ]
      ] as const) {
        const reading = { nowMs: 0, zone: "America/Sao_Paulo", unreadable: new Array<Unreadable>() }
        const valor = id === other ? "1.00" : "1,00"
        entriesOf([{ endToEndId: id, valor, seenAt, devolucoes }], decodeReceivedPix, reading)
        yield* raise(bank.connectionId, where, reading.unreadable)
      }
      assert.lengthOf(yield* unreadableOf(bank.connectionId), 3)
    })
  )

  it.effect.each([{ due: "the next day" }, { due: "by another version" }])(
    "OPR-232: an entry that can be read $due is applied, and its exception closed; until then it stays open",
    ({ due }) =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const bank = yield* connectedBank({ profile: "efi" })
        const charges = yield* pendingCharges(bank, 1)
        yield* sweepNow(bank)
        payAll(bank, charges)
        const end = bank.double.faults.always("unknown-entry", { path: /\/pix$/ })
        yield* sweepNow(bank)
        const makeDue =
          due === "the next day"
            ? sql`UPDATE unreadable_entries SET read_at = now() - interval '25 hours'`
            : sql`UPDATE unreadable_entries SET read_by = '0.0.0'`
        yield* makeDue
        yield* sweepNow(bank)
        assert.deepInclude((yield* unreadableOf(bank.connectionId))[0], { status: "open" })
        end()
        yield* sweepNow(bank)
        assert.deepStrictEqual(yield* statusesOf(bank), ["paid"])
        yield* makeDue
        yield* sweepNow(bank)
        assert.deepInclude((yield* unreadableOf(bank.connectionId))[0], { status: "resolved", action: null })
      })
  )

  it.effect.each([
    { where: "behind 4 KiB", before: { infoPagador: "x".repeat(5000) }, form: (id: string) => id },
    { where: "beside another one within", before: { pagador: { endToEndId: newPix() } }, form: (id: string) => id },
    { where: "in another form", before: {}, form: (id: string) => `${id.slice(0, 9)}-${id.slice(9)}` }
  ])("OPR-232: one whose end-to-end id is $where is accepted; the payment, once read, is a copy", ({ before, form }) =>
    Effect.gen(function* () {
      const bank = yield* connectedBank()
      const { raise } = yield* UnreadableEntries
      const endToEndId = form(newPix())
      const entry = { ...before, endToEndId, txid: "x".repeat(32), valor: "1,00", chave: bank.double.key }
      const reading = { nowMs: 0, zone: "America/Sao_Paulo", unreadable: new Array<Unreadable>() }
      entriesOf([entry], decodeReceivedPix, reading)
      yield* raise(bank.connectionId, { list: "received", fromMs: 0, toMs: 1 }, reading.unreadable)
      const [exception] = yield* unreadableOf(bank.connectionId)
      assert.strictEqual(exception!.end_to_end_id, endToEndId)
      yield* resolved(exception!.id, { action: "accept", amount: 100, account_id: bank.accountId })
      const payment = { _tag: "charge.paid", connectionId: bank.connectionId, txid: entry.txid, amount: 100 } as const
      assert.strictEqual(yield* notified({ ...payment, endToEndId }), "ignored")
      assert.strictEqual(yield* availableOf(bank.key), 100)
      yield* assertLedgerHolds
    })
  )

  it.effect("OPR-163, OPR-232: a return that cannot be read names its Pix, and is not accepted as a payment", () =>
    Effect.gen(function* () {
      const bank = yield* connectedBank()
      const paid = payAll(bank, yield* pendingCharges(bank, 2))
      yield* sweepNow(bank)
      const { raise } = yield* UnreadableEntries
      const reading = { nowMs: 0, zone: "America/Sao_Paulo", unreadable: new Array<Unreadable>() }
      // The same return of two payments: its id is of its payment.
      const entries = paid.map(({ endToEndId, txid }) => ({
        endToEndId,
        txid,
        valor: "10.00",
        devolucoes: [{ id: "D1", valor: "1,00" }]
      }))
      entriesOf(entries, decodeReceivedPix, reading)
      yield* raise(bank.connectionId, { list: "returned", fromMs: 0, toMs: 1 }, reading.unreadable)
      const raised = yield* unreadableOf(bank.connectionId)
      assert.sameMembers(
        raised.map(({ end_to_end_id }) => end_to_end_id),
        paid.map(({ endToEndId }) => endToEndId)
      )
      for (const { end_to_end_id, id, received } of raised) {
        assert.deepStrictEqual(JSON.parse(received ?? ""), {
          endToEndId: end_to_end_id,
          devolucoes: { id: "D1", valor: "1,00" }
        })
        yield* resolved(id, { action: "accept", amount: 100, account_id: bank.accountId }, 409)
      }
      // Two entries that differ behind what is kept of them.
      const long = { text: "x".repeat(4096), reason: "valor cannot be read", name: undefined }
      const [one, other] = [newPix(), newPix()]
      for (const endToEndId of [one, other, one])
        yield* raise(bank.connectionId, { list: "received", fromMs: 0, toMs: 1 }, [{ ...long, endToEndId }])
      assert.deepStrictEqual(
        (yield* unreadableOf(bank.connectionId)).slice(2).map(({ end_to_end_id }) => end_to_end_id),
        [one, other]
      )
      // What is read of its Pix is of its charge.
      const [pix] = paid
      const returned = { txid: "", endToEndId: pix!.endToEndId, externalId: newPix(), amount: 300 } as const
      assert.strictEqual(
        yield* notified({
          _tag: "charge.returned",
          connectionId: bank.connectionId,
          as: "charged_back",
          ...returned
        }),
        "applied"
      )
      assert.strictEqual(yield* availableOf(bank.key), 1700)
      yield* assertLedgerHolds
    })
  )

  it.effect("OPR-232: an operator accepts one with its amount; the payment, once read, is a copy", () =>
    Effect.gen(function* () {
      const bank = yield* connectedBank({ profile: "efi" })
      const { operate } = yield* TestService
      const charges = yield* pendingCharges(bank, 1)
      yield* sweepNow(bank)
      payAll(bank, charges)
      const end = bank.double.faults.always("unknown-entry", { path: /\/pix$/ })
      yield* sweepNow(bank)
      const [exception] = yield* unreadableOf(bank.connectionId)
      const path = `/operator/v1/exceptions/${exception!.id}/resolve`
      const body = { action: "accept", charge_id: charges[0]!.id }
      assertRefused(yield* operate("POST", path, { body }), "VALIDATION_ERROR", ["amount"])
      assert.deepInclude(yield* resolved(exception!.id, { ...body, amount: 1000 }), {
        status: "resolved",
        action: "accept",
        amount: 1000,
        unallocated: 0
      })
      assert.deepStrictEqual(yield* statusesOf(bank), ["paid"])
      end()
      yield* sweepNow(bank)
      assert.strictEqual(yield* availableOf(bank.key), 1000)
      yield* assertLedgerHolds
    })
  )
})
