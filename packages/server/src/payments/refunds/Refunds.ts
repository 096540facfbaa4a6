/**
 * The refunds of a charge: one for each order of an operator, and one for each return that the provider made without an
 * order.
 *
 * Every effect here runs in a transaction that has locked the charge.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { SqlError } from "effect/sql/SqlError"
import type { ReturnOutcome } from "../../providers/Acquirer.ts"
import { type ChargeOrder, OrderStore } from "../../providers/OrderStore.ts"
import type { StoredCharge } from "../charges/ChargeTable.ts"
import { Ids } from "../../base/Ids.ts"
import { RefundStore, type StoredRefund } from "./RefundStore.ts"

/** A return that the provider made without an order. */
export interface ProviderReturn {
  /** Cents; with none, there is no refund. */
  readonly amount: number
  /** Of these, the cents that were not released yet. */
  readonly pending: number
  readonly isMed: boolean
  /** The provider's id of the return; null where only the loss of the dispute was reported. */
  readonly providerId: string | null | undefined
  readonly atMs?: number | undefined
}

export class Refunds extends Context.Service<
  Refunds,
  {
    /** Stores the refund of a new order. */
    readonly order: (
      charge: StoredCharge,
      order: ChargeOrder,
      description: string | null
    ) => Effect.Effect<void, SqlError>
    /** Ends an open order and its refund. */
    readonly end: (charge: StoredCharge, order: ChargeOrder, outcome: ReturnOutcome) => Effect.Effect<void, SqlError>
    /** Stores a return of the provider. */
    readonly report: (charge: StoredCharge, made: ProviderReturn) => Effect.Effect<void, SqlError>
    readonly of: (chargeId: string) => Effect.Effect<ReadonlyArray<StoredRefund>, SqlError>
    /** Sets the amount of the return of a lost dispute, and the provider's id of it once that is reported. */
    readonly match: (refund: StoredRefund, providerId: string | null, amount: number) => Effect.Effect<void, SqlError>
  }
>()("@pix-payments/server/Refunds") {
  static readonly layer = Layer.effect(
    Refunds,
    Effect.gen(function* () {
      const store = yield* RefundStore
      const orders = yield* OrderStore
      const ids = yield* Ids

      const processing = (charge: StoredCharge, order: ChargeOrder, description: string | null): StoredRefund => ({
        id: order.id,
        chargeId: charge.id,
        accountId: charge.accountId,
        connectionId: charge.connectionId,
        origin: "operator",
        status: "processing",
        amount: order.amount,
        pending: order.pending,
        description,
        nature: null,
        providerId: null,
        failureReason: null,
        createdAtMs: ids.next().epochMs,
        completedAtMs: null
      })

      return Refunds.of({
        order: (charge, order, description) => store.put(processing(charge, order, description)),

        end: Effect.fnUntraced(function* (charge, order, outcome) {
          const known = (yield* store.ofLocked(charge.id)).find(({ id }) => id === order.id)
          const isCompleted = outcome._tag === "Completed"
          yield* store.put({
            // The previous release stores its orders without a refund.
            ...(known ?? processing(charge, order, null)),
            status: isCompleted ? "completed" : "failed",
            failureReason: isCompleted ? null : outcome.reason,
            completedAtMs: isCompleted ? ids.next().epochMs : null
          })
          yield* orders.finish(order, isCompleted ? "done" : "refused")
        }),

        report: Effect.fnUntraced(function* (charge, { amount, atMs, isMed, pending, providerId }) {
          if (amount === 0) return
          const { epochMs, id } = ids.next()
          yield* store.put({
            id,
            chargeId: charge.id,
            accountId: charge.accountId,
            connectionId: charge.connectionId,
            origin: "provider",
            status: "completed",
            amount,
            pending,
            description: null,
            nature: isMed ? "dispute" : null,
            providerId: providerId === undefined ? id : providerId,
            failureReason: null,
            createdAtMs: epochMs,
            completedAtMs: atMs ?? epochMs
          })
        }),

        of: store.ofLocked,

        match: (refund, providerId, amount) =>
          store.put({ ...refund, providerId, amount, pending: Math.min(refund.pending, amount) })
      })
    })
  )
}
