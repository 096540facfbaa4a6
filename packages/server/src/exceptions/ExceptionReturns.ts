/**
 * Returns of exceptions: the provider is asked to give the money of an exception back to its payer.
 *
 * Guarantees:
 * - the order is a row before the provider is asked, outside of transactions. It is repeated under its id until the outcome
 *   is known, by any process, also after a crash between the provider's answer and its commit;
 * - the money leaves `unallocated` in the commit of the outcome, once. A return that fails leaves the exception open, with
 *   the provider's reason (BAL-12);
 * - a refusal of a repeated request is final only when no request before it can still arrive: see `isLastRequest`;
 * - a connection that does not answer delays no other: each has its own orders in flight, and a bounded number of them.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import { isUuid } from "@pix-payments/domain/Uuid"
import { Acquirer } from "../acquirer/Acquirer.ts"
import { keysOf } from "../acquirer/AcquirerNotification.ts"
import { claimKey } from "../acquirer/NotificationStore.ts"
import { backOffMs, isLastRequest, leaseUntil } from "../acquirer/OrderStore.ts"
import { InvalidStateError } from "../Errors.ts"
import { Ids } from "../Ids.ts"
import { lockLedgerOf } from "../ledger/Ledger.ts"
import { describeCause } from "../observability/SafeCause.ts"
import { Settings } from "../Settings.ts"
import { bigint, integer, nullable, type Row, text, uuid } from "../sql/Column.ts"
import { runToCompletion } from "../sql/RunToCompletion.ts"
import { statement, uuids, value } from "../sql/Statement.ts"
import { type Stored, table } from "../sql/Table.ts"
import type { Unavailable } from "../sql/Unavailable.ts"
import { Exceptions } from "./Exceptions.ts"
import { ExceptionStore, type StoredException } from "./ExceptionStore.ts"

const orderTable = table({
  id: uuid(),
  exceptionId: uuid(),
  connectionId: uuid(),
  endToEndId: nullable(text()),
  amount: bigint(),
  attempts: integer()
})

export interface ReturnOrder extends Stored<typeof orderTable> {}

export type ReturnOutcome = { readonly _tag: "Completed" } | { readonly _tag: "Failed"; readonly reason: string }

export class ExceptionReturns extends Context.Service<
  ExceptionReturns,
  {
    /**
     * Stores the order to return what is left of an exception, in a transaction that has locked it. `askInMs`: when the
     * background loop asks the provider.
     */
    readonly order: (
      exception: StoredException,
      askInMs: number
    ) => Effect.Effect<ReturnOrder, InvalidStateError | SqlError>
    /** Asks the provider and commits its answer. An unclear answer leaves the order open. */
    readonly execute: (order: ReturnOrder) => Effect.Effect<void, Unavailable>
    /** Ends an order, in a transaction. False where it is not open, or not the return of an exception. */
    readonly finish: (orderId: string, outcome: ReturnOutcome) => Effect.Effect<boolean, SqlError>
    /** Starts to ask for the orders that are due; how many. */
    readonly startDue: Effect.Effect<number, Unavailable>
    /** How long an order is leased to the process that asks, in milliseconds. */
    readonly leaseMs: number
  }
>()("@pix-payments/server/ExceptionReturns") {
  static readonly layer = Layer.effect(
    ExceptionReturns,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const acquirer = yield* Acquirer
      const store = yield* ExceptionStore
      const exceptions = yield* Exceptions
      const ids = yield* Ids
      const scope = yield* Effect.scope
      const { acquirerTimeoutMs } = yield* Settings
      const leaseMs = acquirerTimeoutMs + LEASE_MARGIN_MS
      /** Connections that this process is asking. */
      const busy = new Set<string>()

      const finish = Effect.fnUntraced(function* (orderId: string, outcome: ReturnOutcome) {
        const [known] = isUuid(orderId) ? yield* sql.unsafe<Row>(...findOpen({ id: orderId })) : []
        if (known === undefined) return false
        const { connectionId, exceptionId } = orderTable.decode(known)
        yield* lockLedgerOf(sql, [connectionId])
        const exception = yield* store.lock(exceptionId)
        const [row] = yield* sql.unsafe<Row>(...lockOpen({ id: orderId }))
        if (row === undefined || exception === undefined) return false
        const { amount } = orderTable.decode(row)
        const state = outcome._tag === "Completed" ? "done" : "refused"
        yield* sql`UPDATE acquirer_orders SET state = ${state}, ask_at = NULL WHERE id = ${orderId}::uuid`
        if (outcome._tag === "Failed") {
          const decided = exception.status === "open" ? { action: null, resolvedBy: null } : {}
          yield* store.put({ ...exception, ...decided, failureReason: outcome.reason }, [])
          return true
        }
        const by = exception.resolvedBy ?? "operator"
        const missing = yield* exceptions.takeReturn(exception, amount, by)
        // The payer got more than there was: somebody else returned it meanwhile.
        if (missing > 0) {
          yield* exceptions.raiseUnmatched(ids.next().id, missing, reportOf(orderTable.decode(row)), undefined)
        }
        return true
      })

      /** Commits the provider's answer, unless its notification was applied before. */
      const commit = (order: ReturnOrder, outcome: ReturnOutcome) =>
        Effect.gen(function* () {
          if (!(yield* finish(order.id, outcome))) return
          for (const key of keysOf(reportOf(order))) yield* claimKey(sql, key, order.id)
        }).pipe(sql.withTransaction, runToCompletion(sql))

      const execute = Effect.fnUntraced(function* (order: ReturnOrder) {
        const asked = {
          id: order.id,
          endToEndId: order.endToEndId,
          txid: null,
          amount: order.amount,
          description: null
        }
        const answer = yield* acquirer.of(providerOf(order.connectionId)).pipe(
          Effect.flatMap((provider) => provider.orderReturn(asked)),
          Effect.catchTags({
            AcquirerRefused: ({ reason }) =>
              Effect.succeed(isLastRequest(order) ? ({ _tag: "Failed", reason } as const) : ACCEPTED),
            AcquirerUnclear: () => Effect.succeed(ACCEPTED)
          })
        )
        if (answer._tag !== "Accepted") return yield* commit(order, answer)
        const inMs = backOffMs(order.attempts)
        yield* runToCompletion(sql)(
          Effect.asVoid(sql`
            UPDATE acquirer_orders SET ask_at = now() + ${inMs}::double precision * interval '1 millisecond'
            WHERE id = ${order.id}::uuid AND state = 'ordered'`)
        )
      })

      const executeAll = (connectionId: string, orders: ReadonlyArray<ReturnOrder>) =>
        // All at the same time, because an order that waited for another's answer would outlive its lease.
        Effect.forEach(
          orders,
          (order) =>
            Effect.catchCause(execute(order), (cause) =>
              Effect.annotateLogs(Effect.logWarning("a return could not be finished", describeCause(cause)), {
                exception_id: order.exceptionId
              })
            ),
          { concurrency: "unbounded", discard: true }
        ).pipe(Effect.ensuring(Effect.sync(() => busy.delete(connectionId))))

      return ExceptionReturns.of({
        leaseMs,

        order: Effect.fnUntraced(function* (exception, askInMs) {
          // Only a Pix can be returned to its payer.
          if (exception.unallocated <= 0 || exception.endToEndId === null) {
            return yield* new InvalidStateError({ status: exception.status })
          }
          const order: ReturnOrder = {
            id: ids.next().id,
            exceptionId: exception.id,
            connectionId: exception.connectionId,
            endToEndId: exception.endToEndId,
            amount: exception.unallocated,
            attempts: 1
          }
          yield* sql.unsafe(...insertOne({ ...order, askInMs }))
          return order
        }),

        execute,

        finish,

        startDue: Effect.gen(function* () {
          const connections = [...busy]
          const due = yield* sql.unsafe<Row>(...claimMany({ connections, share: ORDERS_AT_ONCE, leaseMs })).pipe(
            Effect.map((rows) => rows.map(orderTable.decode)),
            runToCompletion(sql)
          )
          for (const [connectionId, orders] of Map.groupBy(due, (order) => order.connectionId)) {
            busy.add(connectionId)
            yield* Effect.forkIn(executeAll(connectionId, orders), scope)
          }
          return due.length
        })
      })
    })
  )
}

const providerOf = (connectionId: string): string | null =>
  connectionId === SIMULATOR_CONNECTION ? null : connectionId

/** The notification of a return that was completed. */
const reportOf = (order: ReturnOrder) => ({
  _tag: "charge.refunded" as const,
  txid: "",
  externalId: order.id,
  ...(order.endToEndId === null ? {} : { endToEndId: order.endToEndId }),
  ...(providerOf(order.connectionId) === null ? {} : { connectionId: order.connectionId })
})

const LEASE_MARGIN_MS = 10_000
const ACCEPTED = { _tag: "Accepted" } as const
/** The most orders of a connection that one process asks for at a time. */
const ORDERS_AT_ONCE = 8

const columns = orderTable.columns()

const findOpen = statement(
  { id: value("uuid") },
  ({ id }) => `SELECT ${columns} FROM acquirer_orders WHERE id = ${id} AND kind = 'return' AND state = 'ordered'`
)

const lockOpen = statement(
  { id: value("uuid") },
  ({ id }) => `SELECT ${columns} FROM acquirer_orders WHERE id = ${id} AND state = 'ordered' FOR UPDATE`
)

// Without due_at, so that the release before never claims it (migration 0010).
const insertOne = statement(
  {
    id: value("uuid"),
    exceptionId: value("uuid"),
    connectionId: value("uuid"),
    endToEndId: value("text"),
    amount: value("bigint"),
    attempts: value("integer"),
    askInMs: value("double precision")
  },
  (p) => `
  INSERT INTO acquirer_orders (${columns}, kind, pending, state, ask_at, created_at)
  VALUES (${p.id}, ${p.exceptionId}, ${p.connectionId}, ${p.endToEndId}, ${p.amount}, ${p.attempts}, 'return', 0, 'ordered',
    now() + ${p.askInMs} * interval '1 millisecond', now())`
)

// A share for each connection, among the orders that have waited longest.
const claimMany = statement(
  { connections: uuids, share: value("integer"), leaseMs: value("double precision") },
  (p) => `
  WITH due AS MATERIALIZED (
    SELECT o.id FROM acquirer_connections c CROSS JOIN LATERAL (
      SELECT id FROM acquirer_orders
      WHERE state = 'ordered' AND ask_at IS NOT NULL AND ask_at <= now() AND kind = 'return' AND connection_id = c.id
      ORDER BY ask_at LIMIT ${p.share} FOR UPDATE SKIP LOCKED
    ) o
    WHERE c.id <> ALL (${p.connections})
  )
  UPDATE acquirer_orders SET attempts = attempts + 1, ask_at = ${leaseUntil(p.leaseMs)}
  WHERE id IN (SELECT id FROM due)
  RETURNING ${columns}`
)
