/** Tables of the installation, its operators, and what they ask each other to approve. */
import { AlertChannelKind } from "@pix-payments/domain/Alert"
import { ApprovalAction, approverRoles, APPROVERS_FOR_FOUR_EYES, ApprovalStatus } from "@pix-payments/domain/Approval"
import { DEFAULT_TIMEZONE, FourEyes } from "@pix-payments/domain/Installation"
import { OperatorRole } from "@pix-payments/domain/Operator"
import { oneOf } from "../Statements.ts"
import { replacesGeneration } from "./generation.ts"

const roles = approverRoles.map((role) => `'${role}'`).join(", ")

const countApprovers = `UPDATE installation_settings SET four_eyes_since = now()
  WHERE four_eyes_since IS NULL AND (SELECT count(*) FROM operators
    WHERE active AND role IN (${roles}) AND account_ids IS NULL) >= ${APPROVERS_FOR_FOUR_EYES}`

export const operatorTables = [
  `-- What starts and maintenance record, by name.
  CREATE TABLE installation (
    name text PRIMARY KEY,
    value text NOT NULL
  )`,

  `-- The keys of SECRETS_KEYS that something may be sealed with.
  CREATE TABLE secrets_keys (
    id text PRIMARY KEY -- the beginning of the key's SHA-256
  )`,

  `-- What operators set for the installation. One row.
  CREATE TABLE installation_settings (
    id boolean PRIMARY KEY DEFAULT true CHECK (id),
    name text NOT NULL,
    payouts_paused boolean NOT NULL DEFAULT false,
    charges_paused boolean NOT NULL DEFAULT false,
    four_eyes text NOT NULL DEFAULT 'auto' ${oneOf("four_eyes", FourEyes.literals)},
    four_eyes_since timestamptz, -- since when two operators may approve; null: never yet
    timezone text NOT NULL DEFAULT '${DEFAULT_TIMEZONE}', -- of days; fixed with the first close
    acquirer text, -- of the first start; null before it
    system_identifier text -- of the database cluster that calls others; null before the first start
  )`,
  `INSERT INTO installation_settings (name) VALUES ('Pix')`,
  replacesGeneration("UPDATE OR DELETE ON installation_settings"),

  `-- People who operate the installation.
  CREATE TABLE operators (
    id uuid PRIMARY KEY,
    name text NOT NULL,
    email text NOT NULL,
    role text NOT NULL ${oneOf("role", OperatorRole.literals)},
    account_ids uuid[], -- the accounts that the operator is limited to; null: all
    active boolean NOT NULL,
    created_at timestamptz NOT NULL,
    CHECK (role <> 'admin' OR account_ids IS NULL)
  )`,
  `CREATE UNIQUE INDEX operators_by_email ON operators (lower(email))`,
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

  `-- Personal tokens, and links that start one session. A token itself is stored nowhere.
  CREATE TABLE operator_tokens (
    id uuid PRIMARY KEY,
    operator_id uuid REFERENCES operators, -- null: a link of the installation's token
    kind text NOT NULL ${oneOf("kind", ["personal", "link"])},
    name text NOT NULL,
    prefix text NOT NULL, -- the first characters, for people
    hash text NOT NULL UNIQUE, -- SHA-256
    expires_at timestamptz,
    revoked_at timestamptz,
    last_used_at timestamptz,
    created_at timestamptz NOT NULL,
    made_by uuid REFERENCES operators, -- another operator who made it, or the credential that it was made with
    session_ends_at timestamptz, -- of a link: the end of the session that made it
    CHECK (kind = 'link' OR operator_id IS NOT NULL)
  )`,
  `CREATE INDEX operator_tokens_of_operator ON operator_tokens (operator_id, id) WHERE kind = 'personal'`,

  `-- Sessions of browsers.
  CREATE TABLE operator_sessions (
    id uuid PRIMARY KEY,
    operator_id uuid REFERENCES operators, -- null: a session of the installation's token
    hash text NOT NULL UNIQUE, -- SHA-256 of the cookie
    address text NOT NULL,
    user_agent text,
    role text ${oneOf("role", OperatorRole.literals)}, -- what the identity provider allows; null: the operator's role
    state_hash text, -- SHA-256 of the sign-in's state, which starts one session
    made_by uuid REFERENCES operators, -- as of the token that started it
    created_at timestamptz NOT NULL,
    last_seen_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    ended_at timestamptz
  )`,
  `CREATE INDEX operator_sessions_of_operator ON operator_sessions (operator_id, id)`,
  `CREATE UNIQUE INDEX operator_sessions_by_state ON operator_sessions (state_hash) WHERE state_hash IS NOT NULL`,

  `-- Who the subjects of identity providers are. A subject is one operator for good.
  CREATE TABLE operator_identities (
    issuer text NOT NULL CHECK (length(issuer) <= 1000),
    subject text NOT NULL CHECK (length(subject) <= 255),
    operator_id uuid NOT NULL REFERENCES operators,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (issuer, subject),
    UNIQUE (operator_id, issuer)
  )`,

  `-- Idempotency keys of the requests of operators that order money.
  CREATE TABLE operator_order_keys (
    digest text PRIMARY KEY, -- of operation, resource and key
    fingerprint text NOT NULL, -- of the body
    operator_id uuid REFERENCES operators, -- null: the installation's token
    result_id uuid, -- what the request made: a refund, an exception, a payout, a charge or an approval; null: not yet
    created_at timestamptz NOT NULL
  )`,

  `-- Where operators are alerted.
  CREATE TABLE alert_channels (
    id uuid PRIMARY KEY,
    name text NOT NULL,
    kind text NOT NULL ${oneOf("kind", AlertChannelKind.literals)},
    target text NOT NULL, -- an address or a URL; of Slack, the host of the URL
    secret text, -- sealed: signs a webhook's messages; of Slack, the URL
    events text[] NOT NULL,
    quiet_from time, -- in the installation's time zone
    quiet_until time,
    active boolean NOT NULL DEFAULT true,
    last_sent_at timestamptz,
    last_error text, -- of the last attempt; null: it succeeded
    created_at timestamptz NOT NULL,
    deleted_at timestamptz,
    CHECK ((quiet_from IS NULL) = (quiet_until IS NULL))
  )`,
  `CREATE INDEX alert_channels_list ON alert_channels (id) WHERE deleted_at IS NULL`,
  `-- Messages to channels: what was found since the last one. Their alerts never change.
  CREATE TABLE alert_messages (
    id uuid PRIMARY KEY, -- also the Message-ID, and webhook-id
    channel_id uuid NOT NULL REFERENCES alert_channels,
    alerts json NOT NULL, -- the first of its alerts
    count integer NOT NULL, -- how many it has
    created_at timestamptz NOT NULL,
    due_at timestamptz, -- the next attempt; null: it has ended
    attempts integer NOT NULL DEFAULT 0
  )`,
  `CREATE INDEX alert_messages_due ON alert_messages (channel_id, due_at) WHERE due_at IS NOT NULL`,
  `CREATE INDEX alert_messages_of_channel ON alert_messages (channel_id, created_at)`,
  `CREATE INDEX alert_messages_by_age ON alert_messages (created_at)`,
  `-- What a channel is alerted of, once each.
  CREATE TABLE alerts (
    channel_id uuid NOT NULL REFERENCES alert_channels,
    key text NOT NULL, -- of what it is
    event text NOT NULL,
    title text NOT NULL,
    path text NOT NULL, -- the page of the dashboard
    is_urgent boolean NOT NULL, -- quiet hours do not hold it back
    created_at timestamptz NOT NULL DEFAULT now(),
    message_id uuid, -- null: it waits for a message
    PRIMARY KEY (channel_id, key)
  )`,
  `CREATE INDEX alerts_waiting ON alerts (channel_id, created_at) WHERE message_id IS NULL`,
  `CREATE INDEX alerts_by_age ON alerts (created_at)`,

  `-- Requests that a second operator approves.
  CREATE TABLE approvals (
    id uuid PRIMARY KEY,
    action text NOT NULL ${oneOf("action", ApprovalAction.literals)},
    resource_id uuid, -- what the action changes; null: it creates something
    account_id uuid REFERENCES accounts,
    concerns uuid REFERENCES operators, -- the operator whose rights change
    request json NOT NULL, -- what was asked, without secrets
    before json, -- what the request is about, as it was
    payout json, -- the payout that a release is of
    sealed text, -- the secrets of the request
    fingerprint text NOT NULL, -- equal requests have the same one
    intent text, -- equal for payouts to create of the same account, recipient and amount, and for equal adjustments
    requested_by uuid NOT NULL REFERENCES operators,
    made_by uuid REFERENCES operators, -- another operator who made the credential of the request
    status text NOT NULL ${oneOf("status", ApprovalStatus.literals)},
    decided_by uuid REFERENCES operators,
    decided_at timestamptz,
    reason text,
    expires_at timestamptz NOT NULL,
    used_at timestamptz, -- when the action was done
    result_id uuid, -- what the action created
    created_at timestamptz NOT NULL,
    CONSTRAINT approvals_by_another CHECK (decided_by <> requested_by AND decided_by <> made_by),
    CONSTRAINT approvals_not_by_the_concerned CHECK (decided_by <> concerns),
    CONSTRAINT approvals_decided CHECK ((decided_at IS NOT NULL) = (status IN ('approved', 'rejected'))),
    CONSTRAINT approvals_rejected_with_reason CHECK (status <> 'rejected' OR reason IS NOT NULL),
    CONSTRAINT approvals_used_once_approved CHECK (used_at IS NULL OR status = 'approved')
  )`,
  `CREATE UNIQUE INDEX approvals_pending ON approvals (fingerprint) WHERE status = 'pending'`,
  `CREATE INDEX approvals_approved ON approvals (fingerprint) WHERE status = 'approved' AND used_at IS NULL`,
  `CREATE INDEX approvals_by_intent ON approvals (intent, id) WHERE intent IS NOT NULL`,
  `CREATE INDEX approvals_by_status ON approvals (status, id)`,
  `CREATE INDEX approvals_of_account ON approvals (account_id, id)`,
  // What was asked stays, and so does a decision. An approval that is used stays as it is.
  `CREATE FUNCTION approvals_stay() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF OLD.used_at IS NOT NULL
        OR (OLD.status <> 'pending'
          AND (NEW.status, NEW.decided_by, NEW.decided_at, NEW.reason)
            IS DISTINCT FROM (OLD.status, OLD.decided_by, OLD.decided_at, OLD.reason))
        OR (NEW.used_at IS NULL AND NEW.result_id IS NOT NULL)
        OR (NEW.id, NEW.action, NEW.resource_id, NEW.account_id, NEW.concerns, NEW.request::text, NEW.before::text,
            NEW.payout::text, NEW.sealed, NEW.fingerprint, NEW.intent, NEW.requested_by, NEW.made_by, NEW.created_at)
          IS DISTINCT FROM (OLD.id, OLD.action, OLD.resource_id, OLD.account_id, OLD.concerns, OLD.request::text,
            OLD.before::text, OLD.payout::text, OLD.sealed, OLD.fingerprint, OLD.intent, OLD.requested_by,
            OLD.made_by, OLD.created_at)
        OR NEW.expires_at > OLD.expires_at
      THEN RAISE EXCEPTION 'a decided approval stays as it is';
      END IF;
      RETURN NEW;
    END
  $$`,
  `CREATE TRIGGER approvals_stay BEFORE UPDATE ON approvals FOR EACH ROW EXECUTE FUNCTION approvals_stay()`
]
