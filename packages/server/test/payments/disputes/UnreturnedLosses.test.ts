/** MEDs that are lost and of which the bank lists no return. */
import { assert, layer } from "@effect/vitest"
import type { ReceivedPix } from "@pix-payments/psp-double/provider/State"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { SqlClient } from "effect/sql/SqlClient"
import {
  type ConnectedBank,
  connectedBank,
  connectedServiceLayer,
  payAll,
  pendingCharges,
  sweepNow
} from "../../support/ConnectedBank.ts"
import { statusOf } from "../../support/Disputes.ts"
import { type Exception, exceptionOf, resolved, unallocated } from "../../support/Exceptions.ts"
import { assertLedgerHolds, ledgerBalancesOf, operated } from "../../support/Money.ts"

/** So many days pass, and what the bank returned is read again. */
const daysLater = (bank: ConnectedBank, days: number, age = 12) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const earlier = `- interval '${days} days'`
    yield* sql.unsafe(`UPDATE refunds SET completed_at = completed_at ${earlier} WHERE connection_id = $1::uuid`, [
      bank.connectionId
    ])
    yield* sql.unsafe(`UPDATE disputes SET resolved_at = resolved_at ${earlier} WHERE connection_id = $1::uuid`, [
      bank.connectionId
    ])
    yield* sql`UPDATE acquirer_connections SET created_at = now() - ${age}::integer * interval '1 day', swept_until = now(),
      last_days_at = now(), returns_at = now() - interval '25 hours'
      WHERE id = ${bank.connectionId}::uuid`
    yield* sweepNow(bank)
  })

/** The bank decides a MED as lost, and returns at most so many cents. */
const lose = (bank: ConnectedBank, { endToEndId }: ReceivedPix, takesBack: number) =>
  Effect.gen(function* () {
    const { infractions } = bank.double.provider
    const { id } = Result.getOrThrow(infractions.open(endToEndId))
    yield* sweepNow(bank)
    infractions.close(id, "ACEITA", undefined, { takesBack })
    yield* sweepNow(bank)
  })

const contradictionsOf = ({ connectionId }: ConnectedBank) =>
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const rows = yield* sql<{ id: string }>`
      SELECT id FROM acquirer_exceptions WHERE connection_id = ${connectionId}::uuid AND kind = 'contradictory_outcome' ORDER BY id`
    return yield* Effect.forEach(rows, ({ id }) => operated<Exception>("GET", `/exceptions/${id}`))
  })

const paid = Effect.gen(function* () {
  const bank = yield* connectedBank({ profile: "efi" })
  const [charge] = yield* pendingCharges(bank, 1)
  yield* sweepNow(bank)
  const [pix] = payAll(bank, [charge!])
  yield* sweepNow(bank)
  return { bank, id: charge!.id, pix: pix! }
})

const ofRefunds = (chargeId: string) =>
  Effect.map(
    operated<{ data: ReadonlyArray<{ id: string; status: string; amount: number; provider_outcome: string | null }> }>(
      "GET",
      `/refunds?charge_id=${chargeId}`
    ),
    ({ data }) => data
  )

layer(connectedServiceLayer(), { excludeTestServices: true })("A MED that is lost", (it) => {
  it.effect("BAL-16: is none of an unread return: a reading of which a part failed raises nothing", () =>
    Effect.gen(function* () {
      const { bank, pix } = yield* paid
      yield* lose(bank, pix, 0)
      const end = bank.double.faults.always("proxy-page", { method: "GET", path: /\/pix$/ })
      yield* daysLater(bank, 9, 30)
      end()
      // The slices that are left.
      yield* sweepNow(bank)
      assert.deepStrictEqual(yield* contradictionsOf(bank), [])
      yield* daysLater(bank, 0)
      assert.lengthOf(yield* contradictionsOf(bank), 1)
    })
  )

  it.effect("BAL-16: is shown after thirty days where a part of the returns can never be read", () =>
    Effect.gen(function* () {
      const { bank, pix } = yield* paid
      yield* lose(bank, pix, 0)
      bank.double.faults.always("proxy-page", { method: "GET", path: /\/pix$/ })
      yield* daysLater(bank, 29)
      assert.deepStrictEqual(yield* contradictionsOf(bank), [])
      yield* daysLater(bank, 1.1)
      assert.lengthOf(yield* contradictionsOf(bank), 1)
    })
  )

  it.effect(
    "BAL-16: nothing of it is returned for eight days: an exception has its money, until its return comes",
    () =>
      Effect.gen(function* () {
        const { bank, id, pix } = yield* paid
        yield* lose(bank, pix, 0)
        assert.strictEqual(yield* statusOf(bank.key, id), "charged_back")
        assert.deepInclude(yield* ledgerBalancesOf(bank.accountId), { available: 0, blocked: 0 })
        yield* daysLater(bank, 7)
        assert.deepStrictEqual(yield* contradictionsOf(bank), [])
        yield* daysLater(bank, 1.1)
        yield* daysLater(bank, 1)
        const [exception, ...others] = yield* contradictionsOf(bank)
        assert.deepStrictEqual(others, [])
        const [refund] = yield* ofRefunds(id)
        assert.deepInclude(refund, { status: "completed", amount: 1000, provider_outcome: "failed" })
        assert.deepInclude(exception, {
          status: "open",
          amount: 1000,
          unallocated: 1000,
          charge_id: id,
          refund_id: refund!.id,
          account_id: bank.accountId,
          provider_outcome: "failed"
        })
        assert.strictEqual(yield* unallocated(bank.connectionId), bank.double.provider.balanceCents())
        assert.strictEqual(yield* statusOf(bank.key, id), "charged_back")
        yield* resolved(exception!.id, { action: "accept" })
        assert.deepInclude(yield* ledgerBalancesOf(bank.accountId), { available: 1000 })
        yield* assertLedgerHolds
        // It has the money now, and returns it.
        Result.getOrThrow(bank.double.provider.receipts.takeBack(pix.endToEndId, 1000))
        yield* sweepNow(bank)
        assert.deepInclude((yield* contradictionsOf(bank))[0], { status: "resolved", action: null, unallocated: 0 })
        assert.deepInclude(yield* ledgerBalancesOf(bank.accountId), { available: 0 })
        assert.strictEqual((yield* ofRefunds(id))[0]?.provider_outcome, null)
        yield* daysLater(bank, 9)
        assert.lengthOf(yield* contradictionsOf(bank), 1)
        yield* assertLedgerHolds
      })
  )

  it.effect("DSP-4: a part of it is returned: the rest is available again, and nothing contradicts it", () =>
    Effect.gen(function* () {
      const { bank, id, pix } = yield* paid
      yield* lose(bank, pix, 300)
      assert.strictEqual(yield* statusOf(bank.key, id), "charged_back")
      assert.deepInclude(yield* ledgerBalancesOf(bank.accountId), { available: 700, blocked: 0 })
      yield* daysLater(bank, 9)
      assert.deepStrictEqual(yield* contradictionsOf(bank), [])
      assert.strictEqual(bank.double.provider.balanceCents(), 700)
      yield* assertLedgerHolds
    })
  )

  it.effect("BAL-16, DSP-12: the same of accepted money, whose exception names the dispute", () =>
    Effect.gen(function* () {
      const { bank, id } = yield* paid
      const [second] = payAll(bank, [{ id }])
      yield* sweepNow(bank)
      const { id: exceptionId } = yield* exceptionOf(second!.endToEndId)
      yield* resolved(exceptionId, { action: "accept" })
      yield* lose(bank, second!, 0)
      assert.deepInclude(yield* ledgerBalancesOf(bank.accountId), { available: 1000, blocked: 0 })
      yield* daysLater(bank, 9)
      const [raised] = yield* contradictionsOf(bank)
      const sql = yield* SqlClient
      const [dispute] = yield* sql<{ id: string }>`SELECT id FROM disputes WHERE exception_id = ${exceptionId}::uuid`
      assert.deepInclude(raised, {
        status: "open",
        unallocated: 1000,
        refund_id: dispute!.id,
        account_id: bank.accountId,
        provider_outcome: "failed"
      })
      Result.getOrThrow(bank.double.provider.receipts.takeBack(second!.endToEndId, 1000))
      yield* sweepNow(bank)
      assert.deepInclude((yield* contradictionsOf(bank))[0], { status: "resolved", action: null, unallocated: 0 })
      assert.deepInclude(yield* ledgerBalancesOf(bank.accountId), { available: 1000 })
      yield* assertLedgerHolds
    })
  )
})
