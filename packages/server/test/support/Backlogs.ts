/**
 * Backlogs in every queue, long due: large ones of a few accounts, and small ones of the others. For a
 * transaction that is rolled back: the running service does not see it.
 */
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/sql/SqlClient"

/** The backlog of the first account in each queue, and that of each other account. */
const LARGE_BACKLOG = 60_000
const SMALL_BACKLOG = 20

export const queueTables = [
  "payouts",
  "deliveries",
  "releases",
  "simulator_reports",
  "charge_recoveries",
  "acquirer_orders",
  "outbox"
]

/** Fills all queues for these accounts. */
export const fillQueues = Effect.fnUntraced(function* (sql: SqlClient, accounts: ReadonlyArray<string>) {
  const rows = `(SELECT a.id AS account_id, a.nth, n, now() - interval '1 hour' + n * interval '1 millisecond' AS due
    FROM unnest(string_to_array($1, ',')::uuid[]) WITH ORDINALITY AS a(id, nth)
    CROSS JOIN LATERAL generate_series(1, CASE WHEN a.nth = 1 THEN ${LARGE_BACKLOG} ELSE ${SMALL_BACKLOG} END) AS n) r`
  const insert = (table: string, columns: string, values: string, from = rows) =>
    sql.unsafe(`INSERT INTO ${table} (${columns}) SELECT ${values} FROM ${from}`, [accounts.join(",")])
  yield* sql`SELECT set_config('session_replication_role', 'replica', true)`
  yield* insert(
    "payouts",
    `id, account_id, application_id, origin, status, method, amount, fee, pix_key_type, pix_key, created_at, sequence,
      hand_over_at`,
    `uuidv7(), account_id, account_id, 'api', 'processing', 'pix', 1000, 0, 'email', 'a@example.com', due, 1,
      CASE WHEN n % 3 > 0 THEN due END`
  )
  yield* insert(
    "deliveries",
    `id, change_id, event, resource_id, account_id, application_id, endpoint_id, url, destination, destination_hash,
      status, attempts_made, due_at, held_due_at, created_at`,
    `uuidv7(), uuidv7(), 'charge.pix.paid', uuidv7(), account_id, account_id, NULL, 'https://example.com/',
      'https://example.com', md5((n % 5)::text)::uuid, 'scheduled', n % 2, CASE WHEN n % 3 > 0 THEN due END,
      CASE WHEN n % 3 = 0 THEN due END, due`
  )
  yield* insert("releases", "charge_id, account_id, amount, due_at", "uuidv7(), account_id, 1, due")
  yield* insert("simulator_reports", "id, report, due_at", "uuidv7(), '{}', due")
  yield* insert(
    "charge_recoveries",
    "due_at, id, charge_ids, account_id",
    "due, uuidv7(), ARRAY[uuidv7(), uuidv7()], CASE WHEN n % 3 > 0 THEN account_id END"
  )
  yield* insert(
    "acquirer_orders",
    "id, kind, charge_id, account_id, amount, pending, state, ask_at, created_at",
    `uuidv7(), (ARRAY['refund', 'cancel', 'return', 'defend'])[1 + n % 4], uuidv7(), account_id, 1, 0, 'ordered', due, due`
  )
  yield* insert("outbox", "account_id, change_id, endpoints_version", "account_id, uuidv7(), 1")
})
