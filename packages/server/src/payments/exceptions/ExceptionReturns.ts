/**
 * Returns of exceptions: the provider is asked to give the money of an exception back to its payer.
 *
 * Guarantees:
 * - the order is a row before the provider is asked, outside of transactions. It is repeated under its id until the outcome
 *   is known, by any process, also after a crash between the provider's answer and its commit;
 * - the money leaves `unallocated` in the commit of the outcome, once. A return that fails leaves the exception open, with
 *   the provider's reason (BAL-12);
 * - the return of money that an account accepted moves within that account (`ExceptionRefunds.ts`);
 * - a refusal of a repeated request is final only when no request before it can still arrive or was accepted: see `answerTo`,
 *   and only where no other process has asked since.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import { isUuid } from "@pix-payments/domain/Uuid"
import { Acquirer, type ReturnOutcome } from "../../providers/Acquirer.ts"
import { LateOutcomes, lateFrom } from "../../providers/LateOutcomes.ts"
import { claimReturn } from "../../providers/NotificationStore.ts"
import * as OrderLoop from "../../providers/OrderLoop.ts"
import { type Leased, OrderStore, type StoredOrder } from "../../providers/OrderStore.ts"
import { InvalidStateError } from "../../base/Errors.ts"
import { Ids } from "../../base/Ids.ts"
import { lockLedgerOf } from "../../ledger/Ledger.ts"
import { Settings } from "../../base/Settings.ts"
import { runToCompletion } from "../../database/RunToCompletion.ts"
import type { Unavailable } from "../../database/Unavailable.ts"
import { type Accepted, AcceptedMoney } from "./AcceptedMoney.ts"
import { AcceptedReturns } from "./AcceptedReturns.ts"
import { Exceptions } from "./Exceptions.ts"
import { ExceptionStore, type StoredException } from "./ExceptionStore.ts"

/** The order to return the money of an exception. */
export interface ExceptionReturn extends StoredOrder {
  readonly kind: "return"
  readonly exceptionId: string
  readonly connectionId: string
  readonly endToEndId: string
}

export class ExceptionReturns extends Context.Service<
  ExceptionReturns,
  {
    /**
     * Stores the order to return what is left of an exception, in a transaction that has locked it. The caller asks the
     * provider by `execute` at once, or leaves it to the background loop.
     */
    readonly order: (
      exception: StoredException,
      asks: "at once" | "in the background"
    ) => Effect.Effect<Leased<ExceptionReturn>, InvalidStateError | SqlError>
    /**
     * Stores the order to return cents that an account accepted, in a transaction that has locked the exception. The caller moves
     * the money to `returns_in_transit`, and asks the provider by `execute`.
     */
    readonly orderRefund: (
      exception: Accepted["exception"],
      amount: number
    ) => Effect.Effect<Leased<ExceptionReturn>, InvalidStateError | SqlError>
    /** Asks the provider and commits its answer. An unclear answer leaves the order open. */
    readonly execute: (order: Leased<ExceptionReturn>) => Effect.Effect<void, Unavailable>
    /** Ends an order, in a transaction. False where it is not open, or not the return of an exception. */
    readonly finish: (orderId: string, outcome: ReturnOutcome) => Effect.Effect<boolean, SqlError>
    /** Claims orders whose answer is not final, to repeat them. */
    readonly claimDue: OrderLoop.ClaimDue
  }
>()("@pix-payments/server/ExceptionReturns") {
  static readonly layer = Layer.effect(
    ExceptionReturns,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const acquirer = yield* Acquirer
      const orders = yield* OrderStore
      const ids = yield* Ids
      const late = yield* LateOutcomes
      const { acquirerTimeoutMs } = yield* Settings
      const leaseMs = acquirerTimeoutMs + OrderLoop.LEASE_MARGIN_MS
      const end = yield* endings

      /** Commits the provider's answer. Of an order that has ended, it may contradict the books. */
      const commit = Effect.fnUntraced(function* (
        order: ExceptionReturn,
        outcome: ReturnOutcome,
        refused?: StoredOrder
      ) {
        const isOpen = yield* Effect.gen(function* () {
          const ended = yield* end(order.id, outcome, refused)
          if (ended) yield* claimReturn(sql, order, outcome._tag === "Completed" ? outcome.returnId : undefined)
          return ended
        }).pipe(sql.withTransaction, runToCompletion(sql))
        if (!isOpen && refused === undefined) yield* late.answered.return(order.id, lateFrom(outcome))
      })

      const execute = Effect.fnUntraced(function* (order: Leased<ExceptionReturn>) {
        const { amount, connectionId, endToEndId, id } = order
        const asked = Effect.flatMap(acquirer.providerFor(providerOf(connectionId)), ({ orderReturn }) =>
          orderReturn({ id, endToEndId, txid: null, amount, description: null })
        )
        const answer = yield* OrderLoop.answerTo(order, asked)
        switch (answer?._tag) {
          case "Completed":
          case "Failed":
            return yield* commit(order, answer)
          case "Refused":
            return yield* commit(order, { _tag: "Failed", reason: answer.reason }, order)
        }
        yield* orders.askAgain(order, answer === undefined ? undefined : "accepted")
      })

      return ExceptionReturns.of({
        orderRefund: Effect.fnUntraced(function* ({ accountId, connectionId, endToEndId, id, status }, amount) {
          const refused = new InvalidStateError({ status })
          if (endToEndId === null) return yield* refused
          const [open] = yield* sql`
            SELECT id FROM acquirer_orders WHERE exception_id = ${id}::uuid AND state = 'ordered'`
          if (open !== undefined) return yield* refused
          const order = { id: ids.next().id, kind: "return" as const, exceptionId: id, connectionId, endToEndId }
          return yield* orders.insert({ ...order, accountId, amount }, leaseMs)
        }),

        order: Effect.fnUntraced(function* (exception, asks) {
          const { connectionId, endToEndId, id: exceptionId, unallocated: amount } = exception
          // Only a Pix can be returned to its payer.
          if (amount <= 0 || endToEndId === null) return yield* new InvalidStateError({ status: exception.status })
          const asksNow = asks === "at once"
          const attempts = asksNow ? 1 : 0
          return yield* orders.insert(
            { id: ids.next().id, kind: "return", exceptionId, connectionId, endToEndId, amount, attempts },
            asksNow ? leaseMs : 0
          )
        }),

        execute,

        finish: (orderId, outcome) => end(orderId, outcome),

        claimDue: OrderLoop.claimDue(orders, ["return"], leaseMs, (order) =>
          isExceptionReturn(order) ? execute(order) : Effect.void
        )
      })
    })
  )
}

/** Ends an order, with the money that it moved. */
const endings = Effect.gen(function* () {
  const sql = yield* SqlClient
  const orders = yield* OrderStore
  const store = yield* ExceptionStore
  const exceptions = yield* Exceptions
  const money = yield* AcceptedMoney
  const returns = yield* AcceptedReturns
  const ids = yield* Ids

  /** `refused`: the order whose refused request the outcome is. */
  return Effect.fnUntraced(function* (orderId: string, outcome: ReturnOutcome, refused?: StoredOrder) {
    const known = isUuid(orderId) ? yield* orders.find(orderId) : undefined
    if (known?.state !== "ordered" || !isExceptionReturn(known)) return false
    yield* lockLedgerOf(sql, [known.connectionId, ...(known.accountId === null ? [] : [known.accountId])])
    const exception = yield* store.lock(known.exceptionId)
    const order = yield* orders.lockOpen(orderId)
    if (order === undefined || exception === undefined) return false
    if (refused !== undefined && !OrderLoop.isRefusalFinal(refused, order)) return false
    if (!(yield* orders.finish(order, stateOf(outcome)))) return false
    if (order.accountId !== null) {
      const accepted = yield* money.of(exception)
      if (accepted === undefined) return yield* Effect.die(new Error(`the refund of ${exception.id} has no money`))
      yield* returns.endRefund(accepted, order.amount, outcome)
      return true
    }
    if (outcome._tag === "Failed") {
      const decided = exception.status === "open" ? { action: null, resolvedBy: null } : {}
      yield* store.put({ ...exception, ...decided, failureReason: outcome.reason }, [])
      return true
    }
    const by = exception.resolvedBy ?? "operator"
    const missing = yield* exceptions.takeReturn(exception, order.amount, by, outcome.returnId)
    // The payer got more than there was: somebody else returned it meanwhile.
    if (missing > 0) yield* exceptions.raiseUnmatched(ids.next().id, missing, reportOf(known), undefined)
    return true
  })
})

const isExceptionReturn = <A extends StoredOrder>(order: A): order is A & ExceptionReturn =>
  order.kind === "return" && order.exceptionId !== null && order.connectionId !== null && order.endToEndId !== null

const stateOf = ({ _tag }: ReturnOutcome) => (_tag === "Completed" ? "done" : "refused")

const providerOf = (connectionId: string): string | null =>
  connectionId === SIMULATOR_CONNECTION ? null : connectionId

/** The notification of a return that was completed. */
const reportOf = (order: ExceptionReturn) => ({
  _tag: "charge.refunded" as const,
  txid: "",
  externalId: order.id,
  endToEndId: order.endToEndId,
  ...(providerOf(order.connectionId) === null ? {} : { connectionId: order.connectionId })
})
