/**
 * Disputes (MEDs) and returns of paid charges.
 *
 * Guarantees:
 * - the charge, the dispute, the money and the events of one notification are one commit, decided with the charge and its
 *   money locked;
 * - the money of a charge goes back once (DSP-4, DSP-7).
 *
 * Rules: DSP-1 to DSP-11.
 */
import type { Cents } from "@pix-payments/domain/Cents"
import { DEFENSE_PERIOD_MS, type Dispute, type DisputeReport, disputeTransition } from "@pix-payments/domain/Dispute"
import { formatInstant } from "@pix-payments/domain/Instant"
import { isUuid } from "@pix-payments/domain/Uuid"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { Reversal } from "../acquirer/AcquirerNotification.ts"
import type { LockedCharge } from "../charges/ChargeDecision.ts"
import { ChargeMoney } from "../charges/ChargeMoney.ts"
import type { StoredCharge } from "../charges/ChargeTable.ts"
import { InvalidStateError, NotFoundError } from "../Errors.ts"
import { type Changed, outboxEntry } from "../events/Outbox.ts"
import { Ids } from "../Ids.ts"
import { runToCompletion } from "../sql/RunToCompletion.ts"
import type { Unavailable } from "../sql/Unavailable.ts"
import { type DisputeMessage, DisputeStore, type StoredDispute } from "./DisputeStore.ts"

export class Disputes extends Context.Service<
  Disputes,
  {
    /**
     * Returns or blocks the value of a charge, in a transaction that has locked it. False where the charge's state does
     * not allow it.
     */
    readonly reverse: (locked: LockedCharge, notification: Reversal) => Effect.Effect<boolean, SqlError>
    /** Applies the outcome of a dispute, in a transaction. False where its state does not allow it. */
    readonly resolve: (
      disputeId: string,
      outcome: "won" | "lost"
    ) => Effect.Effect<boolean, NotFoundError | Unavailable | SqlError>
    /** Adds a message of the platform to the chat, in a transaction (DSP-8). */
    readonly reply: (disputeId: string, text: string) => Effect.Effect<void, NotFoundError | Unavailable | SqlError>
    /** Files the defense of an open dispute. */
    readonly defend: (
      disputeId: string,
      text: string
    ) => Effect.Effect<StoredDispute, NotFoundError | InvalidStateError | Unavailable>
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
      const store = yield* DisputeStore
      const ids = yield* Ids

      const find = Effect.fnUntraced(function* (id: string) {
        const dispute = isUuid(id) ? yield* store.find(id) : undefined
        return dispute ?? (yield* new NotFoundError())
      })

      const moveDispute = Effect.fnUntraced(function* (dispute: StoredDispute, report: DisputeReport) {
        const transition = disputeTransition(report, dispute.status)
        if (transition === undefined) return undefined
        const moved: StoredDispute = {
          ...dispute,
          status: transition.to,
          sequence: dispute.sequence + 1,
          resolvedAtMs: report === "defended" ? dispute.resolvedAtMs : yield* Clock.currentTimeMillis
        }
        yield* store.put(moved, outboxEntry("dispute.pix", transition.events, changedDispute(moved), ids.next))
        return moved
      })

      const atomically = <A, E, R>(effect: Effect.Effect<A, E, R>) => runToCompletion(sql)(sql.withTransaction(effect))

      const open = Effect.fnUntraced(function* (
        locked: LockedCharge,
        med: Extract<Reversal, { readonly _tag: "med.opened" }>
      ) {
        if (locked.charge.method !== "pix") return false
        if ((yield* money.move(locked, "infraction")) === undefined) return false
        const dispute = newDispute(locked.charge, ids, med.reason, {
          defenseDeadlineAtMs: med.defenseDeadlineAtMs,
          arrivedResolved: false
        })
        yield* store.put(dispute, outboxEntry("dispute.pix", ["opened"], changedDispute(dispute), ids.next))
        return true
      })

      /** The money has gone back, so that every other open dispute of the charge is lost. */
      const endOthers = (all: ReadonlyArray<StoredDispute>, ended: StoredDispute | undefined) =>
        Effect.forEach(
          all.filter(({ id, status }) => id !== ended?.id && (status === "open" || status === "under_review")),
          (other) => moveDispute(other, "lost"),
          { discard: true }
        )

      const giveBack = Effect.fnUntraced(function* (
        locked: LockedCharge,
        as: "refunded" | "charged_back",
        withoutNotice: boolean
      ) {
        const { charge } = locked
        if ((yield* money.move(locked, as)) === undefined) return false
        yield* endOthers(yield* store.lockOfCharge(charge.id), undefined)
        // Disputes are of Pix only: other returns emit the charge's event alone.
        if (withoutNotice && charge.status === "paid" && charge.method === "pix") {
          const dispute = newDispute(charge, ids, "returned without prior notice", {
            defenseDeadlineAtMs: undefined,
            arrivedResolved: true
          })
          yield* store.put(dispute, outboxEntry("dispute.pix", ["lost"], changedDispute(dispute), ids.next))
        }
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
        yield* store.addMessage(dispute, { id, author, text, atMs: epochMs }, outbox)
      })

      return Disputes.of({
        reverse: (locked, notification) => {
          switch (notification._tag) {
            case "med.opened":
              return open(locked, notification)
            case "charge.refunded":
              return giveBack(locked, "refunded", false)
            case "charge.returned":
              return giveBack(locked, notification.as, true)
          }
        },

        resolve: Effect.fn("Disputes.resolve")(function* (disputeId, outcome) {
          const known = yield* find(disputeId)
          const locked = yield* money.lock(known.chargeId)
          if (locked === undefined) return yield* new NotFoundError()
          const all = yield* store.lockOfCharge(known.chargeId)
          const dispute = all.find(({ id }) => id === known.id)
          if (dispute === undefined || disputeTransition(outcome, dispute.status) === undefined) return false
          const moved = yield* money.move(locked, outcome === "won" ? "dispute_won" : "charged_back")
          if (moved === undefined) return false
          yield* moveDispute(dispute, outcome)
          if (outcome === "lost") yield* endOthers(all, dispute)
          return true
        }),

        reply: Effect.fn("Disputes.reply")(function* (disputeId, text) {
          yield* addMessage(yield* find(disputeId), "platform", text)
        }),

        find,

        defend: Effect.fn("Disputes.defend")(function* (disputeId, text) {
          const known = yield* find(disputeId)
          const all = yield* store.lockOfCharge(known.chargeId)
          const dispute = all.find(({ id }) => id === known.id) ?? known
          const moved = yield* moveDispute(dispute, "defended")
          if (moved === undefined) return yield* new InvalidStateError({ status: dispute.status })
          yield* addMessage(moved, "operator", text)
          return moved
        }, atomically),

        write: Effect.fn("Disputes.write")(function* (disputeId, text) {
          const dispute = yield* find(disputeId)
          if (dispute.status === "won" || dispute.status === "lost") {
            return yield* new InvalidStateError({ status: dispute.status })
          }
          yield* addMessage(dispute, "operator", text)
          return dispute
        }, atomically)
      })
    })
  )
}

/** A dispute as its events and the operator interface show it (DSP-11). */
export const toDispute = (dispute: StoredDispute): Dispute => ({
  object: "dispute",
  id: dispute.id,
  charge_id: dispute.chargeId,
  status: dispute.status,
  // A CHECK of the column enforces the brand.
  amount: dispute.amount as Cents,
  currency: "BRL",
  reason: dispute.reason,
  reference: dispute.reference,
  opened_at: formatInstant(dispute.openedAtMs),
  defense_deadline_at: dispute.defenseDeadlineAtMs === null ? null : formatInstant(dispute.defenseDeadlineAtMs),
  resolved_at: dispute.resolvedAtMs === null ? null : formatInstant(dispute.resolvedAtMs),
  arrived_resolved: dispute.arrivedResolved,
  sequence: dispute.sequence
})

const newDispute = (
  charge: StoredCharge,
  ids: Ids["Service"],
  reason: string,
  how: { readonly defenseDeadlineAtMs: number | undefined; readonly arrivedResolved: boolean }
): StoredDispute => {
  const { epochMs, id } = ids.next()
  return {
    id,
    chargeId: charge.id,
    accountId: charge.accountId,
    applicationId: charge.applicationId,
    status: how.arrivedResolved ? "lost" : "open",
    amount: charge.amount,
    reason,
    reference: charge.reference,
    openedAtMs: epochMs,
    defenseDeadlineAtMs: how.arrivedResolved ? null : (how.defenseDeadlineAtMs ?? epochMs + DEFENSE_PERIOD_MS),
    resolvedAtMs: how.arrivedResolved ? epochMs : null,
    arrivedResolved: how.arrivedResolved,
    sequence: 1
  }
}

const changedDispute = (dispute: StoredDispute, message?: string): Changed => ({
  id: dispute.id,
  accountId: dispute.accountId,
  applicationId: dispute.applicationId,
  status: dispute.status,
  sequence: dispute.sequence,
  // DSP-9: its events go to registered endpoints only.
  webhookUrl: null,
  sealedWebhookSecret: null,
  data: message === undefined ? toDispute(dispute) : { ...toDispute(dispute), message }
})
