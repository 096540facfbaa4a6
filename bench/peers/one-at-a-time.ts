/**
 * A simple webhook worker: a loop that claims one due delivery, sends it and records the attempt.
 *
 * Guarantees:
 * - a claim is a lease, so that no transaction is open during the POST;
 * - the outcome and its attempt are written in one transaction.
 *
 * Its database has an index on due times in place of ours on destinations. Environment: DATABASE_URL.
 */
// Not an Effect program.
// @effect-diagnostics globalDate:off globalTimers:off globalFetch:off
import { deliveryBody } from "@pix-payments/domain/Event"
import { partsOf } from "@pix-payments/domain/EventCatalog"
import { nextAttemptDelayMs } from "@pix-payments/domain/RetryCurve"
import { makeGenerator } from "@pix-payments/domain/Uuid"
import { randomFillSync } from "node:crypto"
import { setTimeout as pause } from "node:timers/promises"
import { Client } from "pg"

interface DeliveryRow {
  readonly id: string
  readonly event: string
  readonly url: string
  readonly attempts_made: number
  readonly created_at: Date
  readonly sequence: number
  readonly data: string
}

const claimOne = {
  name: "claim_one",
  text: `UPDATE deliveries d SET status = 'delivering', due_at = now() + interval '30 seconds'
    FROM changes c
    WHERE c.id = d.change_id AND d.id = (
      SELECT id FROM deliveries WHERE status IN ('scheduled', 'delivering') AND due_at <= now()
      ORDER BY due_at LIMIT 1 FOR UPDATE SKIP LOCKED
    )
    RETURNING d.id, d.event, d.url, d.attempts_made, c.created_at, c.sequence, c.data`
}

const recordOutcome = {
  name: "record_outcome",
  text: `UPDATE deliveries SET status = $2, attempts_made = attempts_made + 1,
      due_at = CASE WHEN $2 = 'scheduled' THEN now() + $3 * interval '1 millisecond' END
    WHERE id = $1 AND status = 'delivering'`
}

const insertAttempt = {
  name: "insert_attempt",
  text: `INSERT INTO delivery_attempts (id, delivery_id, at, duration_ms, address, status_code, error, response_body)
    VALUES ($1, $2, $3, $4, NULL, $5, $6, $7)`
}

const generate = makeGenerator((target) => randomFillSync(target))

const database = new Client({
  connectionString: process.env["DATABASE_URL"],
  options: "-c timezone=UTC -c enable_seqscan=off -c enable_hashjoin=off -c enable_mergejoin=off"
})
await database.connect()

const send = async (row: DeliveryRow) => {
  const { method, resource } = partsOf(row.event)
  try {
    const response = await fetch(row.url, {
      method: "POST",
      redirect: "manual",
      signal: AbortSignal.timeout(10_000),
      headers: {
        "content-type": "application/json",
        "user-agent": "peer-webhooks/1",
        "X-Webhook-Event": row.event,
        "X-Webhook-Resource": resource,
        "X-Webhook-Method": method,
        "X-Webhook-Delivery": row.id
      },
      body: deliveryBody({
        deliveryId: row.id,
        name: row.event,
        createdAt: row.created_at.toISOString(),
        sequence: row.sequence,
        dataJson: row.data
      })
    })
    return {
      status: response.status,
      error: response.ok ? null : `status ${response.status}`,
      text: await response.text()
    }
  } catch (error) {
    return { status: null, error: String(error), text: null }
  }
}

const deliverOne = async (): Promise<boolean> => {
  const { rows } = await database.query<DeliveryRow>(claimOne)
  const row = rows[0]
  if (row === undefined) return false
  const { epochMs, id } = generate(Date.now())
  const { error, status, text } = await send(row)
  const delay = error === null ? undefined : nextAttemptDelayMs(row.attempts_made + 1)
  const outcome = error === null ? "delivered" : delay === undefined ? "failed" : "scheduled"
  await database.query("BEGIN")
  await database.query({ ...recordOutcome, values: [row.id, outcome, delay ?? 0] })
  await database.query({
    ...insertAttempt,
    values: [id, row.id, new Date(epochMs), Date.now() - epochMs, status, error, text?.slice(0, 1024)]
  })
  await database.query("COMMIT")
  return true
}

const stopping = new AbortController()
process.once("SIGTERM", () => stopping.abort())

while (!stopping.signal.aborted) {
  if (!(await deliverOne())) await pause(100)
}
await database.end()
