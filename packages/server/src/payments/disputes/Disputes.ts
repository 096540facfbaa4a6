/**
 * Disputes (MEDs), and money of paid charges that goes back to the payer.
 *
 * Guarantees:
 * - the charge, the dispute, the refund, the money and the events of one notification are one commit, decided with the
 *   charge and its money locked;
 * - a charge gives back at most what was paid. One return that is reported twice, by a list of returns and by a list of
 *   disputes, takes its money once (DSP-4, DSP-7).
 *
 * Rules: DSP-1 to DSP-11, BAL-9, BAL-10.
 */
import { chargeTransition } from "@pix-payments/domain/Charge"
import { inAccount, leftOf, type ReversalParts, splitAccount, splitReturn } from "@pix-payments/domain/ChargeMoney"
import { type DisputeReport, disputeTransition } from "@pix-payments/domain/Dispute"
import { isUuid } from "@pix-payments/domain/Uuid"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { providerIdOf, type ReturnOutcome } from "../../providers/Acquirer.ts"
import type { Reversal } from "../../providers/AcquirerNotification.ts"
import type { ChargeOrder } from "../../providers/OrderStore.ts"
import type { ChargeStep, LockedCharge } from "../charges/ChargeDecision.ts"
import { ChargeMoney } from "../charges/ChargeMoney.ts"
import { InvalidStateError, NotFoundError } from "../../base/Errors.ts"
import { outboxEntry } from "../../events/Outbox.ts"
import { Ids } from "../../base/Ids.ts"
import { Refunds } from "../refunds/Refunds.ts"
import type { StoredRefund } from "../refunds/RefundStore.ts"
import { runToCompletion } from "../../database/RunToCompletion.ts"
import type { Unavailable } from "../../database/Unavailable.ts"
import { claimsOn, isOpen, unreportedReturn } from "./DisputeClaims.ts"
import { changedDispute, newDispute } from "./DisputeResource.ts"
import { type DisputeMessage, DisputeStore, type StoredDispute } from "./DisputeStore.ts"

/** A dispute by our id or, where that is empty, by the provider's. */
export interface DisputeReference {
  readonly disputeId: string
  readonly externalId?: string | undefined
  readonly connectionId?: string | undefined
}

export interface Reversed {
  /** False where nothing changed. */
  readonly isApplied: boolean
  /** Cents of the reported amount beyond what was left of the charge. */
  readonly unmatched: number
}

export class Disputes extends Context.Service<
  Disputes,
  {
    /** Returns or blocks money of a charge as the provider reports, in a transaction that has locked it. */
    readonly reverse: (locked: LockedCharge, notification: Reversal) => Effect.Effect<Reversed, SqlError>
    /** Ends the open refund of a charge, in a transaction that has locked it. */
    readonly endRefund: (
      locked: LockedCharge,
      order: ChargeOrder,
      outcome: ReturnOutcome
    ) => Effect.Effect<void, SqlError>
    /** Applies the outcome of a dispute, in a transaction. False where its state does not allow it. */
    readonly resolve: (
      dispute: DisputeReference,
      outcome: "won" | "lost"
    ) => Effect.Effect<boolean, NotFoundError | Unavailable | SqlError>
    /** Makes an open dispute `under_review`, in a transaction. False where it is not open. */
    readonly defended: (dispute: StoredDispute) => Effect.Effect<boolean, SqlError>
    /** Adds a message of the platform to the chat, in a transaction (DSP-8). */
    readonly reply: (
      dispute: DisputeReference,
      text: string
    ) => Effect.Effect<void, NotFoundError | Unavailable | SqlError>
    /** Adds an operator's message to the chat of a dispute that is not decided. */
    readonly write: (
      disputeId: string,
      text: string
    ) => Effect.Effect<StoredDispute, NotFoundError | InvalidStateError | Unavailable>
    readonly find: (disputeId: string) => Effect.Effect<StoredDispute, NotFoundError | Unavailable>
  }
>()("@pix-payments/server/Disputes") {
  static readonly layer = Layer.effect(
    Disputes,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const money = yield* ChargeMoney
      const refunds = yield* Refunds
      const store = yield* DisputeStore
      const ids = yield* Ids

      const find = Effect.fnUntraced(function* (id: string) {
        const dispute = isUuid(id) ? yield* store.find(id) : undefined
        return dispute ?? (yield* new NotFoundError())
      })

      const findBy = Effect.fnUntraced(function* ({ connectionId, disputeId, externalId }: DisputeReference) {
        if (disputeId !== "") return yield* find(disputeId)
        const dispute =
          externalId === undefined ? undefined : yield* store.findByExternalId(connectionId ?? null, externalId)
        return dispute ?? (yield* new NotFoundError())
      })

      const moveDispute = Effect.fnUntraced(function* (dispute: StoredDispute, report: DisputeReport) {
        const transition = disputeTransition(report, dispute.status)
        if (transition === undefined) return false
        const moved: StoredDispute = {
          ...dispute,
          status: transition.to,
          sequence: dispute.sequence + 1,
          resolvedAtMs: report === "defended" ? dispute.resolvedAtMs : yield* Clock.currentTimeMillis
        }
        yield* store.put(moved, outboxEntry("dispute.pix", transition.events, changedDispute(moved), ids.next))
        return true
      })

      /** Moves the charge, whose state allows it. */
      const moveCharge = Effect.fnUntraced(function* (locked: LockedCharge, step: ChargeStep) {
        const moved = yield* money.move(locked, step)
        return moved ?? (yield* Effect.die(new Error("a charge has changed while it was locked")))
      })

      /** The money of the charge is gone, or the MED over: every open dispute is lost. */
      const loseOpen = (chargeId: string) =>
        Effect.flatMap(store.lockOfCharge(chargeId), (all) =>
          Effect.forEach(all.filter(isOpen), (dispute) => moveDispute(dispute, "lost"), { discard: true })
        )

      const completeRefund = Effect.fnUntraced(function* (locked: LockedCharge, order: ChargeOrder) {
        const isEmpty = leftOf(locked.funds) === order.amount
        yield* refunds.end(locked.charge, order, { _tag: "Completed" })
        const { charge } = yield* moveCharge(locked, {
          report: isEmpty ? reportIn(locked, "refunded") : undefined,
          reason: "charge.refunded",
          movements: [{ debit: "returns_in_transit", credit: "acquirer", amount: order.amount }]
        })
        if (isEmpty) yield* loseOpen(charge.id)
      })

      /** Gives the money back where it was, or to the MED that claims it by now. */
      const failRefund = Effect.fnUntraced(function* (locked: LockedCharge, order: ChargeOrder, reason: string) {
        yield* refunds.end(locked.charge, order, { _tag: "Failed", reason })
        const disputes = yield* store.lockOfCharge(locked.charge.id)
        const claims = claimsOn(locked, disputes, yield* refunds.of(locked.charge.id))
        const blocked = Math.min(order.amount, claims.contested)
        const lost = Math.min(order.amount - blocked, claims.lost)
        const rest = order.amount - blocked - lost
        const pending = Math.min(order.pending, rest)
        const given = yield* moveCharge(locked, {
          reason: "charge.refund_failed",
          movements: [
            { debit: "returns_in_transit", credit: "blocked", amount: blocked },
            { debit: "returns_in_transit", credit: "pending", amount: pending },
            { debit: "returns_in_transit", credit: "available", amount: rest - pending }
          ]
        })
        if (lost === 0) return { ...given, order: undefined }
        // One MED is one return, which the provider may report later.
        const taken = claims.taken
        if (taken === undefined)
          yield* refunds.report(locked.charge, { amount: lost, pending: 0, isMed: true, providerId: null })
        else yield* refunds.match(taken, taken.providerId, taken.amount + lost)
        const after = yield* moveCharge(given, {
          reason: "charge.charged_back",
          movements: [{ debit: "returns_in_transit", credit: "acquirer", amount: lost }]
        })
        return { ...after, order: undefined }
      })

      const open = Effect.fnUntraced(function* (
        locked: LockedCharge,
        med: Extract<Reversal, { readonly _tag: "med.opened" }>
      ) {
        const { charge, funds } = locked
        if (charge.method !== "pix" || reportIn(locked, "infraction") === undefined) return NOTHING
        const amount = Math.min(med.amount ?? charge.amount, leftOf(funds))
        const parts = splitAccount(Math.min(amount, inAccount(funds)), funds)
        yield* moveCharge(locked, {
          report: "infraction",
          reason: "charge.infraction",
          movements: from(parts, "blocked")
        })
        const dispute = newDispute(charge, ids.next(), { ...med, amount, arrivedResolved: false })
        yield* store.put(dispute, outboxEntry("dispute.pix", ["opened"], changedDispute(dispute), ids.next))
        return APPLIED
      })

      /** The return of a MED whose loss was reported before: the same money, of which only the difference moves. */
      const matchReturn = Effect.fnUntraced(function* (
        locked: LockedCharge,
        taken: StoredRefund,
        { amount = taken.amount, externalId = taken.id }: GivenBack
      ) {
        const { funds } = locked
        const more = Math.max(0, Math.min(amount - taken.amount, inAccount(funds) + funds.blocked))
        const less = Math.max(0, taken.amount - amount)
        yield* refunds.match(taken, externalId, taken.amount + more - less)
        const { charge, funds: after } = yield* moveCharge(locked, {
          reason: "charge.charged_back",
          movements: [
            ...from(splitReturn(more, funds), "acquirer"),
            { debit: "acquirer", credit: "available", amount: less }
          ]
        })
        if (leftOf(after) === 0) yield* loseOpen(charge.id)
        return { isApplied: more + less > 0, unmatched: Math.max(0, amount - taken.amount - more) }
      })

      const giveBack = Effect.fnUntraced(function* (found: LockedCharge, report: GivenBack) {
        const { amount, as, externalId, isMed } = report
        if (!wasPaid(found)) return NOTHING
        const { charge, order } = found
        const isReported = (id: string) => externalId === id || externalId === providerIdOf(id)
        if (order?.kind === "refund" && isReported(order.id)) {
          yield* completeRefund(found, order)
          return APPLIED
        }
        const known = yield* refunds.of(charge.id)
        const isKnown = ({ id, providerId, status }: StoredRefund) =>
          (providerId !== null && providerId === externalId) || (isReported(id) && status === "completed")
        if (known.some(isKnown)) return NOTHING
        const loss = isMed ? unreportedReturn(known) : undefined
        const wanted = amount ?? loss?.amount ?? leftOf(found.funds)
        const missing = wanted - (loss?.amount ?? 0)
        // The provider has no money left for the open refund.
        const isOverdrawn = order?.kind === "refund" && missing > inAccount(found.funds) + found.funds.blocked
        const locked = isOverdrawn
          ? yield* failRefund(found, order, "the provider returned the money otherwise")
          : found
        const taken = isOverdrawn && isMed ? unreportedReturn(yield* refunds.of(charge.id)) : loss
        if (taken !== undefined) return yield* matchReturn(locked, taken, report)
        const { funds } = locked
        const given = Math.min(wanted, inAccount(funds) + funds.blocked)
        if (given <= 0) return { isApplied: false, unmatched: amount ?? 0 }

        const parts = splitReturn(given, funds)
        const isEmpty = leftOf(funds) === given
        const endsMed = isMed && charge.status === "infraction"
        const movements = [
          ...from(parts, "acquirer"),
          // The MED is over: it contests nothing any more.
          { debit: "blocked", credit: "available", amount: endsMed ? funds.blocked - parts.blocked : 0 } as const
        ]
        const isFinal = isEmpty || endsMed || (isMed && as === "charged_back")
        // BAL-10: `refunded` once nothing is left.
        const end = isEmpty ? as : "charged_back"
        const step = { report: isFinal ? reportIn(locked, end) : undefined, reason: `charge.${as}`, movements }
        yield* moveCharge(locked, step)
        const made = { amount: given, pending: parts.pending, isMed, providerId: externalId, atMs: report.atMs }
        yield* refunds.report(charge, made)
        if (isEmpty || endsMed) yield* loseOpen(charge.id)
        // Disputes are of Pix only: other returns emit the charge's event alone.
        if (isMed && charge.status === "paid" && charge.method === "pix") {
          const dispute = newDispute(charge, ids.next(), {
            amount: given,
            reason: "returned without prior notice",
            arrivedResolved: true
          })
          yield* store.put(dispute, outboxEntry("dispute.pix", ["lost"], changedDispute(dispute), ids.next))
        }
        return { isApplied: true, unmatched: amount === undefined ? 0 : wanted - given }
      })

      const win = Effect.fnUntraced(function* (locked: LockedCharge, dispute: StoredDispute) {
        const report = reportIn(locked, "dispute_won")
        // Another dispute of the charge may have ended it, and this one's money is still blocked.
        const amount = report === undefined ? Math.min(dispute.amount, locked.funds.blocked) : locked.funds.blocked
        yield* moveCharge(locked, {
          report,
          reason: "charge.dispute_won",
          movements: [{ debit: "blocked", credit: "available", amount }]
        })
        return yield* moveDispute(dispute, "won")
      })

      const lose = Effect.fnUntraced(function* (locked: LockedCharge, dispute: StoredDispute) {
        const { charge, funds } = locked
        const report = reportIn(locked, "charged_back")
        const amount = Math.min(dispute.amount, inAccount(funds) + funds.blocked)
        // After a `won`, the money may have gone back another way.
        if (!isOpen(dispute) && report === undefined && amount <= 0) return false
        // What a later MED contests stays contested, as far as the account has the money.
        const released = Math.min(amount, inAccount(funds))
        const parts = isOpen(dispute)
          ? splitReturn(amount, funds)
          : { ...splitAccount(released, funds), blocked: amount - released }
        const { funds: after } = yield* moveCharge(locked, {
          report,
          reason: "charge.charged_back",
          movements: from(parts, "acquirer")
        })
        yield* refunds.report(charge, { amount, pending: parts.pending, isMed: true, providerId: null })
        yield* moveDispute(dispute, "lost")
        if (leftOf(after) === 0) yield* loseOpen(charge.id)
        return true
      })

      const addMessage = Effect.fnUntraced(function* (
        dispute: StoredDispute,
        author: DisputeMessage["author"],
        text: string
      ) {
        const { epochMs, id } = ids.next()
        const outbox =
          author === "platform"
            ? outboxEntry("dispute.pix", ["message"], changedDispute(dispute, text), ids.next)
            : undefined
        yield* store.addMessage({ id, disputeId: dispute.id, author, text, atMs: epochMs }, outbox)
      })

      return Disputes.of({
        reverse: (locked, notification) => {
          const { amount, atMs, externalId } = notification
          switch (notification._tag) {
            case "med.opened":
              return open(locked, notification)
            case "charge.refunded":
              return giveBack(locked, { as: "refunded", isMed: false, amount, externalId, atMs })
            case "charge.returned":
              return giveBack(locked, { as: notification.as, isMed: true, amount, externalId, atMs })
          }
        },

        endRefund: (locked, order, outcome) =>
          outcome._tag === "Completed"
            ? completeRefund(locked, order)
            : Effect.asVoid(failRefund(locked, order, outcome.reason)),

        resolve: Effect.fn("Disputes.resolve")(function* (reference, outcome) {
          const known = yield* findBy(reference)
          const locked = yield* money.lock(known.chargeId)
          if (locked === undefined) return yield* new NotFoundError()
          const dispute = (yield* store.lockOfCharge(known.chargeId)).find(({ id }) => id === known.id)
          if (dispute === undefined || disputeTransition(outcome, dispute.status) === undefined) return false
          return yield* outcome === "won" ? win(locked, dispute) : lose(locked, dispute)
        }),

        defended: (dispute) => moveDispute(dispute, "defended"),

        reply: Effect.fn("Disputes.reply")(function* (reference, text) {
          yield* addMessage(yield* findBy(reference), "platform", text)
        }),

        find,

        write: Effect.fn("Disputes.write")(
          function* (disputeId, text) {
            const dispute = yield* find(disputeId)
            if (!isOpen(dispute)) return yield* new InvalidStateError({ status: dispute.status })
            yield* addMessage(dispute, "operator", text)
            return dispute
          },
          sql.withTransaction,
          runToCompletion(sql)
        )
      })
    })
  )
}

/** A return that the provider reports. */
interface GivenBack {
  readonly as: "refunded" | "charged_back"
  /** It is the return of a MED. */
  readonly isMed: boolean
  /** Absent: all that is left. */
  readonly amount: number | undefined
  readonly externalId: string | undefined
  readonly atMs: number | undefined
}

const APPLIED: Reversed = { isApplied: true, unmatched: 0 }
const NOTHING: Reversed = { isApplied: false, unmatched: 0 }

const wasPaid = ({ charge: { status } }: LockedCharge) =>
  status === "paid" || status === "infraction" || status === "refunded" || status === "charged_back"

/** The report, where the state of the charge allows it. */
const reportIn = ({ charge }: LockedCharge, report: NonNullable<ChargeStep["report"]>) =>
  chargeTransition(report, charge.status) === undefined ? undefined : report

const from = ({ available, blocked, pending }: ReversalParts, credit: "blocked" | "acquirer") => [
  { debit: "blocked", credit, amount: blocked } as const,
  { debit: "pending", credit, amount: pending } as const,
  { debit: "available", credit, amount: available } as const
]
