/**
 * The one place where the acquirer's notifications come in.
 *
 * Guarantees:
 * - a report, its key and its effect are one commit; every report is recorded with its outcome;
 * - a copy of a report changes nothing, nor does one that is late; one that overtakes the payment of its charge is
 *   deferred until that payment;
 * - one settlement (end-to-end id) pays one charge.
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
import { Ids } from "../Ids.ts"
import { Payouts } from "../payouts/Payouts.ts"
import { runToCompletion } from "../sql/RunToCompletion.ts"
import type { Unavailable } from "../sql/Unavailable.ts"
import type { AcquirerNotification, Outcome, Reversal } from "../acquirer/AcquirerNotification.ts"
import { awaitsPayment, DeferredNotifications } from "./DeferredNotifications.ts"
import { isCopy, once, type ReceivedNotification, received, record } from "../acquirer/NotificationStore.ts"

export class AcquirerNotifications extends Context.Service<
  AcquirerNotifications,
  {
    /** Fails only where the acquirer should report again. */
    readonly receive: (report: AcquirerNotification) => Effect.Effect<Outcome, Unavailable>
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
      const deferred = yield* DeferredNotifications

      /** What the batches of the stores commit; what changed nothing is recorded here. */
      const batched = (
        came: ReceivedNotification,
        effect: Effect.Effect<"applied" | "ignored" | "overtaken", NotFoundError | Unavailable>
      ) =>
        Effect.gen(function* () {
          const outcome = yield* effect.pipe(
            Effect.catchTag("NotFoundError", () => Effect.succeed("unknown" as const)),
            Effect.catchDefect((defect) => (isCopy(defect) ? Effect.succeed("ignored" as const) : Effect.die(defect)))
          )
          if (outcome === "ignored" || outcome === "unknown") yield* runToCompletion(sql)(record(sql, came, outcome))
          return outcome
        })

      /** What is done in a transaction with the report's key and record. */
      const transacted = (
        came: ReceivedNotification,
        effect: Effect.Effect<Outcome, NotFoundError | Unavailable | SqlError>
      ): Effect.Effect<Outcome, Unavailable> =>
        once(
          sql,
          came,
          Effect.catchTag(effect, "NotFoundError", () => Effect.succeed("unknown" as const))
        ).pipe(
          runToCompletion(sql),
          Effect.catchDefect((defect) =>
            isCopy(defect)
              ? Effect.as(runToCompletion(sql)(record(sql, came, "ignored")), "ignored" as const)
              : Effect.die(defect)
          )
        )

      const appliedIf = (done: boolean): Outcome => (done ? "applied" : "ignored")

      const reverse = Effect.fnUntraced(function* (report: Reversal, came: ReceivedNotification) {
        const locked = yield* money.lock(chargeIdOf(report))
        if (locked === undefined) return yield* new NotFoundError()
        if (awaitsPayment(locked.charge)) {
          yield* deferred.defer(locked.charge, came)
          return "deferred" as const
        }
        return appliedIf(yield* disputes.reverse(locked, report))
      })

      const apply = (report: AcquirerNotification, came: ReceivedNotification): Effect.Effect<Outcome, Unavailable> => {
        switch (report._tag) {
          case "charge.paid": {
            const id = chargeIdOf(report)
            const facts = { endToEndId: report.endToEndId }
            return Effect.filterOrElse(
              batched(came, charges.report(id, "paid", facts, came)),
              (outcome) => outcome !== "overtaken",
              () => transacted(came, Effect.map(deferred.pay(id, facts), appliedIf))
            )
          }
          case "charge.failed":
            return Effect.map(
              batched(came, charges.report(chargeIdOf(report), "failed", { reason: report.reason }, came)),
              settled
            )
          case "charge.refunded":
          case "charge.returned":
          case "med.opened":
            return transacted(came, reverse(report, came))
          case "med.message":
            return transacted(came, Effect.as(disputes.reply(report.disputeId, report.text), "applied" as const))
          case "med.won":
            return transacted(came, Effect.map(disputes.resolve(report.disputeId, "won"), appliedIf))
          case "med.lost":
            return transacted(came, Effect.map(disputes.resolve(report.disputeId, "lost"), appliedIf))
          case "payout.completed":
            return Effect.map(
              batched(came, payouts.report(report.payoutId, "completed", { endToEndId: report.endToEndId }, came)),
              settled
            )
          case "payout.failed":
            return Effect.map(
              batched(came, payouts.report(report.payoutId, "failed", { reason: report.reason }, came)),
              settled
            )
        }
      }

      return AcquirerNotifications.of({
        receive: Effect.fn("AcquirerReports.receive")((report) => apply(report, received(ids, report)))
      })
    })
  )
}

/** Only a payment can be overtaken. */
const settled = (outcome: Outcome | "overtaken"): Outcome => (outcome === "overtaken" ? "ignored" : outcome)

// A text that is no txid of ours names no charge: the services answer so.
const chargeIdOf = ({ txid }: { readonly txid: string }): string => idFromTxid(txid) ?? NO_CHARGE

const NO_CHARGE = "00000000-0000-0000-0000-000000000000"
