/**
 * The money of a charge after its payment: where it is, and how it goes back.
 *
 * Guarantees:
 * - state, money and events of one step are one commit, decided with the account's ledger rows, the charge, its release
 *   and its open order locked, in this order;
 * - what leaves the account is taken of the charge's unreleased money first, and the release is reduced by as much;
 * - the money of a refund under way is out of the account from the order on, so that nothing else spends it.
 *
 * Every effect here belongs to the caller's transaction.
 *
 * Source: decisions.md "Balance and ledger", "Decided after the first release".
 */
import { type ChargeReport, chargeStatusAt, chargeTransition } from "@pix-payments/domain/Charge"
import { chargeMoneyAt, splitReversal } from "@pix-payments/domain/ChargeMoney"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { outboxEntry } from "../events/Outbox.ts"
import { Ids } from "../Ids.ts"
import { lockLedgerOf, type Transfer, transfer } from "../ledger/Ledger.ts"
import { changedCharge } from "./Charges.ts"
import { ChargeStore } from "./ChargeStore.ts"
import type { StoredCharge } from "./ChargeTable.ts"
import { type ChargeOrder, OrderStore } from "../acquirer/OrderStore.ts"

/** A charge with its money, locked for the transaction. */
export interface LockedCharge {
  readonly charge: StoredCharge
  /** Cents of it that are still in `pending`. */
  readonly unreleased: number
  /** What the acquirer is asked to do with it. */
  readonly order: ChargeOrder | undefined
}

export class ChargeMoney extends Context.Service<
  ChargeMoney,
  {
    readonly lock: (chargeId: string) => Effect.Effect<LockedCharge | undefined, SqlError>
    /** Moves the charge as the transition table says, and its money with it; `undefined` where it changes nothing. */
    readonly move: (locked: LockedCharge, report: ChargeReport) => Effect.Effect<StoredCharge | undefined, SqlError>
    /** Reduces what is to be released. */
    readonly takeUnreleased: (chargeId: string, amount: number) => Effect.Effect<void, SqlError>
    /** Gives it back to where it was taken, to be released when it is due. */
    readonly giveBackUnreleased: (chargeId: string, amount: number) => Effect.Effect<void, SqlError>
  }
>()("@pix-payments/server/ChargeMoney") {
  static readonly layer = Layer.effect(
    ChargeMoney,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const charges = yield* ChargeStore
      const orders = yield* OrderStore
      const ids = yield* Ids

      const takeUnreleased = (chargeId: string, amount: number) =>
        amount === 0
          ? Effect.void
          : Effect.asVoid(sql`
              UPDATE releases SET amount = amount - ${amount}::bigint,
                released_at = CASE WHEN amount = ${amount}::bigint THEN now() END
              WHERE charge_id = ${chargeId}::uuid`)

      /**
       * A process of the release before, which knows no orders, blocks the value of a charge whose refund took it already:
       * what it took a second time goes back.
       */
      const unblock = Effect.fnUntraced(function* (charge: StoredCharge) {
        const [row] = yield* sql<{ blocked: bigint }>`
          SELECT coalesce(sum(CASE WHEN credit = 'blocked' THEN amount WHEN debit = 'blocked' THEN -amount END), 0)::bigint
            AS blocked
          FROM ledger_transfers WHERE resource_id = ${charge.id}::uuid`
        const movement = transfer(ids, {
          accountId: charge.accountId,
          debit: "blocked",
          credit: "available",
          amount: Number(row?.blocked ?? 0n),
          resourceId: charge.id,
          reason: "charge.infraction"
        })
        yield* orders.transfer(charge.id, movement)
      })

      return ChargeMoney.of({
        lock: Effect.fnUntraced(function* (chargeId) {
          const [known] = yield* sql<{ account_id: string }>`
            SELECT account_id FROM charges WHERE id = ${chargeId}::uuid`
          if (known === undefined) return undefined
          yield* lockLedgerOf(sql, [known.account_id])
          const charge = yield* charges.lock(chargeId)
          if (charge === undefined) return undefined
          const [release] = yield* sql<{ amount: bigint }>`
            SELECT amount FROM releases WHERE charge_id = ${chargeId}::uuid AND released_at IS NULL FOR UPDATE`
          const order = yield* orders.lockOpenOf(chargeId)
          if (order?.kind === "refund" && charge.status === "infraction") yield* unblock(charge)
          return { charge, unreleased: Number(release?.amount ?? 0n), order }
        }),

        move: Effect.fnUntraced(function* (locked, report) {
          const { charge, order, unreleased } = locked
          const now = yield* Clock.currentTimeMillis
          const status = chargeStatusAt(charge.status, charge.expiresAtMs, now)
          const transition = chargeTransition(report, status)
          if (transition === undefined) return undefined
          const moved: StoredCharge = { ...charge, status: transition.to, sequence: charge.sequence + 1 }
          const isRefundUnderWay = order?.kind === "refund"
          const from = chargeMoneyAt(status, isRefundUnderWay)
          const to = chargeMoneyAt(transition.to, isRefundUnderWay)
          const parts = splitReversal(charge.amount, from === "account" ? unreleased : 0)
          // Before its payment a charge has no money that could move.
          const moves = isPaid(status) && from !== to
          const movement = (debit: Transfer["debit"], amount: number) =>
            transfer(ids, {
              accountId: charge.accountId,
              debit,
              credit: to === "account" ? "available" : to,
              amount,
              resourceId: charge.id,
              reason: `charge.${report}`
            })
          yield* charges.changeInTransaction({
            charge: moved,
            outbox: outboxEntry(`charge.${charge.method}`, transition.events, changedCharge(moved, now), ids.next),
            transfers: !moves
              ? []
              : from === "account"
                ? [...movement("pending", parts.pending), ...movement("available", parts.available)]
                : movement(from, charge.amount)
          })
          if (moves) yield* takeUnreleased(charge.id, parts.pending)
          // Its money went back: whoever ordered it has nothing more to wait for.
          if (isRefundUnderWay && (transition.to === "refunded" || transition.to === "charged_back")) {
            yield* orders.finish(order.id, "done")
          }
          return moved
        }),

        takeUnreleased,

        giveBackUnreleased: (chargeId, amount) =>
          amount === 0
            ? Effect.void
            : Effect.asVoid(sql`
                UPDATE releases SET released_at = NULL,
                  amount = CASE WHEN released_at IS NULL THEN amount ELSE 0 END + ${amount}::bigint
                WHERE charge_id = ${chargeId}::uuid`)
      })
    })
  )
}

const isPaid = (status: string): boolean => status === "paid" || status === "infraction"
