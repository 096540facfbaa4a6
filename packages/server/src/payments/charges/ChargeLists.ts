/**
 * Lists of charges, and the index that each of them walks (migration `list_indexes`, `database/statements/Seek.ts`). Lists by status walk
 * those of `charge_states` and `charge_settlements`, and before their start (`schema/partitions/ChargeStates.ts`) those of
 * `charges`.
 *
 * `expired` is not stored, and no index knows the time. But the lifetime of a charge is fixed when it is stored, and of
 * the charges with one lifetime, exactly those created before one instant have expired. So `pending` and `expired` are one
 * range of ids for each lifetime that occurs among the unpaid charges of an account (CHG-5, CHG-20).
 */
import type { ChargeMethod, ChargeStatus } from "@pix-payments/domain/Charge"
import { formatInstant } from "@pix-payments/domain/Instant"
import { lowestIdAt } from "@pix-payments/domain/Uuid"
import { type CreatedBetween, idsBetween, type List } from "../../database/statements/Paging.ts"
import { LIFETIME } from "../../schema/partitions/ChargeStates.ts"
import {
  type Bind,
  type Column,
  type Condition,
  everyValue,
  equals,
  equalsUnindexed,
  is,
  oneOf,
  oneOfIds,
  type IndexPath,
  type AccessPath,
  HIGHEST,
  LOWEST
} from "../../database/statements/Seek.ts"

export interface ChargeFilters extends CreatedBetween {
  readonly status?: ChargeStatus | undefined
  readonly method?: ChargeMethod | undefined
  readonly origin?: "api" | "checkout" | undefined
  readonly reference?: string | undefined
  readonly endToEndId?: string | undefined
}

/** The filtered charges of an account; without `accountId`, of all accounts. `start` is that of the states. */
export const chargeList = (
  columns: string,
  accountId: string | undefined,
  filters: ChargeFilters,
  nowMs: number,
  start: string | undefined
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
            paths: ofAccount(accountId, filters, nowMs, start),
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
const ofAccount = (
  accountId: string,
  { method, status }: ChargeFilters,
  nowMs: number,
  start: string | undefined
): ReadonlyArray<AccessPath> => {
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
      return unpaid(account, start, from, undefined)
    }
    case "expired": {
      const before: Bound = (lifetime, bind) => lowestIdIn(`${bind(nowMs)}::bigint - ${lifetime} + 2`)
      return unpaid(account, start, undefined, before)
    }
    case "processing":
      return [
        // Those that were not answered in time; new ones, in ranges or listed; those of the release before migration 0004.
        { columns: [account], predicate: "account_id IS NOT NULL", through: { table: "charge_recoveries", id: "id" } },
        { columns: [account, is("origin", "text", "api")], within: NEW_CHARGES },
        {
          selective: (bind) => `id = ANY (ARRAY(
            SELECT unnest(charge_ids) FROM charge_recoveries WHERE account_id IS NULL AND first_id IS NULL
          )) AND ${equalsUnindexed("account_id", "uuid", accountId)(bind)}`
        },
        ...fromStart(start, [], [{ columns: [account, is("status", "text", status)], predicate: IS_DECIDED }])
      ]
    default: {
      const columns = [account, is("status", "text", status)]
      const states: IndexPath = { columns: [...columns, is("lifetime_ms", "bigint", 0)], through: CHARGE_STATES }
      const settlements: IndexPath = {
        columns: [account],
        predicate: "account_id IS NOT NULL",
        through: { table: "charge_settlements", id: "charge_id" }
      }
      return fromStart(start, status === "paid" ? [states, settlements] : [states], [
        { columns, predicate: IS_DECIDED }
      ])
    }
  }
}

/**
 * Ids of new charges, which recoveries of ranges have (`NewRecoveries.ts`). Ranges of several processes overlap, and are merged:
 * the account's charges in them are read once. Text, because PostgreSQL has no greatest id of a group.
 */
const NEW_CHARGES = `
  SELECT min(first)::uuid AS first_id, max(last)::uuid AS last_id FROM (
    SELECT first, last, count(*) FILTER (WHERE begins) OVER (ORDER BY first) AS place FROM (
      SELECT first_id::text AS first, last_id::text AS last, first_id::text > coalesce(
        max(last_id::text) OVER (ORDER BY first_id ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), ''
      ) AS begins
      FROM charge_recoveries WHERE first_id IS NOT NULL
    ) ranges
  ) merged GROUP BY place`

const IS_OF_API = equalsUnindexed("origin", "text", "api")

const IS_DECIDED = "origin = 'api' AND status <> 'pending'"

const CHARGE_STATES = { table: "charge_states", id: "charge_id" }

/** A bound of ids, given the lifetime of charges. */
type Bound = (lifetime: string, bind: Bind) => string

const unpaid = (account: Column, start: string | undefined, from: Bound | undefined, before: Bound | undefined) => {
  const ofLifetime = (bound: Bound | undefined, index: number): IndexPath["from"] =>
    bound === undefined ? undefined : (keys, bind) => bound(keys[index]!, bind)
  return fromStart(
    start,
    [
      {
        columns: [account, is("status", "text", "pending"), everyValue("lifetime_ms", "bigint")],
        through: CHARGE_STATES,
        from: ofLifetime(from, 2),
        before: ofLifetime(before, 2)
      }
    ],
    [
      {
        columns: [account, everyValue(LIFETIME, "bigint")],
        predicate: "origin = 'api' AND status = 'pending'",
        from: ofLifetime(from, 1),
        before: ofLifetime(before, 1)
      }
    ]
  )
}

/** Some paths from the start on, others before it. */
const fromStart = (
  start: string | undefined,
  since: ReadonlyArray<IndexPath>,
  earlier: ReadonlyArray<IndexPath>
): ReadonlyArray<IndexPath> => {
  if (start === undefined) return earlier
  if (start === LOWEST) return since
  const startingAt = (bound: IndexPath["from"]): IndexPath["from"] =>
    bound === undefined ? () => `'${start}'::uuid` : (keys, bind) => `greatest(${bound(keys, bind)}, '${start}'::uuid)`
  return [
    ...since.map((path) => ({ ...path, from: startingAt(path.from) })),
    // The comparison of the id alone leaves out the later partitions, which do not have these indexes.
    ...earlier.map((path) => ({ ...path, predicate: `${path.predicate} AND id < '${start}'` }))
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

/**
 * All charges that wait for the acquirer's answer: those of recoveries, and those of the release before migration 0004. The
 * subquery has an offset, so that each range is read by itself.
 */
export const unanswered = (start: string | undefined): string =>
  `(status = 'processing' OR (status = 'pending' AND NOT acquirer_answered)) AND id = ANY (ARRAY(
  SELECT unnest(charge_ids) FROM charge_recoveries
  UNION SELECT c.id FROM charge_recoveries r CROSS JOIN LATERAL (
      SELECT id FROM charges
      WHERE id >= r.first_id AND id <= r.last_id AND status = 'pending' AND NOT acquirer_answered OFFSET 0
    ) c WHERE r.first_id IS NOT NULL
  ${start === LOWEST ? "" : `UNION SELECT id FROM charges WHERE status = 'processing' AND id < '${start ?? HIGHEST}'`}
))`

const isSettledBy =
  (endToEndId: string): Condition =>
  (bind) =>
    `id = ANY (ARRAY(SELECT charge_id FROM charge_settlements WHERE end_to_end_id = ${bind(endToEndId)}::text))`

const hasStatus =
  (status: ChargeStatus, nowMs: number): Condition =>
  (bind: Bind) => {
    const now = () => `${bind(formatInstant(nowMs))}::timestamptz`
    switch (status) {
      case "expired":
        return `status = 'pending' AND acquirer_answered AND expires_at <= ${now()}`
      case "pending":
        return `status = 'pending' AND acquirer_answered AND (expires_at IS NULL OR expires_at > ${now()})`
      case "processing":
        return "(status = 'processing' OR (status = 'pending' AND NOT acquirer_answered))"
      default:
        return equalsUnindexed("status", "text", status)(bind)
    }
  }
