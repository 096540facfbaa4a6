/** The statements of `NewPayoutStore`. */
import type { Caller } from "@pix-payments/api/Security"
import { connectionOfAccount, defaultConnectionId } from "../../../accounts/AccountConnection.ts"
import { currentCallers } from "../../../accounts/CallerCache.ts"
import type { LockMode } from "../../../database/statements/LockMode.ts"
import { bigint, boolean, integer, nullable, text, uuid } from "../../../database/statements/Column.ts"
import { rows, statement, uuids } from "../../../database/statements/Statement.ts"
import { outbox } from "../../../events/Outbox.ts"
import { isCovered, isLocked, lockedTransfers } from "../../../ledger/Ledger.ts"
import { type AuthorityOf, authorityPart } from "../../../operators/approvals/Authority.ts"
import type { PayoutChange } from "../PayoutDecision.ts"
import { WRITTEN } from "../PayoutStatements.ts"
import { payoutTable, recipientKey, type StoredPayout } from "../PayoutTable.ts"
import type { PayoutTerms } from "./PayoutCreation.ts"
import type { StoredTerms } from "./TermsCache.ts"

export interface TermsRow extends StoredTerms {
  readonly id: string
  /** Numbers of the callers that are current; the same in each row. */
  readonly live: ReadonlyArray<number>
}

export const readTerms = statement(
  { accounts: uuids, callers: currentCallers },
  (p) => `
  WITH ${p.callers}
  SELECT a.id, a.status, a.onboarding_status, a.auto_payout_enabled, a.payout_fee_fixed, a.payout_fee_basis_points,
    a.payout_duplicate_window, a.connection_id, ${defaultConnectionId} AS default_connection_id,
    (SELECT c.pays_out FROM acquirer_connections c WHERE c.id = ${connectionOfAccount}) AS pays_out, l.balance AS available, ARRAY(SELECT n FROM live) AS live
  FROM accounts a JOIN ledger_accounts l ON l.owner_id = a.id AND l.kind = 'available'
  WHERE a.id = ANY (${p.accounts})`
)

export const findKnown = statement(
  { keys: rows({ scopeId: uuid(), origin: text(), idempotencyKey: text() }) },
  ({ keys }) => `
  SELECT ${payoutTable.columns("p")}
  FROM ${keys} AS k
  JOIN payout_keys d ON d.digest = idempotency_digest(k.scope_id, k.origin, k.idempotency_key)
  JOIN payouts p ON p.id = d.payout_id AND coalesce(p.application_id, p.account_id) = k.scope_id AND p.origin = k.origin
    AND p.idempotency_key = k.idempotency_key`
)

export interface DuplicateRow {
  readonly id: string
  readonly account_id: string
  readonly pix_key_type: string
  readonly pix_key: string
  readonly amount: bigint
}

/** Selects the latest payout of each intent that is newer than `since` and neither failed nor canceled. */
export const findDuplicates = statement(
  {
    intents: rows({
      account_id: uuid(),
      pix_key_type: nullable(text()),
      pix_key: nullable(text()),
      amount: bigint(),
      since: uuid()
    })
  },
  ({ intents }) => `
  SELECT DISTINCT ON (k.account_id, k.pix_key_type, k.pix_key, k.amount)
    t.id, k.account_id, k.pix_key_type, k.pix_key, k.amount
  FROM ${intents} AS k
  CROSS JOIN LATERAL (
    SELECT p.id FROM payouts p
    WHERE p.account_id = k.account_id AND p.id >= k.since AND p.pix_key_type = k.pix_key_type
      AND p.pix_key = k.pix_key AND p.amount = k.amount AND p.status NOT IN ('failed', 'canceled')
    ORDER BY p.id DESC LIMIT 1
  ) t`
)

/** Its recipient is stored as `recipientKey` says. The first claim writes its connection, the provider its reference. */
const created = payoutTable.fieldsExcept("pixKeyType", "pixKey", "connectionId", "providerReference")

const createdColumns = `${payoutTable.names(created)}, pix_key_type, pix_key`

const insertParts = {
  payouts: payoutTable.rows(created, {
    pix_key_type: nullable(text()),
    pix_key: nullable(text()),
    caller: nullable(integer())
  }),
  outbox,
  transfers: lockedTransfers,
  // Terms are null where the payouts were decided under the lock.
  terms: rows({
    account_id: uuid(),
    auto_payout_enabled: nullable(boolean()),
    payout_fee_fixed: nullable(bigint()),
    payout_fee_basis_points: nullable(integer()),
    connection_id: nullable(uuid())
  }),
  callers: currentCallers
}

const insertText = (
  p: {
    readonly payouts: string
    readonly outbox: string
    readonly transfers: { readonly lock: (lockMode: LockMode) => string; readonly insert: string }
    readonly terms: string
    readonly callers: string
  },
  lockMode: LockMode,
  guard: string
) => `
  WITH ${p.callers},
  ${p.transfers.lock(lockMode)},
  covered AS MATERIALIZED (
    SELECT n.account_id FROM ${p.terms} AS n JOIN accounts a ON a.id = n.account_id
    WHERE ${isLocked("n.account_id")} AND ${isCovered("n.account_id")} AND (n.auto_payout_enabled IS NULL OR (
      a.status = 'active' AND a.onboarding_status = 'completed' AND a.payout_duplicate_window = 0
      AND a.auto_payout_enabled = n.auto_payout_enabled AND a.payout_fee_fixed = n.payout_fee_fixed
      AND a.payout_fee_basis_points = n.payout_fee_basis_points
      AND ${connectionOfAccount} IS NOT DISTINCT FROM n.connection_id
    ))
  ),
  requested AS MATERIALIZED (
    SELECT ${createdColumns} FROM ${p.payouts} AS p
    WHERE (p.account_id IN (SELECT account_id FROM covered)) IS TRUE
      AND ${guard}
      AND (p.caller IS NULL OR (p.caller IN (SELECT n FROM live)) IS TRUE)
  ),
  claimed AS (
    INSERT INTO payout_keys (digest, payout_id)
    SELECT idempotency_digest(coalesce(application_id, account_id), origin, idempotency_key), id FROM requested
    WHERE idempotency_key IS NOT NULL
    ON CONFLICT (digest) DO NOTHING
    RETURNING payout_id
  ),
  changed AS (
    INSERT INTO payouts (${createdColumns}, hand_over_at)
    SELECT ${createdColumns}, CASE WHEN status = 'processing' THEN now() END FROM requested
    WHERE idempotency_key IS NULL OR (id IN (SELECT payout_id FROM claimed)) IS TRUE
    RETURNING id
  ),
  ${p.outbox},
  ${p.transfers.insert}
  ${WRITTEN}`

const insertStatement = (lockMode: LockMode) =>
  statement(insertParts, (p) => insertText(p, lockMode, "p.origin = 'api'"))

const inserts = { wait: insertStatement("wait"), skip: insertStatement("skip") }

// OPR-112: not without an approval where one is needed.
const insertOfOperator = statement({ ...insertParts, authority: authorityPart }, (p) =>
  insertText(p, "wait", p.authority("payout.create", "p.account_id"))
)

/**
 * Stores payouts whose account covers what all of its payouts here cost. With terms, only those whose account still has
 * them; with a caller's number, only those whose caller is current. Those of operators are stored with their authority only.
 */
export const insertPayouts = (
  payouts: ReadonlyArray<{ readonly payout: StoredPayout; readonly caller?: number | undefined }>,
  changes: ReadonlyArray<PayoutChange>,
  terms: ReadonlyArray<readonly [accountId: string, terms: PayoutTerms | undefined]>,
  callers: ReadonlyArray<Caller>,
  lockMode: LockMode,
  authority?: AuthorityOf
) => {
  const rows = {
    payouts: payouts.map(({ caller, payout }) => ({ ...payout, ...recipientKey(payout), caller })),
    outbox: changes.map((change) => change.outbox),
    transfers: changes.flatMap(({ transfers }) => transfers),
    terms: terms.map(([account_id, granted]) => ({
      account_id,
      auto_payout_enabled: granted?.autoPayoutEnabled,
      payout_fee_fixed: granted?.feeFixedCents,
      payout_fee_basis_points: granted?.feeBasisPoints,
      connection_id: granted?.connectionId
    })),
    callers
  }
  return authority === undefined ? inserts[lockMode](rows) : insertOfOperator({ ...rows, authority })
}
