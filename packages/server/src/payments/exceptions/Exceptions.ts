/**
 * Exceptions: money that fits no charge, returns of money that is not there, and disputes of either.
 *
 * Guarantees:
 * - an exception and the money that it explains are one commit, with the notification that reports it (BAL-11);
 * - the money of an exception is in `unallocated` of its connection until it is accepted or returned. A return of a payment
 *   that has not arrived takes `unallocated` below zero until that payment compensates it;
 * - a settlement that is reported with another amount than before has one exception, with the difference (BAL-13).
 *
 * Every effect here runs in the caller's transaction, which has locked the ledger accounts of the connection.
 *
 * Rules: BAL-11 to BAL-13.
 */
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import type { ExceptionKind } from "@pix-payments/domain/AcquirerException"
import type { TransferReason } from "@pix-payments/domain/BalanceTransaction"
import { chargeStatusAt } from "@pix-payments/domain/Charge"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { SqlError } from "effect/sql/SqlError"
import type { AcquirerNotification, Reversal } from "../../providers/AcquirerNotification.ts"
import type { ReceivedNotification } from "../../providers/NotificationStore.ts"
import type { StoredCharge } from "../charges/ChargeTable.ts"
import { Ids } from "../../base/Ids.ts"
import { type Transfer, transfer } from "../../ledger/Ledger.ts"
import { ExceptionStore, type StoredException } from "./ExceptionStore.ts"

export type Payment = Extract<AcquirerNotification, { readonly _tag: "charge.paid" }>

/** The connection that reports a notification. */
export const connectionOf = ({ connectionId }: AcquirerNotification): string => connectionId ?? SIMULATOR_CONNECTION

/** True of a charge that was emitted through the connection. */
export const isThrough = (connectionId: string, charge: Pick<StoredCharge, "connectionId">): boolean =>
  (charge.connectionId ?? SIMULATOR_CONNECTION) === connectionId

/**
 * Why a payment, whose settlement is new, does not pay a charge: the kind of its exception, or `duplicate`. `undefined` where
 * it pays it. `charge` is the charge of the connection that the payment names.
 */
export const misfitOf = (
  charge: StoredCharge | undefined,
  { amount, endToEndId, externalId, txid }: Payment,
  nowMs: number
): ExceptionKind | "duplicate" | undefined => {
  if (txid === "") return "unidentified_payment"
  if (charge === undefined) return "unknown_txid"
  switch (chargeStatusAt(charge.status, charge.expiresAtMs, nowMs)) {
    case "processing":
    case "pending":
    case "expired":
      return amount === undefined || amount === charge.amount ? undefined : "wrong_amount"
    case "paid":
    case "infraction":
      return isIdentified({ endToEndId, externalId }) ? "second_payment" : "duplicate"
    default:
      return isIdentified({ endToEndId, externalId }) ? "late_payment" : "duplicate"
  }
}

/** Without an id, a payment cannot be distinguished from a copy of another one. */
const isIdentified = (ids: { endToEndId: string | undefined; externalId: string | undefined }): boolean =>
  ids.endToEndId !== undefined || ids.externalId !== undefined

export class Exceptions extends Context.Service<
  Exceptions,
  {
    /** Credits a payment that fits no charge to `unallocated`. */
    readonly raisePayment: (
      kind: ExceptionKind,
      amount: number,
      payment: Payment,
      received: ReceivedNotification,
      charge: StoredCharge | undefined
    ) => Effect.Effect<StoredException, SqlError>
    /** Posts the difference where a settlement of `booked` cents is reported with another amount. False where that was done. */
    readonly raiseConflict: (
      booked: number,
      amount: number,
      payment: Payment,
      received: ReceivedNotification,
      charge: StoredCharge | undefined
    ) => Effect.Effect<boolean, SqlError>
    /** Posts a return of money that is not there, or a dispute, which moves no money. */
    readonly raiseUnmatched: (
      id: string,
      amount: number,
      reversal: Reversal,
      charge: { readonly id: string; readonly accountId: string; readonly amount: number } | undefined
    ) => Effect.Effect<void, SqlError>
    /** Takes a return, with the provider's id of it, out of a payment's exception; how many cents were not there any more. */
    readonly takeReturn: (
      exception: StoredException,
      amount: number,
      by: string,
      returnId: string | undefined
    ) => Effect.Effect<number, SqlError>
    /** Resolves a return or MED whose payment has arrived, and reverses what was posted for it. */
    readonly match: (unmatched: StoredException) => Effect.Effect<void, SqlError>
  }
>()("@pix-payments/server/Exceptions") {
  static readonly layer = Layer.effect(
    Exceptions,
    Effect.gen(function* () {
      const store = yield* ExceptionStore
      const ids = yield* Ids

      const raise = Effect.fnUntraced(function* (
        kind: ExceptionKind,
        payment: Payment,
        { id, receivedAtMs }: ReceivedNotification,
        charge: StoredCharge | undefined,
        cents: Pick<StoredException, "amount" | "expectedAmount" | "unallocated">
      ) {
        const exception: StoredException = {
          ...factsOf(payment, receivedAtMs),
          ...cents,
          id,
          kind,
          status: "open",
          pixKey: payment.key ?? null,
          payer: payment.payer ?? null,
          chargeId: charge?.id ?? null,
          accountId: charge?.accountId ?? (yield* store.accountOf(connectionOf(payment))),
          createdAtMs: receivedAtMs
        }
        const { unallocated } = cents
        const direction = unallocated < 0 ? "out" : "in"
        yield* store.put(exception, movement(ids, exception, direction, Math.abs(unallocated), "exception.received"))
        return exception
      })

      return Exceptions.of({
        raisePayment: (kind, amount, payment, received, charge) =>
          raise(kind, payment, received, charge, {
            amount,
            expectedAmount: charge?.amount ?? null,
            unallocated: amount
          }),

        raiseConflict: Effect.fnUntraced(function* (booked, amount, payment, received, charge) {
          const known = yield* store.lockPayments(connectionOf(payment), payment.endToEndId ?? "")
          if (known.some(({ kind }) => kind === "conflicting_settlement")) return false
          const cents = { amount, expectedAmount: booked, unallocated: amount - booked }
          yield* raise("conflicting_settlement", payment, received, charge, cents)
          return true
        }),

        raiseUnmatched: Effect.fnUntraced(function* (id, amount, reversal, charge) {
          const nowMs = yield* Clock.currentTimeMillis
          const isReturn = reversal._tag !== "med.opened"
          const exception: StoredException = {
            ...factsOf(reversal, nowMs),
            id,
            kind: isReturn ? "unmatched_return" : "unmatched_dispute",
            status: "open",
            amount,
            expectedAmount: charge?.amount ?? null,
            unallocated: isReturn ? -amount : 0,
            pixKey: null,
            payer: null,
            chargeId: charge?.id ?? null,
            accountId: charge?.accountId ?? (yield* store.accountOf(connectionOf(reversal))),
            createdAtMs: nowMs
          }
          yield* store.put(exception, isReturn ? movement(ids, exception, "out", amount, "exception.returned") : [])
        }),

        takeReturn: Effect.fnUntraced(function* (exception, amount, by, returnId) {
          const taken = Math.min(amount, Math.max(0, exception.unallocated))
          if (taken === 0) return amount
          const left = exception.unallocated - taken
          const isResolved = left === 0 && exception.status === "open"
          const after: StoredException = {
            ...exception,
            unallocated: left,
            ...(isResolved ? resolution("return", by, yield* Clock.currentTimeMillis) : {})
          }
          const sourceId = yield* store.putReturn(exception.id, returnId)
          yield* store.put(after, movement(ids, exception, "out", taken, "exception.returned", sourceId))
          return amount - taken
        }),

        match: Effect.fnUntraced(function* (unmatched) {
          const nowMs = yield* Clock.currentTimeMillis
          const resolved = unmatched.status === "open" ? resolution(null, "payment", nowMs) : {}
          yield* store.put(
            { ...unmatched, ...resolved, unallocated: 0 },
            unmatched.unallocated === 0
              ? []
              : movement(ids, unmatched, "in", -unmatched.unallocated, "exception.matched")
          )
        })
      })
    })
  )
}

/** The columns of an exception that is resolved. */
export const resolution = (action: StoredException["action"], by: string, nowMs: number) => ({
  status: "resolved" as const,
  action,
  resolvedBy: by,
  resolvedAtMs: nowMs
})

/** Money of an exception that comes into its connection's `unallocated`, or leaves it. */
export const movement = (
  ids: Ids["Service"],
  { connectionId, id }: Pick<StoredException, "connectionId" | "id">,
  direction: "in" | "out",
  amount: number,
  reason: TransferReason,
  sourceId?: string
): ReadonlyArray<Transfer> =>
  transfer(ids, {
    accountId: connectionId,
    debit: direction === "in" ? "acquirer" : "unallocated",
    credit: direction === "in" ? "unallocated" : "acquirer",
    amount,
    resourceId: id,
    sourceId,
    // Acceptance moves it from the connection's books to an account's: nothing moves at the bank.
    connectionId: reason === "exception.accepted" ? undefined : connectionId,
    reason
  })

const factsOf = (notification: Payment | Reversal, nowMs: number) => ({
  connectionId: connectionOf(notification),
  endToEndId: notification.endToEndId ?? null,
  txid: notification.txid === "" ? null : notification.txid,
  externalId: notification.externalId ?? null,
  received: null,
  occurredAtMs: notification.atMs ?? nowMs,
  payoutId: null,
  refundId: null,
  providerOutcome: null,
  action: null,
  reason: null,
  failureReason: null,
  resolvedBy: null,
  resolvedAtMs: null
})
