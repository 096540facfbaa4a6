/** The statements of `PayoutStore`. */
import type { Caller } from "@pix-payments/api/Security"
import { connectionOfAccount, defaultConnectionId } from "../accounts/AccountConnection.ts"
import { currentCallers } from "../accounts/CallerCache.ts"
import { notifications } from "../acquirer/NotificationStore.ts"
import { outbox, OUTBOX_ROWS } from "../events/Outbox.ts"
import { isCovered, isLocked, lockedTransfers, PASSED_BY } from "../ledger/Ledger.ts"
import type { LockMode } from "../sql/LockMode.ts"
import { bigint, boolean, integer, nullable, text, uuid } from "../sql/Column.ts"
import { rows, statement, uuids } from "../sql/Statement.ts"
import type { PayoutChange } from "./PayoutChange.ts"
import type { PayoutTerms } from "./PayoutDecision.ts"
import { allowedTransitions, payoutColumns, payoutTable, recipientKey, type StoredPayout } from "./PayoutTable.ts"
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

export const findPayouts = statement(
  { ids: uuids },
  ({ ids }) => `SELECT ${payoutColumns} FROM payouts WHERE id = ANY (${ids})`
)

export const findKnown = statement(
  { keys: rows({ scopeId: uuid(), origin: text(), idempotencyKey: text() }) },
  ({ keys }) => `
  SELECT ${payoutTable.columns("p")}
  FROM ${keys} AS k
  JOIN payouts p ON coalesce(p.application_id, p.account_id) = k.scope_id AND p.origin = k.origin
    AND p.idempotency_key = k.idempotency_key AND p.idempotency_key IS NOT NULL`
)

export interface DuplicateRow {
  readonly id: string
  readonly account_id: string
  readonly pix_key_type: string
  readonly pix_key: string
  readonly amount: bigint
}

const findLatestOfIntents = statement(
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

/** Selects the latest payout of each intent that is newer than `since` and neither failed nor canceled. */
export const findDuplicates = (intents: Parameters<typeof findLatestOfIntents>[0]["intents"]) =>
  findLatestOfIntents({ intents })

/** The payouts that a statement wrote, and the accounts that it passed by because their balance was locked. */
const WRITTEN = `SELECT id, ${OUTBOX_ROWS}, NULL::uuid AS passed_by FROM changed
  UNION ALL SELECT NULL, 0, p.owner_id FROM (${PASSED_BY}) p`

const created = [
  "id",
  "accountId",
  "applicationId",
  "origin",
  "idempotencyKey",
  "status",
  "method",
  "amount",
  "fee",
  "description",
  "reference",
  "recipientName",
  "recipientDocument",
  "bankAccount",
  "webhookUrl",
  "sealedWebhookSecret",
  "endToEndId",
  "failureReason",
  "duplicateOf",
  "processedAtMs",
  "createdAtMs",
  "sequence"
] as const

const createdColumns = `${payoutTable.names(created)}, pix_key_type, pix_key`

// A known key is skipped before the INSERT tries it: a conflict waits for whoever changes that payout, and they may wait
// for the balance that is locked here. A key stored since the statement began is tried all the same.
const insertStatement = (lockMode: LockMode) =>
  statement(
    {
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
    },
    (p) => `
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
  changed AS (
    INSERT INTO payouts (${createdColumns}, hand_over_at)
    SELECT ${createdColumns}, CASE WHEN status = 'processing' THEN now() END
    FROM ${p.payouts} AS p
    WHERE (p.account_id IN (SELECT account_id FROM covered)) IS TRUE
      AND (p.caller IS NULL OR (p.caller IN (SELECT n FROM live)) IS TRUE)
      AND NOT EXISTS (
      SELECT 1 FROM payouts k
      WHERE coalesce(k.application_id, k.account_id) = coalesce(p.application_id, p.account_id)
        AND k.origin = p.origin AND k.idempotency_key = p.idempotency_key AND k.idempotency_key IS NOT NULL
    )
    ON CONFLICT (coalesce(application_id, account_id), origin, idempotency_key) WHERE idempotency_key IS NOT NULL
      DO NOTHING
    RETURNING id
  ),
  ${p.outbox},
  ${p.transfers.insert}
  ${WRITTEN}`
  )

const inserts = { wait: insertStatement("wait"), skip: insertStatement("skip") }

/**
 * Stores payouts whose account covers what all of its payouts here cost. With terms, only those whose account still has
 * them; with a caller's number, only those whose caller is current.
 */
export const insertPayouts = (
  payouts: ReadonlyArray<{ readonly payout: StoredPayout; readonly caller?: number | undefined }>,
  changes: ReadonlyArray<PayoutChange>,
  terms: ReadonlyArray<readonly [accountId: string, terms: PayoutTerms | undefined]>,
  callers: ReadonlyArray<Caller>,
  lockMode: LockMode
) =>
  inserts[lockMode]({
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
  })

const changeParts = {
  payouts: payoutTable.rows(["id", "status", "endToEndId", "failureReason", "processedAtMs", "sequence"]),
  outbox,
  transfers: lockedTransfers
}

const changeCtes = (
  p: {
    readonly payouts: string
    readonly outbox: string
    readonly transfers: { readonly lock: (lockMode: LockMode) => string; readonly insert: string }
  },
  lockMode: LockMode
) => `
  WITH ${p.transfers.lock(lockMode)},
  changed AS (
    UPDATE payouts p SET status = i.status, end_to_end_id = i.end_to_end_id, failure_reason = i.failure_reason,
      processed_at = coalesce(p.processed_at, i.processed_at), sequence = i.sequence,
      hand_over_at = CASE WHEN i.status = 'processing' THEN now() END
    FROM ${p.payouts} AS i
    WHERE p.id = i.id AND p.sequence = i.sequence - 1 AND p.status || '>' || i.status IN (${allowedTransitions})
      AND (i.status <> 'processing'
        OR EXISTS (SELECT 1 FROM accounts a WHERE a.id = p.account_id AND a.status = 'active'))
      AND ${isLocked("p.account_id")}
    RETURNING p.id
  ),
  ${p.outbox},
  ${p.transfers.insert}`

const change = (lockMode: LockMode) => statement(changeParts, (p) => `${changeCtes(p, lockMode)} ${WRITTEN}`)

/** Stores changes, each where its payout has the status and the sequence that it was decided on. */
export const changePayouts = { wait: change("wait"), skip: change("skip") }

const changeByNotification = (lockMode: LockMode) =>
  statement(
    { ...changeParts, notifications },
    (p) => `${changeCtes(p, lockMode)},
  ${p.notifications}
  ${WRITTEN}`
  )

/** The same, and records the notifications that caused them. */
export const changePayoutsByNotification = {
  wait: changeByNotification("wait"),
  skip: changeByNotification("skip")
}
