/**
 * The money of accepted exceptions, in the accounts that have it.
 *
 * Guarantees:
 * - where the money is comes from the ledger: it is what was transferred for the exception within its account;
 * - the money that pays a charge is that charge's, and not the exception's any more.
 *
 * Every effect here runs in the caller's transaction, which has locked the ledger accounts of the account, then the exception.
 *
 * Rules: BAL-14.
 */
import type { TransferReason } from "@pix-payments/domain/BalanceTransaction"
import type { ChargeFunds, ReversalParts } from "@pix-payments/domain/ChargeMoney"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { Ids } from "../../base/Ids.ts"
import { transfer } from "../../ledger/Ledger.ts"
import type { ChargePlace } from "../charges/ChargeDecision.ts"
import { findFunds } from "../charges/LockedCharges.ts"
import { ExceptionStore, type StoredException } from "./ExceptionStore.ts"

/** An accepted exception, and the money of it that its account has. */
export interface Accepted {
  readonly exception: StoredException & { readonly accountId: string }
  readonly funds: ChargeFunds
}

export interface AcceptedMovement {
  readonly debit: ChargePlace
  readonly credit: ChargePlace
  readonly amount: number
}

export class AcceptedMoney extends Context.Service<
  AcceptedMoney,
  {
    /** The exception with its money; `undefined` where it is not accepted. */
    readonly of: (exception: StoredException) => Effect.Effect<Accepted | undefined, SqlError>
    /** The accounts that accepted money of a Pix, before anything is locked. */
    readonly accountsOf: (connectionId: string, endToEndId: string) => Effect.Effect<ReadonlyArray<string>, SqlError>
    /** Moves money within the account, or to the payer for a dispute. `failureReason`: why its return failed. */
    readonly move: (
      exception: Accepted["exception"],
      reason: TransferReason,
      movements: ReadonlyArray<AcceptedMovement>,
      more?: { readonly failureReason?: string | null; readonly disputeId?: string }
    ) => Effect.Effect<void, SqlError>
    /** Moves money to the payer, by a return that the provider names. */
    readonly giveBack: (
      exception: Accepted["exception"],
      reason: TransferReason,
      movements: ReadonlyArray<AcceptedMovement>,
      returnId: string | undefined
    ) => Effect.Effect<void, SqlError>
  }
>()("@pix-payments/server/AcceptedMoney") {
  static readonly layer = Layer.effect(
    AcceptedMoney,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const ids = yield* Ids
      const store = yield* ExceptionStore

      const transfersOf = (
        { accountId, connectionId, id: resourceId }: Accepted["exception"],
        reason: TransferReason,
        movements: ReadonlyArray<AcceptedMovement>,
        sourceId: string | undefined
      ) =>
        movements.flatMap((ends) => transfer(ids, { ...ends, accountId, resourceId, sourceId, connectionId, reason }))

      return AcceptedMoney.of({
        of: Effect.fnUntraced(function* (exception) {
          if (!isAccepted(exception)) return undefined
          return { exception, funds: yield* findFunds(sql, exception.id, exception.accountId) }
        }),

        accountsOf: (connectionId, endToEndId) =>
          Effect.map(
            sql<{ account_id: string }>`
              SELECT DISTINCT account_id FROM acquirer_exceptions
              WHERE end_to_end_id = ${endToEndId} AND connection_id = ${connectionId}::uuid
                AND action = 'accept' AND account_id IS NOT NULL`,
            (found) => found.map(({ account_id }) => account_id)
          ),

        move: (exception, reason, movements, { disputeId, ...changes } = {}) =>
          store.put({ ...exception, ...changes }, transfersOf(exception, reason, movements, disputeId)),

        giveBack: Effect.fnUntraced(function* (exception, reason, movements, returnId) {
          const sourceId = yield* store.putReturn(exception.id, returnId)
          yield* store.put(exception, transfersOf(exception, reason, movements, sourceId))
        })
      })
    })
  )
}

/** Whether an account has, or had, the money of an exception. */
export const isAccepted = (exception: StoredException): exception is Accepted["exception"] =>
  exception.action === "accept" && exception.status === "resolved" && exception.accountId !== null

/** The movements of a return. */
export const given = ({ available, blocked }: ReversalParts): ReadonlyArray<AcceptedMovement> => [
  { debit: "blocked", credit: "acquirer", amount: blocked },
  { debit: "available", credit: "acquirer", amount: available }
]
