/**
 * Sign-ins at an identity provider: who its subjects are, and the sessions that it started.
 *
 * The release before this one goes on beside it: it starts sessions without the columns that are added. It would read a
 * narrowed session with the operator's full role, so single sign-on is switched on after the last process of it has ended.
 */
import { OperatorRole } from "@pix-payments/domain/Operator"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { oneOf } from "./0001_foundation.ts"

const statements = [
  // A subject is one operator for good, and an operator has one subject of a provider.
  `CREATE TABLE operator_identities (
    issuer text NOT NULL CHECK (length(issuer) <= 1000),
    subject text NOT NULL CHECK (length(subject) <= 255),
    operator_id uuid NOT NULL REFERENCES operators,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (issuer, subject),
    UNIQUE (operator_id, issuer)
  )`,

  // role: what the provider allows. state_hash: the SHA-256 of the sign-in's state, which starts one session.
  `ALTER TABLE operator_sessions
    ADD COLUMN role text ${oneOf("role", OperatorRole.literals)},
    ADD COLUMN state_hash text`,
  `CREATE UNIQUE INDEX operator_sessions_by_state ON operator_sessions (state_hash) WHERE state_hash IS NOT NULL`
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
