/**
 * Balances and entries of the ledger, and its verification.
 *
 * Guarantee: `verify` recomputes every ledger account from its transfers and reports each one whose stored balance differs,
 * also one that has transfers and no row (BAL-8).
 *
 * Rules: BAL-1, BAL-8, OPR-30.
 */
import type { Balance } from "@pix-payments/domain/Balance"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { UnknownCursor } from "../Errors.ts"
import * as Batching from "../sql/Batching.ts"
import { withReportPlanner } from "../sql/Database.ts"
import { type List, type Page, readPage } from "../sql/Paging.ts"
import { equals, is, oneOfIds } from "../sql/Seek.ts"
import { statement, uuids } from "../sql/Statement.ts"
import { orUnavailable, orUnavailableWithin, type Unavailable } from "../sql/Unavailable.ts"
import { INSTALLATION, type LedgerKind } from "./Ledger.ts"

export interface TransferRow {
  readonly id: string
  readonly account_id: string
  readonly debit: LedgerKind
  readonly credit: LedgerKind
  readonly amount: bigint
  readonly resource_id: string
  readonly reason: string
  readonly created_at: Date
}

/** A ledger account whose stored balance differs from the sum of its transfers. `accountId` null: see migration 0006. */
export interface Verified {
  readonly accountId: string | null
  readonly kind: LedgerKind
  readonly kept: number
  readonly computed: number
}

export class LedgerReports extends Context.Service<
  LedgerReports,
  {
    readonly balanceOf: (accountId: string) => Effect.Effect<Balance, Unavailable>
    readonly entries: (
      filters: { readonly accountId?: string | undefined; readonly resourceId?: string | undefined },
      page: Page
    ) => Effect.Effect<ReadonlyArray<TransferRow>, UnknownCursor | Unavailable>
    readonly verify: Effect.Effect<ReadonlyArray<Verified>, Unavailable>
  }
>()("@pix-payments/server/LedgerReports") {
  static readonly layer = Layer.effect(
    LedgerReports,
    Effect.gen(function* () {
      const sql = yield* SqlClient

      const balanceOf = yield* Batching.make<string, Balance>({
        maxBatch: 500,
        run: (accountIds) =>
          Effect.map(sql.unsafe<BalanceRow>(...findBalances({ accountIds: [...new Set(accountIds)] })), (rows) => {
            const byAccount = new Map(rows.map((row) => [row.owner_id, toBalance(row)]))
            return accountIds.map((id) => byAccount.get(id) ?? toBalance({ available: 0n, pending: 0n }))
          })
      })

      return LedgerReports.of({
        balanceOf,
        entries: (filters, page) =>
          readPage<TransferRow>(
            {
              table: "ledger_transfers",
              account: "account_id",
              columns: "id, account_id, debit, credit, amount, resource_id, reason, created_at",
              ...indexPaths(filters)
            },
            page
          ).pipe(Effect.provideService(SqlClient, sql), orUnavailable),
        verify: withReportPlanner(sql.unsafe<VerifiedRow>(recompute)).pipe(
          Effect.map((rows) =>
            rows.map((row) => ({
              accountId: row.owner_id === INSTALLATION ? null : row.owner_id,
              kind: row.kind,
              kept: Number(row.kept),
              computed: Number(row.computed)
            }))
          ),
          Effect.provideService(SqlClient, sql),
          // A little longer than the statement timeout.
          (report) => orUnavailableWithin(report, 65_000)
        )
      })
    })
  )
}

/** A resource has few transfers, so that a further filter on them needs no index. */
const indexPaths = (filters: Parameters<LedgerReports["Service"]["entries"]>[0]): Partial<List> => {
  const { accountId, resourceId } = filters
  if (resourceId !== undefined) {
    return {
      paths: [{ selective: equals("resource_id", "uuid", resourceId) }],
      filters: accountId === undefined ? [] : [equals("account_id", "uuid", accountId)]
    }
  }
  return accountId === undefined
    ? { pathsOf: (ids) => [{ columns: [oneOfIds("account_id", ids)] }] }
    : { paths: [{ columns: [is("account_id", "uuid", accountId)] }] }
}

interface BalanceRow {
  readonly owner_id: string
  readonly available: bigint
  readonly pending: bigint
}

interface VerifiedRow {
  readonly owner_id: string
  readonly kind: LedgerKind
  readonly kept: bigint
  readonly computed: bigint
}

const findBalances = statement(
  { accountIds: uuids },
  ({ accountIds }) => `
  SELECT a.owner_id, a.balance AS available, p.balance AS pending
  FROM ledger_accounts a JOIN ledger_accounts p ON p.owner_id = a.owner_id AND p.kind = 'pending'
  WHERE a.owner_id = ANY (${accountIds}) AND a.kind = 'available'`
)

// One statement has one snapshot, in which each commit is on both sides or on neither. The installation's rows, which only
// the previous release writes, must be the sum of that release's transfers; the other ledger accounts do not count them.
const recompute = `
  WITH ends AS (
    SELECT account_id, credit AS kind, amount, posted FROM ledger_transfers
    UNION ALL
    SELECT account_id, debit, -amount, posted FROM ledger_transfers
  ),
  computed AS (
    SELECT account_id AS owner_id, kind, sum(amount)::bigint AS computed FROM ends GROUP BY 1, 2
  ),
  earlier AS (
    SELECT kind, sum(amount)::bigint AS computed FROM ends WHERE NOT posted AND kind IN ('acquirer', 'fees') GROUP BY 1
  )
  SELECT coalesce(k.owner_id, c.owner_id) AS owner_id, coalesce(k.kind, c.kind) AS kind,
    coalesce(k.balance, 0) AS kept, coalesce(c.computed, 0) AS computed
  FROM (SELECT * FROM ledger_accounts WHERE owner_id <> '${INSTALLATION}'::uuid) k
  FULL JOIN computed c ON c.owner_id = k.owner_id AND c.kind = k.kind
  UNION ALL
  SELECT k.owner_id, k.kind, k.balance, coalesce(e.computed, 0)
  FROM ledger_accounts k LEFT JOIN earlier e ON e.kind = k.kind
  WHERE k.owner_id = '${INSTALLATION}'::uuid AND k.balance <> coalesce(e.computed, 0)
  ORDER BY 1, 2`

const toBalance = ({ available, pending }: Pick<BalanceRow, "available" | "pending">): Balance => ({
  object: "balance",
  currency: "BRL",
  available: Number(available),
  pending: Number(pending),
  total: Number(available + pending)
})
