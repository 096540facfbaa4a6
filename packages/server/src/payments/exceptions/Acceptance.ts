/**
 * How the money of an exception reaches an account.
 *
 * Guarantees:
 * - the money is in the account in the commit that resolves the exception, with the payment of its charge if it is one
 *   (BAL-12). What waited for that payment is applied in that commit (`Reversals.ts`);
 * - for another charge than the payment names, it needs the `Authority` around it (OPR-112).
 *
 * Rules: BAL-12, OPR-82.
 */
import { chargeStatusAt } from "@pix-payments/domain/Charge"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { RequestRefused } from "../../base/Errors.ts"
import { Ids } from "../../base/Ids.ts"
import type { Unavailable } from "../../database/Unavailable.ts"
import { transfer } from "../../ledger/Ledger.ts"
import { Authority, isAuthorized } from "../../operators/approvals/Authority.ts"
import { Charges } from "../charges/Charges.ts"
import { ChargeStore } from "../charges/ChargeStore.ts"
import type { StoredCharge } from "../charges/ChargeTable.ts"
import { passSettlement } from "../charges/Settlements.ts"
import { isThrough, movement, resolution } from "./Exceptions.ts"
import { ExceptionStore, type StoredException } from "./ExceptionStore.ts"
import { Reversals } from "./Reversals.ts"

export class Acceptance extends Context.Service<
  Acceptance,
  {
    /** The charge that the money is for: the one with this id, or the one that the payment names. */
    readonly chargeFor: (
      exception: StoredException,
      chargeId: string | null
    ) => Effect.Effect<StoredCharge, RequestRefused | Unavailable>
    /** Whether the money may go to another charge than the payment names (OPR-112), in a transaction. */
    readonly mayAcceptFor: (exception: StoredException) => Effect.Effect<boolean, SqlError>
    /** Credits `available`, in a transaction that has locked the exception, its charge and their ledger accounts. */
    readonly accept: (
      exception: StoredException,
      charge: StoredCharge,
      by: string,
      reason: string | null
    ) => Effect.Effect<void, SqlError | Unavailable>
  }
>()("@pix-payments/server/Acceptance") {
  static readonly layer = Layer.effect(
    Acceptance,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const ids = yield* Ids
      const store = yield* ExceptionStore
      const charges = yield* Charges
      const chargeStore = yield* ChargeStore
      const reversals = yield* Reversals

      /** The payment of a charge by an exception; `undefined` where it does not pay it. */
      const paymentOf = Effect.fnUntraced(function* (charge: StoredCharge, exception: StoredException) {
        const status = chargeStatusAt(charge.status, charge.expiresAtMs, yield* Clock.currentTimeMillis)
        if (status !== "pending" && status !== "expired") return undefined
        if (exception.amount !== charge.amount || exception.unallocated !== charge.amount) return undefined
        const facts = { endToEndId: exception.endToEndId ?? undefined, paidAtMs: exception.occurredAtMs }
        return yield* charges.paymentOf(charge, facts)
      })

      return Acceptance.of({
        chargeFor: Effect.fnUntraced(function* (exception, chargeId) {
          const refused = new RequestRefused({ code: "VALIDATION_ERROR", details: ["charge_id"] })
          const found = charges.find(chargeId ?? exception.chargeId ?? "")
          const charge = yield* Effect.catchTag(found, "NotFoundError", () => Effect.fail(refused))
          return isThrough(exception.connectionId, charge) ? charge : yield* refused
        }),

        mayAcceptFor: Effect.fnUntraced(function* ({ id }) {
          const [row] = yield* sql<{ may: boolean }>`
            SELECT ${isAuthorized(sql, yield* Authority, "exception.accept", `'${id}'::uuid`)} AS may`
          return row?.may === true
        }),

        accept: Effect.fnUntraced(function* (exception, charge, by, reason) {
          const payment = yield* paymentOf(charge, exception)
          const credit = {
            accountId: charge.accountId,
            debit: "acquirer",
            credit: "available",
            amount: exception.unallocated
          } as const
          const leaves = movement(ids, exception, "out", exception.unallocated, "exception.accepted")
          const accepted: StoredException = {
            ...exception,
            ...resolution("accept", by, yield* Clock.currentTimeMillis),
            chargeId: charge.id,
            accountId: charge.accountId,
            unallocated: 0,
            reason
          }
          if (payment === undefined) {
            yield* store.put(accepted, [
              ...leaves,
              ...transfer(ids, { ...credit, resourceId: exception.id, reason: "exception.accepted" })
            ])
            return
          }
          yield* store.put(accepted, leaves)
          const { connectionId, endToEndId } = exception
          if (endToEndId !== null) yield* passSettlement(sql, { connectionId, endToEndId }, exception.id, charge.id)
          const paid = chargeStore.changeInTransaction({
            ...payment,
            transfers: transfer(ids, { ...credit, resourceId: charge.id, reason: "charge.paid" }),
            releaseInMs: undefined
          })
          yield* reversals.withEarly({ connectionId, endToEndId: endToEndId ?? undefined, chargeId: charge.id }, paid)
        })
      })
    })
  )
}
