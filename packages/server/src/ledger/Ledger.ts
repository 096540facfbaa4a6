/**
 * Double entry: every movement of money is a transfer between two ledger accounts.
 *
 * Guarantees: transfers are written in the statement that changes the state they explain; each is one row
 * with a debit and a credit of the same amount, so that all accounts together always sum to zero; balances
 * are kept beside the transfers in the same commit. A credit raises a balance, a debit lowers it.
 *
 * Source: decisions.md "Balance and ledger".
 */

/** The owner of the ledger accounts that are the installation's own. */
export const INSTALLATION = "00000000-0000-0000-0000-000000000000"

export type LedgerKind = "available" | "pending" | "blocked" | "payouts_in_transit" | "acquirer" | "fees"

export interface Transfer {
  readonly id: string
  readonly debit_owner_id: string
  readonly debit_kind: LedgerKind
  readonly credit_owner_id: string
  readonly credit_kind: LedgerKind
  readonly amount: number
  readonly resource_id: string
  readonly reason: string
  readonly created_at: string
}

/** CTEs that write the transfers of the resources that a CTE called `changed` returns. */
export const transferCtes = (parameter: string): string => `
  moved AS (
    INSERT INTO ledger_transfers (id, debit_owner_id, debit_kind, credit_owner_id, credit_kind, amount, resource_id,
      reason, created_at)
    SELECT t.id, t.debit_owner_id, t.debit_kind, t.credit_owner_id, t.credit_kind, t.amount, t.resource_id, t.reason,
      t.created_at
    FROM json_to_recordset(${parameter}::json) AS t(id uuid, debit_owner_id uuid, debit_kind text,
      credit_owner_id uuid, credit_kind text, amount bigint, resource_id uuid, reason text, created_at timestamptz)
    WHERE t.resource_id IN (SELECT id FROM changed)
    RETURNING *
  ),
  balanced AS (
    UPDATE ledger_accounts a SET balance = a.balance + s.amount
    FROM (
      SELECT owner_id, kind, sum(amount) AS amount FROM (
        SELECT credit_owner_id AS owner_id, credit_kind AS kind, amount FROM moved
        UNION ALL
        SELECT debit_owner_id, debit_kind, -amount FROM moved
      ) sides GROUP BY owner_id, kind ORDER BY owner_id, kind
    ) s
    WHERE a.owner_id = s.owner_id AND a.kind = s.kind
  )`
