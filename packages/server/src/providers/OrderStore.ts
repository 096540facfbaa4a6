/**
 * Orders in PostgreSQL: what providers are asked to do with charges, disputes and exceptions.
 *
 * Guarantees:
 * - a charge, a dispute and an exception have at most one open order each. Its id never changes: it is the provider's
 *   idempotency key;
 * - an order is leased to the process that asks the provider. When the lease has expired, another process asks again, after
 *   at least the back-off of an unclear answer;
 * - a refusal ends an order only where no other process has asked since, and the provider never accepted it: see
 *   `isRefusalFinal` of `OrderLoop.ts`.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { bigint, instant, integer, nullable, type Row, text, uuid } from "../database/statements/Column.ts"
import { runToCompletion } from "../database/RunToCompletion.ts"
import { statement, texts, value } from "../database/statements/Statement.ts"
import { type Stored, table } from "../database/statements/Table.ts"
import type { Unavailable } from "../database/Unavailable.ts"
import { type Capacity, capacityPart } from "./Bulkheads.ts"
import { backOffMs, backOffMsSql } from "./Retries.ts"

const orderColumns = {
  id: uuid(),
  kind: text<"refund" | "cancel" | "return" | "defend">(),
  chargeId: nullable(uuid()),
  accountId: nullable(uuid()),
  exceptionId: nullable(uuid()),
  disputeId: nullable(uuid()),
  /** Null is the simulator's. */
  connectionId: nullable(uuid()),
  endToEndId: nullable(text()),
  /** Cents that it moves. */
  amount: bigint(),
  /** Of these, the cents that were not released yet. */
  pending: bigint(),
  /** How often the provider was asked. */
  attempts: integer(),
  /** When the provider first said that it has the order. */
  acceptedAtMs: nullable(instant("accepted_at"))
}

const orderTable = table(orderColumns)

const knownTable = table({ ...orderColumns, state: text<KnownOrder["state"]>(), returned: bigint() })

export interface StoredOrder extends Stored<typeof orderTable> {}

/** An order that this process may ask the provider about until its lease ends. */
export type Leased<A extends StoredOrder = StoredOrder> = A & {
  /** By the clock of this process, which read it before the lease began. */
  readonly leasedUntilMs: number
}

/** An order, and its state. */
export interface KnownOrder extends StoredOrder {
  readonly state: "ordered" | "done" | "refused"
  /** Cents that the books have as returned: all of a done order, and of a refused one what was returned late. */
  readonly returned: number
}

/** A cancellation or refund of a charge. */
export interface ChargeOrder extends StoredOrder {
  readonly kind: "refund" | "cancel"
  readonly chargeId: string
}

export const isChargeOrder = (order: StoredOrder): order is ChargeOrder =>
  order.chargeId !== null && (order.kind === "refund" || order.kind === "cancel")

/** A new order. What it is about is one of the nullable fields. Without `attempts`, its caller asks the provider at once. */
export type NewOrder = Pick<StoredOrder, "id" | "kind"> & Partial<Omit<StoredOrder, "id" | "kind">>

export class OrderStore extends Context.Service<
  OrderStore,
  {
    /** Stores an order, leased to this process, in the caller's transaction. */
    readonly insert: <A extends NewOrder>(order: A, leaseMs: number) => Effect.Effect<Leased<StoredOrder & A>, SqlError>
    readonly find: (id: string) => Effect.Effect<KnownOrder | undefined, SqlError>
    /** An open order, locked for the caller's transaction. */
    readonly lockOpen: (id: string) => Effect.Effect<StoredOrder | undefined, SqlError>
    /** The open order of a charge, locked for the caller's transaction. */
    readonly lockOpenOf: (chargeId: string) => Effect.Effect<ChargeOrder | undefined, SqlError>
    /**
     * Ends an order, in a transaction that has locked what it is about. False where it has ended, and for a refusal where it
     * was asked again meanwhile.
     */
    readonly finish: (
      order: Pick<StoredOrder, "id" | "attempts">,
      state: "done" | "refused"
    ) => Effect.Effect<boolean, SqlError>
    /** Adds cents that were returned of an order that has ended, in a transaction that has locked its ledger accounts. */
    readonly addReturned: (id: string, cents: number) => Effect.Effect<void, SqlError>
    /**
     * Makes an order due again, later each time, unless it was asked again meanwhile. `accepted`: the provider has it, which is
     * stored in any case.
     */
    readonly askAgain: (order: StoredOrder, answer?: "accepted") => Effect.Effect<void, Unavailable>
    /** Leases open orders of these kinds whose lease has expired for `leaseMs`. */
    readonly claim: (
      kinds: ReadonlyArray<StoredOrder["kind"]>,
      capacity: Capacity,
      leaseMs: number
    ) => Effect.Effect<ReadonlyArray<Leased>, Unavailable>
  }
>()("@pix-payments/server/OrderStore") {
  static readonly layer = Layer.effect(
    OrderStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient

      return OrderStore.of({
        insert: Effect.fnUntraced(function* (order, leaseMs) {
          const leasedUntilMs = (yield* Clock.currentTimeMillis) + leaseMs
          const stored = { ...unset, ...order }
          yield* sql.unsafe(...insertOne({ orders: [stored], leaseMs }))
          return { ...stored, leasedUntilMs }
        }),
        find: (id) =>
          Effect.map(sql.unsafe<Row>(...findOne({ id })), ([row]) =>
            row === undefined ? undefined : knownTable.decode(row)
          ),
        lockOpen: (id) =>
          Effect.map(sql.unsafe<Row>(...lockOpen({ id })), ([row]) =>
            row === undefined ? undefined : orderTable.decode(row)
          ),
        lockOpenOf: (chargeId) =>
          Effect.map(sql.unsafe<Row>(...lockOpenOf({ chargeId })), ([row]) => {
            const order = row === undefined ? undefined : orderTable.decode(row)
            return order !== undefined && isChargeOrder(order) ? order : undefined
          }),
        finish: ({ attempts, id }, state) =>
          Effect.map(
            sql`UPDATE acquirer_orders SET state = ${state}, due_at = NULL,
                returned = CASE WHEN ${state} = 'done' THEN amount ELSE returned END
              WHERE id = ${id}::uuid AND state = 'ordered' AND (${state} = 'done' OR attempts = ${attempts})
              RETURNING id`,
            ({ length }) => length > 0
          ),
        addReturned: (id, cents) =>
          Effect.asVoid(sql`UPDATE acquirer_orders SET returned = returned + ${cents}::bigint WHERE id = ${id}::uuid`),
        askAgain: ({ attempts, id }, answer) => {
          const postponed = { id, attempts, inMs: backOffMs(attempts), isAccepted: answer === "accepted" }
          return runToCompletion(sql)(Effect.asVoid(sql.unsafe(...postpone(postponed))))
        },
        claim: Effect.fnUntraced(function* (kinds, capacity, leaseMs) {
          const leasedUntilMs = (yield* Clock.currentTimeMillis) + leaseMs
          const claimed = yield* runToCompletion(sql)(
            sql.unsafe<Row>(...claimMany({ kinds, capacity, limit: capacity.limit, leaseMs }))
          )
          return claimed.map((row) => ({ ...orderTable.decode(row), leasedUntilMs }))
        })
      })
    })
  )
}

const unset = {
  chargeId: null,
  accountId: null,
  exceptionId: null,
  disputeId: null,
  connectionId: null,
  endToEndId: null,
  amount: 0,
  pending: 0,
  attempts: 1,
  acceptedAtMs: null
}

const columns = orderTable.columns()

const insertOne = statement(
  { orders: orderTable.rows(orderTable.fields), leaseMs: value("double precision") },
  (p) => `
  INSERT INTO acquirer_orders (${columns}, state, due_at, requested_at, created_at)
  SELECT ${columns}, 'ordered', now() + ${p.leaseMs} * interval '1 millisecond', CASE WHEN attempts > 0 THEN now() END, now()
  FROM ${p.orders} AS o`
)

const findOne = statement(
  { id: value("uuid") },
  ({ id }) => `SELECT ${knownTable.columns()} FROM acquirer_orders WHERE id = ${id}`
)

const lockOpen = statement(
  { id: value("uuid") },
  ({ id }) => `SELECT ${columns} FROM acquirer_orders WHERE id = ${id} AND state = 'ordered' FOR UPDATE`
)

const lockOpenOf = statement(
  { chargeId: value("uuid") },
  ({ chargeId }) =>
    `SELECT ${columns} FROM acquirer_orders WHERE charge_id = ${chargeId} AND state = 'ordered' FOR UPDATE`
)

const postpone = statement(
  { id: value("uuid"), attempts: value("integer"), inMs: value("double precision"), isAccepted: value("boolean") },
  ({ attempts, id, inMs, isAccepted }) => `
  UPDATE acquirer_orders SET accepted_at = coalesce(accepted_at, CASE WHEN ${isAccepted} THEN now() END),
    due_at = CASE WHEN attempts = ${attempts} THEN now() + ${inMs} * interval '1 millisecond' ELSE due_at END
  WHERE id = ${id} AND state = 'ordered'`
)

// The lease is no shorter than the back-off, so that `isLastRequest` holds of an order whose process died.
const leaseUntil = (leaseMs: string): string =>
  `now() + greatest(${leaseMs}, ${backOffMsSql("(attempts + 1)")}) * interval '1 millisecond'`

const claimMany = statement(
  { kinds: texts, capacity: capacityPart, limit: value("integer"), leaseMs: value("double precision") },
  ({ capacity, kinds, leaseMs, limit }) => `
  WITH due_of_kinds AS MATERIALIZED (
    SELECT o.id, o.due_at, c.id AS connection_id
    FROM acquirer_connections c CROSS JOIN unnest(${kinds}) AS k (kind) CROSS JOIN LATERAL (
      SELECT id, due_at FROM acquirer_orders
      WHERE state = 'ordered' AND due_at IS NOT NULL AND due_at <= now() AND kind = k.kind AND connection_id = c.id
      ORDER BY due_at LIMIT greatest(0, ${capacity.freeOf("c.id")}) FOR UPDATE SKIP LOCKED
    ) o
    UNION ALL
    SELECT o.id, o.due_at, NULL
    FROM unnest(${kinds}) AS k (kind) CROSS JOIN LATERAL (
      SELECT id, due_at FROM acquirer_orders
      WHERE state = 'ordered' AND due_at IS NOT NULL AND due_at <= now() AND kind = k.kind AND connection_id IS NULL
      ORDER BY due_at LIMIT greatest(0, ${capacity.freeOf("NULL")}) FOR UPDATE SKIP LOCKED
    ) o
  ),
  due AS MATERIALIZED (
    SELECT id, connection_id FROM (
      SELECT *, row_number() OVER (PARTITION BY connection_id ORDER BY due_at) AS place FROM due_of_kinds
    ) d
    WHERE place <= ${capacity.freeOf("d.connection_id")}
    LIMIT ${limit}
  )
  UPDATE acquirer_orders SET attempts = attempts + 1, due_at = ${leaseUntil(leaseMs)},
    requested_at = coalesce(requested_at, now())
  WHERE id = ANY (ARRAY(SELECT id FROM due))
  RETURNING ${columns}`
)
