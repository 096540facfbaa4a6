/**
 * Applies the acquirer's notifications to charges, payouts and disputes.
 *
 * Guarantees:
 * - a notification, its key and its effect are one commit; every notification is recorded with its outcome;
 * - a duplicate or late notification changes nothing; one that arrives before the payment of its charge is deferred until
 *   that payment (CHG-7, CHG-8, DSP-10);
 * - one settlement (end-to-end id) pays one charge (CHG-9).
 *
 * Rules: CHG-6 to CHG-9, PAY-4 to PAY-6, DSP-1 to DSP-10.
 */
import { idFromTxid } from "@pix-payments/domain/Txid"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { ChargeMoney } from "../charges/ChargeMoney.ts"
import { Charges } from "../charges/Charges.ts"
import { Disputes } from "../disputes/Disputes.ts"
import { NotFoundError } from "../Errors.ts"
import { ChargeOrders } from "../orders/ChargeOrders.ts"
import type { RefundOutcome } from "../refunds/Refunds.ts"
import { Ids } from "../Ids.ts"
import { Payouts } from "../payouts/Payouts.ts"
import { runToCompletion } from "../sql/RunToCompletion.ts"
import type { Unavailable } from "../sql/Unavailable.ts"
import type { AcquirerNotification, Outcome, Reversal } from "../acquirer/AcquirerNotification.ts"
import { awaitsPayment, DeferredNotifications } from "./DeferredNotifications.ts"
import { applyOnce, isDuplicate, type ReceivedNotification, received, record } from "../acquirer/NotificationStore.ts"

export class AcquirerNotifications extends Context.Service<
  AcquirerNotifications,
  {
    /** Applies a notification. Fails only where the acquirer should repeat it. */
    readonly receive: (notification: AcquirerNotification) => Effect.Effect<Outcome, Unavailable>
  }
>()("@pix-payments/server/AcquirerNotifications") {
  static readonly layer = Layer.effect(
    AcquirerNotifications,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const ids = yield* Ids
      const charges = yield* Charges
      const money = yield* ChargeMoney
      const payouts = yield* Payouts
      const disputes = yield* Disputes
      const orders = yield* ChargeOrders
      const deferred = yield* DeferredNotifications

      /** For effects that a store commits with the notification; one that changed nothing is recorded here. */
      const batched = (
        received: ReceivedNotification,
        effect: Effect.Effect<"applied" | "ignored" | "overtaken", NotFoundError | Unavailable>
      ) =>
        Effect.gen(function* () {
          const outcome = yield* effect.pipe(
            Effect.catchTag("NotFoundError", () => Effect.succeed("unknown" as const)),
            Effect.catchDefect((defect) =>
              isDuplicate(defect) ? Effect.succeed("ignored" as const) : Effect.die(defect)
            )
          )
          if (outcome === "ignored" || outcome === "unknown")
            yield* runToCompletion(sql)(record(sql, received, outcome))
          return outcome
        })

      /** For effects that are committed in a transaction with the notification's key and record. */
      const transacted = (
        received: ReceivedNotification,
        effect: Effect.Effect<Outcome, NotFoundError | Unavailable | SqlError>
      ): Effect.Effect<Outcome, Unavailable> =>
        applyOnce(
          sql,
          received,
          Effect.catchTag(effect, "NotFoundError", () => Effect.succeed("unknown" as const))
        ).pipe(
          runToCompletion(sql),
          Effect.catchDefect((defect) =>
            isDuplicate(defect)
              ? Effect.as(runToCompletion(sql)(record(sql, received, "ignored")), "ignored" as const)
              : Effect.die(defect)
          )
        )

      const appliedIf = (done: boolean): Outcome => (done ? "applied" : "ignored")

      const reverse = Effect.fnUntraced(function* (notification: Reversal, received: ReceivedNotification) {
        const locked = yield* money.lock(chargeIdOf(notification))
        if (locked === undefined) return yield* new NotFoundError()
        if (awaitsPayment(locked.charge)) {
          yield* deferred.defer(locked.charge, received)
          return "deferred" as const
        }
        return appliedIf((yield* disputes.reverse(locked, notification)).isApplied)
      })

      const settleRefund = (orderId: string, outcome: RefundOutcome) =>
        Effect.map(orders.settleRefund(orderId, outcome), ({ isApplied }) => appliedIf(isApplied))

      const apply = (
        notification: AcquirerNotification,
        received: ReceivedNotification
      ): Effect.Effect<Outcome, Unavailable> => {
        switch (notification._tag) {
          case "charge.paid": {
            const id = chargeIdOf(notification)
            const facts = { endToEndId: notification.endToEndId }
            return Effect.filterOrElse(
              batched(received, charges.report(id, "paid", facts, received)),
              (outcome) => outcome !== "overtaken",
              () => transacted(received, Effect.map(deferred.pay(id, facts), appliedIf))
            )
          }
          case "charge.failed":
            return Effect.map(
              batched(
                received,
                charges.report(chargeIdOf(notification), "failed", { reason: notification.reason }, received)
              ),
              settled
            )
          case "charge.refunded":
          case "charge.returned":
          case "med.opened":
            return transacted(received, reverse(notification, received))
          case "return.completed":
            return transacted(received, settleRefund(notification.orderId, { _tag: "Completed" }))
          case "return.failed":
            return transacted(
              received,
              settleRefund(notification.orderId, { _tag: "Failed", reason: notification.reason })
            )
          case "med.message":
            return transacted(received, Effect.as(disputes.reply(notification, notification.text), "applied" as const))
          case "med.won":
            return transacted(received, Effect.map(disputes.resolve(notification, "won"), appliedIf))
          case "med.lost":
            return transacted(received, Effect.map(disputes.resolve(notification, "lost"), appliedIf))
          case "payout.completed":
            return Effect.map(
              batched(
                received,
                payouts.report(notification.payoutId, "completed", { endToEndId: notification.endToEndId }, received)
              ),
              settled
            )
          case "payout.failed":
            return Effect.map(
              batched(
                received,
                payouts.report(notification.payoutId, "failed", { reason: notification.reason }, received)
              ),
              settled
            )
        }
      }

      return AcquirerNotifications.of({
        receive: Effect.fn("AcquirerNotifications.receive")((notification) =>
          apply(notification, received(ids, notification))
        )
      })
    })
  )
}

/** Only a payment can be `overtaken`. */
const settled = (outcome: Outcome | "overtaken"): Outcome => (outcome === "overtaken" ? "ignored" : outcome)

// A txid that is not ours names no charge.
const chargeIdOf = ({ txid }: { readonly txid: string }): string => idFromTxid(txid) ?? NO_CHARGE

const NO_CHARGE = "00000000-0000-0000-0000-000000000000"
