/**
 * The SQL that records attempts, fails deliveries and gives leases back.
 *
 * Guarantees:
 * - A statement changes a delivery only while `attempts_made` is that of the lease, so that an attempt whose lease has
 *   expired ends nothing.
 * - Each attempt is stored once: in its delivery, where it fits and its lease has not expired (`FirstAttempt.ts`), else as
 *   a row of `delivery_attempts`.
 * - Each attempt is counted once, in the totals of its account (`DeliveryTotals.ts`).
 */
import { bigint, boolean, float8, instant, integer, nullable, text, uuid } from "../../database/statements/Column.ts"
import { rows, statement, value } from "../../database/statements/Statement.ts"
import type { CompletedAttempt } from "./Delivery.ts"
import { addRows } from "./AddedRows.ts"
import { addTotals, totals, totalsOf } from "./DeliveryTotals.ts"
import { fitsDelivery } from "./FirstAttempt.ts"

/** The columns of a delivery's attempt, if it has one. */
export const attemptColumns = {
  fits_delivery: boolean(),
  attempt_id: nullable(uuid()),
  at: nullable(instant()),
  duration_ms: nullable(integer()),
  address: nullable(text()),
  status_code: nullable(integer()),
  error: nullable(text()),
  response_body: nullable(text())
}

/** The parameters of `addOutcomes`. */
export const outcomeParts = {
  health: rows({
    endpoint_id: uuid(),
    consecutive_failures: integer(),
    successes: bigint(),
    failures: bigint(),
    last_success_at: nullable(instant()),
    last_failure_at: nullable(instant())
  }),
  totals
}

/** CTEs that add attempts to the health of their endpoints and to the totals of their accounts. */
export const addOutcomes = (p: { readonly health: string; readonly totals: string }): string => `
  ${addRows("health", p.health, {
    table: "webhook_endpoint_health",
    key: ["endpoint_id"],
    columns: ["consecutive_failures", "successes", "failures", "last_success_at", "last_failure_at"],
    add: (of, i) => `consecutive_failures = ${i}.consecutive_failures
        + CASE WHEN ${i}.successes = 0 THEN ${of}.consecutive_failures ELSE 0 END,
      successes = ${of}.successes + ${i}.successes, failures = ${of}.failures + ${i}.failures,
      last_success_at = greatest(${of}.last_success_at, ${i}.last_success_at),
      last_failure_at = greatest(${of}.last_failure_at, ${i}.last_failure_at)`
  })},
  ${addTotals(p.totals)}`

/** Inserts the attempts of `input` that are not stored in their deliveries: of those with this condition, none is. */
export const insertAttempts = (isElsewhere: string): string => `
  INSERT INTO delivery_attempts (id, delivery_id, at, duration_ms, address, status_code, error, response_body)
  SELECT attempt_id, delivery_id, at, duration_ms, address, status_code, error, response_body FROM input
  WHERE attempt_id IS NOT NULL AND (NOT fits_delivery OR ${isElsewhere})`

/** A column of `deliveries` gets the attempt's value where the attempt fits into the row. */
const set = (column: string, from: string): string =>
  `${column} = CASE WHEN i.fits_delivery THEN i.${from} ELSE d.${column} END`

const record = statement(
  {
    attempts: rows({
      delivery_id: uuid(),
      attempts_made: integer(),
      status: text(),
      delay_ms: nullable(float8()),
      ...attemptColumns
    }),
    ...outcomeParts
  },
  (p) => `
  WITH input AS MATERIALIZED (SELECT * FROM ${p.attempts} i),
  recorded AS (
    UPDATE deliveries d SET status = i.status, attempts_made = d.attempts_made + 1,
      due_at = CASE WHEN i.status = 'scheduled' THEN now() + i.delay_ms * interval '1 millisecond' END,
      ${set("first_attempt_at", "at")}, ${set("first_duration_ms", "duration_ms")},
      ${set("first_status_code", "status_code")}, ${set("first_address", "address")},
      ${set("first_response_body", "response_body")}
    FROM input i
    WHERE d.id = i.delivery_id AND d.status = 'delivering' AND d.attempts_made = i.attempts_made
    RETURNING i.attempt_id
  ),
  ${addOutcomes(p)}
  ${insertAttempts("attempt_id NOT IN (SELECT attempt_id FROM recorded)")}`
)

/** Stores attempts, the next state of their deliveries, the health of their endpoints and the totals of their accounts. */
export const recordAttempts = (completed: ReadonlyArray<CompletedAttempt>) =>
  record({
    attempts: completed.map((one) => ({
      delivery_id: one.delivery.id,
      attempts_made: one.delivery.attemptsMade,
      status: one.outcome.status,
      delay_ms: delayOf(one),
      ...attemptOf(one)
    })),
    ...outcomesOf(completed)
  })

/** When the delivery is due again, if it is. */
export const delayOf = ({ outcome }: CompletedAttempt): number | null =>
  outcome.status === "scheduled" ? outcome.delayMs : null

/** The row of an attempt. */
export const attemptOf = (completed: CompletedAttempt) => ({
  fits_delivery: fitsDelivery(completed),
  attempt_id: completed.attempt.id,
  at: completed.attempt.atMs,
  duration_ms: completed.attempt.durationMs,
  address: completed.attempt.address,
  status_code: completed.attempt.statusCode,
  error: completed.attempt.error,
  response_body: completed.attempt.responseBody
})

/** What `addOutcomes` adds. */
export const outcomesOf = (completed: ReadonlyArray<CompletedAttempt>) => ({
  health: healthOf(completed),
  totals: totalsOf(completed)
})

const failWhere = (reason: string, id: string, condition: string): string => `
  UPDATE deliveries SET status = 'failed', due_at = NULL, paused_due_at = NULL, reason = ${reason}
  WHERE id = ${id} AND ${condition}`

/** Fails a delivery that fails every claim, if it is still due. `reason` is PostgreSQL's message. */
export const failDue = statement({ id: value("uuid"), reason: value("text") }, (p) =>
  failWhere(p.reason, p.id, "status IN ('scheduled', 'delivering') AND due_at <= now()")
)

/** Fails a delivery whose attempt cannot be recorded. */
export const failAttempted = statement(
  { id: value("uuid"), reason: value("text"), attemptsMade: value("integer") },
  (p) => failWhere(p.reason, p.id, `status = 'delivering' AND attempts_made = ${p.attemptsMade}`)
)

/** Makes leased deliveries due now. */
export const giveBackLeases = statement(
  { leases: rows({ id: uuid(), attemptsMade: integer() }) },
  ({ leases }) => `
  UPDATE deliveries d SET status = 'scheduled', due_at = now()
  FROM ${leases} AS l
  WHERE d.id = l.id AND d.status = 'delivering' AND d.attempts_made = l.attempts_made`
)

/** The health of each registered endpoint after these attempts, in their order. */
const healthOf = (completed: ReadonlyArray<CompletedAttempt>): ReadonlyArray<Health> => {
  const byEndpoint = new Map<string, Health>()
  for (const { attempt, delivery, outcome } of completed) {
    if (delivery.endpointId === null) continue
    const health = byEndpoint.get(delivery.endpointId) ?? {
      endpoint_id: delivery.endpointId,
      consecutive_failures: 0,
      successes: 0,
      failures: 0,
      last_success_at: null,
      last_failure_at: null
    }
    byEndpoint.set(delivery.endpointId, health)
    if (outcome.status === "delivered") {
      health.successes += 1
      health.consecutive_failures = 0
      health.last_success_at = attempt.atMs
    } else {
      health.failures += 1
      health.consecutive_failures += 1
      health.last_failure_at = attempt.atMs
    }
  }
  return [...byEndpoint.values()]
}

interface Health {
  readonly endpoint_id: string
  consecutive_failures: number
  successes: number
  failures: number
  last_success_at: number | null
  last_failure_at: number | null
}
