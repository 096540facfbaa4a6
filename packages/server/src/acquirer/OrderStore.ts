/**
 * Orders in PostgreSQL: cancellations and refunds that the acquirer is asked for.
 *
 * Guarantees:
 * - a charge has at most one open order, and its id never changes: it is the acquirer's idempotency key;
 * - an order is leased to the process that asks the acquirer. When the lease has expired, another process asks again.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { type Transfer, transfersUnderLock } from "../ledger/Ledger.ts"
import { bigint, integer, type Row, text, uuid } from "../sql/Column.ts"
import { runToCompletion } from "../sql/RunToCompletion.ts"
import { statement, value } from "../sql/Statement.ts"
import { type Stored, table } from "../sql/Table.ts"
import type { Unavailable } from "../sql/Unavailable.ts"

const orderTable = table({
  id: uuid(),
  kind: text<"refund" | "cancel">(),
  chargeId: uuid(),
  accountId: uuid(),
  /** Cents that left the account for the order; 0 for a cancellation. */
  amount: bigint(),
  /** Of these, the cents that were not released yet. */
  pending: bigint(),
  /** How often the acquirer was asked. */
  attempts: integer()
})

/** A cancellation or refund of a charge. */
export interface ChargeOrder extends Stored<typeof orderTable> {}

export class OrderStore extends Context.Service<
  OrderStore,
  {
    /** Stores an order with its transfers, in a transaction that has locked the account's ledger rows and the charge. */
    readonly insert: (
      order: ChargeOrder,
      transfers: ReadonlyArray<Transfer>,
      leaseMs: number
    ) => Effect.Effect<void, SqlError>
    /** The open order of a charge, locked for the caller's transaction. */
    readonly lockOpenOf: (chargeId: string) => Effect.Effect<ChargeOrder | undefined, SqlError>
    /** Ends an order, in a transaction that has locked it. */
    readonly finish: (id: string, state: "done" | "refused") => Effect.Effect<void, SqlError>
    /** Writes the transfers of an order that ends, in the same transaction. */
    readonly transfer: (chargeId: string, transfers: ReadonlyArray<Transfer>) => Effect.Effect<void, SqlError>
    /** Makes an order due again after a time. */
    readonly askAgain: (id: string, inMs: number) => Effect.Effect<void, Unavailable>
    /** Leases up to `limit` open orders whose lease has expired, each for `leaseMs`. */
    readonly claim: (limit: number, leaseMs: number) => Effect.Effect<ReadonlyArray<ChargeOrder>, Unavailable>
  }
>()("@pix-payments/server/OrderStore") {
  static readonly layer = Layer.effect(
    OrderStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient

      return OrderStore.of({
        insert: (order, transfers, leaseMs) =>
          Effect.asVoid(sql.unsafe(...insertOne({ ...order, leaseMs, transfers }))),
        lockOpenOf: (chargeId) =>
          Effect.map(sql.unsafe<Row>(...lockOpen({ chargeId })), ([row]) =>
            row === undefined ? undefined : orderTable.decode(row)
          ),
        finish: (id, state) =>
          Effect.asVoid(sql`UPDATE acquirer_orders SET state = ${state}, due_at = NULL WHERE id = ${id}::uuid`),
        transfer: (chargeId, transfers) =>
          transfers.length === 0 ? Effect.void : Effect.asVoid(sql.unsafe(...transferAlone({ chargeId, transfers }))),
        askAgain: (id, inMs) =>
          runToCompletion(sql)(
            Effect.asVoid(sql`
              UPDATE acquirer_orders SET due_at = now() + ${inMs}::double precision * interval '1 millisecond'
              WHERE id = ${id}::uuid AND state = 'ordered'`)
          ),
        claim: (limit, leaseMs) =>
          sql.unsafe<Row>(...claimMany({ limit, leaseMs })).pipe(
            Effect.map((claimed) => claimed.map(orderTable.decode)),
            runToCompletion(sql)
          )
      })
    })
  )
}

const columns = orderTable.columns()

const insertOne = statement(
  {
    id: value("uuid"),
    kind: value("text"),
    chargeId: value("uuid"),
    accountId: value("uuid"),
    amount: value("bigint"),
    pending: value("bigint"),
    leaseMs: value("double precision"),
    transfers: transfersUnderLock
  },
  (p) => `
  WITH changed AS (
    INSERT INTO acquirer_orders (${columns}, state, due_at, created_at)
    VALUES (${p.id}, ${p.kind}, ${p.chargeId}, ${p.accountId}, ${p.amount}, ${p.pending}, 1, 'ordered',
      now() + ${p.leaseMs} * interval '1 millisecond', now())
    RETURNING charge_id AS id
  ),
  ${p.transfers}
  SELECT id FROM changed`
)

const lockOpen = statement(
  { chargeId: value("uuid") },
  ({ chargeId }) =>
    `SELECT ${columns} FROM acquirer_orders WHERE charge_id = ${chargeId} AND state = 'ordered' FOR UPDATE`
)

const transferAlone = statement(
  { chargeId: value("uuid"), transfers: transfersUnderLock },
  (p) => `
  WITH changed AS (SELECT ${p.chargeId} AS id),
  ${p.transfers}
  SELECT id FROM changed`
)

const claimMany = statement(
  { limit: value("integer"), leaseMs: value("double precision") },
  ({ leaseMs, limit }) => `
  UPDATE acquirer_orders SET attempts = attempts + 1, due_at = now() + ${leaseMs} * interval '1 millisecond'
  WHERE id IN (
    SELECT id FROM acquirer_orders WHERE state = 'ordered' AND due_at <= now()
    ORDER BY due_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
  )
  RETURNING ${columns}`
)
