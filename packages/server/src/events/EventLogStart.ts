/**
 * The position after the newest event that retention has removed: a reader before it has missed events.
 *
 * Events before it may be kept, because a delivery needs them. The log begins after them all the same. Old events that came with an
 * account from another cell are at the end of the log: their removal does not move its start.
 */

/** A CTE with the columns `transaction_id` and `id`: one row, or none where nothing was removed. */
export const eventLogStart = `start AS MATERIALIZED (
    SELECT split_part(value, '.', 1)::xid8 AS transaction_id, split_part(value, '.', 2)::uuid AS id
    FROM installation WHERE name = 'event_log_start'
  )`

const positionIn = (value: string): string => `(split_part(${value}, '.', 1)::xid8, split_part(${value}, '.', 2)::uuid)`

/** The query of the position of the newest of these changes that is of this cell. */
export const newestRemovedChange = (changes: string): string => `
  SELECT c.transaction_id, c.id FROM ${changes} c
  WHERE c.transaction_id > coalesce((SELECT a.arrived_until FROM accounts a WHERE a.id = c.account_id), '0'::xid8)
  ORDER BY c.transaction_id DESC, c.id DESC LIMIT 1`

/** The statement that moves the start after the position that a query finds, where it is before it. */
export const recordEventLogStart = (newest: string): string => `
  INSERT INTO installation AS i (name, value)
  SELECT 'event_log_start', n.transaction_id::text || '.' || n.id FROM (${newest}) n
  ON CONFLICT (name) DO UPDATE SET value = excluded.value
    WHERE ${positionIn("i.value")} < ${positionIn("excluded.value")}`
