/**
 * A `DeliveryStore` in PostgreSQL, for any number of processes: a table with the delivery's id as primary key.
 *
 * Guarantees:
 * - A delivery has at most one claim at a time.
 * - The claim of a process that dies expires after 30 seconds, before the service's first retry (DLV-3).
 *
 * Delete rows after a few days: the service stops retrying after 22 hours.
 */
import type { Claim, DeliveryStore } from "@pix-payments/client/receiver"

/** A pool or client of `pg`, or anything with the same `query`. */
export interface Queryable {
  query(text: string, values?: Array<unknown>): Promise<{ readonly rows: ReadonlyArray<{ readonly claim?: string }> }>
}

export const createTables = `
  CREATE TABLE IF NOT EXISTS webhook_deliveries (
    id text PRIMARY KEY,
    handled boolean NOT NULL DEFAULT false,
    claimed_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE TABLE IF NOT EXISTS webhook_resources (id text PRIMARY KEY, sequence bigint NOT NULL)`

export const postgresStore = (database: Queryable): DeliveryStore => ({
  claim: async ({ id, resource, sequence }) => {
    const { rows } = await database.query(CLAIM, [id, resource, sequence])
    // No row: another process inserted the delivery during this statement.
    return (rows[0]?.claim ?? "busy") as Claim
  },
  release: async ({ id }, isHandled) => {
    await database.query(
      isHandled
        ? "UPDATE webhook_deliveries SET handled = true WHERE id = $1"
        : "DELETE FROM webhook_deliveries WHERE id = $1",
      [id]
    )
  }
})

const CLAIM = `
  WITH claimed AS (
    INSERT INTO webhook_deliveries (id) VALUES ($1)
    ON CONFLICT (id) DO UPDATE SET claimed_at = now()
      WHERE NOT webhook_deliveries.handled AND webhook_deliveries.claimed_at < now() - interval '30 seconds'
    RETURNING id
  ), latest AS (
    INSERT INTO webhook_resources (id, sequence) SELECT $2, $3::bigint FROM claimed
    ON CONFLICT (id) DO UPDATE SET sequence = greatest(webhook_resources.sequence, excluded.sequence)
    RETURNING sequence
  )
  SELECT CASE WHEN sequence > $3::bigint THEN 'stale' ELSE 'new' END AS claim FROM latest
  UNION ALL
  SELECT CASE WHEN handled THEN 'done' ELSE 'busy' END FROM webhook_deliveries
    WHERE id = $1 AND NOT EXISTS (SELECT FROM claimed)`
