/** Outcomes that a bank changes, by sweep and callback: its balance is that of the books and their exceptions. */
import { assert, layer } from "@effect/vitest"
import * as doubles from "@pix-payments/psp-double/http/Profiles"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import { SqlClient } from "effect/sql/SqlClient"
import { providerIdOf } from "../../src/providers/Acquirer.ts"
import { Secrets } from "../../src/base/Secrets.ts"
import { ListenAddresses } from "../../src/http/pipeline/ListenAddresses.ts"
import { ConnectionStore } from "../../src/providers/connections/ConnectionStore.ts"
import { makeWebhookSecret } from "../../src/providers/connections/WebhookUrl.ts"
import { CallbackConnections } from "../../src/reports/CallbackConnections.ts"
import { Reports } from "../../src/reports/Reports.ts"
import { startDouble } from "../support/Bank.ts"
import { reaching } from "../support/ChargeDeliveries.ts"
import {
  connectedBank,
  type ConnectedBank,
  connectedServiceLayer,
  notificationsOf,
  payAll,
  pendingCharges,
  post,
  sweepNow
} from "../support/ConnectedBank.ts"
import { connectTo, fund, operatorCredentials } from "../support/Connections.ts"
import { type Exception, resolved } from "../support/Exceptions.ts"
import { assertLedgerHolds, availableOf, operated, paidOut, payoutReaching, submittedPayout } from "../support/Money.ts"
import { eventually } from "../support/Receiver.ts"

const OPENING = 100_000
const closed = { error: { code: "AC03", origin: "x", reason: "account closed" } }
const closedReturn = { failedBecause: "account closed" }
import { idAtProvider } from "../support/Payouts.ts"
import { makeApprovers } from "../support/Approvals.ts"
import { assertRefused } from "../support/ChargeRequests.ts"
import { TestService } from "../support/TestService.ts"

layer(connectedServiceLayer(), { excludeTestServices: true })("An outcome that the bank changes", (it) => {
  it.effect("BAL-16, OPR-95: of a payout is found by the sweep, whichever way and however often it changes", () =>
    Effect.gen(function* () {
      const bank = yield* fundedBank
      const { payouts } = bank.double.provider
      const { id } = yield* paidOut(bank.key, { amount: 5000 })
      yield* submittedPayout(bank.key, id)
      const atBank = yield* idAtProvider(id)
      payouts.settle(atBank, closed)
      yield* sweepNow(bank)
      yield* payoutReaching(bank.key, id, "failed")
      for (let round = 0; round < 2; round += 1) {
        payouts.settle(atBank, { overrules: true })
        yield* sweepNow(bank)
        yield* sweepNow(bank)
        const [exception, ...others] = yield* openOf(bank)
        assert.deepInclude(exception!, { payout_id: id, unallocated: -5000, account_id: bank.accountId })
        assert.deepStrictEqual(others, [])
        yield* assertBooks(bank)
        if (round === 0) {
          yield* resolved(exception!.id, { action: "accept" })
          assert.strictEqual(yield* availableOf(bank.key), 0)
        }
        payouts.settle(atBank, { ...closed, overrules: true })
        yield* sweepNow(bank)
        assert.deepStrictEqual(yield* openOf(bank), [])
        assert.strictEqual(yield* availableOf(bank.key), 5000)
        yield* assertBooks(bank)
      }
      // A part of it comes back in between.
      payouts.settle(atBank, { overrules: true })
      yield* sweepNow(bank)
      Result.getOrThrow(payouts.receiveReturn(atBank, 2000))
      for (let round = 0; round < 2; round += 1) {
        yield* sweepNow(bank)
        yield* assertBooks(bank)
        payouts.settle(atBank, { ...closed, overrules: true })
        yield* sweepNow(bank)
        payouts.settle(atBank, { overrules: true })
      }
      yield* sweepNow(bank)
      yield* assertBooks(bank)
      // A sweep of what is known writes nothing.
      const recorded = yield* notificationsOf(bank)
      yield* sweepNow(bank)
      assert.strictEqual(yield* notificationsOf(bank), recorded)
      yield* assertLedgerHolds
    })
  )

  it.effect("BAL-16, OPR-92: of a payout is asked for when a callback names it", () =>
    Effect.gen(function* () {
      const bank = yield* fundedBank
      const { payouts, webhooks } = bank.double.provider
      const { id } = yield* paidOut(bank.key, { amount: 5000 })
      yield* submittedPayout(bank.key, id)
      const atBank = yield* idAtProvider(id)
      Result.getOrThrow(webhooks.put(bank.double.key, bank.url))
      const sql = yield* SqlClient
      yield* sql`UPDATE acquirer_connections SET due_at = 'infinity' WHERE id = ${bank.connectionId}::uuid`
      payouts.settle(atBank, {})
      yield* payoutReaching(bank.key, id, "completed")
      payouts.settle(atBank, { ...closed, overrules: true })
      yield* Effect.promise(() => bank.double.settle())
      const [exception] = yield* eventually(openOf(bank), ({ length }) => length > 0)
      assert.deepInclude(exception!, { payout_id: id, unallocated: 5000, provider_outcome: "failed" })
      yield* assertBooks(bank)
      yield* assertLedgerHolds
    })
  )

  it.effect("BAL-16, OPR-215: of a payout that a person settled while its request was in flight is asked for too", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const bank = yield* fundedAtInter
      const { payouts } = bank.double.provider
      bank.double.faults.once("slow", { path: /banking/ })
      const { id } = yield* paidOut(bank.key, { amount: 5000 })
      const sent = Effect.sync(
        () => payouts.list({ fromMs: 0, toMs: Infinity }, () => true, { page: 0, size: 1 }).items
      )
      yield* eventually(sent, ({ length }) => length > 0)
      yield* sql`UPDATE payouts SET requested_at = now() - interval '25 hours' WHERE id = ${id}::uuid`
      yield* operated("POST", `/payouts/${id}/settle`, { outcome: "failed", reason: "it never left" })
      // The answer to its request names it.
      const [named] = yield* eventually(
        sql<{ code: string }>`SELECT provider_reference AS code FROM payouts
          WHERE id = ${id}::uuid AND provider_reference IS NOT NULL`,
        ({ length }) => length > 0
      )
      yield* Effect.promise(() => bank.double.settle())
      yield* post(
        bank.secretUrl,
        JSON.stringify([{ codigoSolicitacao: named!.code, status: "EFETIVADO" }]),
        bank.double.client
      )
      const [exception] = yield* openOf(bank)
      assert.deepInclude(exception!, { payout_id: id, unallocated: -5000, provider_outcome: "completed" })
      yield* assertLedgerHolds
    })
  )

  it.effect(
    "BAL-16, OPR-162: of a refund is found by the sweep: a late completion takes what the charge still has",
    () =>
      Effect.gen(function* () {
        const bank = yield* fundedBank
        const sql = yield* SqlClient
        const { receipts } = bank.double.provider
        const [charge] = yield* pendingCharges(bank, 1, 3000)
        const [pix] = payAll(bank, [charge!])
        yield* sweepNow(bank)
        yield* reaching(bank.key, charge!.id, "paid")
        yield* operated("POST", `/charges/${charge!.id}/refund`, {})
        const [order] = yield* sql<{ id: string }>`
          SELECT id FROM acquirer_orders WHERE charge_id = ${charge!.id}::uuid AND kind = 'refund'`
        const end = (outcome: object) =>
          Effect.andThen(
            Effect.sync(() =>
              Result.getOrThrow(receipts.settleReturn(pix!.endToEndId, providerIdOf(order!.id), outcome))
            ),
            sweepNow(bank)
          )
        yield* end(closedReturn)
        yield* assertBooks(bank)
        yield* end({ overrules: true })
        yield* reaching(bank.key, charge!.id, "refunded")
        assert.deepStrictEqual(yield* openOf(bank), [])
        yield* assertBooks(bank)
        yield* end({ ...closedReturn, overrules: true })
        const [exception] = yield* openOf(bank)
        assert.deepInclude(exception!, { refund_id: order!.id, unallocated: 3000, provider_outcome: "failed" })
        yield* assertBooks(bank)
        yield* end({ overrules: true })
        assert.deepStrictEqual(yield* openOf(bank), [])
        yield* assertBooks(bank)
        yield* assertLedgerHolds
      })
  )
})

layer(connectedServiceLayer(), { excludeTestServices: true })("A return under the id of a refund", (it) => {
  it.effect(
    "BAL-9, OPR-98, OPR-232: of another amount ends nothing and is shown; of another Pix it is a return of that one",
    () =>
      Effect.gen(function* () {
        const bank = yield* fundedBank
        const sql = yield* SqlClient
        const reports = yield* Reports
        const [charge, other] = yield* pendingCharges(bank, 2, 3000)
        const [pix, otherPix] = payAll(bank, [charge!, other!])
        yield* sweepNow(bank)
        yield* operated("POST", `/charges/${charge!.id}/refund`, {})
        const [order] = yield* sql<{ id: string }>`
          SELECT id FROM acquirer_orders WHERE charge_id = ${charge!.id}::uuid AND kind = 'refund'`
        const listed = (paid: typeof pix, cents: number, rtrId: string) =>
          reports.received(
            bank.connectionId,
            [
              {
                endToEndId: paid!.endToEndId,
                txid: paid!.txid ?? null,
                amount: 3000,
                atMs: paid!.atMs,
                payer: null,
                key: null,
                returns: [
                  {
                    id: providerIdOf(order!.id),
                    providerId: rtrId,
                    amount: cents,
                    nature: "original",
                    status: "completed",
                    atMs: null,
                    reason: null
                  }
                ]
              }
            ],
            { list: "received", fromMs: 0, toMs: 1 }
          )
        const stateOf = (id: string) =>
          Effect.map(
            sql<{ refunded_amount: number; state: string | null }>`
              SELECT refunded_amount::integer, (SELECT state FROM acquirer_orders o WHERE o.charge_id = c.id) AS state
              FROM charges c WHERE id = ${id}::uuid`,
            ([row]) => row
          )
        yield* listed(pix, 1, "D1")
        yield* listed(pix, 1, "D1")
        assert.deepStrictEqual(yield* stateOf(charge!.id), { refunded_amount: 0, state: "ordered" })
        const [shown, ...more] = yield* openOf(bank, "unreadable")
        assert.deepStrictEqual(more, [])
        assert.deepInclude(shown!, { kind: "unreadable", unallocated: 0, end_to_end_id: pix!.endToEndId })
        assert.strictEqual(shown!.failure_reason, `return ${order!.id} has another amount than was ordered`)
        // Nothing of it arrived: it is refused at once, also where another account would need four eyes.
        const { one } = yield* makeApprovers
        const { accountId } = yield* (yield* TestService).makeCaller()
        const body = { action: "accept", amount: 1, account_id: accountId, reason: "x" }
        assertRefused(
          yield* one.call("POST", `/operator/v1/exceptions/${shown!.id}/resolve`, { body }),
          "INVALID_STATE"
        )
        yield* listed(otherPix, 3000, "D2")
        assert.deepStrictEqual(yield* stateOf(charge!.id), { refunded_amount: 0, state: "ordered" })
        assert.deepStrictEqual(yield* stateOf(other!.id), { refunded_amount: 3000, state: null })
        yield* listed(pix, 3000, "D1")
        assert.deepStrictEqual(yield* stateOf(charge!.id), { refunded_amount: 3000, state: "done" })
        yield* assertLedgerHolds
      })
  )
})

layer(connectedServiceLayer(), { excludeTestServices: true })("A return that the bank made itself", (it) => {
  it.effect(
    "BAL-16, OPR-232: that fails after it was booked is shown once, and moves no money; any other is nothing",
    () =>
      Effect.gen(function* () {
        const bank = yield* fundedBank
        const sql = yield* SqlClient
        const { receipts } = bank.double.provider
        const [charge, other] = yield* pendingCharges(bank, 2, 3000)
        const [pix, otherPix] = payAll(bank, [charge!, other!])
        yield* sweepNow(bank)
        const ordered = (paid: typeof pix, id: string, cents: number) =>
          Result.getOrThrow(receipts.orderReturn(paid!.endToEndId, id, { cents }))
        const end = (paid: typeof pix, id: string, outcome: object) =>
          Effect.andThen(
            Effect.sync(() => Result.getOrThrow(receipts.settleReturn(paid!.endToEndId, id, outcome))),
            sweepNow(bank)
          )
        ordered(pix, "inTheApp1", 1000)
        ordered(otherPix, "inTheApp1", 2000)
        yield* end(pix, "inTheApp1", {})
        yield* end(otherPix, "inTheApp1", closedReturn)
        assert.strictEqual(yield* availableOf(bank.key), 10_000)
        // The books know the return of that name, and none of the other payment.
        assert.deepStrictEqual(yield* openOf(bank, "unreadable"), [])
        const recorded = yield* notificationsOf(bank)
        yield* end(pix, "inTheApp1", { ...closedReturn, overrules: true })
        yield* sweepNow(bank)
        const [shown, ...more] = yield* openOf(bank, "unreadable")
        assert.deepStrictEqual(more, [])
        assert.deepInclude(shown!, { amount: 0, unallocated: 0, end_to_end_id: pix!.endToEndId })
        assert.include(shown!.received ?? "", "inTheApp1")
        assert.strictEqual(
          shown!.failure_reason,
          "return inTheApp1 is booked as carried out, and the provider now says that it failed. " +
            "If the bank confirms it, correct the account by an adjustment; then dismiss this"
        )
        assert.strictEqual(yield* notificationsOf(bank), recorded)
        assert.strictEqual(yield* availableOf(bank.key), 10_000)
        // It is no payment that arrived.
        yield* resolved(shown!.id, { action: "accept", amount: 1000, account_id: bank.accountId, reason: "x" }, 409)
        const readNextDay = Effect.andThen(
          sql`UPDATE unreadable_entries SET read_at = now() - interval '25 hours'`,
          sweepNow(bank)
        )
        yield* readNextDay
        assert.lengthOf(yield* openOf(bank, "unreadable"), 1)
        // The bank agrees with the books again, and then does not.
        yield* end(pix, "inTheApp1", { overrules: true })
        yield* readNextDay
        assert.deepStrictEqual(yield* openOf(bank, "unreadable"), [])
        yield* assertBooks(bank)
        yield* end(pix, "inTheApp1", { ...closedReturn, overrules: true })
        const [again] = yield* openOf(bank, "unreadable")
        assert.notStrictEqual(again!.id, shown!.id)
        yield* resolved(again!.id, { action: "dismiss", reason: "adjusted" })
        yield* readNextDay
        assert.deepStrictEqual(yield* openOf(bank, "unreadable"), [])
        assert.strictEqual(yield* availableOf(bank.key), 10_000)
        yield* assertLedgerHolds
      })
  )
})

/** A bank whose payouts and returns wait for their outcome, and an account with 5000 cents. */
const fundedBank = Effect.gen(function* () {
  const bank = yield* connectedBank({
    profile: "efi",
    settings: { openingCents: OPENING, payoutFate: () => ({ _tag: "Held" }), returnFate: () => ({ _tag: "Held" }) }
  })
  const [charge] = yield* pendingCharges(bank, 1, 5000)
  payAll(bank, [charge!])
  yield* sweepNow(bank)
  yield* reaching(bank.key, charge!.id, "paid")
  return bank
})

/** Inter names a payout only in its answer, and its callbacks name it so. */
const fundedAtInter = Effect.gen(function* () {
  const { makeCaller } = yield* TestService
  const double = yield* startDouble({ variant: doubles.inter, settings: { openingCents: OPENING } })
  const credentials = { ...operatorCredentials(double), current_account: "1" }
  const { id: connectionId } = yield* connectTo(double, { profile: "inter", credentials })
  const secret = Redacted.value(yield* makeWebhookSecret(yield* ConnectionStore, yield* Secrets, connectionId))
  yield* (yield* CallbackConnections).refresh
  const caller = yield* makeCaller()
  yield* fund(caller.accountId, 5000)
  yield* operated("PATCH", `/accounts/${caller.accountId}`, { connection_id: connectionId })
  const url = `${(yield* ListenAddresses).acquirer}/${connectionId}`
  return { ...caller, double, connectionId, url, secretUrl: `${url}/${secret}` } satisfies ConnectedBank
})

const openOf = ({ connectionId }: ConnectedBank, kind = "contradictory_outcome") =>
  Effect.map(operated<{ data: ReadonlyArray<Exception> }>("GET", `/exceptions?kind=${kind}&limit=100`), ({ data }) =>
    data.filter((each) => each.connection_id === connectionId && each.status === "open")
  )

/** The bank has what the books say: the money of the account, and that of the exceptions. */
const assertBooks = ({ accountId, connectionId, double }: ConnectedBank) =>
  Effect.flatMap(SqlClient, (sql) =>
    Effect.map(
      sql<{ balance: bigint }>`
        SELECT -sum(balance)::bigint AS balance FROM ledger_accounts
        WHERE owner_id IN (${accountId}::uuid, ${connectionId}::uuid) AND kind = 'acquirer'`,
      ([row]) => assert.strictEqual(Number(row!.balance), double.provider.balanceCents() - OPENING)
    )
  )
