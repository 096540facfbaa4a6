/**
 * Every metric of `/metrics`: its kind, what it says, and how the values of several worker processes become one.
 *
 * Guarantees:
 * - Base units: seconds, bytes, cents. Labels have bounded values, none of which names a tenant.
 * - Counters and histograms of workers are added up.
 */

/**
 * The value of several workers: the sum of what each has, the largest, the smallest, or one for each, with the label `worker`.
 */
export type Across = "sum" | "max" | "min" | "worker"

export interface Declared {
  readonly kind: "counter" | "gauge" | "histogram"
  readonly help: string
  readonly across: Across
}

const counter = (help: string): Declared => ({ kind: "counter", help, across: "sum" })
const histogram = (help: string): Declared => ({ kind: "histogram", help, across: "sum" })
const gauge = (across: Across, help: string): Declared => ({ kind: "gauge", help, across })

/** By name, without the prefix. */
export const catalog = {
  build_info: gauge("max", "1, with the version of the service and of Node."),
  acquirer_info: gauge("max", "1, with the acquirer of the installation: connections, or simulator (no real money)."),
  cell_info: gauge("max", "1, with the name of the cell, where CELL is set."),
  outward_on: gauge("min", "1 where banks and receivers of webhooks are called, 0 where nobody is."),

  process_start_time_seconds: gauge("min", "When the oldest process started, in seconds since 1970."),
  process_resident_memory_bytes: gauge("worker", "Resident memory of a process."),
  process_heap_used_bytes: gauge("worker", "Memory of JavaScript objects of a process."),
  process_cpu_seconds_total: counter("CPU time of the processes."),
  process_gc_seconds_total: counter("Time in collections of garbage."),
  process_event_loop_delay_seconds: gauge("worker", "The longest delay of the event loop in the last ten seconds."),
  worker_restarts_total: counter("Worker processes that ended and were started again."),

  background_loop_last_round_timestamp_seconds: gauge("min", "When a background loop last completed a round."),
  background_loop_stalled: gauge("max", "1 while a background loop has not completed a round for longer than it may."),

  database_state: gauge("max", "1 for the current state of the database, 0 for the others."),
  database_check_seconds: gauge("max", "How long the last check of the database took, with the wait for a connection."),
  database_oldest_transaction_seconds: gauge("max", "Age of the oldest open transaction of the service's role."),
  database_archive_failing: gauge("max", "1 while PostgreSQL cannot archive its WAL."),
  database_write_slots: gauge("sum", "Writes that run, and writes that wait for a connection, by state."),

  http_requests_total: counter("Answers, by listener, method, route and status. Shed requests are 503."),
  http_request_duration_seconds: histogram("Time from the headers of a request to its answer, by class of status."),
  http_requests_in_flight: gauge("sum", "Requests in flight, by listener."),
  http_requests_shed_total: counter("Requests answered 503 because a limit was reached, by listener and limit."),
  http_connections: gauge("sum", "Open connections, by listener."),
  http_answers_unsent: gauge("sum", "Answers that callers have not read yet, by listener."),
  http_streams: gauge("sum", "Streams that callers read, by listener."),
  http_connections_cut_total: counter("Connections closed because a bound was exceeded, by listener and bound."),
  request_log_dropped_total: counter("Lines of the request log that were lost because the database was away too long."),

  operator_sign_ins_refused_total: counter("Refused sign-ins of operators, by reason."),
  operator_installation_token_uses_total: counter("Requests with the installation's token, which is for emergencies."),

  charges_total: counter("Charges that entered a state, counted once in the installation."),
  charges_cents_total: counter("The amounts of these charges."),
  payouts_total: counter("Payouts that entered a state, counted once in the installation."),
  payouts_cents_total: counter("The amounts of these payouts."),
  charges_processing: gauge("max", "Charges without an answer of the acquirer, up to 10,000."),
  charges_processing_oldest_seconds: gauge("max", "Age of the oldest of them."),
  payouts_processing: gauge("max", "Payouts that are sent and without an outcome, up to 10,000."),
  payouts_processing_oldest_seconds: gauge("max", "Age of the oldest of them."),
  disputes_open: gauge("max", "Disputes without a defense, up to 10,000."),
  disputes_next_deadline_seconds: gauge("min", "Time until the next deadline of them; a week where there is none."),
  disputes_due: gauge(
    "max",
    "Disputes without a defense whose deadline is within 48, 24 and 6 hours, up to 10,000 of each."
  ),
  approvals_pending: gauge("max", "Requests that wait for a second operator, up to 10,000."),

  ledger_differences: gauge(
    "max",
    "Ledger accounts whose balance is not what their transfers say, and days that are not as they were closed, at the last check."
  ),
  ledger_verified_timestamp_seconds: gauge("max", "When the ledger was last verified."),
  closes_overdue: gauge(
    "max",
    "Accounts and bank accounts with a day that ended over an hour ago and is not closed, up to 10,000."
  ),

  acquirer_connection_circuit_open: gauge(
    "max",
    "1 from where the calls of a connection failed in a row until one succeeds."
  ),
  acquirer_connection_calls_in_flight: gauge("sum", "Calls to the provider of a connection that are in flight."),
  acquirer_connection_certificate_seconds: gauge(
    "min",
    "Time until the end of the client certificate of a connection."
  ),
  acquirer_call_duration_seconds: histogram("Calls to the acquirer, by connection, operation and outcome."),
  acquirer_callback_certificate_seconds: gauge(
    "min",
    "Time until the end of the certificate of the callback listener."
  ),
  acquirer_sweep_age_seconds: gauge("max", "Time since the end of the last complete sweep of a connection."),
  acquirer_sweep_found_total: counter("Facts that a sweep applied because no callback had, by connection."),
  acquirer_callbacks_total: counter("Callbacks of providers, by connection and result."),
  acquirer_orders_oldest_seconds: gauge(
    "max",
    "Age of the oldest order to the acquirer without an outcome: a refund, return, cancellation or defense; 0: none."
  ),
  acquirer_exceptions_open: gauge("max", "Open exceptions: money, or claims on money, that fit no charge, by kind."),
  acquirer_unallocated_cents: gauge("max", "Cents in the ledger account unallocated of all connections."),

  bank_reconciliation_unmatched_lines: gauge(
    "max",
    "Lines of banks' statements or of the books that differ or lack their other side and that nobody explained, and balances of banks that changed without a reason."
  ),
  bank_reconciliation_unmatched_cents: gauge("max", "The cents of these lines, without their signs."),
  bank_reconciliation_oldest_unmatched_seconds: gauge(
    "max",
    "Age of the oldest of these lines, since the end of its day; 0: none."
  ),
  bank_statement_missing_seconds: gauge(
    "max",
    "Age of the oldest day, of the last 90, with a movement and without a statement, since its end, at bank accounts with one of a day before; 0: none."
  ),

  outbox_changes_waiting: gauge("max", "Changes whose deliveries are not stored yet, up to 10,000."),
  outbox_oldest_seconds: gauge("max", "Age of the oldest of them."),
  webhook_attempts_total: counter("Delivery attempts, by outcome."),
  webhook_attempt_duration_seconds: histogram("How long receivers took."),
  webhook_deliveries_waiting: gauge("max", "Deliveries that wait, by reason, up to 10,000 of each."),
  webhook_oldest_undelivered_seconds: gauge(
    "max",
    "Age of the oldest of them, by reason; of due ones, since when they are due."
  ),
  webhook_set_aside_total: counter("Changes and deliveries that failed on their own and were set aside, by kind."),

  partitions_ahead_seconds: gauge("max", "For how long the partitions of a table reach into the future."),
  partitions_expired: gauge("max", "Partitions of a table that are older than its retention and not removed."),
  partitions_removed_total: counter("Partitions of a table that were removed.")
} as const satisfies Readonly<Record<string, Declared>>

export type MetricName = keyof typeof catalog

/** Undefined where it is no metric of ours. */
export const declaredOf = (name: string): Declared | undefined =>
  Object.hasOwn(catalog, name) ? catalog[name as MetricName] : undefined
