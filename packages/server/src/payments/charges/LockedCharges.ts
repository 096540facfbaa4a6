/**
 * The money of a charge after its payment: locked, and moved together with the charge's state and its release.
 *
 * Guarantees:
 * - state, money and events of one step are one commit. It locks the account's ledger rows, the charge and its open order,
 *   in this order (BAL-4);
 * - where the money is comes from the ledger, read under these locks;
 * - money that leaves `pending` reduces the charge's release by as much, and money that returns to it raises the release
 *   (BAL-6).
 *
 * Every effect here runs in the caller's transaction.
 */
import type { ChargeFunds } from "@pix-payments/domain/ChargeMoney"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { OrderStore } from "../../providers/OrderStore.ts"
import { Ids } from "../../base/Ids.ts"
import { type Transfer, transfersUnderLock } from "../../ledger/Ledger.ts"
import { CHANGED, statement, value } from "../../database/statements/Statement.ts"
import { type ChargeStep, decideMove, type LockedCharge } from "./ChargeDecision.ts"
import { ChargeStore } from "./ChargeStore.ts"
import type { StoredCharge } from "./ChargeTable.ts"

export class LockedCharges extends Context.Service<
  LockedCharges,
  {
    readonly lock: (chargeId: string) => Effect.Effect<LockedCharge | undefined, SqlError>
    /** Moves money of the charge, and changes its state; `undefined` where the state does not allow it. */
    readonly move: (locked: LockedCharge, step: ChargeStep) => Effect.Effect<LockedCharge | undefined, SqlError>
  }
>()("@pix-payments/server/LockedCharges") {
  static readonly layer = Layer.effect(
    LockedCharges,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const charges = yield* ChargeStore
      const orders = yield* OrderStore
      const ids = yield* Ids

      const post = ({ id, refundedAmount }: StoredCharge, transfers: ReadonlyArray<Transfer>) =>
        transfers.length === 0
          ? Effect.void
          : Effect.asVoid(sql.unsafe(...postTransfers({ id, refundedAmount, transfers })))

      const changeRelease = (chargeId: string, amount: number) =>
        amount === 0 ? Effect.void : Effect.asVoid(sql.unsafe(...addToRelease({ chargeId, amount })))

      const move = Effect.fnUntraced(function* (locked: LockedCharge, step: ChargeStep) {
        const nowMs = yield* Clock.currentTimeMillis
        const decided = decideMove(locked, step, { ids, nowMs })
        if (decided === undefined) return undefined
        if (decided.change === undefined) yield* post(decided.after.charge, decided.transfers)
        else yield* charges.changeInTransaction(decided.change)
        yield* changeRelease(locked.charge.id, decided.after.funds.pending - locked.funds.pending)
        return decided.after
      })

      return LockedCharges.of({
        lock: Effect.fnUntraced(function* (chargeId) {
          const charge = yield* charges.lock(chargeId)
          if (charge === undefined) return undefined
          const order = yield* orders.lockOpenOf(chargeId)
          return { charge, order, funds: yield* findFunds(sql, chargeId, charge.accountId) }
        }),
        move
      })
    })
  )
}

/** The money of a charge, or of an exception, in an account. */
export const findFunds = (
  sql: SqlClient,
  resourceId: string,
  accountId: string
): Effect.Effect<ChargeFunds, SqlError> =>
  Effect.map(sql.unsafe<{ kind: string; amount: bigint }>(...sumOf({ resourceId, accountId })), fundsOf)

const fundsOf = (rows: ReadonlyArray<{ readonly kind: string; readonly amount: bigint }>): ChargeFunds => {
  const sums = new Map(rows.map(({ amount, kind }) => [kind, Number(amount)]))
  return {
    pending: sums.get("pending") ?? 0,
    available: sums.get("available") ?? 0,
    blocked: sums.get("blocked") ?? 0,
    inTransit: sums.get("returns_in_transit") ?? 0
  }
}

const sumOf = statement(
  { resourceId: value("uuid"), accountId: value("uuid") },
  (p) => `
  SELECT ends.kind, sum(ends.amount)::bigint AS amount FROM ledger_transfers t
  CROSS JOIN LATERAL (VALUES (t.credit, t.amount), (t.debit, -t.amount)) AS ends (kind, amount)
  WHERE t.resource_id = ${p.resourceId} AND t.account_id = ${p.accountId} GROUP BY ends.kind`
)

const postTransfers = statement(
  { id: value("uuid"), refundedAmount: value("bigint"), transfers: transfersUnderLock },
  (p) => `
  WITH ${CHANGED} AS (SELECT ${p.id} AS id),
  refunded AS (
    UPDATE charges SET refunded_amount = ${p.refundedAmount} WHERE id = ${p.id} AND refunded_amount <> ${p.refundedAmount}
  ),
  ${p.transfers.insert(CHANGED)}
  SELECT id FROM ${CHANGED}`
)

const addToRelease = statement(
  { chargeId: value("uuid"), amount: value("bigint") },
  (p) => `
  UPDATE releases SET
    amount = CASE WHEN released_at IS NULL THEN amount ELSE 0 END + ${p.amount},
    released_at = CASE WHEN CASE WHEN released_at IS NULL THEN amount ELSE 0 END + ${p.amount} = 0 THEN now() END
  WHERE charge_id = ${p.chargeId}`
)
