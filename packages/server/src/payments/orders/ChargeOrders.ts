/**
 * Operators' orders about a charge: cancel it before it is paid, refund it, or a part of it, afterwards (CHG-26).
 *
 * Guarantees:
 * - an order is stored before the provider is asked, outside of transactions. Of two orders of one charge at the same
 *   time one is stored, the other is refused;
 * - the money of a refund goes to `returns_in_transit` in the commit of the order, so that it cannot be spent twice, and
 *   on to the payer, or back where it was, in the commit of the provider's final answer (BAL-9). A refund never takes
 *   `available` below zero (BAL-5), nor more than is left of the charge (BAL-10);
 * - an unclear answer is not a refusal: the order is repeated under its id until the answer is final, by any process, also
 *   after a crash between the provider's answer and its commit. Nor is the refusal of a repeated request, while the request
 *   before it may still arrive.
 *
 * Rules: CHG-26, BAL-5, BAL-6, BAL-9, BAL-10, OPR-20, OPR-21, OPR-70 to OPR-73.
 */
import { chargeStatusAt, chargeTransition } from "@pix-payments/domain/Charge"
import { inAccount, isCovered, splitAccount } from "@pix-payments/domain/ChargeMoney"
import { txidFromId } from "@pix-payments/domain/Txid"
import { isUuid } from "@pix-payments/domain/Uuid"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { Acquirer, type Progress, type Provider, type ReturnOutcome } from "../../providers/Acquirer.ts"
import { keysOf } from "../../providers/AcquirerNotification.ts"
import { claimKey } from "../../providers/NotificationStore.ts"
import * as OrderLoop from "../../providers/OrderLoop.ts"
import { type ChargeOrder, isChargeOrder, type NewOrder, OrderStore } from "../../providers/OrderStore.ts"
import { isLastRequest } from "../../providers/Retries.ts"
import type { LockedCharge } from "../charges/ChargeDecision.ts"
import { ChargeMoney } from "../charges/ChargeMoney.ts"
import { ChargeStore } from "../charges/ChargeStore.ts"
import type { StoredCharge } from "../charges/ChargeTable.ts"
import { Disputes, type Reversed } from "../disputes/Disputes.ts"
import { InsufficientBalanceError, InvalidStateError, NotFoundError } from "../../base/Errors.ts"
import { Ids } from "../../base/Ids.ts"
import { Refunds } from "../refunds/Refunds.ts"
import { RefundStore } from "../refunds/RefundStore.ts"
import { Settings } from "../../base/Settings.ts"
import { runToCompletion } from "../../database/RunToCompletion.ts"
import { Unavailable } from "../../database/Unavailable.ts"

/** The provider refused the refund, whose money is back where it was. */
export class RefundRejected extends Data.TaggedError("RefundRejected")<{
  readonly chargeId: string
  readonly reason: string
}> {}

export interface RefundRequest {
  /** Cents. Absent: all that is left. */
  readonly amount?: number | undefined
  readonly description?: string | undefined
}

export class ChargeOrders extends Context.Service<
  ChargeOrders,
  {
    /** Cancels a `pending` charge. `audited` runs in the transaction of the order. */
    readonly cancel: <R = never>(
      id: string,
      audited?: Effect.Effect<void, SqlError, R>
    ) => Effect.Effect<StoredCharge, NotFoundError | InvalidStateError | Unavailable, R>
    /**
     * Returns money of a `paid` charge to its payer, and gives the charge after the provider's first answer: the refund
     * may be in progress still. `audited` runs in the transaction of the order, with the refund's id.
     */
    readonly refund: <E = never, R = never>(
      id: string,
      request?: RefundRequest,
      audited?: (refundId: string) => Effect.Effect<void, SqlError | E, R>
    ) => Effect.Effect<
      StoredCharge,
      NotFoundError | InvalidStateError | InsufficientBalanceError | RefundRejected | Unavailable | E,
      R
    >
    /** Applies the final outcome of a refund as the provider reports it, in a transaction. */
    readonly settleRefund: (
      orderId: string,
      outcome: ReturnOutcome
    ) => Effect.Effect<Reversed, NotFoundError | SqlError>
    /** Claims orders whose answer is not final, to repeat them. */
    readonly claimDue: OrderLoop.ClaimDue
  }
>()("@pix-payments/server/ChargeOrders") {
  static readonly layer = Layer.effect(
    ChargeOrders,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const acquirer = yield* Acquirer
      const charges = yield* ChargeStore
      const orders = yield* OrderStore
      const money = yield* ChargeMoney
      const refunds = yield* Refunds
      const refundRows = yield* RefundStore
      const disputes = yield* Disputes
      const ids = yield* Ids
      const { acquirerTimeoutMs } = yield* Settings
      const leaseMs = acquirerTimeoutMs + OrderLoop.LEASE_MARGIN_MS

      const statusOf = ({ charge }: LockedCharge) =>
        Effect.map(Clock.currentTimeMillis, (now) => chargeStatusAt(charge.status, charge.expiresAtMs, now))

      /** Locks a charge whose state allows the order and that has no open order. */
      const lockFor = Effect.fnUntraced(function* (id: string, kind: ChargeOrder["kind"]) {
        const locked = isUuid(id) ? yield* money.lock(id) : undefined
        if (locked === undefined) return yield* new NotFoundError()
        const status = yield* statusOf(locked)
        // The outcome of a charge in `infraction` is its dispute's.
        const isAllowed = kind === "cancel" ? chargeTransition("canceled", status) !== undefined : status === "paid"
        if (!isAllowed || locked.order !== undefined) return yield* new InvalidStateError({ status })
        return locked
      })

      const insert = Effect.fnUntraced(function* (
        { charge }: LockedCharge,
        order: Pick<NewOrder, "amount" | "pending"> & Pick<ChargeOrder, "kind">
      ) {
        const { accountId, connectionId, endToEndId, id: chargeId } = charge
        const stored = yield* orders.insert(
          { ...order, id: ids.next().id, chargeId, accountId, connectionId, endToEndId },
          leaseMs
        )
        return { ...stored, ...order, chargeId } satisfies ChargeOrder
      })

      const orderCancel = (id: string) =>
        Effect.flatMap(lockFor(id, "cancel"), (locked) => insert(locked, { kind: "cancel", amount: 0, pending: 0 }))

      const orderRefund = Effect.fnUntraced(function* (id: string, request: RefundRequest) {
        const locked = yield* lockFor(id, "refund")
        const { charge, funds } = locked
        const amount = request.amount ?? inAccount(funds)
        if (amount <= 0 || amount > inAccount(funds)) return yield* new InvalidStateError({ status: charge.status })
        const parts = splitAccount(amount, funds)
        const [row] = yield* sql<{ balance: bigint }>`
          SELECT balance FROM ledger_accounts WHERE owner_id = ${charge.accountId}::uuid AND kind = 'available'`
        if (!isCovered(parts, Number(row?.balance ?? 0n))) return yield* new InsufficientBalanceError()
        const order = yield* insert(locked, { kind: "refund", amount, pending: parts.pending })
        yield* refunds.order(charge, order, request.description ?? null)
        yield* money.move(locked, {
          reason: "charge.refund_ordered",
          movements: [
            { debit: "pending", credit: "returns_in_transit", amount: parts.pending },
            { debit: "available", credit: "returns_in_transit", amount: parts.available }
          ]
        })
        return order
      })

      /** Commits the provider's final answer. False where the order is open still: another process has asked again. */
      const finish = Effect.fnUntraced(
        function* (order: ChargeOrder, progress: ReturnOutcome | Refused) {
          const locked = yield* money.lock(order.chargeId)
          // A report of the provider ended it.
          if (locked?.order?.id !== order.id) return true
          if (progress._tag === "Refused" && locked.order.attempts !== order.attempts) return false
          if (order.kind === "cancel") {
            if (progress._tag === "Completed") yield* money.move(locked, CANCELED)
            return yield* orders.finish(order, progress._tag === "Completed" ? "done" : "refused")
          }
          // A report of the same return is a copy.
          if (progress._tag === "Completed") {
            const outcome = { _tag: "return.completed", orderId: order.id, ...through(order.connectionId) } as const
            for (const key of keysOf(outcome)) yield* claimKey(sql, key, order.id)
          }
          yield* disputes.endRefund(
            locked,
            locked.order,
            progress._tag === "Refused" ? { _tag: "Failed", reason: progress.reason } : progress
          )
          return true
        },
        sql.withTransaction,
        runToCompletion(sql)
      )

      const askFor = Effect.fnUntraced(function* (provider: Provider, order: ChargeOrder) {
        const { amount, endToEndId, id } = order
        const txid = txidFromId(order.chargeId)
        if (order.kind === "cancel") {
          yield* provider.cancel({ id, txid })
          return COMPLETED
        }
        const { description } = yield* Effect.catchTag(refundRows.get(id), "NotFoundError", Effect.die)
        return yield* provider.orderReturn({ id, txid, endToEndId, amount, description })
      })

      /** Asks the provider and commits its final answer; another one leaves the order open. Gives whether it has ended. */
      const execute = Effect.fnUntraced(function* (order: ChargeOrder) {
        const progress = yield* acquirer.of(order.connectionId).pipe(
          Effect.flatMap((provider) => askFor(provider, order)),
          Effect.catchTags({
            AcquirerRefused: ({ reason }) => Effect.succeed<Refused>({ _tag: "Refused", reason }),
            AcquirerUnclear: () => Effect.undefined
          })
        )
        const isOpen =
          progress === undefined ||
          progress._tag === "Accepted" ||
          (progress._tag === "Refused" && !isLastRequest(order.attempts))
        if (!isOpen) return yield* finish(order, progress)
        yield* orders.askAgain(order)
        return false
      })

      const stored = <E, E2, R>(
        make: Effect.Effect<ChargeOrder, E | SqlError>,
        audited: (orderId: string) => Effect.Effect<void, SqlError | E2, R>
      ) => Effect.tap(make, (order) => audited(order.id)).pipe(sql.withTransaction, runToCompletion(sql))

      return ChargeOrders.of({
        cancel: Effect.fn("ChargeOrders.cancel")(function* (id, audited = Effect.void) {
          const order = yield* stored(orderCancel(id), () => audited)
          if (!(yield* execute(order))) return yield* new Unavailable({ reason: "too-slow" })
          const charge = yield* charges.find(order.chargeId)
          if (charge?.status === "canceled") return charge
          return yield* new InvalidStateError({ status: charge?.status ?? "canceled" })
        }),

        refund: Effect.fn("ChargeOrders.refund")(function* (id, request = {}, audited = () => Effect.void) {
          const order = yield* stored(orderRefund(id, request), audited)
          yield* execute(order)
          // A report of the provider may have ended it before the call.
          const { failureReason, status } = yield* refundRows.get(order.id)
          if (status === "failed") {
            return yield* new RefundRejected({ chargeId: order.chargeId, reason: failureReason ?? "" })
          }
          return (yield* charges.find(order.chargeId)) ?? (yield* new NotFoundError())
        }),

        settleRefund: Effect.fn("ChargeOrders.settleRefund")(function* (orderId, outcome) {
          const order = isUuid(orderId) ? yield* orders.find(orderId) : undefined
          if (order === undefined || !isChargeOrder(order) || order.kind !== "refund") return yield* new NotFoundError()
          const locked = yield* money.lock(order.chargeId)
          if (locked === undefined) return yield* new NotFoundError()
          const state = (yield* orders.find(orderId))?.state
          if (locked.order?.id === order.id) {
            yield* disputes.endRefund(locked, locked.order, outcome)
            return { isApplied: true, unmatched: 0 }
          }
          const isUnexpected = outcome._tag === "Completed" && state === "refused"
          // The provider returned what it had refused: money that left without an order.
          return isUnexpected
            ? yield* disputes.reverse(locked, {
                _tag: "charge.refunded",
                txid: txidFromId(order.chargeId),
                externalId: order.id,
                amount: order.amount
              })
            : { isApplied: false, unmatched: 0 }
        }),

        claimDue: OrderLoop.claimDue(orders, ["refund", "cancel"], leaseMs, (order) =>
          isChargeOrder(order) ? execute(order) : Effect.void
        )
      })
    })
  )
}

const through = (connectionId: string | null) => (connectionId === null ? {} : { connectionId })

/** The provider's answer to a request, which says nothing of an earlier one. */
interface Refused {
  readonly _tag: "Refused"
  readonly reason: string
}

const COMPLETED: Progress = { _tag: "Completed" }
const CANCELED = { report: "canceled", reason: "charge.canceled", movements: [] } as const
