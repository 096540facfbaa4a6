/**
 * Rows of changes and deliveries as our outbox writes them, and the checks of what becomes of them.
 *
 * A change has two events, delivered to the charge's own address without a secret.
 */
import { randomUUID } from "node:crypto"
import type { Client } from "pg"
import { mismatch } from "../load/Jobs.ts"
import { chargeData } from "../load/SampleCharge.ts"

const EVENTS = ["charge.pix.created", "charge.pix.emitted"]

/** Inserts `count` deliveries of half as many changes, all due after `delay`. */
export const insertDue = (database: Client, url: string, count: number, delay: string) =>
  database.query(
    `WITH inserted_changes AS (
      INSERT INTO changes (id, resource_id, account_id, application_id, kind, actions, status, sequence, data, created_at)
      SELECT uuidv7(), uuidv7(), $1, $2, 'charge.pix', '{created,emitted}', 'pending', 2, $3, now()
      FROM generate_series(1, $4::integer / 2)
      RETURNING id, resource_id, account_id, created_at
    )
    INSERT INTO deliveries (id, change_id, event, resource_id, account_id, endpoint_id, url, destination, destination_hash, secret, status,
      due_at, created_at)
    SELECT uuidv7(), c.id, e.event, c.resource_id, c.account_id, NULL, $5, $6, text_digest($6), NULL, 'scheduled', now() + $7::interval,
      c.created_at
    FROM inserted_changes c CROSS JOIN unnest($8::text[]) AS e(event)`,
    [randomUUID(), randomUUID(), chargeData, count, url, new URL(url).origin, delay, EVENTS]
  )

/**
 * Inserts `count` deliveries that are due tomorrow, half first attempts and half retries, to 100 destinations of which
 * the receiver is one. A thousand of them share a change, which is not read before they are due.
 */
export const insertBacklog = async (database: Client, url: string, count: number) => {
  for (let done = 0; done < count; done += 50_000) {
    await database.query(
      `WITH inserted_changes AS (
        INSERT INTO changes (id, resource_id, account_id, application_id, kind, actions, status, sequence, data,
          created_at)
        SELECT uuidv7(), uuidv7(), $1, $2, 'charge.pix', '{created,emitted}', 'pending', 2, $3, now()
        FROM generate_series(1, greatest(1, $4::integer / 1000))
        RETURNING id, account_id, created_at
      ),
      numbered AS (SELECT row_number() OVER () AS n, count(*) OVER () AS all, * FROM inserted_changes)
      INSERT INTO deliveries (id, change_id, event, resource_id, account_id, endpoint_id, url, destination, destination_hash, secret,
        status, attempts_made, due_at, created_at)
      SELECT uuidv7(), c.id, $7, uuidv7(), c.account_id, NULL,
        CASE s.i % 100 WHEN 0 THEN $5 ELSE 'https://shop-' || s.i % 100 || '.example.com/hooks/pix' END,
        CASE s.i % 100 WHEN 0 THEN $6 ELSE 'https://shop-' || s.i % 100 || '.example.com' END,
        text_digest(CASE s.i % 100 WHEN 0 THEN $6 ELSE 'https://shop-' || s.i % 100 || '.example.com' END),
        NULL, 'scheduled', (s.i / 100) % 2, now() + interval '1 day', c.created_at
      FROM generate_series(1, $4::integer) AS s(i) JOIN numbered c ON c.n = 1 + s.i % c.all`,
      [
        randomUUID(),
        randomUUID(),
        chargeData,
        Math.min(50_000, count - done),
        url,
        new URL(url).origin,
        "charge.pix.emitted"
      ]
    )
  }
  await database.query("VACUUM (ANALYZE) deliveries")
}

/** Whether no delivery to `url` is due or in flight. The query uses an index, whatever the backlog. */
export const areAllRecorded = async (database: Client, url: string): Promise<boolean> => {
  const { rowCount } = await database.query(
    `SELECT 1 FROM deliveries
     WHERE status IN ('scheduled', 'delivering') AND due_at IS NOT NULL AND attempts_made = 0 AND destination = $1
       AND due_at < now() + interval '1 hour' LIMIT 1`,
    [new URL(url).origin]
  )
  return rowCount === 0
}

/** Differences between the rows and the `delivered` POSTs. */
export const checkDeliveries = async (database: Client, delivered: number, backlog: number) => {
  const { rows } = await database.query<Record<string, string>>(`
    SELECT count(*) FILTER (WHERE d.status = 'delivered' AND d.attempts_made = 1) AS delivered, count(*) AS deliveries,
      count(d.first_attempt_at) + (SELECT count(*) FROM delivery_attempts) AS attempts,
      count(*) FILTER (WHERE d.first_status_code = 200) + (SELECT count(*) FROM delivery_attempts WHERE status_code = 200 AND error IS NULL) AS succeeded
    FROM deliveries d`)
  const found = (name: string) => Number(rows[0]?.[name])
  return [
    mismatch("deliveries recorded as delivered at the first attempt", found("delivered"), "received", delivered),
    mismatch("deliveries", found("deliveries"), "received or not due", delivered + backlog),
    mismatch("attempts", found("attempts"), "received", delivered),
    mismatch("attempts answered 200", found("succeeded"), "received", delivered)
  ].filter((sentence) => sentence !== undefined)
}
