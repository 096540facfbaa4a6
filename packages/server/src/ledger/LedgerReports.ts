/**
 * Balances and entries of the ledger.
 *
 * Rules: BAL-1.
 */
import type { Balance } from "@pix-payments/domain/Balance"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { UnknownCursor } from "../base/Errors.ts"
import * as Batching from "../database/batching/Batching.ts"
import { type CreatedBetween, idsBetween, type List, type Page, readPage } from "../database/statements/Paging.ts"
import { equals } from "../database/statements/Condition.ts"
import { is, oneOfIds } from "../database/statements/Seek.ts"
import { statement, uuids } from "../database/statements/Statement.ts"
import { orUnavailable, type Unavailable } from "../database/Unavailable.ts"
import type { LedgerKind } from "./Ledger.ts"

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

interface LedgerFilters extends CreatedBetween {
  readonly accountId?: string | undefined
  readonly resourceId?: string | undefined
}

export class LedgerReports extends Context.Service<
  LedgerReports,
  {
    readonly balanceOf: (accountId: string) => Effect.Effect<Balance, Unavailable>
    readonly entries: (
      filters: LedgerFilters,
      page: Page
    ) => Effect.Effect<ReadonlyArray<TransferRow>, UnknownCursor | Unavailable>
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
              ...indexPaths(filters),
              ...idsBetween(filters)
            },
            page
          ).pipe(Effect.provideService(SqlClient, sql), orUnavailable)
      })
    })
  )
}

/** A resource has few transfers, so that a further filter on them needs no index. */
const indexPaths = (filters: LedgerFilters): Partial<List> => {
  const { accountId, resourceId } = filters
  if (resourceId !== undefined) {
    return {
      paths: [{ selective: equals("resource_id", "uuid", resourceId) }],
      filters: accountId === undefined ? [] : [equals("account_id", "uuid", accountId)]
    }
  }
  return accountId === undefined
    ? { pathsOf: (ids) => [{ columns: [oneOfIds("account_id", ids)], predicate: "amount > 0" }] }
    : { paths: [{ columns: [is("account_id", "uuid", accountId)], predicate: "amount > 0" }] }
}

interface BalanceRow {
  readonly owner_id: string
  readonly available: bigint
  readonly pending: bigint
}

const findBalances = statement(
  { accountIds: uuids },
  ({ accountIds }) => `
  SELECT a.owner_id, a.balance AS available, p.balance AS pending
  FROM ledger_accounts a JOIN ledger_accounts p ON p.owner_id = a.owner_id AND p.kind = 'pending'
  WHERE a.owner_id = ANY (${accountIds}) AND a.kind = 'available'`
)

const toBalance = ({ available, pending }: Pick<BalanceRow, "available" | "pending">): Balance => ({
  object: "balance",
  currency: "BRL",
  available: Number(available),
  pending: Number(pending),
  total: Number(available + pending)
})
