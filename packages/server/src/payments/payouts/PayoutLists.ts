/**
 * Lists of payouts, and the index that each of them walks (`schema/tables`, `database/statements/Seek.ts`).
 */
import { PayoutMethod, PayoutStatus } from "@pix-payments/domain/Payout"
import { type CreatedBetween, idsBetween, type List } from "../../database/statements/Paging.ts"
import { equals } from "../../database/statements/Condition.ts"
import { type AccessPath, type Column, everyValue, is, oneOf, oneOfIds } from "../../database/statements/Seek.ts"

export interface PayoutFilters extends CreatedBetween {
  readonly status?: PayoutStatus | undefined
  readonly method?: PayoutMethod | undefined
}

/** Payouts of an account, or of all where `accountId` is undefined, narrowed by what is given. */
export const payoutList = (columns: string, accountId: string | undefined, filters: PayoutFilters): List => ({
  table: "payouts",
  columns,
  account: "account_id",
  pathsOf: accountId === undefined ? (ids) => [ofAccount(oneOfIds("account_id", ids), filters)] : undefined,
  scope: accountId === undefined ? [] : [equals("account_id", "uuid", accountId)],
  ...idsBetween(filters),
  ...(accountId === undefined ? ofAll(filters) : { paths: [ofAccount(is("account_id", "uuid", accountId), filters)] })
})

const ofAccount = (account: Column, { method, status }: PayoutFilters): AccessPath => {
  return method === undefined && status === undefined
    ? { columns: [account] }
    : { columns: [account, statusIs(status), methodIs(method)] }
}

/** What operators look for among all accounts. Those that wait for a decision have an index of their own. */
const ofAll = ({ method, status }: PayoutFilters): Partial<List> => {
  if (method === undefined && status === undefined) return {}
  const conditions = [
    ...(method === undefined ? [] : [equals("method", "text", method)]),
    ...(status === undefined ? [] : [equals("status", "text", status)])
  ]
  if (status !== undefined && method === undefined && FEW.has(status)) {
    return { paths: [{ columns: [is("status", "text", status)], predicate: FEW_ONLY }] }
  }
  return {
    recent: conditions,
    paths: [{ columns: [everyValue("account_id", "uuid"), statusIs(status), methodIs(method)] }]
  }
}

const statusIs = (status: PayoutStatus | undefined) =>
  status === undefined ? oneOf("status", PayoutStatus.literals) : is("status", "text", status)

const methodIs = (method: PayoutMethod | undefined) =>
  method === undefined ? oneOf("method", PayoutMethod.literals) : is("method", "text", method)

/** What a payout of an account with automatic payouts does not pass through. */
const FEW: ReadonlySet<PayoutStatus> = new Set(["pending", "failed", "canceled"])
const FEW_ONLY = "status IN ('pending', 'failed', 'canceled')"
