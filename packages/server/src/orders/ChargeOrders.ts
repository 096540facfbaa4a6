/**
 * Operators' orders about a charge: cancel it before it is paid, refund it afterwards (CHG-26).
 *
 * Guarantees:
 * - an order is stored before the acquirer is asked, outside of transactions. Of two orders of one charge at the same
 *   time one is stored, the other is refused;
 * - the money of a refund leaves the account in the commit of the order, so that it cannot be spent twice. It returns to
 *   where it was if the acquirer refuses. A refund never takes `available` below zero (BAL-5);
 * - an unclear answer is not a refusal: the order is repeated under its id until the answer is known, by any process, also
 *   after a crash between the acquirer's answer and its commit.
 *
 * Rules: CHG-26, BAL-5, BAL-6, OPR-20, OPR-21.
 */
import { chargeStatusAt, chargeTransition } from "@pix-payments/domain/Charge"
import { chargeMoneyAt, isCovered, splitReversal } from "@pix-payments/domain/ChargeMoney"
import { txidFromId } from "@pix-payments/domain/Txid"
import { isUuid } from "@pix-payments/domain/Uuid"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { Acquirer, type AcquirerRefused, type AcquirerUnclear } from "../acquirer/Acquirer.ts"
import { returnKey } from "../acquirer/AcquirerNotification.ts"
import { claimKey } from "../acquirer/NotificationStore.ts"
import { Disputes } from "../disputes/Disputes.ts"
import { InsufficientBalanceError, InvalidStateError, NotFoundError } from "../Errors.ts"
import { Ids } from "../Ids.ts"
import { type Transfer, transfer } from "../ledger/Ledger.ts"
import { describeCause } from "../observability/SafeCause.ts"
import { Settings } from "../Settings.ts"
import { runToCompletion } from "../sql/RunToCompletion.ts"
import { Unavailable } from "../sql/Unavailable.ts"
import type { LockedCharge } from "../charges/ChargeDecision.ts"
import { ChargeMoney } from "../charges/ChargeMoney.ts"
import { ChargeStore } from "../charges/ChargeStore.ts"
import type { StoredCharge } from "../charges/ChargeTable.ts"
import { type ChargeOrder, OrderStore } from "../acquirer/OrderStore.ts"

export class ChargeOrders extends Context.Service<
  ChargeOrders,
  {
    /** Cancels a `pending` charge. `audited` runs in the transaction of the order. */
    readonly cancel: <R = never>(
      id: string,
      audited?: Effect.Effect<void, SqlError, R>
    ) => Effect.Effect<StoredCharge, NotFoundError | InvalidStateError | Unavailable, R>
    /** Returns the value of a `paid` charge to its payer. `audited` runs in the transaction of the order. */
    readonly refund: <R = never>(
      id: string,
      audited?: Effect.Effect<void, SqlError, R>
    ) => Effect.Effect<StoredCharge, NotFoundError | InvalidStateError | InsufficientBalanceError | Unavailable, R>
    /** Repeats orders whose answer is not known; how many there were. */
    readonly finishDue: Effect.Effect<number, Unavailable>
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
      const disputes = yield* Disputes
      const ids = yield* Ids
      const { acquirerTimeoutMs } = yield* Settings
      const leaseMs = acquirerTimeoutMs + LEASE_MARGIN_MS

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

      const orderOf = (
        charge: StoredCharge,
        kind: ChargeOrder["kind"],
        amount: number,
        pending: number
      ): ChargeOrder => ({
        id: ids.next().id,
        kind,
        chargeId: charge.id,
        accountId: charge.accountId,
        amount,
        pending,
        attempts: 1
      })

      const movementsOf = (
        order: ChargeOrder,
        reason: string,
        movements: ReadonlyArray<Pick<Transfer, "debit" | "credit" | "amount">>
      ) =>
        movements.flatMap((movement) =>
          transfer(ids, { ...movement, accountId: order.accountId, resourceId: order.chargeId, reason })
        )

      const orderCancel = (id: string) =>
        Effect.gen(function* () {
          const { charge } = yield* lockFor(id, "cancel")
          const order = orderOf(charge, "cancel", 0, 0)
          yield* orders.insert(order, [], leaseMs)
          return order
        })

      const orderRefund = (id: string) =>
        Effect.gen(function* () {
          const { charge, unreleased } = yield* lockFor(id, "refund")
          const parts = splitReversal(charge.amount, unreleased)
          const [row] = yield* sql<{ balance: bigint }>`
          SELECT balance FROM ledger_accounts WHERE owner_id = ${charge.accountId}::uuid AND kind = 'available'`
          if (!isCovered(parts, Number(row?.balance ?? 0n))) return yield* new InsufficientBalanceError()
          const order = orderOf(charge, "refund", charge.amount, parts.pending)
          yield* money.takeUnreleased(charge.id, parts.pending)
          yield* orders.insert(
            order,
            movementsOf(order, "charge.refunded", [
              { debit: "pending", credit: "acquirer", amount: parts.pending },
              { debit: "available", credit: "acquirer", amount: parts.available }
            ]),
            leaseMs
          )
          return order
        })

      /** Returns the money of a refund that the acquirer refused, or whose charge was returned another way meanwhile. */
      const giveBack = Effect.fnUntraced(function* (order: ChargeOrder, { charge }: LockedCharge) {
        const place = chargeMoneyAt(charge.status, false)
        const pending = place === "account" ? order.pending : 0
        yield* money.giveBackUnreleased(charge.id, pending)
        yield* orders.transfer(
          charge.id,
          movementsOf(order, "charge.refund_failed", [
            { debit: "acquirer", credit: "pending", amount: pending },
            {
              debit: "acquirer",
              credit: place === "blocked" ? "blocked" : "available",
              amount: order.amount - pending
            }
          ])
        )
      })

      /** Commits the acquirer's answer, unless it was committed before. */
      const finish = Effect.fnUntraced(
        function* (order: ChargeOrder, state: "done" | "refused") {
          const locked = yield* money.lock(order.chargeId)
          if (locked === undefined || locked.order?.id !== order.id) return
          if (order.kind === "cancel") {
            if (state === "done") yield* money.move(locked, "canceled")
            return yield* orders.finish(order.id, state)
          }
          const hasMoney = locked.charge.status === "paid" || locked.charge.status === "infraction"
          // A process of the previous release, which knows no orders, has returned the money already.
          if (state === "refused" || !hasMoney) {
            yield* giveBack(order, locked)
            return yield* orders.finish(order.id, state)
          }
          yield* claimKey(sql, returnKey(order.id), order.id)
          yield* disputes.reverse(locked, { _tag: "charge.refunded", txid: txidFromId(order.chargeId) })
        },
        sql.withTransaction,
        runToCompletion(sql)
      )

      /** Asks the acquirer and commits its answer; `unclear` leaves the order open. */
      const execute = Effect.fnUntraced(function* (order: ChargeOrder) {
        const charge = yield* charges.find(order.chargeId)
        const asked = { id: order.id, txid: txidFromId(order.chargeId), amount: order.amount, description: null }
        const answer = yield* acquirer.of(charge?.connectionId ?? null).pipe(
          Effect.flatMap((provider): Effect.Effect<unknown, AcquirerRefused | AcquirerUnclear> =>
            order.kind === "refund"
              ? provider.orderReturn({ ...asked, endToEndId: charge?.endToEndId ?? null })
              : provider.cancel(asked)
          ),
          Effect.as("done" as const),
          Effect.catchTags({
            AcquirerRefused: () => Effect.succeed("refused" as const),
            AcquirerUnclear: () => Effect.succeed("unclear" as const)
          })
        )
        if (answer === "unclear") {
          yield* orders.askAgain(order.id, Math.min(FIRST_ASK_MS * 2 ** order.attempts, LAST_ASK_MS))
        } else {
          yield* finish(order, answer)
        }
        return answer
      })

      const order = Effect.fnUntraced(function* <E, R>(
        make: Effect.Effect<ChargeOrder, E | SqlError>,
        audited: Effect.Effect<void, SqlError, R>,
        wanted: StoredCharge["status"]
      ) {
        const made = yield* Effect.tap(make, () => audited).pipe(sql.withTransaction, runToCompletion(sql))
        const answer = yield* execute(made)
        if (answer === "unclear") return yield* new Unavailable({ reason: "too-slow" })
        const charge = yield* charges.find(made.chargeId)
        if (charge?.status === wanted) return charge
        return yield* new InvalidStateError({ status: charge?.status ?? wanted })
      })

      return ChargeOrders.of({
        cancel: Effect.fn("ChargeOrders.cancel")((id, audited = Effect.void) =>
          order(orderCancel(id), audited, "canceled")
        ),
        refund: Effect.fn("ChargeOrders.refund")((id, audited = Effect.void) =>
          order(orderRefund(id), audited, "refunded")
        ),

        finishDue: Effect.gen(function* () {
          const due = yield* orders.claim(ORDERS_AT_ONCE, leaseMs)
          // An order that fails delays no other: it is repeated when its lease has expired.
          const finishOne = (each: ChargeOrder) =>
            Effect.catchCause(execute(each), (cause) =>
              Effect.annotateLogs(Effect.logWarning("an order could not be finished", describeCause(cause)), {
                charge_id: each.chargeId
              })
            )
          // All at the same time, because an order that waited for another's answer would outlive its lease.
          yield* Effect.forEach(due, finishOne, { concurrency: "unbounded", discard: true })
          return due.length
        })
      })
    })
  )
}

const LEASE_MARGIN_MS = 10_000
const FIRST_ASK_MS = 500
const LAST_ASK_MS = 60_000
const ORDERS_AT_ONCE = 8
