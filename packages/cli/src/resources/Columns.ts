/** The columns of a table, by the kind of its rows. */
export const columns: Readonly<Record<string, ReadonlyArray<string>>> = {
  account: ["id", "name", "status", "onboarding_status", "available", "pending", "payouts_paused", "created_at"],
  api_key: ["id", "name", "prefix", "scopes", "revoked_at", "last_used_at", "created_at"],
  application: ["id", "name", "active", "created_at"],
  approval: ["id", "status", "title", "amount", "destination", "account", "requested_by", "created_at"],
  audit_entry: ["created_at", "operator", "action", "resource_id", "via", "address"],
  bank_statement: ["id", "format", "from", "to", "lines_read", "lines_new", "lines_unread", "closing", "created_at"],
  charge: ["id", "status", "amount", "method", "origin", "reference", "created_at"],
  connection: ["id", "name", "profile", "state", "pix_key", "paused", "certificate_expires_at"],
  delivery: ["id", "status", "event", "attempts_made", "url", "next_attempt_at", "created_at"],
  dispute: ["id", "status", "amount", "charge_id", "reason", "defense_deadline_at", "created_at"],
  exception: ["id", "status", "kind", "amount", "expected_amount", "end_to_end_id", "created_at"],
  ledger_entry: ["created_at", "reason", "amount", "from", "to", "resource_id"],
  operator: ["id", "name", "email", "role", "active", "created_at"],
  operator_session: ["id", "operator_id", "address", "last_seen_at", "ended_at", "current"],
  payout: ["id", "status", "amount", "fee", "method", "reference", "created_at"],
  reconciliation: ["id", "day", "status", "difference", "bank_total", "books_total", "done_at"],
  reconciliation_line: ["id", "state", "difference", "end_to_end_id", "account_id", "age_days"],
  reconciliation_row: ["state", "difference", "bank", "books", "source", "end_to_end_id", "description", "age_days"],
  refund: ["id", "status", "amount", "charge_id", "created_at"],
  request: ["created_at", "status", "route", "duration_ms", "request_id", "key_id"]
}
