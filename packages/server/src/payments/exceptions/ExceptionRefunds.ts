/**
 * Refunds of accepted money: an operator returns what an account accepted of an exception, or a part of it, to its payer.
 *
 * Guarantees:
 * - the order is a row before the provider is asked (`ExceptionReturns.ts`), and the money is in `returns_in_transit` of the
 *   account from its commit on;
 * - a refund takes no more than the account has of the exception and no MED has blocked, and never takes `available` below zero;
 * - one that fails gives the money back, or to the MED that contests it by then.
 *
 * Rules: BAL-5, BAL-9, BAL-14, OPR-231.
 */
import { inAccount, isCovered, splitAccount } from "@pix-payments/domain/ChargeMoney"
import { isUuid } from "@pix-payments/domain/Uuid"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { InsufficientBalanceError, InvalidStateError, NotFoundError } from "../../base/Errors.ts"
import { runToCompletion } from "../../database/RunToCompletion.ts"
import type { Unavailable } from "../../database/Unavailable.ts"
import { availableOf, lockLedgerOf } from "../../ledger/Ledger.ts"
import { AcceptedMoney } from "./AcceptedMoney.ts"
import { ExceptionReturns } from "./ExceptionReturns.ts"
import { ExceptionStore, type StoredException } from "./ExceptionStore.ts"

export class ExceptionRefunds extends Context.Service<
  ExceptionRefunds,
  {
    /**
     * Returns money of an accepted exception, by default all that the account has, and gives the exception after the provider's
     * first answer. `audited` runs in the transaction of the order.
     */
    readonly refund: <E = never, R = never>(
      id: string,
      amount: number | undefined,
      audited?: Effect.Effect<void, SqlError | E, R>
    ) => Effect.Effect<
      StoredException,
      NotFoundError | InvalidStateError | InsufficientBalanceError | Unavailable | E,
      R
    >
  }
>()("@pix-payments/server/ExceptionRefunds") {
  static readonly layer = Layer.effect(
    ExceptionRefunds,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const store = yield* ExceptionStore
      const money = yield* AcceptedMoney
      const returns = yield* ExceptionReturns

      const find = Effect.fnUntraced(function* (id: string) {
        const exception = isUuid(id) ? yield* store.find(id) : undefined
        return exception ?? (yield* new NotFoundError())
      })

      /** In a transaction. */
      const order = Effect.fnUntraced(function* (known: StoredException, requested: number | undefined) {
        if (known.accountId !== null) yield* lockLedgerOf(sql, [known.accountId])
        const exception = (yield* store.lock(known.id)) ?? known
        const accepted = exception.accountId === known.accountId ? yield* money.of(exception) : undefined
        const refused = new InvalidStateError({ status: exception.status })
        if (accepted === undefined) return yield* refused
        const amount = requested ?? inAccount(accepted.funds)
        if (amount <= 0 || amount > inAccount(accepted.funds)) return yield* refused
        const parts = splitAccount(amount, accepted.funds)
        const available = yield* availableOf(sql, accepted.exception.accountId)
        if (!isCovered(parts, available)) {
          return yield* new InsufficientBalanceError({ needed: parts.available, available })
        }
        const ordered = yield* returns.orderRefund(accepted.exception, amount)
        const movement = { debit: "available", credit: "returns_in_transit", amount } as const
        yield* money.move(accepted.exception, "exception.refund_ordered", [movement], { failureReason: null })
        return ordered
      })

      return ExceptionRefunds.of({
        refund: Effect.fn("ExceptionRefunds.refund")(function* (id, amount, audited = Effect.void) {
          const known = yield* find(id)
          const ordered = yield* Effect.tap(order(known, amount), () => audited).pipe(
            sql.withTransaction,
            runToCompletion(sql)
          )
          yield* returns.execute(ordered)
          return yield* find(id)
        })
      })
    })
  )
}
