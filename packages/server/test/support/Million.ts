/**
 * A million rows, in the worst shape for a scan: the rows that lists look for are the oldest,
 * behind all that they do not.
 */
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { isSettled, lifetimeIn } from "../../src/payments/charges/ChargeStates.ts"

/** Whose rows are made. */
export interface Tenant {
  readonly accountId: string
  readonly applicationId: string
  readonly keyId: string
  readonly endpointId: string
}

/** How many rows a tenant gets of each kind. */
const rowsOf = {
  charges: 300_000,
  payouts: 120_000,
  deliveries: 200_000,
  requests: 200_000,
  ledger_transfers: 100_000,
  disputes: 30_000,
  audit: 20_000,
  releases: 20_000,
  simulator_notifications: 20_000
} as const

/**
 * Loads tables; where there is much of it, their indexes are made at the end. It is no transaction: events of all
 * databases of the server would wait for its end.
 */
export const loading = Effect.fnUntraced(function* <E, R>(load: Effect.Effect<unknown, E, R>, isMuch: boolean) {
  const sql = yield* SqlClient
  const tables = Object.keys(rowsOf)
  const indexes = yield* sql.unsafe<{ name: string; made: string }>(
    `SELECT i.indexname AS name, replace(i.indexdef, ' ON ONLY ', ' ON ') AS made FROM pg_indexes i
     WHERE i.tablename = ANY (string_to_array($1, ',')) AND i.schemaname = current_schema() AND $2::boolean
       AND NOT EXISTS (SELECT 1 FROM pg_constraint c WHERE c.conname = i.indexname)`,
    [tables.join(","), isMuch]
  )
  for (const { name } of indexes) yield* sql.unsafe(`DROP INDEX ${name}`)
  yield* load
  for (const { made } of indexes) yield* sql.unsafe(made)
  yield* sql.unsafe(`ANALYZE ${tables.join(", ")}`)
})

/** Inserts in one transaction. */
export const withoutTriggers = Effect.fnUntraced(function* <E, R>(load: Effect.Effect<unknown, E, R>) {
  const sql = yield* SqlClient
  yield* sql.withTransaction(
    Effect.andThen(
      sql`SELECT set_config('session_replication_role', 'replica', true), set_config('synchronous_commit', 'off', true)`,
      load
    )
  )
})

/** Statistics are those of the test: nobody else gathers any. */
export const withoutAutovacuum = Effect.gen(function* () {
  const sql = yield* SqlClient
  // Of a partitioned table, its partitions.
  const tables = yield* sql<{ name: string }>`
    SELECT coalesce(i.inhrelid::regclass::text, n.name) AS name
    FROM unnest(string_to_array(${Object.keys(rowsOf).join(",")}, ',')) AS n(name)
    LEFT JOIN pg_inherits i ON i.inhparent = n.name::regclass`
  for (const { name } of tables) yield* sql.unsafe(`ALTER TABLE ${name} SET (autovacuum_enabled = false)`)
})

/** An id of the n-th row of a tenant, which is made `age` before now; ids of one table differ by tenant. */
const idOf = (table: string, at: string) =>
  `(lpad(to_hex((extract(epoch FROM ${at}) * 1000)::bigint), 12, '0') || '7' || lpad(to_hex(n & 4095), 3, '0') || '8'
    || substr(md5('${table}' || t.account_id || n), 1, 15))::uuid`

/**
 * Rows of tenants: `share` of the usual number for each, spread over the 30 days that end `ends` ago.
 *
 * Of each table, the oldest of each tenant are what is rare: `FEW` rows.
 */
export const loadRows = Effect.fnUntraced(function* (tenants: ReadonlyArray<Tenant>, share: number, ends: string) {
  const sql = yield* SqlClient
  const from = `json_to_recordset($1::json) AS t("accountId" uuid, "applicationId" uuid, "keyId" uuid, "endpointId" uuid)`
  const tenant = `(SELECT "accountId" AS account_id, "applicationId" AS application_id, "keyId" AS key_id,
    "endpointId" AS endpoint_id FROM ${from}) t`
  const rows = (table: keyof typeof rowsOf) => {
    const count = Math.max(FEW + 5, Math.round(rowsOf[table] * share))
    return `${tenant} CROSS JOIN generate_series(1, ${count}) AS n
      CROSS JOIN LATERAL (
        SELECT date_trunc('milliseconds', now() - interval '${ends}' - interval '30 days' * (1 - n::float8 / ${count})) AS at
      ) made`
  }
  const insert = (text: string) => withoutTriggers(sql.unsafe(text, [JSON.stringify(tenants)]))
  const few = (values: ReadonlyArray<string>, usual: string) =>
    `CASE WHEN n <= ${FEW} THEN (ARRAY[${values.map((value) => `'${value}'`).join(", ")}])[1 + n % ${values.length}] ELSE ${usual} END`

  // Half is paid, the rest expired unpaid; some live for a week and can still be paid, behind many that cannot.
  yield* insert(
    `INSERT INTO charges (id, account_id, application_id, origin, status, method, amount, reference, end_to_end_id,
       expires_at, created_at, sequence)
     SELECT ${idOf("charges", "at")}, account_id, application_id,
       CASE WHEN n <= ${FEW / 2} THEN 'checkout' ELSE 'api' END, s.status,
       CASE WHEN n <= ${FEW / 2} THEN 'card' ELSE 'pix' END, 1000,
       CASE WHEN n % 1000 = 1 THEN 'same' WHEN n % 3 = 0 THEN 'order-' || n END,
       CASE WHEN s.status = 'paid' THEN 'E' || account_id || n END,
       at + CASE WHEN at > now() - interval '6 days' AND n % 1000 = 7 AND at < now() - interval '5 days'
         THEN interval '7 days' WHEN n % 2 = 0 THEN interval '1 hour' ELSE interval '61 seconds' END, at, 2
     FROM ${rows("charges")} CROSS JOIN LATERAL (
       SELECT ${few(["failed", "canceled", "refunded", "charged_back", "infraction"], "CASE WHEN n % 2 = 0 THEN 'paid' ELSE 'pending' END")} AS status
     ) s`
  )
  // What triggers would have stored.
  yield* insert(
    `INSERT INTO charge_settlements (end_to_end_id, connection_id, charge_id, amount, account_id)
     SELECT c.end_to_end_id, coalesce(c.connection_id, '${SIMULATOR_CONNECTION}'), c.id, c.amount, CASE WHEN c.status = 'paid' AND c.origin = 'api' THEN c.account_id END
     FROM ${tenant} JOIN charges c USING (account_id)
     WHERE c.end_to_end_id IS NOT NULL ON CONFLICT DO NOTHING`
  )
  yield* insert(
    `INSERT INTO charge_states (account_id, status, lifetime_ms, charge_id)
     SELECT account_id, c.status, ${lifetimeIn("c.status")}, c.id FROM ${tenant} JOIN charges c USING (account_id)
     WHERE c.origin = 'api' AND NOT (${isSettled("c.status", "c.end_to_end_id")}) ON CONFLICT DO NOTHING`
  )
  yield* insert(
    `INSERT INTO payouts (id, account_id, application_id, origin, status, method, amount, fee, pix_key_type, pix_key,
       created_at, sequence, due_at)
     SELECT ${idOf("payouts", "at")}, account_id, application_id, 'api', s.status,
       CASE WHEN n % 7 = 1 AND n <= ${FEW} THEN 'ted' ELSE 'pix' END, 1000, 0, 'email', 'a@example.com', at, 2,
       CASE WHEN s.status = 'processing' THEN now() + interval '1 day' END
     FROM ${rows("payouts")} CROSS JOIN LATERAL (
       SELECT ${few(["pending", "processing", "failed", "canceled"], "'completed'")} AS status
     ) s`
  )
  yield* insert(
    `INSERT INTO deliveries (id, change_id, event, resource_id, account_id, endpoint_id, url, destination, destination_hash, status,
       attempts_made, due_at, created_at)
     SELECT ${idOf("deliveries", "at")}, ${idOf("changes", "at")},
       CASE WHEN n % 5 = 1 AND n <= ${FEW} THEN 'dispute.pix.lost' ELSE 'charge.pix.paid' END,
       ${idOf("charges", "at")}, account_id, CASE WHEN n % 4 > 0 THEN endpoint_id END, 'https://example.com/',
       'https://example.com', text_digest('https://example.com'), s.status, 1,
       CASE WHEN s.status IN ('scheduled', 'delivering') THEN now() + interval '1 day' END, at
     FROM ${rows("deliveries")} CROSS JOIN LATERAL (
       SELECT ${few(["scheduled", "delivering", "failed", "canceled", "failed"], "'delivered'")} AS status
     ) s`
  )
  yield* insert(
    `INSERT INTO requests (id, request_id, key_id, account_id, resource_id, route, status, duration_us, at)
     SELECT ${idOf("requests", "at")}, n::text, CASE WHEN n % 9 = 0 THEN NULL ELSE key_id END, account_id,
       CASE WHEN n % 9 > 0 THEN ${idOf("charges", "at")} END, ${few(["POST /v1/payouts", "GET /v1/balance"], "'GET /v1/charges'")},
       CASE WHEN n % 9 = 0 THEN 401 WHEN n <= ${FEW} THEN (ARRAY[201, 400, 503])[1 + n % 3] ELSE 200 END, 1000, at
     FROM ${rows("requests")}`
  )
  yield* insert(
    `INSERT INTO ledger_transfers (id, account_id, debit, credit, amount, resource_id, connection_id, reason, created_at,
       position, day, credit_after)
     SELECT ${idOf("ledger", "at")}, account_id, 'acquirer', 'available', 1, ${idOf("charges", "at")}, '${SIMULATOR_CONNECTION}',
       'charge.paid', at, n, at::date, n
     FROM ${rows("ledger_transfers")}`
  )
  yield* insert(
    `INSERT INTO disputes (id, charge_id, account_id, application_id, status, amount, opened_at, arrived_resolved, sequence)
     SELECT ${idOf("disputes", "at")}, ${idOf("charges", "at")}, account_id, application_id,
       ${few(["open", "under_review", "won"], "'lost'")}, 1, at, false, 2
     FROM ${rows("disputes")}`
  )
  yield* insert(
    `INSERT INTO audit (id, operator, action, resource_id, request_id, at)
     SELECT ${idOf("audit", "at")}, 'o', 'keys.revoke', account_id, 'r', at FROM ${rows("audit")}`
  )
  yield* insert(
    `INSERT INTO releases (charge_id, account_id, amount, due_at, released_at)
     SELECT ${idOf("releases", "at")}, account_id, 1, CASE WHEN n <= ${FEW} THEN now() + interval '1 day' ELSE at END,
       CASE WHEN n > ${FEW} THEN at END
     FROM ${rows("releases")}`
  )
  yield* insert(
    `INSERT INTO simulator_notifications (id, report, due_at, sent_at)
     SELECT ${idOf("reports", "at")}, '{}', CASE WHEN n <= ${FEW} THEN now() + interval '1 day' ELSE at END,
       CASE WHEN n > ${FEW} THEN at END
     FROM ${rows("simulator_notifications")}`
  )
})

/** How many of a tenant's rows in a table are rare ones. */
export const FEW = 20
