/** Facts that change nothing, in sweeps that overlap: each is recorded once. */
import { txidFromId } from "@pix-payments/domain/Txid"
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Result from "effect/Result"
import { SqlClient } from "effect/sql/SqlClient"
import {
  connectedBank,
  type ConnectedBank,
  connectedServiceLayer,
  payAll,
  pendingCharges,
  sweepNow
} from "../support/ConnectedBank.ts"
import { reaching } from "../support/ChargeDeliveries.ts"
import { until } from "../support/ChargeRequests.ts"
import { assertLedgerHolds } from "../support/Money.ts"
import { makeRecorder } from "../support/Plans.ts"
import { Reports } from "../../src/reports/Reports.ts"
import { TestService } from "../support/TestService.ts"

const recorder = makeRecorder()

layer(connectedServiceLayer().pipe(Layer.provide(recorder.layer)), {
  excludeTestServices: true
})("A fact that changes nothing", (it) => {
  const recorded = ({ connectionId }: ConnectedBank) =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const reports = yield* sql<{ tag: string; outcome: string }>`
        SELECT report ->> '_tag' AS tag, outcome FROM notifications
        WHERE connection_id = ${connectionId}::uuid ORDER BY received_at, id`
      const [keys] = yield* sql<{ count: number }>`SELECT count(*)::int AS count FROM notification_keys`
      return { reports: reports.map(({ outcome, tag }) => `${tag} ${outcome}`), keys: keys!.count }
    })

  it.effect("OPR-98: a return that failed, and one that two lists report, write nothing in ten more sweeps", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { operate } = yield* TestService
      const bank = yield* connectedBank({ profile: "efi", settings: { returnFate: () => ({ _tag: "Held" }) } })
      const charges = yield* pendingCharges(bank, 2)
      const [failing, disputed] = payAll(bank, charges)
      yield* sweepNow(bank)
      const { infractions, receipts } = bank.double.provider

      // The provider answers the order that the return failed, and lists it for good.
      const { status } = yield* operate("POST", `/operator/v1/charges/${charges[0]!.id}/refund`, { body: {} })
      assert.strictEqual(status, 200)
      const [order] = yield* sql<{
        id: string
      }>`SELECT id FROM acquirer_orders WHERE charge_id = ${charges[0]!.id}::uuid`
      Result.getOrThrow(receipts.settleReturn(failing!.endToEndId, txidFromId(order!.id), { failedBecause: "closed" }))
      yield* sql`UPDATE acquirer_orders SET due_at = now() WHERE id = ${order!.id}::uuid`
      yield* until(
        sql<{ state: string }>`SELECT state FROM acquirer_orders WHERE id = ${order!.id}::uuid`,
        ([found]) => found!.state === "refused"
      )

      // A lost MED is listed as a dispute and as a return.
      const { id } = Result.getOrThrow(infractions.open(disputed!.endToEndId))
      yield* sweepNow(bank)
      Result.getOrThrow(infractions.close(id, "ACEITA"))
      yield* sweepNow(bank)
      yield* reaching(bank.key, charges[1]!.id, "charged_back")
      yield* sweepNow(bank)

      const before = yield* recorded(bank)
      assert.lengthOf(
        before.reports.filter((report) => report === "return.failed ignored"),
        0
      )
      recorder.take()
      for (let sweeps = 0; sweeps < 10; sweeps += 1) yield* sweepNow(bank)
      assert.deepStrictEqual(yield* recorded(bank), before)
      assert.deepStrictEqual(
        recorder.take().filter(({ text }) => /INTO (notifications|notification_keys)/.test(text)),
        []
      )
      yield* assertLedgerHolds
    })
  )

  it.effect.each([
    { seen: "later", ids: [null, "D1", null] },
    { seen: "at first", ids: ["D2", null, "D2"] }
  ])("OPR-98, DSP-10: a return that the provider names with its own id only $seen is booked once", ({ ids }) =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const reports = yield* Reports
      const bank = yield* connectedBank()
      const [charge] = yield* pendingCharges(bank, 1)
      const [pix] = payAll(bank, [charge!])
      yield* sweepNow(bank)
      const returned = {
        id: "R1",
        amount: 400,
        nature: "dispute",
        status: "completed",
        atMs: null,
        reason: null
      } as const
      const { endToEndId } = pix!
      const listed = { endToEndId, txid: txidFromId(charge!.id), amount: 1000, atMs: 0, payer: null, key: null }
      for (const providerId of ids) {
        yield* reports.received(bank.connectionId, [{ ...listed, returns: [{ ...returned, providerId }] }])
      }
      assert.deepStrictEqual(yield* sql`SELECT refunded_amount::integer FROM charges WHERE id = ${charge!.id}::uuid`, [
        { refunded_amount: 400 }
      ])
      // Of another Pix the same id is another return.
      const [other] = yield* pendingCharges(bank, 1)
      const [second] = payAll(bank, [other!])
      yield* reports.received(bank.connectionId, [
        {
          ...listed,
          endToEndId: second!.endToEndId,
          txid: txidFromId(other!.id),
          returns: [{ ...returned, providerId: null }]
        }
      ])
      yield* reaching(bank.key, other!.id, "charged_back")
      yield* assertLedgerHolds
    })
  )

  it.effect("OPR-98, DSP-7: a MED of which another one contests all is one exception, however often it is listed", () =>
    Effect.gen(function* () {
      const bank = yield* connectedBank({ profile: "efi" })
      const charges = yield* pendingCharges(bank, 1)
      const [pix] = payAll(bank, charges)
      const { infractions } = bank.double.provider
      const first = Result.getOrThrow(infractions.open(pix!.endToEndId))
      yield* sweepNow(bank)
      yield* reaching(bank.key, charges[0]!.id, "infraction")
      Result.getOrThrow(infractions.open(pix!.endToEndId))
      yield* sweepNow(bank)
      const before = yield* recorded(bank)
      assert.include(before.reports, "med.opened exception")
      for (let sweeps = 0; sweeps < 10; sweeps += 1) yield* sweepNow(bank)
      assert.deepStrictEqual(yield* recorded(bank), before)
      Result.getOrThrow(infractions.close(first.id, "REJEITADA"))
      yield* sweepNow(bank)
      yield* sweepNow(bank)
      const sql = yield* SqlClient
      const found = yield* sql<{ name: string }>`
        SELECT status AS name FROM disputes WHERE connection_id = ${bank.connectionId}::uuid
        UNION ALL SELECT kind FROM acquirer_exceptions WHERE connection_id = ${bank.connectionId}::uuid`
      assert.deepStrictEqual(
        found.map(({ name }) => name),
        ["won", "unmatched_dispute"]
      )
      yield* assertLedgerHolds
    })
  )
})
