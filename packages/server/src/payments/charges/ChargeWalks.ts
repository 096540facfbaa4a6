/**
 * The list of charges for operators, with every filter. `ChargeLists.ts` serves those that an index has; the others are checked
 * on the rows of a walk: of the words, the reference, the document or the account that is asked for, else of all charges.
 */
import { formatInstant } from "@pix-payments/domain/Instant"
import { lowestIdAt } from "@pix-payments/domain/Uuid"
import { lowestOf, type Walkable } from "../../database/statements/Paging.ts"
import { between, type Condition, equalsUnindexed } from "../../database/statements/Condition.ts"
import { type AccessPath, everyValue, is, oneOf, oneOfIds } from "../../database/statements/Seek.ts"
import { type FailedBetween, failedBetween } from "../../events/EventHistory.ts"
import { amountWord, hasWordsLike, withWord, withWordsLike } from "../words/Words.ts"
import { type ChargeFilters, chargeList, hasStatus, isSettledBy, shownStatus } from "./ChargeLists.ts"

export interface ChargeWalkFilters extends ChargeFilters, FailedBetween {
  readonly applicationId?: string | undefined
  readonly connectionId?: string | undefined
  readonly paidAfterMs?: number | undefined
  readonly paidBeforeMs?: number | undefined
  readonly amountMin?: number | undefined
  readonly amountMax?: number | undefined
  readonly failureReason?: string | undefined
  readonly customerDocument?: string | undefined
  /** Beginnings of words. */
  readonly q?: string | undefined
  /** A whole word. */
  readonly word?: string | undefined
}

/** The filtered charges of an account; without `accountId`, of all accounts. */
export const chargeWalk = (
  columns: string,
  accountId: string | undefined,
  filters: ChargeWalkFilters,
  nowMs: number
): Walkable => {
  const list = chargeList(columns, accountId, filters, nowMs)
  // What was paid or failed before an instant was created before it.
  const ended = Math.min(filters.paidBeforeMs ?? Infinity, filters.failedBeforeMs ?? Infinity)
  return {
    ...list,
    before: ended === Infinity ? list.before : lowestOf(list.before, lowestIdAt(Math.ceil(ended))),
    isServed: isServed(accountId, filters),
    counted: { state: shownStatus(nowMs), amount: "amount" },
    walk: {
      paths: walkPaths(accountId, filters),
      overlaps: filters.q !== undefined,
      conditions: conditionsOf(accountId, filters, nowMs)
    },
    walkOf: isOfAll(accountId, filters)
      ? (ids) => [{ columns: [oneOfIds("account_id", ids), oneOf("origin", ["api", "checkout"])] }]
      : undefined
  }
}

/** Whether `ChargeLists.ts` has an index for all filters. */
const isServed = (accountId: string | undefined, filters: ChargeWalkFilters): boolean => {
  const { endToEndId, method, origin, reference, status } = filters
  const others: ChargeWalkFilters = {
    ...filters,
    createdAfterMs: undefined,
    createdBeforeMs: undefined,
    endToEndId: undefined,
    method: undefined,
    origin: undefined,
    reference: undefined,
    status: undefined
  }
  if (Object.values(others).some((value) => value !== undefined)) return false
  if (endToEndId !== undefined || (status === undefined && method === undefined)) return true
  return accountId !== undefined && origin === "api" && reference === undefined
}

/** Of which all charges are the range. */
const isOfAll = (accountId: string | undefined, filters: ChargeWalkFilters): boolean =>
  accountId === undefined && walkPaths(accountId, filters) === undefined

const walkPaths = (
  accountId: string | undefined,
  { amountMax, amountMin, customerDocument, endToEndId, q, reference, word }: ChargeWalkFilters
): ReadonlyArray<AccessPath> | undefined => {
  const account = accountId === undefined ? everyValue("account_id", "uuid") : is("account_id", "uuid", accountId)
  const origin = oneOf("origin", ["api", "checkout"])
  if (endToEndId !== undefined) return [{ selective: isSettledBy(endToEndId) }]
  if (word !== undefined) return [withWord("charges", word)]
  if (q !== undefined) return [withWordsLike("charges", q)]
  if (reference !== undefined) {
    return [{ columns: [is("reference", "text", reference), account, origin], predicate: "reference IS NOT NULL" }]
  }
  if (customerDocument !== undefined) {
    return [
      {
        columns: [is("customer_document", "text", customerDocument), account],
        predicate: "customer_document IS NOT NULL"
      }
    ]
  }
  if (amountMin !== undefined && amountMin === amountMax) return [withWord("charges", amountWord(amountMin))]
  return accountId === undefined ? undefined : [{ columns: [account, origin] }]
}

const conditionsOf = (
  accountId: string | undefined,
  filters: ChargeWalkFilters,
  nowMs: number
): ReadonlyArray<Condition> => {
  const { amountMax, amountMin, failureReason, method, origin, paidBeforeMs, q, status } = filters
  const equal = (column: string, type: "uuid" | "text", value: unknown) =>
    value === undefined ? [] : [equalsUnindexed(column, type, value)]
  return [
    ...equal("account_id", "uuid", accountId),
    ...equal("application_id", "uuid", filters.applicationId),
    ...equal("connection_id", "uuid", filters.connectionId),
    ...equal("origin", "text", origin),
    ...equal("method", "text", method),
    ...equal("reference", "text", filters.reference),
    ...equal("customer_document", "text", filters.customerDocument),
    ...equal("failure_reason", "text", failureReason),
    ...(status === undefined ? [] : [hasStatus(status, nowMs)]),
    ...between("paid_at", "timestamptz", [instantOf(filters.paidAfterMs), instantOf(paidBeforeMs)], false),
    ...between("amount", "bigint", [amountMin, amountMax], true),
    ...failedBetween("charges", filters),
    ...(q === undefined ? [] : [hasWordsLike("charges", q)])
  ]
}

const instantOf = (epochMs: number | undefined): string | undefined =>
  epochMs === undefined ? undefined : formatInstant(epochMs)
