/**
 * Four eyes: requests that a second operator approves, the limit of releases by one operator, and since when four eyes
 * is on.
 *
 * The release before this one goes on beside it. It asks nobody, so four eyes holds once its processes have ended. An
 * operator that it creates counts, because a trigger counts.
 */
import { ApprovalAction, approverRoles, APPROVERS_FOR_FOUR_EYES, ApprovalStatus } from "@pix-payments/domain/Approval"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { oneOf } from "./0001_foundation.ts"

const roles = approverRoles.map((role) => `'${role}'`).join(", ")

const countApprovers = `UPDATE installation_settings SET four_eyes_since = now()
  WHERE four_eyes_since IS NULL AND (SELECT count(*) FROM operators
    WHERE active AND role IN (${roles}) AND account_ids IS NULL) >= ${APPROVERS_FOR_FOUR_EYES}`

const statements = [
  // Cents; null for no limit.
  `ALTER TABLE accounts ADD COLUMN approval_limit bigint CHECK (approval_limit >= 0)`,

  // resource_id: what the action changes, or of which it creates a part; null where it creates something of its own.
  // concerns: the operator whose rights change. request: what was asked, without secrets; secrets are in sealed.
  // before: the values that the request replaces. result_id: what the action created.
  `CREATE TABLE approvals (
    id uuid PRIMARY KEY,
    action text NOT NULL ${oneOf("action", ApprovalAction.literals)},
    resource_id uuid,
    account_id uuid REFERENCES accounts,
    concerns uuid REFERENCES operators,
    request json NOT NULL,
    before json,
    payout json,
    sealed text,
    fingerprint text NOT NULL,
    requested_by uuid NOT NULL REFERENCES operators,
    status text NOT NULL ${oneOf("status", ApprovalStatus.literals)},
    decided_by uuid REFERENCES operators,
    decided_at timestamptz,
    reason text,
    expires_at timestamptz NOT NULL,
    used_at timestamptz,
    result_id uuid,
    created_at timestamptz NOT NULL,
    CONSTRAINT approvals_by_another CHECK (decided_by <> requested_by),
    CONSTRAINT approvals_not_by_the_concerned CHECK (decided_by <> concerns),
    CONSTRAINT approvals_decided CHECK ((decided_at IS NOT NULL) = (status IN ('approved', 'rejected'))),
    CONSTRAINT approvals_rejected_with_reason CHECK (status <> 'rejected' OR reason IS NOT NULL),
    CONSTRAINT approvals_used_once_approved CHECK (used_at IS NULL OR status = 'approved')
  )`,
  `CREATE UNIQUE INDEX approvals_pending ON approvals (fingerprint) WHERE status = 'pending'`,
  `CREATE INDEX approvals_approved ON approvals (fingerprint) WHERE status = 'approved' AND used_at IS NULL`,
  `CREATE INDEX approvals_by_status ON approvals (status, id)`,
  `CREATE INDEX approvals_of_account ON approvals (account_id, id)`,

  // What was asked stays, and so does a decision. An approval that is used stays as it is.
  `CREATE FUNCTION approvals_stay() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF OLD.used_at IS NOT NULL
        OR (OLD.status <> 'pending' AND (NEW.status, NEW.decided_by) IS DISTINCT FROM (OLD.status, OLD.decided_by))
        OR (NEW.id, NEW.action, NEW.resource_id, NEW.account_id, NEW.concerns, NEW.request::text, NEW.sealed,
            NEW.requested_by, NEW.created_at)
          IS DISTINCT FROM (OLD.id, OLD.action, OLD.resource_id, OLD.account_id, OLD.concerns, OLD.request::text,
            OLD.sealed, OLD.requested_by, OLD.created_at)
        OR NEW.expires_at > OLD.expires_at
      THEN RAISE EXCEPTION 'a decided approval stays as it is';
      END IF;
      RETURN NEW;
    END
  $$`,
  `CREATE TRIGGER approvals_stay BEFORE UPDATE ON approvals FOR EACH ROW EXECUTE FUNCTION approvals_stay()`,

  // Null while it was never on by itself.
  `ALTER TABLE installation_settings ADD COLUMN four_eyes_since timestamptz`,
  `CREATE FUNCTION approvers_are_counted() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      ${countApprovers};
      RETURN NULL;
    END
  $$`,
  // Before a change too: two operators that were created at the same moment did not see each other.
  `CREATE TRIGGER approvers_are_counted_before BEFORE INSERT OR UPDATE ON operators
    FOR EACH STATEMENT EXECUTE FUNCTION approvers_are_counted()`,
  `CREATE TRIGGER approvers_are_counted_after AFTER INSERT OR UPDATE ON operators
    FOR EACH STATEMENT EXECUTE FUNCTION approvers_are_counted()`,
  countApprovers
]

export default Effect.gen(function* () {
  const sql = yield* SqlClient
  for (const statement of statements) yield* sql.unsafe(statement)
})
