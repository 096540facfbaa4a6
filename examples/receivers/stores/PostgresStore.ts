/**
 * Deliveries in PostgreSQL, for any number of processes: a table with a unique key on the delivery's id.
 *
 * Guarantees: of one delivery one claim is held at a time. A process that dies leaves a claim that ends after 30 seconds,
 * before the service's first retry. Rows of deliveries older than a few days may be deleted: the service has given up by
 * then.
 */
import type { Claim, ReceiverStore } from "@pix-payments/client/receiver"

/** A pool or client of `pg`, or what is like it. */
export interface Queryable {
  query(text: string, values?: Array<unknown>): Promise<{ readonly rows: ReadonlyArray<{ readonly claim?: string }> }>
}

export const createTables = `
  CREATE TABLE IF NOT EXISTS webhook_deliveries (
    id text PRIMARY KEY,
    accepted boolean NOT NULL DEFAULT false,
    claimed_at timestamptz NOT NULL DEFAULT now()
  );
  CREATE TABLE IF NOT EXISTS webhook_resources (id text PRIMARY KEY, sequence bigint NOT NULL)`

export const postgresStore = (database: Queryable): ReceiverStore => ({
  claim: async ({ id, resource, sequence }) => {
    const { rows } = await database.query(CLAIM, [id, resource, sequence])
    // No row: another process inserted the delivery while this statement ran.
    return (rows[0]?.claim ?? "busy") as Claim
  },
  release: async ({ id }, isAccepted) => {
    await database.query(
      isAccepted
        ? "UPDATE webhook_deliveries SET accepted = true WHERE id = $1"
        : "DELETE FROM webhook_deliveries WHERE id = $1",
      [id]
    )
  }
})

const CLAIM = `
  WITH claimed AS (
    INSERT INTO webhook_deliveries (id) VALUES ($1)
    ON CONFLICT (id) DO UPDATE SET claimed_at = now()
      WHERE NOT webhook_deliveries.accepted AND webhook_deliveries.claimed_at < now() - interval '30 seconds'
    RETURNING id
  ), latest AS (
    INSERT INTO webhook_resources (id, sequence) SELECT $2, $3::bigint FROM claimed
    ON CONFLICT (id) DO UPDATE SET sequence = greatest(webhook_resources.sequence, excluded.sequence)
    RETURNING sequence
  )
  SELECT CASE WHEN sequence > $3::bigint THEN 'stale' ELSE 'new' END AS claim FROM latest
  UNION ALL
  SELECT CASE WHEN accepted THEN 'done' ELSE 'busy' END FROM webhook_deliveries
    WHERE id = $1 AND NOT EXISTS (SELECT FROM claimed)`
