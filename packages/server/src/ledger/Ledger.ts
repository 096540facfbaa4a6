/**
 * Double entry: every movement of money is a transfer between two ledger accounts.
 *
 * Guarantees: transfers are written in the statement that changes the state they explain; each is one row
 * with a debit and a credit of the same amount, so that all ledger accounts together always sum to zero;
 * balances are kept beside the transfers in the same commit. A credit raises a balance, a debit lowers it.
 *
 * Ledger accounts are locked in one order everywhere (owner, then kind), so that two movements wait for each
 * other and never for ever.
 *
 * Source: decisions.md "Balance and ledger".
 */
import type { Ids } from "../Ids.ts"
import { recordset } from "../sql/Recordset.ts"

/** The owner of the ledger accounts that are the installation's own: `acquirer` and `fees`. */
export const INSTALLATION = "00000000-0000-0000-0000-000000000000"

export type LedgerKind = "available" | "pending" | "blocked" | "payouts_in_transit" | "acquirer" | "fees"

export interface Transfer {
  readonly id: string
  readonly account_id: string
  readonly debit: LedgerKind
  readonly credit: LedgerKind
  readonly amount: number
  readonly resource_id: string
  readonly reason: string
  /** Epoch milliseconds. */
  readonly created_at: number
}

/** One movement of an account's money; none where nothing moves. */
export const transfer = (
  ids: Ids["Service"],
  movement: {
    readonly accountId: string
    readonly debit: LedgerKind
    readonly credit: LedgerKind
    /** Cents. */
    readonly amount: number
    readonly resourceId: string
    readonly reason: string
  }
): ReadonlyArray<Transfer> => {
  if (movement.amount === 0) return []
  const { epochMs, id } = ids.next()
  return [
    {
      id,
      account_id: movement.accountId,
      debit: movement.debit,
      credit: movement.credit,
      amount: movement.amount,
      resource_id: movement.resourceId,
      reason: movement.reason,
      created_at: epochMs
    }
  ]
}

const ownerOf = (kind: string) =>
  `CASE WHEN ${kind} IN ('acquirer', 'fees') THEN '${INSTALLATION}'::uuid ELSE account_id END`

const rows = recordset({
  id: "uuid",
  account_id: "uuid",
  debit: "text",
  credit: "text",
  amount: "bigint",
  resource_id: "uuid",
  reason: "text",
  created_at: "timestamptz"
})

/** How many parameters transfers take. */
export const TRANSFERS_WIDTH = rows.width

/** The parameters that hold transfers. */
export const transferParameters = (transfers: ReadonlyArray<Transfer>): ReadonlyArray<unknown> =>
  rows.parameters(transfers)

/**
 * CTEs that write the transfers of the resources that a CTE called `changed` returns. `first` is the number of the
 * first of the parameters that `transferParameters` makes.
 */
export const transferCtes = (first: number): string => `
  moved AS (
    INSERT INTO ledger_transfers (id, account_id, debit, credit, amount, resource_id, reason, created_at)
    SELECT t.id, t.account_id, t.debit, t.credit, t.amount, t.resource_id, t.reason, t.created_at
    FROM ${rows.from(first)} AS t
    WHERE (t.resource_id IN (SELECT id FROM changed)) IS TRUE
    RETURNING account_id, debit, credit, amount
  ),
  sums AS MATERIALIZED (
    SELECT owner_id, kind, sum(amount)::bigint AS amount FROM (
      SELECT ${ownerOf("credit")} AS owner_id, credit AS kind, amount FROM moved
      UNION ALL
      SELECT ${ownerOf("debit")}, debit, -amount FROM moved
    ) ends
    GROUP BY owner_id, kind
  ),
  locked AS MATERIALIZED (
    SELECT l.owner_id, l.kind, s.amount FROM sums s
    JOIN ledger_accounts l ON l.owner_id = s.owner_id AND l.kind = s.kind
    ORDER BY l.owner_id, l.kind FOR NO KEY UPDATE OF l
  ),
  balanced AS (
    UPDATE ledger_accounts l SET balance = l.balance + k.amount
    FROM locked k WHERE l.owner_id = k.owner_id AND l.kind = k.kind
  )`
