/**
 * The audit log: every state-changing call of an operator.
 *
 * Guarantees:
 * - An entry is in the commit of its change, where the change is SQL of the calling fiber.
 * - An entry follows a change that goes through a batch, because no transaction stays open while a batch runs.
 * - An entry of an order to the acquirer is in the commit of the order, whatever the acquirer answers.
 *
 * Rules: OPR-12.
 */
import { CurrentOperator } from "@pix-payments/api/Security"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { hasProperty } from "effect/Predicate"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { NotFoundError, type UnknownCursor } from "../base/Errors.ts"
import { CurrentRequest } from "../base/observability/RequestContext.ts"
import { Ids } from "../base/Ids.ts"
import { type CreatedBetween, idsBetween, type Page, readPage } from "../database/statements/Paging.ts"
import { type LockedTable, lockRow } from "../database/RowLock.ts"
import { runToCompletion } from "../database/RunToCompletion.ts"
import { is } from "../database/statements/Seek.ts"
import { statement, value } from "../database/statements/Statement.ts"
import { orUnavailable, type Unavailable } from "../database/Unavailable.ts"

export interface AuditRow {
  readonly id: string
  readonly operator: string
  readonly action: string
  readonly resource_id: string | null
  readonly request_id: string
  readonly at: Date
  readonly operator_id: string | null
  readonly via: string | null
  readonly address: string | null
  readonly before: Fields | null
  readonly after: Fields | null
}

export type Fields = Readonly<Record<string, unknown>>

/** Ids of at least `from` and below `before`. */
export interface IdRange {
  readonly from: string
  readonly before: string
}

export interface AuditFilters extends CreatedBetween {
  readonly action?: string | undefined
  readonly operatorId?: string | undefined
}

/** What an action changed: fields of the resource, without secrets. */
export interface AuditChange {
  readonly before?: Fields | undefined
  readonly after?: Fields | undefined
}

export interface ChangedRow {
  readonly table: LockedTable
  readonly id: string
}

export class AuditLog extends Context.Service<
  AuditLog,
  {
    /**
     * Runs a change and records it in the same commit. `action` is the name of the operation, such as `keys.revoke`. Without
     * `change`, the entry has the new state of a resource that has one.
     */
    readonly recordWith: (
      action: string,
      change?: AuditChange
    ) => <A extends { readonly id: string }, E, R>(
      change: Effect.Effect<A, E, R>
    ) => Effect.Effect<A, Exclude<E, SqlError> | Unavailable, R | CurrentOperator>
    /**
     * The same for fields of a row: with their values before, which `before` reads once the row is locked, so that entries of changes at
     * the same time join.
     */
    readonly recordChange: <E2, R2>(
      action: string,
      row: ChangedRow,
      before: Effect.Effect<Fields, E2, R2>,
      changes: Fields
    ) => <A extends { readonly id: string }, E, R>(
      change: Effect.Effect<A, E, R>
    ) => Effect.Effect<A, Exclude<E | E2, SqlError> | Unavailable, R | R2 | CurrentOperator>
    /** Runs a change that commits itself, and records it afterwards, also where the caller leaves meanwhile. */
    readonly recordAfter: (
      action: string,
      change?: AuditChange
    ) => <A extends { readonly id: string | null }, E, R>(
      change: Effect.Effect<A, E, R>
    ) => Effect.Effect<A, E | Unavailable, R | CurrentOperator>
    /** Records a change within its transaction. */
    readonly record: (
      action: string,
      resourceId: string | null,
      change?: AuditChange
    ) => Effect.Effect<void, SqlError, CurrentOperator>
    /**
     * Records what changes nothing. It commits asynchronously, so that it needs no write slot and waits for no standby. A
     * change that is committed after it keeps it; without one, a crash of PostgreSQL in the next moments may lose it.
     */
    readonly recordUse: (action: string, after: Fields) => Effect.Effect<void, Unavailable, CurrentOperator>
    /** Up to `limit` entries with ids between the two, oldest first, after the first `skipped`. */
    readonly entriesBetween: (
      range: IdRange,
      limit: number,
      skipped?: number
    ) => Effect.Effect<ReadonlyArray<AuditRow>, Unavailable>
    readonly get: (id: string) => Effect.Effect<AuditRow, NotFoundError | Unavailable>
    readonly list: (
      filters: AuditFilters,
      page: Page
    ) => Effect.Effect<ReadonlyArray<AuditRow>, UnknownCursor | Unavailable>
  }
>()("@pix-payments/server/AuditLog") {
  static readonly layer = Layer.effect(
    AuditLog,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const ids = yield* Ids

      const record = (action: string, resourceId: string | null, change?: AuditChange) =>
        insert(action, resourceId, change, false)

      const insert = Effect.fnUntraced(function* (
        action: string,
        resourceId: string | null,
        change: AuditChange = {},
        isAsynchronous: boolean
      ) {
        const operator = yield* CurrentOperator
        const request = yield* CurrentRequest
        const { epochMs, id } = ids.next()
        yield* sql`INSERT INTO audit (id, operator, action, resource_id, request_id, at, operator_id, via, address,
            before, after)
          SELECT ${id}::uuid, ${operator.name}::text, ${action}::text, ${resourceId}::uuid, ${request.requestId}::text,
            to_timestamp(${epochMs}::double precision / 1000), ${operator.id}::uuid, ${operator.via}::text,
            ${request.address}::text, ${jsonOf(change.before)}::json, ${jsonOf(change.after)}::json
          WHERE CASE WHEN ${isAsynchronous}::boolean THEN set_config('synchronous_commit', 'off', true) = 'off' ELSE true END`
      })

      return AuditLog.of({
        recordWith: (action, recorded) => (change) =>
          Effect.tap(change, (result) => record(action, result.id, recorded ?? stateOf(result))).pipe(
            sql.withTransaction,
            runToCompletion(sql)
          ),
        recordChange:
          (action, { id, table }, before, changes) =>
          <A extends { readonly id: string }, E, R>(change: Effect.Effect<A, E, R>) =>
            Effect.gen(function* () {
              yield* lockRow(sql, table, id)
              const recorded = changeOf(yield* before, changes)
              return yield* Effect.tap(change, (result) => record(action, result.id, recorded))
            }).pipe(sql.withTransaction, runToCompletion(sql)),
        record,
        recordUse: (action, after) => orUnavailable(insert(action, null, { after }, true)),
        recordAfter: (action, recorded) => (change) =>
          Effect.uninterruptible(
            Effect.tap(change, (result) => runToCompletion(sql)(record(action, result.id, recorded ?? stateOf(result))))
          ),
        entriesBetween: ({ before, from }, limit, skipped = 0) =>
          orUnavailable(sql.unsafe<AuditRow>(...entriesBetween({ from, before, limit, skipped }))),
        get: Effect.fn("AuditLog.get")(function* (id) {
          const rows = yield* sql<AuditRow>`SELECT ${sql.literal(columns)} FROM audit WHERE id = ${id}::uuid`
          return rows[0] ?? (yield* new NotFoundError())
        }, orUnavailable),
        list: ({ action, operatorId, ...created }, page) => {
          const asked = [
            ...(operatorId === undefined ? [] : [is("operator_id", "uuid", operatorId)]),
            ...(action === undefined ? [] : [is("action", "text", action)])
          ]
          return readPage<AuditRow>(
            {
              table: "audit",
              columns,
              ...idsBetween(created),
              ...(asked.length > 0 && { paths: [{ columns: asked }] })
            },
            page
          ).pipe(Effect.provideService(SqlClient, sql), orUnavailable)
        }
      })
    })
  )
}

/** The changed fields of a resource, before and after. */
export const changeOf = (before: Fields, changes: Fields): AuditChange => ({
  before: Object.fromEntries(Object.keys(changes).map((name) => [name, before[name]])),
  after: changes
})

/** A request's fields without the secret of its webhook and the client of its credentials. */
export const withoutSecrets = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([name]) => name !== "webhook_secret" && name !== "client_id"))

const columns = "id, operator, action, resource_id, request_id, at, operator_id, via, address, before, after"

const entriesBetween = statement(
  { from: value("uuid"), before: value("uuid"), limit: value("integer"), skipped: value("integer") },
  (p) => `SELECT ${columns} FROM audit WHERE id >= ${p.from} AND id < ${p.before}
    ORDER BY id LIMIT ${p.limit} OFFSET ${p.skipped}`
)

const jsonOf = (fields: Fields | undefined): string | null =>
  fields === undefined
    ? null
    : JSON.stringify(fields, (_, value) => (typeof value === "bigint" ? Number(value) : value))

/** The state of a resource after a change. */
const stateOf = (result: object): AuditChange =>
  hasProperty(result, "status") && typeof result.status === "string" ? { after: { status: result.status } } : {}
