/** The statements of `NewPayoutStore`. */
import { connectionOfAccount, defaultConnectionId } from "../../../accounts/AccountConnection.ts"
import { type Caller, claimed, claimOf, isProven, type Proof, PROOF } from "../../../accounts/Caller.ts"
import { limitsPayouts } from "../../../accounts/StoredLimits.ts"
import type { LockMode } from "../../../database/statements/LockMode.ts"
import { bigint, nullable, text, uuid } from "../../../database/statements/Column.ts"
import { CHANGED, rows, statement, uuids } from "../../../database/statements/Statement.ts"
import { outbox, type OutboxPart } from "../../../events/Outbox.ts"
import { lockedTransfers, type LockedTransfers } from "../../../ledger/Ledger.ts"
import { type AuthorityOf, authorityPart } from "../../../operators/approvals/Authority.ts"
import type { PayoutChange } from "../PayoutDecision.ts"
import { written } from "../PayoutStatements.ts"
import { orderIdOf, payoutTable, recipientKey, type StoredPayout } from "../PayoutTable.ts"
import type { PayoutTerms } from "./PayoutCreation.ts"
import type { StoredTerms } from "./TermsCache.ts"

/** The proof is the same in each row. */
export interface TermsRow extends StoredTerms, Proof {
  readonly id: string
}

export const readTerms = statement(
  { accounts: uuids },
  ({ accounts }) => `
  SELECT a.id, a.status, a.onboarding_status, a.auto_payout_enabled, a.payout_fee_fixed, a.payout_fee_basis_points,
    a.payout_duplicate_window, EXISTS (SELECT FROM limits s WHERE s.owner_id = a.id AND ${limitsPayouts("s")}) AS is_limited, a.connection_id, ${defaultConnectionId} AS default_connection_id,
    (SELECT c.pays_out FROM acquirer_connections c WHERE c.id = ${connectionOfAccount}) AS pays_out, l.balance AS available, ${PROOF}
  FROM accounts a JOIN ledger_accounts l ON l.owner_id = a.id AND l.kind = 'available'
  WHERE a.id = ANY (${accounts})`
)

export const findKnown = statement(
  { keys: rows({ scopeId: uuid(), origin: text(), idempotencyKey: text() }) },
  ({ keys }) => `
  SELECT ${payoutTable.columns("p")}
  FROM ${keys} AS k
  JOIN idempotency_keys d ON d.digest = idempotency_digest(k.scope_id, 'payout', k.origin, k.idempotency_key)
  JOIN payouts p ON p.id = d.resource_id AND coalesce(p.application_id, p.account_id) = k.scope_id AND p.origin = k.origin
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
    ...claimed
  }),
  outbox,
  transfers: lockedTransfers
}

const insertText = (
  p: {
    readonly payouts: string
    readonly outbox: OutboxPart
    readonly transfers: LockedTransfers
  },
  lockMode: LockMode,
  guard: string
) => `
  WITH ${p.transfers.lock(lockMode)},
  requested AS MATERIALIZED (
    SELECT ${createdColumns} FROM ${p.payouts} AS p
    WHERE ${p.transfers.isLocked("p.account_id")} AND ${p.transfers.isCovered("p.account_id")} AND ${isProven("p")} AND ${guard}
  ),
  claimed AS (
    INSERT INTO idempotency_keys (digest, resource_id)
    SELECT ${orderIdOf("r")}, r.id FROM requested r
    ON CONFLICT (digest) DO NOTHING
    RETURNING resource_id
  ),
  ${CHANGED} AS (
    INSERT INTO payouts (${createdColumns}, due_at)
    SELECT ${createdColumns}, CASE WHEN status = 'processing' THEN now() END FROM requested
    WHERE id IN (SELECT resource_id FROM claimed)
    RETURNING id
  ),
  ${p.outbox.insert(CHANGED)},
  ${p.transfers.insert(CHANGED)}
  ${written(p)}`

const insertStatement = (lockMode: LockMode) =>
  statement(insertParts, (p) => insertText(p, lockMode, "p.origin = 'api'"))

const inserts = { wait: insertStatement("wait"), skip: insertStatement("skip") }

// OPR-112: not without an approval where one is needed.
const insertOfOperator = statement({ ...insertParts, authority: authorityPart }, (p) =>
  insertText(p, "wait", p.authority("payout.create", "p.account_id"))
)

/**
 * Stores payouts whose account covers what all of its payouts here cost. With cached terms, only those whose terms and caller are
 * current. Those of operators are stored with their authority only.
 */
export const insertPayouts = (
  payouts: ReadonlyArray<{
    readonly payout: StoredPayout
    readonly cached?: { readonly terms: PayoutTerms; readonly caller: Caller | undefined }
  }>,
  changes: ReadonlyArray<PayoutChange>,
  lockMode: LockMode,
  authority?: AuthorityOf
) => {
  const rows = {
    payouts: payouts.map(({ cached, payout }) => ({
      ...payout,
      ...recipientKey(payout),
      keyExpiresAtMs: claimOf(cached?.caller).keyExpiresAtMs,
      generation: cached?.terms.generation
    })),
    outbox: changes.map((change) => change.outbox),
    transfers: changes.flatMap(({ transfers }) => transfers)
  }
  return authority === undefined ? inserts[lockMode](rows) : insertOfOperator({ ...rows, authority })
}
