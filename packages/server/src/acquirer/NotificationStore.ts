/**
 * The acquirer's reports in PostgreSQL: what came, what became of it, and the keys of those that had an effect.
 *
 * Guarantees:
 * - a report is recorded in the commit of its effect: in the statement that changes a charge or payout (`notificationCtes`),
 *   or in the transaction of the caller (`once`);
 * - a key is taken by the effect that it names, once: of two copies at once one has an effect;
 * - a report without an effect takes no key, so that one which came too early is heard when it is repeated.
 */
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/sql/SqlClient"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import type { Ids } from "../Ids.ts"
import { instant, json, nullable, text, uuid } from "../sql/Column.ts"
import { part, rows } from "../sql/Statement.ts"
import { type AcquirerNotification, keyOf, type Outcome, subjectOf } from "./AcquirerNotification.ts"

/** A report as it came in. */
export interface ReceivedNotification {
  readonly id: string
  readonly report: AcquirerNotification
  readonly receivedAtMs: number
}

export const received = (ids: Ids["Service"], report: AcquirerNotification): ReceivedNotification => {
  const { epochMs, id } = ids.next()
  return { id, report, receivedAtMs: epochMs }
}

/**
 * The part of a statement that records the notifications of the resources that a CTE called `changed` returns, and takes
 * their keys: CTEs. A key that is taken already fails the statement: see `isCopy`.
 */
export const notifications = part(
  {
    received: rows({
      id: uuid(),
      resource_id: uuid(),
      subject: text(),
      report: json<AcquirerNotification>(),
      key: nullable(text()),
      received_at: instant()
    })
  },
  ({ received }) => `
  reported AS (
    INSERT INTO acquirer_reports (id, subject, report, outcome, received_at)
    SELECT r.id, r.subject, r.report, 'applied', r.received_at FROM ${received} AS r
    WHERE (r.resource_id IN (SELECT id FROM changed)) IS TRUE
  ),
  named AS (
    INSERT INTO acquirer_notifications (key, report_id)
    SELECT r.key, r.id FROM ${received} AS r
    WHERE (r.resource_id IN (SELECT id FROM changed)) IS TRUE AND r.key IS NOT NULL
  )`,
  (those: ReadonlyArray<{ readonly resourceId: string; readonly received: ReceivedNotification }>) => ({
    received: those.map(({ received: { id, receivedAtMs, report }, resourceId }) => ({
      id,
      resource_id: resourceId,
      subject: subjectOf(report),
      report,
      key: keyOf(report),
      received_at: receivedAtMs
    }))
  })
)

// For statements that still number their parameters by hand.
export const notificationParameters = notifications.parameters
export const notificationCtes = (first: number): string => notifications.sql((index) => `$${first + index}`)

/** True where a statement failed because what it does was done before, under the same key or settlement. */
export const isCopy = (defect: unknown): boolean =>
  isSqlError(defect) &&
  defect.reason._tag === "UniqueViolation" &&
  (defect.reason.constraint === "acquirer_notifications_pkey" || defect.reason.constraint === "charges_settlement")

/** Records a report, with what became of it. */
export const record = (
  sql: SqlClient,
  { id, receivedAtMs, report }: ReceivedNotification,
  outcome: Outcome
): Effect.Effect<void, SqlError> =>
  Effect.asVoid(sql`
    INSERT INTO acquirer_reports (id, subject, report, outcome, received_at)
    VALUES (${id}::uuid, ${subjectOf(report)}, ${JSON.stringify(report)}::json, ${outcome},
      to_timestamp(${receivedAtMs}::double precision / 1000))`)

/** Within a transaction: takes a key; false where it was taken before. */
export const takeKey = (sql: SqlClient, key: string, reportId: string): Effect.Effect<boolean, SqlError> =>
  Effect.map(
    sql`INSERT INTO acquirer_notifications (key, report_id) VALUES (${key}, ${reportId}::uuid)
      ON CONFLICT DO NOTHING RETURNING key`,
    ({ length }) => length > 0
  )

/**
 * Does what a report asks for, in one transaction with its key and its record; nothing where its key is taken. `effect`
 * runs in that transaction.
 */
export const once = <E, R>(
  sql: SqlClient,
  came: ReceivedNotification,
  effect: Effect.Effect<Outcome, E, R>
): Effect.Effect<Outcome, E | SqlError, R> => {
  const key = keyOf(came.report)
  const done = Effect.gen(function* () {
    if (key !== undefined) {
      const taken = yield* sql`SELECT key FROM acquirer_notifications WHERE key = ${key}`
      if (taken.length > 0) return yield* new Copy()
    }
    const outcome = yield* effect
    // A copy that was at work at the same time took it: what was done here is undone.
    if (key !== undefined && (outcome === "applied" || outcome === "deferred")) {
      if (!(yield* takeKey(sql, key, came.id))) return yield* new Copy()
    }
    yield* record(sql, came, outcome)
    return outcome
  })
  return Effect.catchIf(
    sql.withTransaction(done),
    (error): error is Copy => error instanceof Copy,
    () => Effect.as(record(sql, came, "ignored"), "ignored" as const)
  ) as Effect.Effect<Outcome, E | SqlError, R>
}

class Copy extends Data.TaggedError("Copy")<{}> {}
