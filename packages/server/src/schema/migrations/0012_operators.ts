/**
 * Operators with their tokens and sessions; who and from where, before and after, in the audit log; disputes by account.
 *
 * Tokens and sessions are stored as the SHA-256 of their secrets. The release before this one goes on beside it: it writes
 * the audit log without the columns that are added.
 */
import { OperatorRole } from "@pix-payments/domain/Operator"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { oneOf } from "./0001_foundation.ts"

const statements = [
  // Making an index of a large table takes as long as it takes; the transaction is the migration's own.
  `SELECT set_config('statement_timeout', '0', true), set_config('lock_timeout', '0', true)`,

  // account_ids: the accounts that the operator is limited to; null for all.
  `CREATE TABLE operators (
    id uuid PRIMARY KEY,
    name text NOT NULL,
    email text NOT NULL,
    role text NOT NULL ${oneOf("role", OperatorRole.literals)},
    account_ids uuid[],
    active boolean NOT NULL,
    created_at timestamptz NOT NULL,
    CHECK (role <> 'admin' OR account_ids IS NULL)
  )`,
  `CREATE UNIQUE INDEX operators_by_email ON operators (lower(email))`,

  // operator_id is null for links and sessions of the installation's token.
  `CREATE TABLE operator_tokens (
    id uuid PRIMARY KEY,
    operator_id uuid REFERENCES operators,
    kind text NOT NULL ${oneOf("kind", ["personal", "link"])},
    name text NOT NULL,
    prefix text NOT NULL,
    hash text NOT NULL UNIQUE,
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz,
    created_at timestamptz NOT NULL,
    CHECK (kind = 'link' OR operator_id IS NOT NULL)
  )`,
  `CREATE INDEX operator_tokens_of_operator ON operator_tokens (operator_id, id) WHERE kind = 'personal'`,

  `CREATE TABLE operator_sessions (
    id uuid PRIMARY KEY,
    operator_id uuid REFERENCES operators,
    hash text NOT NULL UNIQUE,
    address text NOT NULL,
    user_agent text,
    created_at timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    ended_at timestamptz
  )`,
  `CREATE INDEX operator_sessions_of_operator ON operator_sessions (operator_id, id)`,

  `ALTER TABLE audit
    ADD COLUMN operator_id uuid,
    ADD COLUMN via text,
    ADD COLUMN address text,
    ADD COLUMN before json,
    ADD COLUMN after json`,

  `CREATE INDEX IF NOT EXISTS disputes_of_account ON disputes (account_id, status, id)`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
