/**
 * How the money of an exception reaches an account.
 *
 * Guarantees:
 * - the money is in the account in the commit that resolves the exception, with the payment of its charge if it is one
 *   (BAL-12). What waited for that payment is applied in that commit (`Reversals.ts`);
 * - the exception remembers that account (BAL-14): a MED that waited for the payment blocks the money there;
 * - for another charge or account than the payment names, it needs the `Authority` around it (OPR-112).
 *
 * Rules: BAL-12, BAL-14, BAL-16, OPR-82, OPR-213.
 */
import { chargeStatusAt } from "@pix-payments/domain/Charge"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { Accounts } from "../../accounts/Accounts.ts"
import { RequestRefused } from "../../base/Errors.ts"
import { Ids } from "../../base/Ids.ts"
import type { Unavailable } from "../../database/Unavailable.ts"
import { transfer } from "../../ledger/Ledger.ts"
import { Charges } from "../charges/Charges.ts"
import { ChargeStore } from "../charges/ChargeStore.ts"
import type { StoredCharge } from "../charges/ChargeTable.ts"
import { claimSettlement, passSettlement } from "../charges/Settlements.ts"
import { acceptedContradiction, isContradiction } from "./ContradictoryOutcomes.ts"
import { isThrough, movement, resolution } from "./Exceptions.ts"
import { ExceptionStore, type StoredException } from "./ExceptionStore.ts"
import { Reversals } from "./Reversals.ts"

/** Whether an exception has money that can be accepted; that of a contradiction may be below zero. */
export const isAcceptable = (exception: StoredException): boolean => {
  if (isContradiction(exception)) return exception.unallocated !== 0
  // Of an unreadable one a person says the amount. What the bank did otherwise with an order is no money that arrived.
  if (exception.kind === "unreadable") return exception.payoutId === null && exception.refundId === null
  return exception.unallocated > 0
}

/** Who gets the money, by id; both null: the charge that the payment names, or the payout's account. `amount`: what an unreadable entry is of. */
export interface AcceptFor {
  readonly amount: number | null
  readonly chargeId: string | null
  readonly accountId: string | null
}

export interface Recipient {
  readonly accountId: string
  /** Undefined: the account alone. */
  readonly charge: StoredCharge | undefined
  /** The payment names it. Another one needs the `Authority`. */
  readonly isNamed: boolean
}

export class Acceptance extends Context.Service<
  Acceptance,
  {
    readonly recipientOf: (
      exception: StoredException,
      to: AcceptFor
    ) => Effect.Effect<Recipient, RequestRefused | Unavailable>
    /**
     * What of an exception can be accepted, in a transaction that has locked it: an unreadable entry, of the amount that an operator
     * gives, is credited to `unallocated` first. `undefined` where nothing can be.
     */
    readonly acceptable: (
      exception: StoredException,
      amount: number | null
    ) => Effect.Effect<StoredException | undefined, SqlError>
    /** Credits `available`, in a transaction that has locked the exception, its charge and their ledger accounts. */
    readonly accept: (
      exception: StoredException,
      recipient: Pick<Recipient, "accountId" | "charge">,
      by: string,
      reason: string | null
    ) => Effect.Effect<void, SqlError | Unavailable>
  }
>()("@pix-payments/server/Acceptance") {
  static readonly layer = Layer.effect(
    Acceptance,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const ids = yield* Ids
      const store = yield* ExceptionStore
      const charges = yield* Charges
      const chargeStore = yield* ChargeStore
      const accounts = yield* Accounts
      const reversals = yield* Reversals

      /** The payment of a charge by an exception; `undefined` where it does not pay it. */
      const paymentOf = Effect.fnUntraced(function* (charge: StoredCharge, exception: StoredException) {
        const status = chargeStatusAt(charge.status, charge.expiresAtMs, yield* Clock.currentTimeMillis)
        if (status !== "pending" && status !== "expired") return undefined
        if (exception.amount !== charge.amount || exception.unallocated !== charge.amount) return undefined
        const facts = {
          endToEndId: exception.endToEndId ?? undefined,
          paidAtMs: exception.occurredAtMs,
          payer: exception.payer ?? undefined
        }
        return yield* charges.paymentOf(charge, facts)
      })

      /** The same account as that of the charge that the payment names is named too. */
      const accountFor = Effect.fnUntraced(function* (exception: StoredException, accountId: string) {
        const account = yield* Effect.catchTag(accounts.get(accountId), "NotFoundError", () => Effect.undefined)
        if (account === undefined || account.moved_to !== null) return yield* refusedFor("account_id")
        const isNamed = (exception.chargeId ?? exception.payoutId) !== null && exception.accountId === accountId
        return { accountId, charge: undefined, isNamed }
      })

      const chargeFor = Effect.fnUntraced(function* (exception: StoredException, chargeId: string | null) {
        const found = charges.find(chargeId ?? exception.chargeId ?? "")
        const charge = yield* Effect.catchTag(found, "NotFoundError", () => Effect.fail(refusedFor("charge_id")))
        if (!isThrough(exception.connectionId, charge)) return yield* refusedFor("charge_id")
        return { accountId: charge.accountId, charge, isNamed: charge.id === exception.chargeId }
      })

      /** The account of what is contradicted. Where an exception was nobody's, so is what contradicts its return. */
      const contradictedBy = (exception: StoredException, { accountId, chargeId }: AcceptFor) => {
        if (chargeId !== null && chargeId !== exception.chargeId) return Effect.fail(refusedFor("charge_id"))
        const known = exception.accountId
        if (known === null && accountId !== null) return accountFor(exception, accountId)
        return known === null || (accountId !== null && accountId !== known)
          ? Effect.fail(refusedFor("account_id"))
          : Effect.succeed({ accountId: known, charge: undefined, isNamed: true })
      }

      return Acceptance.of({
        recipientOf: (exception, to) => {
          const { accountId, amount, chargeId } = to
          if ((exception.kind === "unreadable") !== (amount !== null)) return Effect.fail(refusedFor("amount"))
          if (isContradiction(exception)) return contradictedBy(exception, to)
          // What came back of a payout is of its account.
          const ofPayout = exception.payoutId === null || chargeId !== null ? null : exception.accountId
          const getsIt = accountId ?? ofPayout
          if (getsIt === null) return chargeFor(exception, chargeId)
          return chargeId === null ? accountFor(exception, getsIt) : Effect.fail(refusedFor("account_id"))
        },

        acceptable: Effect.fnUntraced(function* (exception, amount) {
          if (!isAcceptable(exception)) return undefined
          if (exception.kind !== "unreadable") return exception
          if (amount === null) return undefined
          const { connectionId, endToEndId, id } = exception
          // The payment may have been read meanwhile. After this, it is a copy.
          const isNew =
            endToEndId === null || (yield* claimSettlement(sql, { connectionId, endToEndId }, { id, amount }))
          if (!isNew) return undefined
          const arrived = { ...exception, amount, unallocated: amount }
          yield* store.put(arrived, movement(ids, arrived, "in", amount, "exception.received"))
          return arrived
        }),

        accept: Effect.fnUntraced(function* (exception, { accountId, charge }, by, reason) {
          if (isContradiction(exception)) {
            const nowMs = yield* Clock.currentTimeMillis
            return yield* store.put(...acceptedContradiction(ids, { ...exception, accountId }, by, reason, nowMs))
          }
          const payment = charge && (yield* paymentOf(charge, exception))
          const credit = {
            accountId,
            debit: "acquirer",
            credit: "available",
            amount: exception.unallocated
          } as const
          const leaves = movement(ids, exception, "out", exception.unallocated, "exception.accepted")
          const accepted: StoredException = {
            ...exception,
            ...resolution("accept", by, yield* Clock.currentTimeMillis),
            chargeId: charge?.id ?? (exception.accountId === accountId ? exception.chargeId : null),
            accountId,
            unallocated: 0,
            reason
          }
          const { connectionId, endToEndId } = exception
          const pix = { connectionId, endToEndId: endToEndId ?? undefined, isAccepted: true }
          if (charge === undefined || payment === undefined) {
            const credited = store.put(accepted, [
              ...leaves,
              ...transfer(ids, { ...credit, resourceId: exception.id, reason: "exception.accepted" })
            ])
            yield* reversals.withEarly(pix, credited)
            return
          }
          yield* store.put(accepted, leaves)
          if (endToEndId !== null) yield* passSettlement(sql, { connectionId, endToEndId }, exception.id, charge.id)
          const paid = chargeStore.changeInTransaction({
            ...payment,
            transfers: transfer(ids, { ...credit, resourceId: charge.id, reason: "charge.paid" }),
            releaseInMs: undefined
          })
          yield* reversals.withEarly(pix, paid)
        })
      })
    })
  )
}

const refusedFor = (field: string) => new RequestRefused({ code: "VALIDATION_ERROR", details: [field] })
