/**
 * The acquirer's notifications in PostgreSQL, with their outcomes, and the keys of those that had an effect.
 *
 * Guarantees:
 * - a notification is recorded in the commit of its effect: in the statement that changes a charge or payout
 *   (`notifications`), or in the caller's transaction (`applyOnce`);
 * - an effect claims its key, once: of two duplicates at the same time one has an effect (CHG-8, DSP-10);
 * - a notification without an effect claims none, so that one that arrived too early is applied when it is repeated. It is
 *   recorded once, however often it is repeated.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/sql/SqlClient"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import type { Ids } from "../base/Ids.ts"
import { instant, json, nullable, text, uuid } from "../database/statements/Column.ts"
import { type Cte, part, rows } from "../database/statements/Statement.ts"
import {
  type AcquirerNotification,
  isEffect,
  keyOfReturn,
  keysOf,
  type Outcome,
  recordKeyOf,
  subjectOf
} from "./AcquirerNotification.ts"

/** A notification with the id and the time of its arrival. */
export interface ReceivedNotification {
  readonly id: string
  readonly notification: AcquirerNotification
  readonly receivedAtMs: number
}

export const received = (ids: Ids["Service"], notification: AcquirerNotification): ReceivedNotification => {
  const { epochMs, id } = ids.next()
  return { id, notification, receivedAtMs: epochMs }
}

/**
 * The part of a statement that records the notifications of the resources that a CTE returns, and claims their keys: CTEs. A key that was claimed before fails the statement: see `isDuplicate`.
 */
export const notifications = part(
  {
    received: rows({
      id: uuid(),
      resource_id: uuid(),
      subject: text(),
      report: json<AcquirerNotification>(),
      connection_id: nullable(uuid()),
      received_at: instant()
    }),
    keys: rows({ key: text(), id: uuid(), resource_id: uuid() })
  },
  ({ keys, received }) => ({
    insert: (changed: Cte) => `
  inserted_notifications AS (
    INSERT INTO notifications (id, subject, report, outcome, connection_id, received_at)
    SELECT r.id, r.subject, r.report, 'applied', r.connection_id, r.received_at FROM ${received} AS r
    WHERE (r.resource_id IN (SELECT id FROM ${changed})) IS TRUE
  ),
  claimed_keys AS (
    INSERT INTO notification_keys (key, notification_id)
    SELECT k.key, k.id FROM ${keys} AS k
    WHERE (k.resource_id IN (SELECT id FROM ${changed})) IS TRUE
  )`
  }),
  (
    those: ReadonlyArray<{
      readonly resourceId: string
      readonly received: ReceivedNotification
    }>
  ) => ({
    received: those.map(({ received: { id, notification, receivedAtMs }, resourceId }) => ({
      id,
      resource_id: resourceId,
      subject: subjectOf(notification),
      report: notification,
      connection_id: notification.connectionId ?? null,
      received_at: receivedAtMs
    })),
    keys: those.flatMap(({ received: { id, notification }, resourceId }) =>
      keysOf(notification).map((key) => ({ key, id, resource_id: resourceId }))
    )
  })
)

/** True where a statement failed because a notification with the same key or settlement was applied before. */
export const isDuplicate = (defect: unknown): boolean =>
  isSqlError(defect) &&
  defect.reason._tag === "UniqueViolation" &&
  UNIQUE_CONSTRAINTS.has(defect.reason.constraint ?? "")

/** They refuse a second notification of one key, and a second charge of one settlement. */
const UNIQUE_CONSTRAINTS = new Set(["notification_keys_pkey", "charge_settlements_pkey"])

/** Records a notification with its outcome. A repeated one without an effect is not recorded again. */
export const record = (
  sql: SqlClient,
  { id, notification, receivedAtMs }: ReceivedNotification,
  outcome: Outcome
): Effect.Effect<void, SqlError> => {
  const key = isEffect(outcome) ? undefined : recordKeyOf(notification)
  return Effect.asVoid(sql`
    WITH first AS (
      INSERT INTO notification_keys (key, notification_id)
      SELECT ${key ?? null}::text, ${id}::uuid WHERE ${key !== undefined}::boolean
      ON CONFLICT DO NOTHING RETURNING key
    )
    INSERT INTO notifications (id, subject, report, outcome, connection_id, received_at)
    SELECT ${id}::uuid, ${subjectOf(notification)}::text, ${JSON.stringify(notification)}::json, ${outcome}::text,
      ${notification.connectionId ?? null}::uuid, to_timestamp(${receivedAtMs}::double precision / 1000)
    WHERE ${key === undefined}::boolean OR EXISTS (SELECT FROM first)`)
}

/** Claims a key of a notification, in the caller's transaction; false where it was claimed before. */
const claimKey = (sql: SqlClient, key: string, notificationId: string): Effect.Effect<boolean, SqlError> =>
  Effect.map(
    sql`INSERT INTO notification_keys (key, notification_id) VALUES (${key}, ${notificationId}::uuid)
      ON CONFLICT DO NOTHING RETURNING key`,
    ({ length }) => length > 0
  )

/**
 * Claims the names under which the provider may report the completed return of an order, in the caller's transaction: what it reports
 * under one of them is a copy. False where one was claimed before.
 */
export const claimReturn = (
  sql: SqlClient,
  { connectionId, id }: { readonly id: string; readonly connectionId: string | null },
  returnId: string | undefined
): Effect.Effect<boolean, SqlError> =>
  Effect.map(
    Effect.forEach(new Set([id, returnId ?? id]), (name) => claimKey(sql, keyOfReturn(name, connectionId), id)),
    (claimed) => claimed.every((isFirst) => isFirst)
  )

/**
 * Runs the effect of a notification in one transaction with its key and its record. A duplicate is recorded as `ignored`, and
 * its effect is rolled back or not run.
 */
export const applyOnce = <E, R>(
  sql: SqlClient,
  received: ReceivedNotification,
  effect: Effect.Effect<Outcome, E, R>
): Effect.Effect<Outcome, E | SqlError, R> => {
  const { id, notification } = received
  const applied = Effect.gen(function* () {
    const outcome = (yield* isClaimed(sql, notification)) ? "ignored" : yield* effect
    for (const key of isEffect(outcome) ? keysOf(notification) : []) {
      if (!(yield* claimKey(sql, key, id))) return yield* new ClaimedMeanwhile()
    }
    yield* record(sql, received, outcome)
    return outcome
  })
  const attempt: Effect.Effect<Outcome, E | SqlError, R> = Effect.catchIf(
    sql.withTransaction(applied),
    (error): error is ClaimedMeanwhile => error instanceof ClaimedMeanwhile,
    () => attempt
  ) as Effect.Effect<Outcome, E | SqlError, R>
  return attempt
}

const isClaimed = (sql: SqlClient, notification: AcquirerNotification): Effect.Effect<boolean, SqlError> => {
  const keys = keysOf(notification)
  return keys.length === 0
    ? Effect.succeed(false)
    : Effect.map(sql`SELECT FROM notification_keys WHERE ${sql.in("key", keys)}`, ({ length }) => length > 0)
}

/** A duplicate was committed meanwhile: the transaction is repeated. */
class ClaimedMeanwhile extends Data.TaggedError("ClaimedMeanwhile")<{}> {}
