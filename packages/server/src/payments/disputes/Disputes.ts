/**
 * Disputes (MEDs): opened, decided, and their chat.
 *
 * Guarantees: the charge, the dispute, the refund, the money and the events of one notification are one commit, decided with
 * the charge and its money locked (`DisputeDecision.ts`; a return of money: `refunds/RefundDecision.ts`).
 *
 * Rules: DSP-1 to DSP-11.
 */
import { type DisputeReport, disputeTransition, returnOfLoss } from "@pix-payments/domain/Dispute"
import { isUuid } from "@pix-payments/domain/Uuid"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { InvalidStateError, NotFoundError } from "../../base/Errors.ts"
import { Ids } from "../../base/Ids.ts"
import { runToCompletion } from "../../database/RunToCompletion.ts"
import type { Unavailable } from "../../database/Unavailable.ts"
import type { Med, Reversal } from "../../providers/AcquirerNotification.ts"
import type { ChargeStep, LockedCharge } from "../charges/ChargeDecision.ts"
import { LockedCharges } from "../charges/LockedCharges.ts"
import { DisputedMoney } from "../refunds/DisputedMoney.ts"
import { providerRefund, type Reversed, unnamedReturns, wasPaid } from "../refunds/RefundDecision.ts"
import { Refunds } from "../refunds/Refunds.ts"
import { RefundStore, type StoredRefund } from "../refunds/RefundStore.ts"
import {
  arrivedWith,
  contestedByOthers,
  decideKnownLoss,
  decideLoss,
  decideOpening,
  decideReport,
  decideWin,
  isOpen
} from "./DisputeDecision.ts"
import { contestedCharge, disputeEntry, newDispute } from "./DisputeResource.ts"
import { type DisputeMessage, DisputeStore } from "./DisputeStore.ts"
import type { StoredDispute } from "./DisputeTable.ts"

/** A dispute by our id or, where that is empty, by the provider's. */
export interface DisputeReference {
  readonly disputeId: string
  readonly externalId?: string | undefined
  readonly connectionId?: string | undefined
}

export class Disputes extends Context.Service<
  Disputes,
  {
    /** Returns or blocks money of a charge as the provider reports, in a transaction that has locked it. */
    readonly reverse: (locked: LockedCharge, notification: Reversal) => Effect.Effect<Reversed, SqlError>
    /** Applies the outcome of a charge's dispute, in a transaction. False where its state does not allow it. */
    readonly resolve: (
      dispute: StoredDispute & { readonly chargeId: string },
      outcome: "won" | "lost"
    ) => Effect.Effect<boolean, NotFoundError | Unavailable | SqlError>
    /** A dispute of a charge or of an exception, in a transaction. */
    readonly findBy: (dispute: DisputeReference) => Effect.Effect<StoredDispute, NotFoundError | Unavailable | SqlError>
    /** Whether a MED has its dispute, in a transaction. */
    readonly isKnown: (med: Reversal) => Effect.Effect<boolean, SqlError>
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
      const store = yield* DisputeStore
      const refunds = yield* Refunds
      const { find, findBy } = yield* references
      const { moveDispute } = yield* moves
      const open = yield* openings

      return Disputes.of({
        reverse: (locked, notification) => {
          if (notification._tag === "med.opened") return open(locked, notification)
          const { amount, atMs, externalId, requestId } = notification
          const fact = { amount, externalId, requestId, atMs }
          return notification._tag === "charge.refunded"
            ? refunds.giveBack(locked, { ...fact, as: "refunded", isMed: false })
            : refunds.giveBack(locked, { ...fact, as: notification.as, isMed: true })
        },

        find,
        findBy,

        isKnown: ({ connectionId, externalId }) =>
          externalId === undefined
            ? Effect.succeed(false)
            : Effect.map(store.findByExternalId(connectionId ?? null, externalId), (dispute) => dispute !== undefined),

        resolve: yield* resolutions,
        defended: (dispute) => moveDispute(dispute, "defended"),
        ...(yield* chat)
      })
    })
  )
}

const references = Effect.gen(function* () {
  const store = yield* DisputeStore

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

  return { find, findBy }
})

/** Changes of a dispute and of its charge, which is locked. */
const moves = Effect.gen(function* () {
  const money = yield* LockedCharges
  const refundStore = yield* RefundStore
  const store = yield* DisputeStore
  const ids = yield* Ids

  const moveDispute = Effect.fnUntraced(function* (dispute: StoredDispute, report: DisputeReport) {
    const change = decideReport(dispute, report, yield* Clock.currentTimeMillis, ids)
    if (change === undefined) return false
    yield* store.put(change.dispute, change.outbox)
    return true
  })

  const moveCharge = (locked: LockedCharge, step: ChargeStep) =>
    Effect.filterOrElse(
      money.move(locked, step),
      (moved) => moved !== undefined,
      () => Effect.die(new Error("a charge has changed while it was locked"))
    )

  /** The return, booked before, of a MED that is lost. */
  const returnBefore = (
    { charge }: LockedCharge,
    { amount, openedAtMs }: { readonly amount?: number | undefined; readonly openedAtMs: number }
  ) => Effect.map(refundStore.ofLocked(charge.id), (all) => returnOfLoss({ amount, openedAtMs }, unnamedReturns(all)))

  /** A return, booked before, is of this dispute. */
  const nameReturn = Effect.fnUntraced(function* (
    locked: LockedCharge,
    returned: StoredRefund,
    disputeId: string,
    others: number
  ) {
    yield* moveCharge(locked, decideKnownLoss(locked, others))
    yield* refundStore.put({ ...returned, disputeId })
  })

  return { moveCharge, moveDispute, nameReturn, returnBefore }
})

/** Opens the dispute of a MED. */
const openings = Effect.gen(function* () {
  const store = yield* DisputeStore
  const ids = yield* Ids
  const { moveCharge, nameReturn, returnBefore } = yield* moves

  return Effect.fnUntraced(function* (locked: LockedCharge, med: Med) {
    const all = yield* store.lockOfCharge(locked.charge.id)
    const returned =
      med.isLost === true ? yield* returnBefore(locked, { ...med, openedAtMs: med.atMs ?? 0 }) : undefined
    if (returned !== undefined) {
      const { amount } = returned
      const arrived = arrivedWith(amount, all)
      const made = { ...med, amount, arrivedResolved: true }
      const lost = arrived ?? newDispute(contestedCharge(locked.charge), ids.next(), made)
      yield* nameReturn(locked, returned, lost.id, contestedByOthers(all, undefined))
      const named = { ...lost, externalId: med.externalId ?? null }
      yield* store.put(named, arrived === undefined ? disputeEntry(named, ["lost"], ids) : undefined)
      return { isApplied: true, unmatched: 0 }
    }
    const opening = decideOpening(locked, all, med, ids)
    if (opening === undefined) {
      const { amount, method } = locked.charge
      const wanted = med.amount !== undefined && med.amount > 0 ? med.amount : amount
      return { isApplied: false, unmatched: method === "pix" && wasPaid(locked.charge) ? wanted : 0 }
    }
    yield* moveCharge(locked, opening.step)
    yield* store.put(opening.dispute, opening.outbox)
    return { isApplied: true, unmatched: 0 }
  })
})

/** Applies the outcome of a dispute. */
const resolutions = Effect.gen(function* () {
  const money = yield* LockedCharges
  const refundStore = yield* RefundStore
  const disputed = yield* DisputedMoney
  const store = yield* DisputeStore
  const ids = yield* Ids
  const { moveCharge, moveDispute, nameReturn, returnBefore } = yield* moves

  const win = Effect.fnUntraced(function* (
    locked: LockedCharge,
    dispute: StoredDispute,
    all: ReadonlyArray<StoredDispute>
  ) {
    yield* moveCharge(locked, decideWin(locked, dispute, all))
    return yield* moveDispute(dispute, "won")
  })

  const lose = Effect.fnUntraced(function* (
    locked: LockedCharge,
    dispute: StoredDispute,
    all: ReadonlyArray<StoredDispute>
  ) {
    const before = yield* returnBefore(locked, dispute)
    if (before !== undefined) {
      yield* nameReturn(locked, before, dispute.id, contestedByOthers(all, dispute.id))
      return yield* moveDispute(dispute, "lost")
    }
    const loss = decideLoss(locked, dispute, all)
    if (loss === undefined) return false
    const { amount, isEmpty, pending, step } = loss
    yield* moveCharge(locked, step)
    const made = { amount, pending, isMed: true, disputeId: dispute.id, providerId: null }
    if (amount > 0) yield* refundStore.put(providerRefund(locked.charge, ids.next(), made))
    yield* moveDispute(dispute, "lost")
    if (isEmpty) yield* disputed.loseOpen(locked.charge.id)
    return true
  })

  const resolve: Disputes["Service"]["resolve"] = Effect.fn("Disputes.resolve")(function* (known, outcome) {
    const locked = yield* money.lock(known.chargeId)
    if (locked === undefined) return yield* new NotFoundError()
    const all = yield* store.lockOfCharge(known.chargeId)
    const dispute = all.find(({ id }) => id === known.id)
    if (dispute === undefined || disputeTransition(outcome, dispute.status) === undefined) return false
    return yield* outcome === "won" ? win(locked, dispute, all) : lose(locked, dispute, all)
  })
  return resolve
})

const chat = Effect.gen(function* () {
  const sql = yield* SqlClient
  const store = yield* DisputeStore
  const ids = yield* Ids
  const { find, findBy } = yield* references

  const addMessage = Effect.fnUntraced(function* (
    dispute: StoredDispute,
    author: DisputeMessage["author"],
    text: string
  ) {
    const { epochMs, id } = ids.next()
    const outbox = author === "platform" ? disputeEntry(dispute, ["message"], ids, text) : undefined
    yield* store.addMessage({ id, disputeId: dispute.id, author, text, atMs: epochMs }, outbox)
  })

  const messages: Pick<Disputes["Service"], "reply" | "write"> = {
    reply: Effect.fn("Disputes.reply")(function* (reference, text) {
      yield* addMessage(yield* findBy(reference), "platform", text)
    }),

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
  }
  return messages
})
