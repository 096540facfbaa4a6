/** Returns that the service ordered, and that the provider lists under another id than it was asked with. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { type Exception, newPix, notified, unallocated } from "../../support/Exceptions.ts"
import { assertLedgerHolds, operated } from "../../support/Money.ts"
import { overdueRefundOf, overdueReturn } from "../../support/Overdue.ts"
import { TestService } from "../../support/TestService.ts"

const refunded = Effect.fnUntraced(function* (amount: number) {
  const sql = yield* SqlClient
  const { chargeId, id } = yield* overdueRefundOf({}, amount)
  const [charge] = yield* sql<{ pix: string }>`SELECT end_to_end_id AS pix FROM charges WHERE id = ${chargeId}::uuid`
  return { id, chargeId, pix: charge!.pix }
})

const listed = (endToEndId: string, externalId: string, amount: number) =>
  notified({ _tag: "charge.refunded", txid: "", endToEndId, externalId, amount, requestId: `${endToEndId}/bank` })

layer(TestService.layer(), { excludeTestServices: true })("A return that the bank names otherwise", (it) => {
  it.effect.each([{ isListed: "after" }, { isListed: "before" }])(
    "CHG-8, DSP-10: is one, by the bank's id of it: of a charge ($isListed the order's outcome)",
    ({ isListed }) =>
      Effect.gen(function* () {
        const { chargeId, id, pix } = yield* refunded(400)
        const externalId = newPix()
        const outcome = notified({ _tag: "return.completed", orderId: id, externalId })
        if (isListed === "before") assert.strictEqual(yield* listed(pix, externalId, 400), "applied")
        assert.strictEqual(yield* outcome, "applied")
        if (isListed === "after") assert.strictEqual(yield* listed(pix, externalId, 400), "ignored")
        const charge = yield* operated("GET", `/charges/${chargeId}`)
        assert.strictEqual(charge["refunded_amount"], 400)
        assert.strictEqual(yield* outcome, "ignored")
        yield* assertLedgerHolds
      })
  )

  it.effect("BAL-12, DSP-10: is one, by the bank's id of it: of an exception", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const before = yield* unallocated()
      const exceptionId = yield* overdueReturn
      const { end_to_end_id } = yield* operated<Exception>("GET", `/exceptions/${exceptionId}`)
      const [order] = yield* sql<{ id: string }>`
        SELECT id FROM acquirer_orders WHERE exception_id = ${exceptionId}::uuid`
      const externalId = newPix()
      assert.strictEqual(yield* notified({ _tag: "return.completed", orderId: order!.id, externalId }), "applied")
      assert.strictEqual(yield* listed(end_to_end_id!, externalId, 3000), "ignored")
      assert.strictEqual(yield* unallocated(), before)
    })
  )
})
