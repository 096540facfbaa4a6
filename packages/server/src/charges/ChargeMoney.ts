/**
 * The money of a charge after its payment: locked, moved with the charge's state, taken from and returned to its release.
 *
 * Guarantees:
 * - state, money and events of one step are one commit. It locks the account's ledger rows, the charge, its release and
 *   its open order, in this order (BAL-4);
 * - money that leaves the account is taken from the charge's unreleased money first, and the release is reduced by as
 *   much (BAL-6);
 * - the money of an open refund is out of the account from the order on, so that nothing else spends it (CHG-26).
 *
 * Every effect here runs in the caller's transaction.
 */
import type { ChargeReport } from "@pix-payments/domain/Charge"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { OrderStore } from "../acquirer/OrderStore.ts"
import { Ids } from "../Ids.ts"
import { lockLedgerOf, transfer } from "../ledger/Ledger.ts"
import { decideMove, type LockedCharge } from "./ChargeDecision.ts"
import { ChargeStore } from "./ChargeStore.ts"
import type { StoredCharge } from "./ChargeTable.ts"

export class ChargeMoney extends Context.Service<
  ChargeMoney,
  {
    readonly lock: (chargeId: string) => Effect.Effect<LockedCharge | undefined, SqlError>
    /** Changes the charge and moves its money; `undefined` where its state does not allow it. */
    readonly move: (locked: LockedCharge, report: ChargeReport) => Effect.Effect<StoredCharge | undefined, SqlError>
    /** Reduces the release of a charge by so many cents. */
    readonly takeUnreleased: (chargeId: string, amount: number) => Effect.Effect<void, SqlError>
    /** Adds so many cents to the release again. */
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
       * A process of the previous release knows no orders: it blocks the value of a charge that a refund has taken
       * already. The second of the two movements is reversed here.
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
          const nowMs = yield* Clock.currentTimeMillis
          const move = decideMove(locked, report, { ids, nowMs })
          if (move === undefined) return undefined
          yield* charges.changeInTransaction(move.change)
          yield* takeUnreleased(locked.charge.id, move.takenUnreleased)
          if (move.finishedOrder !== undefined) yield* orders.finish(move.finishedOrder.id, "done")
          return move.change.charge
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
