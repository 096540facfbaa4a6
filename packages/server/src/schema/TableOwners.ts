/**
 * Whose the rows of each table are: what a copy of one account has, and what stays in its cell.
 *
 * Guarantees, which a test compares with the schema and with rows of every table:
 * - Every table has a line, after those whose ids it has, unless it names an account or a connection itself. Each column in it exists, and has ids of the tables beside it.
 * - From every table that is not of the cell these columns lead to an account, or to a connection, which moves with the account that
 *   alone uses it.
 * - Rows of two accounts never collide: a unique index has a column of the owner, or is listed with a reason.
 */

/**
 * - `owner`: its rows are owners.
 * - `cell`: rows of the whole installation.
 * - `content`: an id is the digest of the row, so that equal rows of two cells are one.
 * - Otherwise, columns and the tables whose ids they have. The first that is not null names the owner; where all are null, the row is the cell's.
 */
export type Owner = "owner" | "cell" | "content" | Readonly<Record<string, string | ReadonlyArray<string>>>

const account = { account_id: "accounts" }
const connection = { connection_id: "acquirer_connections" }

export const tableOwners: Readonly<Record<string, Owner>> = {
  accounts: "owner",
  acquirer_connections: "owner",

  applications: account,
  api_keys: { application_id: "applications" },
  limits: { owner_id: ["accounts", "api_keys"] },
  ledger_accounts: { owner_id: ["accounts", "acquirer_connections"] },
  ledger_transfers: { account_id: ["accounts", "acquirer_connections"] },
  adjustments: account,
  closes: { owner_id: ["accounts", "acquirer_connections"] },
  releases: account,

  charges: account,
  charge_settlements: { charge_id: ["charges", "acquirer_exceptions"], ...connection },
  charge_states: account,
  charge_words: { charge_id: "charges" },
  charge_recoveries: account, // a batch of several accounts names none until it is split
  receivers: "content",
  payouts: account,
  idempotency_keys: { resource_id: ["charges", "payouts"] },
  payout_words: { payout_id: "payouts" },
  refunds: account,
  disputes: account,
  dispute_messages: { dispute_id: "disputes" },
  dispute_files: { message_id: "dispute_messages" },

  connection_keys: connection,
  notifications: connection,
  early_reversals: connection,
  acquirer_orders: { ...account, ...connection },
  notification_keys: { notification_id: ["notifications", "acquirer_orders"] }, // a key outlives its notification, and names the connection
  acquirer_exceptions: { ...account, ...connection },
  exception_returns: { exception_id: "acquirer_exceptions" },
  unreadable_entries: connection,
  bank_statements: connection,
  bank_statement_lines: connection,
  reconciliations: connection,
  reconciliation_lines: { reconciliation_id: "reconciliations" },
  simulator_charges: "cell",
  simulator_payouts: "cell",
  simulator_notifications: "cell",

  changes: account,
  webhook_endpoints: account,
  webhook_endpoint_health: { endpoint_id: "webhook_endpoints" },
  webhook_endpoint_counters: account,
  webhook_endpoint_versions: account,
  outbox: account,
  outbox_failures: account,
  deliveries: account,
  delivery_attempts: { delivery_id: "deliveries" },
  delivery_totals: account,

  requests: account,
  status_counts: account,
  daily_volumes: account,
  hourly_volumes: account,

  effect_sql_migrations: "cell",
  installation: "cell",
  installation_settings: "cell",
  secrets_keys: "cell",
  caller_generation: "cell",
  operators: "cell",
  operator_tokens: "cell",
  operator_sessions: "cell",
  operator_identities: "cell",
  operator_order_keys: "cell",
  approvals: "cell", // operators of the cell ask and decide
  audit: "cell",
  alert_channels: "cell",
  alert_messages: "cell",
  alerts: "cell",
  status_counts_position: "cell",
  removed_partitions: "cell"
}

/** Unique indexes of an account's tables without a column of the owner, but those over `id` alone, and why no two accounts collide. */
export const uniqueAmongAccounts: Readonly<Record<string, string>> = {
  acquirer_exceptions_contradicting: "an id of the account's",
  acquirer_orders_of_dispute: "an id of the account's",
  acquirer_orders_of_exception: "an id of the account's, or of the connection's",
  acquirer_orders_open: "an id of the account's",
  api_keys_hash_key: "the digest of 256 random bits",
  charge_recoveries_pkey: "an id of the account's, or of a batch",
  connection_keys_pkey: "a Pix key of a client is of one connection, which moves with all that it has",
  disputes_of_provider: "an id of a connection's provider, which moves with all that it has",
  idempotency_keys_pkey: "a digest over an id of the account's",
  notification_keys_pkey: "an id of the account's, or of a connection and its provider",
  outbox_failures_of_change: "an id of the account's",
  releases_pkey: "an id of the account's",
  webhook_endpoint_versions_pkey: "an id of the account's"
}
