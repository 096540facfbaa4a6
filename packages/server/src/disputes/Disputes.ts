/**
 * What happens after a charge is paid and its money is contested or goes back: MEDs and returns.
 *
 * Guarantees: the charge, the dispute, the money and the events of one report are one commit, decided with the
 * charge's row locked; a charge's money goes back once: where it is blocked it is taken from `blocked`, else from
 * `available`, which may go below zero for what the acquirer orders.
 *
 * Source: payments-api-v1.md "Dispute `status`"; decisions.md "Disputes", "Balance and ledger", "Finer points".
 */
import type { Cents } from "@pix-payments/domain/Cents"
import { type ChargeReport, chargeTransition } from "@pix-payments/domain/Charge"
import { DEFENSE_PERIOD_MS, type Dispute, type DisputeReport, disputeTransition } from "@pix-payments/domain/Dispute"
import { formatInstant } from "@pix-payments/domain/Instant"
import { txidFromId } from "@pix-payments/domain/Txid"
import { isUuid } from "@pix-payments/domain/Uuid"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { Acquirer } from "../acquirer/Acquirer.ts"
import { changedCharge } from "../charges/Charges.ts"
import { ChargeStore, type StoredCharge } from "../charges/ChargeStore.ts"
import { InvalidStateError, NotFoundError } from "../Errors.ts"
import { type Changed, tell } from "../events/Outbox.ts"
import { Ids } from "../Ids.ts"
import { type LedgerKind, transfer } from "../ledger/Ledger.ts"
import { orUnavailable, Unavailable } from "../sql/Unavailable.ts"
import { type DisputeMessage, DisputeStore, type StoredDispute } from "./DisputeStore.ts"

export class Disputes extends Context.Service<
  Disputes,
  {
    /** A MED is opened against a paid charge; `undefined` where the charge's state does not allow it. */
    readonly open: (
      chargeId: string,
      med: { readonly reason: string; readonly defenseDeadlineAtMs: number | undefined }
    ) => Effect.Effect<StoredDispute | undefined, NotFoundError | Unavailable>
    /** The outcome of a MED; `undefined` where it changes nothing. */
    readonly resolve: (
      disputeId: string,
      outcome: "won" | "lost"
    ) => Effect.Effect<StoredDispute | undefined, NotFoundError | Unavailable>
    /** The platform's reply in the chat. */
    readonly reply: (disputeId: string, text: string) => Effect.Effect<StoredDispute, NotFoundError | Unavailable>
    /** A charge's value went back to the payer; `undefined` where it changes nothing. */
    readonly returned: (
      chargeId: string,
      how: {
        readonly as: "refunded" | "charged_back"
        /** True where an institution returned the Pix and no MED had been opened. */
        readonly withoutNotice: boolean
      }
    ) => Effect.Effect<StoredCharge | undefined, NotFoundError | Unavailable>
    /** An operator returns a paid charge's value; sent to the acquirer. */
    readonly refund: (chargeId: string) => Effect.Effect<StoredCharge, NotFoundError | InvalidStateError | Unavailable>
    /** An operator files the defense of an open dispute. */
    readonly defend: (
      disputeId: string,
      text: string
    ) => Effect.Effect<StoredDispute, NotFoundError | InvalidStateError | Unavailable>
    /** An operator writes in the chat of a dispute that is not decided. */
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
      const charges = yield* ChargeStore
      const store = yield* DisputeStore
      const ids = yield* Ids
      const acquirer = yield* Acquirer

      const find = Effect.fnUntraced(function* (id: string) {
        const dispute = isUuid(id) ? yield* store.find(id) : undefined
        return dispute ?? (yield* new NotFoundError())
      })

      /** Moves the charge as the table says, its money from one ledger account to another. False: not allowed. */
      const moveCharge = Effect.fnUntraced(function* (charge: StoredCharge, report: ChargeReport, money: Movement) {
        const transition = chargeTransition(report, charge.status)
        if (transition === undefined) return undefined
        const moved: StoredCharge = { ...charge, status: transition.to, sequence: charge.sequence + 1 }
        const now = yield* Clock.currentTimeMillis
        yield* charges.changeInTransaction({
          charge: moved,
          told: tell(`charge.${charge.method}`, transition.events, changedCharge(moved, now), ids.next),
          transfers: transfer(ids, {
            accountId: charge.accountId,
            ...money,
            amount: charge.amount,
            resourceId: charge.id,
            reason: `charge.${report}`
          })
        })
        return moved
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
        yield* store.put(moved, tell("dispute.pix", transition.events, changedBy(moved), ids.next))
        return moved
      })

      const lockCharge = (id: string) =>
        Effect.filterOrFail(
          charges.lock(id),
          (charge) => charge !== undefined,
          () => new NotFoundError()
        )

      const atomically = <A, E, R>(effect: Effect.Effect<A, E, R>) => orUnavailable(sql.withTransaction(effect))

      const open = Effect.fn("Disputes.open")(function* (
        chargeId: string,
        med: { readonly reason: string; readonly defenseDeadlineAtMs: number | undefined }
      ) {
        const charge = yield* lockCharge(chargeId)
        if (charge.method !== "pix") return undefined
        const moved = yield* moveCharge(charge, "infraction", { debit: "available", credit: "blocked" })
        if (moved === undefined) return undefined
        const dispute = newDispute(charge, ids, med.reason, {
          defenseDeadlineAtMs: med.defenseDeadlineAtMs,
          arrivedResolved: false
        })
        yield* store.put(dispute, tell("dispute.pix", ["opened"], changedBy(dispute), ids.next))
        return dispute
      }, atomically)

      const resolve = Effect.fn("Disputes.resolve")(function* (disputeId: string, outcome: "won" | "lost") {
        const known = yield* find(disputeId)
        const charge = yield* lockCharge(known.chargeId)
        const all = yield* store.lockOfCharge(known.chargeId)
        const dispute = all.find(({ id }) => id === known.id)
        if (dispute === undefined || disputeTransition(outcome, dispute.status) === undefined) return undefined
        if (outcome === "won") {
          const freed = yield* moveCharge(charge, "dispute_won", { debit: "blocked", credit: "available" })
          return freed === undefined ? undefined : yield* moveDispute(dispute, "won")
        }
        const back = yield* moveCharge(charge, "charged_back", { debit: whereItIs(charge), credit: "acquirer" })
        if (back === undefined) return undefined
        const lost = yield* moveDispute(dispute, "lost")
        yield* endOthers(all, dispute)
        return lost
      }, atomically)

      /** The money is gone: no other MED of the charge can have another outcome. */
      const endOthers = (all: ReadonlyArray<StoredDispute>, ended: StoredDispute | undefined) =>
        Effect.forEach(
          all.filter(({ id, status }) => id !== ended?.id && (status === "open" || status === "under_review")),
          (other) => moveDispute(other, "lost"),
          { discard: true }
        )

      const returned = Effect.fn("Disputes.returned")(function* (
        chargeId: string,
        how: { readonly as: "refunded" | "charged_back"; readonly withoutNotice: boolean }
      ) {
        const charge = yield* lockCharge(chargeId)
        const back = yield* moveCharge(charge, how.as, { debit: whereItIs(charge), credit: "acquirer" })
        if (back === undefined) return undefined
        yield* endOthers(yield* store.lockOfCharge(chargeId), undefined)
        // A MED is of Pix alone: what else comes back is told by the charge's own event.
        if (how.withoutNotice && charge.status === "paid" && charge.method === "pix") {
          const dispute = newDispute(charge, ids, "returned without prior notice", {
            defenseDeadlineAtMs: undefined,
            arrivedResolved: true
          })
          yield* store.put(dispute, tell("dispute.pix", ["lost"], changedBy(dispute), ids.next))
        }
        return back
      }, atomically)

      const addMessage = Effect.fnUntraced(function* (
        dispute: StoredDispute,
        author: DisputeMessage["author"],
        text: string
      ) {
        const { epochMs, id } = ids.next()
        const told =
          author === "platform" ? tell("dispute.pix", ["message"], changedBy(dispute, text), ids.next) : undefined
        yield* store.addMessage(dispute, { id, author, text, atMs: epochMs }, told)
      })

      return Disputes.of({
        open,
        resolve,
        returned,
        find,

        refund: Effect.fn("Disputes.refund")(function* (chargeId) {
          const charge = isUuid(chargeId) ? yield* charges.find(chargeId) : undefined
          if (charge === undefined) return yield* new NotFoundError()
          if (charge.status !== "paid") return yield* new InvalidStateError({ status: charge.status })
          // The acquirer first; it reports the return as well, so that a process that dies here loses nothing.
          yield* acquirer.refund(txidFromId(charge.id)).pipe(
            Effect.catchTags({
              AcquirerRefused: () => Effect.fail(new InvalidStateError({ status: charge.status })),
              AcquirerUnclear: () => Effect.fail(new Unavailable({ reason: "too-slow" }))
            })
          )
          const back = yield* returned(chargeId, { as: "refunded", withoutNotice: false })
          if (back !== undefined) return back
          const now = yield* charges.find(chargeId)
          if (now?.status === "refunded") return now
          return yield* new InvalidStateError({ status: now?.status ?? charge.status })
        }),

        reply: Effect.fn("Disputes.reply")(function* (disputeId, text) {
          const dispute = yield* find(disputeId)
          yield* addMessage(dispute, "platform", text)
          return dispute
        }, atomically),

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

/** A dispute as its events and the operator surface show it. */
export const toDispute = (dispute: StoredDispute): Dispute => ({
  object: "dispute",
  id: dispute.id,
  charge_id: dispute.chargeId,
  status: dispute.status,
  // The column's CHECK holds what the brand says.
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

interface Movement {
  readonly debit: LedgerKind
  readonly credit: LedgerKind
}

/** A contested charge's money is blocked; any other's is where it can be spent. */
const whereItIs = (charge: StoredCharge): LedgerKind => (charge.status === "infraction" ? "blocked" : "available")

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

const changedBy = (dispute: StoredDispute, message?: string): Changed => ({
  id: dispute.id,
  accountId: dispute.accountId,
  applicationId: dispute.applicationId,
  status: dispute.status,
  sequence: dispute.sequence,
  // A dispute is a resource of its own: its events go to registered endpoints only.
  webhookUrl: null,
  sealedWebhookSecret: null,
  data: message === undefined ? toDispute(dispute) : { ...toDispute(dispute), message }
})
