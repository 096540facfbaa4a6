/**
 * Orders whose outcome the provider does not say, settled by operators: payouts, refunds and returns of exceptions.
 *
 * Guarantees:
 * - only an order that is open 24 hours after its first request is settled, with the `Authority` around it (OPR-112);
 * - the money moves as with the provider's own outcome, in the commit of the settlement. Should the provider say otherwise later,
 *   that is a contradictory outcome (BAL-16).
 *
 * Rules: OPR-215 to OPR-217.
 */
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
import { type ApprovalRequired, authorize } from "../../operators/approvals/Authority.ts"
import type { ReturnOutcome } from "../../providers/Acquirer.ts"
import { claimReturn } from "../../providers/NotificationStore.ts"
import { isChargeOrder, type KnownOrder, OrderStore } from "../../providers/OrderStore.ts"
import { LockedCharges } from "../charges/LockedCharges.ts"
import { decideChange } from "../payouts/PayoutDecision.ts"
import { PayoutStore } from "../payouts/PayoutStore.ts"
import { Refunds } from "../refunds/Refunds.ts"
import { ExceptionReturns } from "./ExceptionReturns.ts"

export type SettledKind = "payout" | "refund" | "exception"

/** The outcome that an operator knows. `externalId`: the end-to-end id of a payout, or the return id, of a completed one. */
export interface HandSettlement {
  readonly outcome: "completed" | "failed"
  readonly externalId: string | undefined
  readonly reason: string
}

/** What may be settled now. */
export interface Overdue {
  readonly id: string
  readonly accountId: string | null
  readonly status: string
  /** Cents. */
  readonly amount: number
}

/** What an approval of a settlement relies on. */
export interface SettlementFacts {
  readonly status: string
  /** Cents. */
  readonly amount: number
  /** Cents of `available` that the account has again where it failed, unless a MED claims them. */
  readonly given_back: number
  readonly order_id: string | null
  /** Of a refund. */
  readonly charge_id: string | null
}

export class HandSettlements extends Context.Service<
  HandSettlements,
  {
    /** Fails where the payout, refund or exception may not be settled now. */
    readonly find: (
      kind: SettledKind,
      id: string
    ) => Effect.Effect<Overdue, NotFoundError | InvalidStateError | Unavailable>
    /** Whether it may be settled or not. */
    readonly facts: (kind: SettledKind, id: string) => Effect.Effect<SettlementFacts, NotFoundError | SqlError>
    /** Settles it. `audited` runs in the transaction of the settlement. */
    readonly settle: <E = never, R = never>(
      kind: SettledKind,
      id: string,
      settlement: HandSettlement,
      audited?: Effect.Effect<void, SqlError | E, R>
    ) => Effect.Effect<Overdue, NotFoundError | InvalidStateError | ApprovalRequired | Unavailable | E, R>
  }
>()("@pix-payments/server/HandSettlements") {
  static readonly layer = Layer.effect(
    HandSettlements,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const ids = yield* Ids
      const payouts = yield* PayoutStore
      const orders = yield* OrderStore
      const money = yield* LockedCharges
      const refunds = yield* Refunds
      const returns = yield* ExceptionReturns

      const read = Effect.fnUntraced(function* (kind: SettledKind, id: string) {
        const [row] = isUuid(id) ? yield* sql.unsafe<OverdueRow>(overdue[kind], [id]) : []
        return row ?? (yield* new NotFoundError())
      })

      const lookUp = Effect.fnUntraced(function* (kind: SettledKind, id: string) {
        const row = yield* read(kind, id)
        if (!row.is_overdue) return yield* new InvalidStateError({ status: row.status })
        const { account_id: accountId, order_id: orderId, status } = row
        return { id: row.id, accountId, status, amount: Number(row.amount), orderId }
      })

      const settlePayout = Effect.fnUntraced(function* (id: string, { externalId, outcome, reason }: HandSettlement) {
        // One Pix is one payout, also where two are settled at the same moment.
        if (outcome === "completed" && externalId !== undefined) {
          yield* sql`SELECT pg_advisory_xact_lock(hashtextextended(${`payouts ${externalId}`}, 0))`
          const others =
            yield* sql`SELECT FROM payouts WHERE end_to_end_id = ${externalId} AND id <> ${id}::uuid LIMIT 1`
          if (others.length > 0) return false
        }
        const payout = yield* payouts.find(id)
        const facts = { endToEndId: externalId, reason }
        const nowMs = yield* Clock.currentTimeMillis
        const change = payout === undefined ? undefined : decideChange(payout, outcome, facts, nowMs, ids)
        return change !== undefined && (yield* payouts.changeInTransaction(change))
      })

      const settleReturn = Effect.fnUntraced(function* (order: KnownOrder, settlement: HandSettlement) {
        const outcome = outcomeOf(settlement)
        if (isChargeOrder(order)) {
          const locked = yield* money.lock(order.chargeId)
          if (locked?.order?.id !== order.id) return false
          yield* refunds.end(locked, locked.order, outcome)
        } else if (!(yield* returns.finish(order.id, outcome))) return false
        if (outcome._tag === "Failed") return true
        // A return that the books have already is another one.
        return yield* claimReturn(sql, order, outcome.returnId)
      })

      return HandSettlements.of({
        find: (kind, id) => runToCompletion(sql)(lookUp(kind, id)),

        facts: (kind, id) =>
          Effect.map(read(kind, id), ({ amount, charge_id, given_back, order_id, status }) => ({
            status,
            amount: Number(amount),
            given_back: Number(given_back),
            order_id,
            charge_id
          })),

        settle: Effect.fn("HandSettlements.settle")((kind, id, settlement, audited = Effect.void) =>
          Effect.gen(function* () {
            const found = yield* lookUp(kind, id)
            yield* authorize(sql, `${kind}.settle`, found.id)
            const order = found.orderId === null ? undefined : yield* orders.find(found.orderId)
            const isSettled = yield* order === undefined
              ? settlePayout(found.id, settlement)
              : settleReturn(order, settlement)
            // The provider's answer was first, or its report of another return; or the id is that of another payout.
            if (!isSettled) return yield* new InvalidStateError({ status: found.status })
            yield* audited
            return found
          }).pipe(sql.withTransaction, runToCompletion(sql))
        )
      })
    })
  )
}

const outcomeOf = ({ externalId, outcome, reason }: HandSettlement): ReturnOutcome =>
  outcome === "completed" ? { _tag: "Completed", returnId: externalId } : { _tag: "Failed", reason }

interface OverdueRow {
  readonly id: string
  readonly account_id: string | null
  readonly status: string
  readonly order_id: string | null
  readonly charge_id: string | null
  readonly amount: bigint
  readonly given_back: bigint
  readonly is_overdue: boolean
}

export const IS_OVERDUE = "coalesce(requested_at <= now() - interval '24 hours', false)"

/** Of an exception, only money that an account had accepted goes back to it. */
const ofOrder = (table: string, key: string, charge: string) => `
  SELECT r.id, r.account_id, r.status, o.id AS order_id, ${charge} AS charge_id, coalesce(o.amount, 0) AS amount,
    CASE WHEN o.account_id IS NULL THEN 0 ELSE o.amount - o.pending END AS given_back,
    o.id IS NOT NULL AND ${IS_OVERDUE} AS is_overdue
  FROM ${table} r LEFT JOIN acquirer_orders o ON o.${key} = r.id AND o.state = 'ordered' WHERE r.id = $1::uuid`

const overdue: Readonly<Record<SettledKind, string>> = {
  payout: `SELECT id, account_id, status, NULL AS order_id, NULL AS charge_id, amount, amount + fee AS given_back,
    status = 'processing' AND ${IS_OVERDUE} AS is_overdue FROM payouts WHERE id = $1::uuid`,
  // A refund has the id of its order.
  refund: ofOrder("refunds", "id", "r.charge_id"),
  exception: ofOrder("acquirer_exceptions", "exception_id", "NULL")
}
