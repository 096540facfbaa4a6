/**
 * What the acquirer is asked to do with charges, in PostgreSQL: cancel a Pix, refund a payment.
 *
 * Guarantees:
 * - a charge has one open order at most, and its id never changes: under it the acquirer does it once;
 * - an order is leased to who asks the acquirer; when the lease has run out another process asks again.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { type Transfer, transferCtes, transferParameters } from "../ledger/Ledger.ts"
import { runToCompletion } from "../sql/Patience.ts"
import type { Unavailable } from "../sql/Unavailable.ts"

export interface ChargeOrder {
  readonly id: string
  readonly kind: "refund" | "cancel"
  readonly chargeId: string
  readonly accountId: string
  /** Cents that left the account for it; nothing for a cancellation. */
  readonly amount: number
  /** Of them, what was not released yet. */
  readonly pending: number
  /** How often the acquirer was asked. */
  readonly attempts: number
}

export class OrderStore extends Context.Service<
  OrderStore,
  {
    /** Within a transaction that holds the account's ledger rows and the charge: stores an order with its transfers. */
    readonly insert: (
      order: ChargeOrder,
      transfers: ReadonlyArray<Transfer>,
      leaseMs: number
    ) => Effect.Effect<void, SqlError>
    /** Within a transaction: the open order of a charge. */
    readonly lockOpenOf: (chargeId: string) => Effect.Effect<ChargeOrder | undefined, SqlError>
    /** Within a transaction that has locked it: ends an order. */
    readonly finish: (id: string, state: "done" | "refused") => Effect.Effect<void, SqlError>
    /** Within the same: writes the transfers of an order that ends. */
    readonly transfer: (chargeId: string, transfers: ReadonlyArray<Transfer>) => Effect.Effect<void, SqlError>
    /** Asks for an order again after a time. */
    readonly askAgain: (id: string, inMs: number) => Effect.Effect<void, Unavailable>
    /** Takes up to `limit` open orders whose lease has run out, each for `leaseMs`. */
    readonly claim: (limit: number, leaseMs: number) => Effect.Effect<ReadonlyArray<ChargeOrder>, Unavailable>
  }
>()("@pix-payments/server/OrderStore") {
  static readonly layer = Layer.effect(
    OrderStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient

      return OrderStore.of({
        insert: (order, transfers, leaseMs) =>
          Effect.asVoid(
            sql.unsafe(insertOne, [
              order.id,
              order.kind,
              order.chargeId,
              order.accountId,
              order.amount,
              order.pending,
              leaseMs,
              ...transferParameters(transfers)
            ])
          ),
        lockOpenOf: (chargeId) =>
          Effect.map(
            sql.unsafe<OrderRow>(
              `SELECT ${columns} FROM acquirer_orders WHERE charge_id = $1::uuid AND state = 'ordered' FOR UPDATE`,
              [chargeId]
            ),
            ([row]) => (row === undefined ? undefined : toOrder(row))
          ),
        finish: (id, state) =>
          Effect.asVoid(sql`UPDATE acquirer_orders SET state = ${state}, due_at = NULL WHERE id = ${id}::uuid`),
        transfer: (chargeId, transfers) =>
          transfers.length === 0
            ? Effect.void
            : Effect.asVoid(sql.unsafe(transferAlone, [chargeId, ...transferParameters(transfers)])),
        askAgain: (id, inMs) =>
          runToCompletion(sql)(
            Effect.asVoid(sql`
              UPDATE acquirer_orders SET due_at = now() + ${inMs}::double precision * interval '1 millisecond'
              WHERE id = ${id}::uuid AND state = 'ordered'`)
          ),
        claim: (limit, leaseMs) =>
          sql.unsafe<OrderRow>(claimMany, [limit, leaseMs]).pipe(
            Effect.map((rows) => rows.map(toOrder)),
            runToCompletion(sql)
          )
      })
    })
  )
}

interface OrderRow {
  readonly id: string
  readonly kind: "refund" | "cancel"
  readonly charge_id: string
  readonly account_id: string
  readonly amount: bigint
  readonly pending: bigint
  readonly attempts: number
}

const columns = "id, kind, charge_id, account_id, amount, pending, attempts"

const insertOne = `
  WITH changed AS (
    INSERT INTO acquirer_orders (${columns}, state, due_at, created_at)
    VALUES ($1::uuid, $2::text, $3::uuid, $4::uuid, $5::bigint, $6::bigint, 1, 'ordered',
      now() + $7::double precision * interval '1 millisecond', now())
    RETURNING charge_id AS id
  ),
  ${transferCtes(8)}
  SELECT id FROM changed`

const transferAlone = `
  WITH changed AS (SELECT $1::uuid AS id),
  ${transferCtes(2)}
  SELECT id FROM changed`

const claimMany = `
  UPDATE acquirer_orders SET attempts = attempts + 1, due_at = now() + $2::double precision * interval '1 millisecond'
  WHERE id IN (
    SELECT id FROM acquirer_orders WHERE state = 'ordered' AND due_at <= now()
    ORDER BY due_at LIMIT $1::integer FOR UPDATE SKIP LOCKED
  )
  RETURNING ${columns}`

const toOrder = (row: OrderRow): ChargeOrder => ({
  id: row.id,
  kind: row.kind,
  chargeId: row.charge_id,
  accountId: row.account_id,
  amount: Number(row.amount),
  pending: Number(row.pending),
  attempts: row.attempts
})
