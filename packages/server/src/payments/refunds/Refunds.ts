/**
 * Refunds of a charge: ordered by operators, ended by the provider, or made by the provider without an order.
 *
 * Guarantees:
 * - the charge, its refunds, the money, the events and the disputes that end with it are one commit, decided with the charge
 *   and its money locked (`RefundDecision.ts`);
 * - a refund is stored with its order, and ends with it.
 *
 * Every effect here runs in the caller's transaction. All but `order` need the charge locked.
 */
import { chargeStatusAt } from "@pix-payments/domain/Charge"
import { isUuid } from "@pix-payments/domain/Uuid"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { InsufficientBalanceError, InvalidStateError, NotFoundError } from "../../base/Errors.ts"
import { Ids } from "../../base/Ids.ts"
import { availableOf } from "../../ledger/Ledger.ts"
import type { ReturnOutcome } from "../../providers/Acquirer.ts"
import { type ChargeOrder, type Leased, OrderStore } from "../../providers/OrderStore.ts"
import type { LockedCharge } from "../charges/ChargeDecision.ts"
import { LockedCharges } from "../charges/LockedCharges.ts"
import { DisputedMoney } from "./DisputedMoney.ts"
import {
  decideEnd,
  decideOrder,
  decideReturn,
  orderedRefund,
  type RefundChange,
  type RefundFacts,
  type ReportedReturn,
  type Reversed
} from "./RefundDecision.ts"
import { RefundStore } from "./RefundStore.ts"

export interface RefundRequest {
  /** Cents. Absent: all that is left and not blocked. */
  readonly amount?: number | undefined
  readonly description?: string | undefined
}

export class Refunds extends Context.Service<
  Refunds,
  {
    /** Stores an operator's order, leased for `leaseMs`, with its refund, whose money is in transit from then on. */
    readonly order: (
      chargeId: string,
      request: RefundRequest,
      leaseMs: number
    ) => Effect.Effect<Leased<ChargeOrder>, NotFoundError | InvalidStateError | InsufficientBalanceError | SqlError>
    /** Ends the open refund of a charge. */
    readonly end: (locked: LockedCharge, order: ChargeOrder, outcome: ReturnOutcome) => Effect.Effect<void, SqlError>
    /** Applies a return that the provider reports. */
    readonly giveBack: (locked: LockedCharge, report: ReportedReturn) => Effect.Effect<Reversed, SqlError>
  }
>()("@pix-payments/server/Refunds") {
  static readonly layer = Layer.effect(
    Refunds,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const money = yield* LockedCharges
      const store = yield* RefundStore
      const orders = yield* OrderStore
      const disputed = yield* DisputedMoney
      const ids = yield* Ids

      const factsOf = Effect.fnUntraced(function* (locked: LockedCharge) {
        const refunds = yield* store.ofLocked(locked.charge.id)
        return { locked, refunds, claims: yield* disputed.claimsOn(locked, refunds) } satisfies RefundFacts
      })

      const apply = Effect.fnUntraced(function* (locked: LockedCharge, change: RefundChange) {
        if (change.orderEnd !== undefined && locked.order !== undefined)
          yield* orders.finish(locked.order, change.orderEnd)
        let moved: LockedCharge | undefined = locked
        for (const step of change.steps) {
          moved = yield* money.move(moved, step)
          if (moved === undefined) return yield* Effect.die(new Error("a charge has changed while it was locked"))
        }
        for (const refund of change.refunds) yield* store.put(refund)
        if (change.isEmpty) yield* disputed.loseOpen(locked.charge.id)
        if (change.arrivedLost > 0) yield* disputed.addLost(locked.charge, change.arrivedLost)
        return { isApplied: change.isApplied, unmatched: change.unmatched }
      })

      return Refunds.of({
        order: Effect.fnUntraced(function* (id, { amount, description = null }, leaseMs) {
          const locked = isUuid(id) ? yield* money.lock(id) : undefined
          if (locked === undefined) return yield* new NotFoundError()
          const { charge } = locked
          const available = yield* availableOf(sql, charge.accountId)
          const decision = decideOrder(locked, amount, available)
          switch (decision._tag) {
            case "InvalidState": {
              const now = yield* Clock.currentTimeMillis
              return yield* new InvalidStateError({ status: chargeStatusAt(charge.status, charge.expiresAtMs, now) })
            }
            case "InsufficientBalance":
              return yield* new InsufficientBalanceError({ needed: decision.needed, available })
          }
          const { amount: cents, pending, step } = decision
          const { accountId, connectionId, endToEndId, id: chargeId } = charge
          const order = yield* orders.insert(
            {
              id: ids.next().id,
              kind: "refund",
              chargeId,
              accountId,
              connectionId,
              endToEndId,
              amount: cents,
              pending
            },
            leaseMs
          )
          yield* store.put(orderedRefund(charge, order, description, ids.next().epochMs))
          yield* money.move(locked, { ...step, sourceId: order.id })
          return order
        }),

        end: (locked, order, outcome) =>
          Effect.flatMap(factsOf(locked), (facts) => apply(locked, decideEnd(facts, order, outcome, ids))),

        giveBack: (locked, report) =>
          Effect.flatMap(factsOf(locked), (facts) => apply(locked, decideReturn(facts, report, ids)))
      })
    })
  )
}
