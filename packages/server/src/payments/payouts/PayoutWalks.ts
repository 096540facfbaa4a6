/**
 * The list of payouts for operators, with every filter. `PayoutLists.ts` serves those that an index has; the others are checked
 * on the rows of a walk.
 */
import { type Walkable } from "../../database/statements/Paging.ts"
import { between, type Condition, equals, equalsUnindexed } from "../../database/statements/Condition.ts"
import { type AccessPath, everyValue, is, oneOfIds } from "../../database/statements/Seek.ts"
import { type FailedBetween, failedBetween } from "../../events/EventHistory.ts"
import { amountWord, hasWordsLike, withWord, withWordsLike } from "../words/Words.ts"
import { type PayoutFilters, payoutList } from "./PayoutLists.ts"

export interface PayoutWalkFilters extends PayoutFilters, FailedBetween {
  readonly origin?: "api" | "dashboard" | undefined
  readonly applicationId?: string | undefined
  readonly connectionId?: string | undefined
  readonly amountMin?: number | undefined
  readonly amountMax?: number | undefined
  readonly failureReason?: string | undefined
  readonly reference?: string | undefined
  readonly endToEndId?: string | undefined
  readonly recipientDocument?: string | undefined
  /** Beginnings of words. */
  readonly q?: string | undefined
}

/** The filtered payouts of an account; without `accountId`, of all accounts. */
export const payoutWalk = (columns: string, accountId: string | undefined, filters: PayoutWalkFilters): Walkable => {
  const paths = walkPaths(accountId, filters)
  const others: Partial<PayoutWalkFilters> = {
    ...filters,
    createdAfterMs: undefined,
    createdBeforeMs: undefined,
    method: undefined,
    status: undefined
  }
  return {
    ...payoutList(columns, accountId, filters),
    isServed: Object.values(others).every((value) => value === undefined),
    counted: { state: () => "status", amount: "amount" },
    walk: { paths, overlaps: filters.q !== undefined, conditions: conditionsOf(accountId, filters) },
    walkOf: paths === undefined ? (ids) => [{ columns: [oneOfIds("account_id", ids)] }] : undefined
  }
}

const walkPaths = (
  accountId: string | undefined,
  { amountMax, amountMin, endToEndId, q, recipientDocument, reference, status }: PayoutWalkFilters
): ReadonlyArray<AccessPath> | undefined => {
  const account = accountId === undefined ? everyValue("account_id", "uuid") : is("account_id", "uuid", accountId)
  if (endToEndId !== undefined) return [{ selective: equals("end_to_end_id", "text", endToEndId) }]
  if (q !== undefined) return [withWordsLike("payouts", q)]
  if (reference !== undefined) {
    return [{ columns: [is("reference", "text", reference), account], predicate: "reference IS NOT NULL" }]
  }
  if (recipientDocument !== undefined) {
    const predicate = "recipient_document IS NOT NULL"
    return [{ columns: [is("recipient_document", "text", recipientDocument), account], predicate }]
  }
  if (amountMin !== undefined && amountMin === amountMax) return [withWord("payouts", amountWord(amountMin))]
  if (accountId !== undefined) return [{ columns: [account] }]
  // The few that do not pass by themselves have an index.
  return status === "failed" || status === "pending" || status === "canceled"
    ? [{ columns: [is("status", "text", status)], predicate: "status IN ('pending', 'failed', 'canceled')" }]
    : undefined
}

const conditionsOf = (accountId: string | undefined, filters: PayoutWalkFilters): ReadonlyArray<Condition> => {
  const { amountMax, amountMin, q } = filters
  const equal = (column: string, type: "uuid" | "text", value: unknown) =>
    value === undefined ? [] : [equalsUnindexed(column, type, value)]
  return [
    ...equal("account_id", "uuid", accountId),
    ...equal("application_id", "uuid", filters.applicationId),
    ...equal("connection_id", "uuid", filters.connectionId),
    ...equal("origin", "text", filters.origin),
    ...equal("status", "text", filters.status),
    ...equal("method", "text", filters.method),
    ...equal("reference", "text", filters.reference),
    ...equal("recipient_document", "text", filters.recipientDocument),
    ...equal("failure_reason", "text", filters.failureReason),
    ...between("amount", "bigint", [amountMin, amountMax], true),
    ...failedBetween("payouts", filters),
    ...(q === undefined ? [] : [hasWordsLike("payouts", q)])
  ]
}
