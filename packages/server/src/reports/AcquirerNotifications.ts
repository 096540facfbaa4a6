/**
 * Applies the acquirer's notifications to charges, payouts and disputes.
 *
 * Guarantees:
 * - a notification, its key and its effect are one commit; every notification is recorded with its outcome;
 * - a duplicate changes nothing; a return or MED that arrives before its payment waits for it (CHG-8, DSP-10);
 * - one settlement (connection and end-to-end id) pays one charge, or is one exception (CHG-9, BAL-11).
 *
 * Rules: CHG-6 to CHG-9, PAY-4 to PAY-6, DSP-1 to DSP-10, BAL-11, BAL-13.
 */
import { idFromTxid } from "@pix-payments/domain/Txid"
import { isUuid } from "@pix-payments/domain/Uuid"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { Charges } from "../payments/charges/Charges.ts"
import type { StoredCharge } from "../payments/charges/ChargeTable.ts"
import { type DisputeReference, Disputes } from "../payments/disputes/Disputes.ts"
import type { NotFoundError } from "../base/Errors.ts"
import { connectionOf, isThrough, type Payment } from "../payments/exceptions/Exceptions.ts"
import { ExceptionDisputes } from "../payments/exceptions/ExceptionDisputes.ts"
import { ExceptionReturns } from "../payments/exceptions/ExceptionReturns.ts"
import { ReturnedPayouts } from "../payments/exceptions/ReturnedPayouts.ts"
import { RefundOrders } from "../payments/refunds/RefundOrders.ts"
import { type PaymentArrived, Reversals } from "../payments/exceptions/Reversals.ts"
import { Ids } from "../base/Ids.ts"
import type { PayoutFacts } from "../payments/payouts/PayoutDecision.ts"
import { Payouts } from "../payments/payouts/Payouts.ts"
import { runToCompletion } from "../database/RunToCompletion.ts"
import type { Unavailable } from "../database/Unavailable.ts"
import type { ReturnOutcome } from "../providers/Acquirer.ts"
import { type AcquirerNotification, isEffect, type Outcome } from "../providers/AcquirerNotification.ts"
import { ChangedMeanwhile, LateOutcomes, lateFrom } from "../providers/LateOutcomes.ts"
import { isChargeOrder, OrderStore } from "../providers/OrderStore.ts"
import { ChargePayments } from "./ChargePayments.ts"
import {
  applyOnce,
  claimReturn,
  isDuplicate,
  type ReceivedNotification,
  received,
  record
} from "../providers/NotificationStore.ts"

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
      const ids = yield* Ids
      const charges = yield* Charges
      const disputes = yield* Disputes
      const reversals = yield* Reversals
      const returnedPayouts = yield* ReturnedPayouts
      const { batched, transacted } = yield* recording
      const pay = yield* chargePayments
      const paidOut = yield* payoutOutcomes
      const returned = yield* returnOutcomes
      const decided = yield* disputeOutcomes

      const apply = (
        notification: AcquirerNotification,
        received: ReceivedNotification
      ): Effect.Effect<Outcome, Unavailable> => {
        switch (notification._tag) {
          case "charge.paid":
            return pay(notification, received)
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
            return transacted(received, reversals.apply({ id: received.id, reversal: notification }))
          case "return.completed":
            return transacted(
              received,
              returned(notification, { _tag: "Completed", returnId: notification.externalId })
            )
          case "return.failed":
            return transacted(received, returned(notification, { _tag: "Failed", reason: notification.reason }))
          case "med.message":
            return transacted(received, Effect.as(disputes.reply(notification, notification.text), "applied" as const))
          case "med.won":
            return transacted(received, Effect.map(decided(notification, "won"), appliedIf))
          case "med.lost":
            return transacted(received, Effect.map(decided(notification, "lost"), appliedIf))
          case "payout.completed":
            return paidOut(received, notification.payoutId, "completed", { endToEndId: notification.endToEndId })
          case "payout.returned":
            return transacted(received, returnedPayouts.raise(notification))
          case "payout.failed":
            return paidOut(received, notification.payoutId, "failed", { reason: notification.reason })
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

/** Commits the effect of a notification with its key and its record. */
const recording = Effect.gen(function* () {
  const sql = yield* SqlClient

  /** For effects that a store commits with the notification; one that changed nothing is recorded here. */
  const batched = (
    received: ReceivedNotification,
    effect: Effect.Effect<"applied" | "ignored" | "overtaken", NotFoundError | Unavailable>
  ) =>
    Effect.gen(function* () {
      const outcome = yield* ignoringCopies(effect)
      if (outcome === "ignored" || outcome === "unknown") yield* runToCompletion(sql)(record(sql, received, outcome))
      return outcome
    })

  /** For effects that are committed in a transaction with the notification's key and record. */
  const transacted = (
    received: ReceivedNotification,
    effect: Effect.Effect<Outcome, NotFoundError | PaymentArrived | ChangedMeanwhile | Unavailable | SqlError>
  ): Effect.Effect<Outcome, Unavailable> => {
    const known = Effect.catchTag(effect, "NotFoundError", () => Effect.succeed("unknown" as const))
    const attempt: Effect.Effect<Outcome, Unavailable> = applyOnce(sql, received, known).pipe(
      runToCompletion(sql),
      Effect.catchTags({ PaymentArrived: () => attempt, ChangedMeanwhile: () => attempt })
    )
    return attempt
  }

  return { batched, transacted }
})

const chargePayments = Effect.gen(function* () {
  const charges = yield* Charges
  const payments = yield* ChargePayments
  const { transacted } = yield* recording

  /** Pays the charge in a batch where it can be paid as it is; everything else is decided with the charge locked. */
  return (payment: Payment, received: ReceivedNotification) => {
    const facts = { endToEndId: payment.endToEndId, paidAtMs: payment.atMs, payer: payment.payer }
    const connectionId = connectionOf(payment)
    const fits = (charge: StoredCharge) =>
      isThrough(connectionId, charge) && (payment.amount === undefined || payment.amount === charge.amount)
    return charges.report(chargeIdOf(payment), "paid", facts, received, fits).pipe(
      Effect.catchTag("NotFoundError", () => Effect.succeed("ignored" as const)),
      Effect.catchDefect((defect) => (isDuplicate(defect) ? Effect.succeed("ignored" as const) : Effect.die(defect))),
      Effect.filterOrElse(
        (outcome): outcome is "applied" => outcome === "applied",
        () => transacted(received, payments.settle(payment, received))
      )
    )
  }
})

const payoutOutcomes = Effect.gen(function* () {
  const sql = yield* SqlClient
  const payouts = yield* Payouts
  const late = yield* LateOutcomes
  const { transacted } = yield* recording

  /** Ends a payout in a batch; what one that has ended means is decided in a transaction. */
  return (
    received: ReceivedNotification,
    id: string,
    outcome: "completed" | "failed",
    facts: PayoutFacts
  ): Effect.Effect<Outcome, Unavailable> =>
    ignoringCopies(payouts.report(id, outcome, facts, received)).pipe(
      Effect.filterOrElse(
        (reported): reported is "applied" | "unknown" => reported !== "ignored",
        () => {
          const contradicted = { outcome, externalId: facts.endToEndId, reason: facts.reason }
          return transacted(received, late.ofPayout(id, contradicted))
        }
      ),
      Effect.tap((reported) =>
        reported === "unknown" ? runToCompletion(sql)(record(sql, received, reported)) : Effect.void
      )
    )
})

const returnOutcomes = Effect.gen(function* () {
  const sql = yield* SqlClient
  const orders = yield* RefundOrders
  const returns = yield* ExceptionReturns
  const store = yield* OrderStore
  const late = yield* LateOutcomes

  /** The outcome of a return that the service ordered: of an exception's money, or of a charge's. */
  return Effect.fnUntraced(function* ({ connectionId, externalId, orderId }: Returned, outcome: ReturnOutcome) {
    const order = isUuid(orderId) ? yield* store.find(orderId) : undefined
    if (order === undefined || order.kind === "cancel" || order.kind === "defend") return "unknown" as const
    let applied: Outcome = "applied"
    if (order.state !== "ordered") applied = yield* late.ofReturn(orderId, { ...lateFrom(outcome), externalId })
    else if (isChargeOrder(order)) yield* orders.settle(order, outcome)
    else if (!(yield* returns.finish(orderId, outcome))) {
      // It was ended meanwhile; or its exception is not kept any more.
      return (yield* store.find(orderId))?.state === "ordered" ? "ignored" : yield* new ChangedMeanwhile()
    }
    if (outcome._tag === "Completed" && isEffect(applied)) {
      yield* claimReturn(sql, { id: orderId, connectionId: connectionId ?? null }, outcome.returnId)
    }
    return applied
  })
})

const disputeOutcomes = Effect.gen(function* () {
  const disputes = yield* Disputes
  const exceptionDisputes = yield* ExceptionDisputes

  /** The outcome of a dispute: of a charge, or of money that an account accepted. */
  return Effect.fnUntraced(function* (reference: DisputeReference, outcome: "won" | "lost") {
    const dispute = yield* disputes.findBy(reference)
    const { chargeId, exceptionId } = dispute
    if (exceptionId !== null) return yield* exceptionDisputes.resolve({ ...dispute, exceptionId }, outcome)
    return chargeId !== null && (yield* disputes.resolve({ ...dispute, chargeId }, outcome))
  })
})

const appliedIf = (done: boolean): Outcome => (done ? "applied" : "ignored")

type Returned = Extract<AcquirerNotification, { readonly orderId: string }>

/** Only a payment can be `overtaken`. */
const settled = (outcome: Outcome | "overtaken"): Outcome => (outcome === "overtaken" ? "ignored" : outcome)

const ignoringCopies = <A>(effect: Effect.Effect<A, NotFoundError | Unavailable>) =>
  effect.pipe(
    Effect.catchTag("NotFoundError", () => Effect.succeed("unknown" as const)),
    Effect.catchDefect((defect) => (isDuplicate(defect) ? Effect.succeed("ignored" as const) : Effect.die(defect)))
  )

// A txid that is not ours names no charge.
const chargeIdOf = ({ txid }: { readonly txid: string }): string => idFromTxid(txid) ?? NO_CHARGE

const NO_CHARGE = "00000000-0000-0000-0000-000000000000"
