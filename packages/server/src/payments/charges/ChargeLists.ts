/**
 * Lists of charges, and the index that each of them walks (`database/statements/Seek.ts`). Lists by status walk those of
 * `charge_states` and `charge_settlements` (`ChargeStates.ts`).
 *
 * `expired` is not stored, and no index knows the time. But the lifetime of a charge is fixed when it is stored, and of
 * the charges with one lifetime, exactly those created before one instant have expired. So `pending` and `expired` are one
 * range of ids for each lifetime that occurs among the unpaid charges of an account (CHG-5, CHG-20).
 */
import type { ChargeMethod, ChargeStatus } from "@pix-payments/domain/Charge"
import { formatInstant } from "@pix-payments/domain/Instant"
import { lowestIdAt } from "@pix-payments/domain/Uuid"
import { type CreatedBetween, idsBetween, type List } from "../../database/statements/Paging.ts"
import { type Bind, type Condition, equals, equalsUnindexed } from "../../database/statements/Condition.ts"
import {
  type Column,
  everyValue,
  is,
  oneOf,
  oneOfIds,
  type IndexPath,
  type AccessPath
} from "../../database/statements/Seek.ts"

export interface ChargeFilters extends CreatedBetween {
  readonly status?: ChargeStatus | undefined
  readonly method?: ChargeMethod | undefined
  readonly origin?: "api" | "checkout" | undefined
  readonly reference?: string | undefined
  readonly endToEndId?: string | undefined
}

/** The filtered charges of an account; without `accountId`, of all accounts. */
export const chargeList = (
  columns: string,
  accountId: string | undefined,
  filters: ChargeFilters,
  nowMs: number
): List => {
  const { endToEndId, method, origin, reference, status } = filters
  const scope = [
    ...(accountId === undefined ? [] : [equals("account_id", "uuid", accountId)]),
    ...(origin === undefined ? [] : [equals("origin", "text", origin)])
  ]
  const kind = [
    ...(method === undefined ? [] : [equalsUnindexed("method", "text", method)]),
    ...(status === undefined ? [] : [hasStatus(status, nowMs)])
  ]
  const named = reference === undefined ? [] : [equals("reference", "text", reference)]
  const ways =
    endToEndId !== undefined
      ? { paths: [{ selective: isSettledBy(endToEndId) }], filters: [...scope, ...named, ...kind] }
      : accountId !== undefined && origin === "api" && reference === undefined
        ? {
            paths: ofAccount(accountId, filters, nowMs),
            // Recoveries are of charges of every origin, and a charge may have several.
            ...(status === "processing" ? { filters: [...kind, IS_OF_API], overlaps: true } : { filters: kind })
          }
        : { paths: ofAny(accountId, filters), filters: kind }
  return {
    table: "charges",
    columns,
    scope,
    account: "account_id",
    pathsOf:
      accountId === undefined && endToEndId === undefined
        ? (ids) => ofSome(oneOfIds("account_id", ids), filters)
        : undefined,
    ...idsBetween(filters),
    // Many accounts may have none, so the newest rows of all accounts are searched first.
    recent:
      accountId === undefined && origin !== undefined && endToEndId === undefined ? [...scope, ...named] : undefined,
    ...ways
  }
}

/** The charges of one account that were created through the API. */
const ofAccount = (accountId: string, { method, status }: ChargeFilters, nowMs: number): ReadonlyArray<AccessPath> => {
  const account = is("account_id", "uuid", accountId)
  // The API creates Pix charges only: the partial index of other methods is empty.
  if (method !== undefined && method !== "pix") {
    return [{ columns: [account, is("method", "text", method)], predicate: "origin = 'api' AND method <> 'pix'" }]
  }
  switch (status) {
    case undefined:
      return [{ columns: [account, is("origin", "text", "api")] }]
    case "pending": {
      const from: Bound = (lifetime, bind) => lowestIdIn(`${bind(nowMs)}::bigint - ${lifetime} - 1`)
      return unpaid(account, from, undefined)
    }
    case "expired": {
      const before: Bound = (lifetime, bind) => lowestIdIn(`${bind(nowMs)}::bigint - ${lifetime} + 2`)
      return unpaid(account, undefined, before)
    }
    case "processing":
      return [
        // Those that were not answered in time, and new ones.
        { columns: [account], predicate: "account_id IS NOT NULL", through: { table: "charge_recoveries", id: "id" } },
        {
          selective: (bind) => `id = ANY (ARRAY(
            SELECT unnest(charge_ids) FROM charge_recoveries WHERE account_id IS NULL
          )) AND ${equalsUnindexed("account_id", "uuid", accountId)(bind)}`
        }
      ]
    default: {
      const states: IndexPath = {
        columns: [account, is("status", "text", status), is("lifetime_ms", "bigint", 0)],
        through: CHARGE_STATES
      }
      const settlements: IndexPath = {
        columns: [account],
        predicate: "account_id IS NOT NULL",
        through: { table: "charge_settlements", id: "charge_id" }
      }
      return status === "paid" ? [states, settlements] : [states]
    }
  }
}

const IS_OF_API = equalsUnindexed("origin", "text", "api")

const CHARGE_STATES = { table: "charge_states", id: "charge_id" }

/** A bound of ids, given the lifetime of charges. */
type Bound = (lifetime: string, bind: Bind) => string

const unpaid = (account: Column, from: Bound | undefined, before: Bound | undefined): ReadonlyArray<IndexPath> => {
  const ofLifetime = (bound: Bound | undefined): IndexPath["from"] =>
    bound === undefined ? undefined : (keys, bind) => bound(keys[2]!, bind)
  return [
    {
      columns: [account, is("status", "text", "pending"), everyValue("lifetime_ms", "bigint")],
      through: CHARGE_STATES,
      from: ofLifetime(from),
      before: ofLifetime(before)
    }
  ]
}

/** The charges that operators list, of one account or of all. */
const ofAny = (
  accountId: string | undefined,
  { origin, reference }: ChargeFilters
): ReadonlyArray<AccessPath> | undefined => {
  if (accountId === undefined && origin === undefined && reference === undefined) return undefined
  return ofSome(accountId === undefined ? everyValue("account_id", "uuid") : is("account_id", "uuid", accountId), {
    origin,
    reference
  })
}

const ofSome = (account: Column, { origin, reference }: ChargeFilters): ReadonlyArray<AccessPath> => {
  const from = origin === undefined ? oneOf("origin", ["api", "checkout"]) : is("origin", "text", origin)
  return reference === undefined
    ? [{ columns: [account, from] }]
    : [{ columns: [is("reference", "text", reference), account, from], predicate: "reference IS NOT NULL" }]
}

/** The lowest id of a millisecond that is computed in SQL; before the epoch, the lowest id of all. */
const lowestIdIn = (epochMs: string): string =>
  `(lpad(to_hex(greatest(0, ${epochMs})), 12, '0') || '${lowestIdAt(0).replaceAll("-", "").slice(12)}')::uuid`

/** All charges that wait for the acquirer's answer. */
export const UNANSWERED = "status = 'processing' AND id = ANY (ARRAY(SELECT unnest(charge_ids) FROM charge_recoveries))"

export const isSettledBy =
  (endToEndId: string): Condition =>
  (bind) =>
    `id = ANY (ARRAY(SELECT charge_id FROM charge_settlements WHERE end_to_end_id = ${bind(endToEndId)}::text))`

export const hasStatus =
  (status: ChargeStatus, nowMs: number): Condition =>
  (bind: Bind) => {
    const now = () => `${bind(formatInstant(nowMs))}::timestamptz`
    switch (status) {
      case "expired":
        return `status = 'pending' AND expires_at <= ${now()}`
      case "pending":
        return `status = 'pending' AND (expires_at IS NULL OR expires_at > ${now()})`
      default:
        return equalsUnindexed("status", "text", status)(bind)
    }
  }

/** The status that a charge is shown with. */
export const shownStatus =
  (nowMs: number): Condition =>
  (bind) =>
    `CASE WHEN ${hasStatus("expired", nowMs)(bind)} THEN 'expired' ELSE status END`
