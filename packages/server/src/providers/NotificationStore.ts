/**
 * The acquirer's notifications in PostgreSQL, with their outcomes, and the keys of those that had an effect.
 *
 * Guarantees:
 * - a notification is recorded in the commit of its effect: in the statement that changes a charge or payout
 *   (`notifications`), or in the caller's transaction (`applyOnce`);
 * - an effect claims its keys, once: of two duplicates at the same time one has an effect (CHG-8, DSP-10). The settlement of
 *   a payment is claimed in `charge_settlements` (`SettlementClaims.ts`);
 * - a notification without an effect claims none, so that one that arrived too early is applied when it is repeated. It is
 *   recorded once, however often it is repeated.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/sql/SqlClient"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import type { Ids } from "../base/Ids.ts"
import { instant, json, nullable, text, uuid } from "../database/statements/Column.ts"
import { part, rows } from "../database/statements/Statement.ts"
import {
  type AcquirerNotification,
  beforePayment,
  decisiveKeysOf,
  keysToClaim,
  type Outcome,
  recordKeyOf,
  settlementKey,
  settlementOf,
  subjectOf
} from "./AcquirerNotification.ts"
import { awaitSettlement, claimsSettlementsOnce, hasArrived } from "./SettlementClaims.ts"

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
 * The part of a statement that records the notifications of the resources that a CTE called `changed` returns, and claims
 * their keys: CTEs. A key that was claimed before fails the statement: see `isDuplicate`.
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
  ({ keys, received }) => `
  inserted_notifications AS (
    INSERT INTO acquirer_reports (id, subject, report, outcome, connection_id, received_at)
    SELECT r.id, r.subject, r.report, 'applied', r.connection_id, r.received_at FROM ${received} AS r
    WHERE (r.resource_id IN (SELECT id FROM changed)) IS TRUE
  ),
  claimed_keys AS (
    INSERT INTO acquirer_notifications (key, report_id)
    SELECT k.key, k.id FROM ${keys} AS k
    WHERE (k.resource_id IN (SELECT id FROM changed)) IS TRUE
  )`,
  (
    those: ReadonlyArray<{
      readonly resourceId: string
      readonly received: ReceivedNotification
      /** The keys that it claims. */
      readonly keys: ReadonlyArray<string>
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
    keys: those.flatMap(({ keys, received: { id }, resourceId }) =>
      keys.map((key) => ({ key, id, resource_id: resourceId }))
    )
  })
)

/** True where a statement failed because a notification with the same key or settlement was applied before. */
export const isDuplicate = (defect: unknown): boolean =>
  isSqlError(defect) &&
  defect.reason._tag === "UniqueViolation" &&
  UNIQUE_CONSTRAINTS.has(defect.reason.constraint ?? "")

/** They refuse a second notification of one key, and a second charge of one settlement. */
const UNIQUE_CONSTRAINTS = new Set(["acquirer_notifications_pkey", "charge_settlements_pkey", "charges_settlement"])

/** Records a notification with its outcome. A repeated one without an effect is not recorded again. */
export const record = (
  sql: SqlClient,
  { id, notification, receivedAtMs }: ReceivedNotification,
  outcome: Outcome
): Effect.Effect<void, SqlError> => {
  const key = outcome === "ignored" || outcome === "unknown" ? recordKeyOf(notification) : undefined
  return Effect.asVoid(sql`
    WITH first AS (
      INSERT INTO acquirer_notifications (key, report_id)
      SELECT ${key ?? null}::text, ${id}::uuid WHERE ${key !== undefined}::boolean
      ON CONFLICT DO NOTHING RETURNING key
    )
    INSERT INTO acquirer_reports (id, subject, report, outcome, connection_id, received_at)
    SELECT ${id}::uuid, ${subjectOf(notification)}::text, ${JSON.stringify(notification)}::json, ${outcome}::text,
      ${notification.connectionId ?? null}::uuid, to_timestamp(${receivedAtMs}::double precision / 1000)
    WHERE ${key === undefined}::boolean OR EXISTS (SELECT FROM first)`)
}

/** Claims a key in the caller's transaction; false where it was claimed before. */
export const claimKey = (sql: SqlClient, key: string, notificationId: string): Effect.Effect<boolean, SqlError> =>
  Effect.map(
    sql`INSERT INTO acquirer_notifications (key, report_id) VALUES (${key}, ${notificationId}::uuid)
      ON CONFLICT DO NOTHING RETURNING key`,
    ({ length }) => length > 0
  )

/**
 * Claims the settlement of a payment that has not arrived, for its return, in the caller's transaction. `arrived`: the
 * payment is applied, or another transaction applies it. The payment takes the claim over: see `applyOnce`.
 */
export const claimBeforePayment = Effect.fnUntraced(function* (
  sql: SqlClient,
  endToEndId: string,
  notificationId: string,
  claimsOnceAtStart: boolean
): Effect.fn.Return<"claimed" | "arrived", SqlError> {
  if (yield* claimsSettlementsOnce(sql, claimsOnceAtStart)) {
    return (yield* awaitSettlement(sql, endToEndId)) ? "claimed" : "arrived"
  }
  const key = settlementKey(endToEndId)
  if (yield* claimKey(sql, key, notificationId)) {
    yield* claimKey(sql, beforePayment(key), notificationId)
    return "claimed"
  }
  const payment = { _tag: "charge.paid", txid: "", endToEndId } as const
  const known = yield* claimed(sql, decisiveKeysOf(payment))
  return known.has(beforePayment(key)) && keysToClaim(payment, known) !== undefined ? "claimed" : "arrived"
})

const claimed = (sql: SqlClient, keys: ReadonlyArray<string>): Effect.Effect<ReadonlySet<string>, SqlError> =>
  Effect.map(
    sql<{ key: string }>`SELECT key FROM acquirer_notifications WHERE ${sql.in("key", keys)}`,
    (rows) => new Set(rows.map(({ key }) => key))
  )

/**
 * Runs the effect of a notification in one transaction with its keys and its record. A duplicate is recorded as `ignored`,
 * and its effect is rolled back or not run. The effect of a payment claims its settlement itself where it is passed true, and
 * fails with `Duplicate` where it cannot.
 */
export const applyOnce = <E, R>(
  sql: SqlClient,
  received: ReceivedNotification,
  claimsOnceAtStart: boolean,
  effect: (claimsOnce: boolean) => Effect.Effect<Outcome, E | Duplicate, R>
): Effect.Effect<Outcome, E | SqlError, R> => {
  const { notification } = received
  const settlement = settlementOf(notification)
  const applied = Effect.gen(function* () {
    const claimsOnce = settlement === undefined || (yield* claimsSettlementsOnce(sql, claimsOnceAtStart))
    if (settlement !== undefined && claimsOnce && (yield* hasArrived(sql, settlement))) return yield* new Duplicate()
    const decisive = decisiveKeysOf(notification, claimsOnce)
    const known = decisive.length === 0 ? new Set<string>() : yield* claimed(sql, decisive)
    const keys = keysToClaim(notification, known, claimsOnce)
    if (keys === undefined) return yield* new Duplicate()
    const outcome = yield* effect(claimsOnce)
    if (outcome === "applied" || outcome === "deferred" || outcome === "exception") {
      for (const key of keys) if (!(yield* claimKey(sql, key, received.id))) return yield* new ClaimedMeanwhile()
    }
    yield* record(sql, received, outcome)
    return outcome
  })
  // Another transaction claimed a key meanwhile: a duplicate's, or that of a return before this payment.
  const attempt: Effect.Effect<Outcome, E | SqlError | Duplicate, R> = Effect.catchIf(
    sql.withTransaction(applied),
    (error): error is ClaimedMeanwhile => error instanceof ClaimedMeanwhile,
    () => attempt
  ) as Effect.Effect<Outcome, E | SqlError | Duplicate, R>
  return Effect.catchIf(
    attempt,
    (error): error is Duplicate => error instanceof Duplicate,
    () => Effect.as(record(sql, received, "ignored"), "ignored" as const)
  ) as Effect.Effect<Outcome, E | SqlError, R>
}

/** The notification was applied before. */
export class Duplicate extends Data.TaggedError("Duplicate")<{}> {}

/** The transaction is repeated, and reads which keys are claimed. */
class ClaimedMeanwhile extends Data.TaggedError("ClaimedMeanwhile")<{}> {}
