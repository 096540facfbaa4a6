/**
 * The limits of payouts: of an account, and of the API key that asks. They are read and counted while the account's balance is
 * locked, in the transaction that stores the payouts.
 *
 * Guarantees:
 * - However many requests and processes ask at once, a limit is never exceeded: whoever counts holds the lock.
 * - Hours and days are PostgreSQL's, as of the lock. A clock that goes back begins none anew.
 * - A payout counts whatever becomes of it, without its fee.
 *
 * Rules: OPR-333, OPR-334.
 */
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Caller } from "../../../accounts/Caller.ts"
import { bigint, integer, text, uuid } from "../../../database/statements/Column.ts"
import { dayOf, startOf } from "../../../database/statements/Days.ts"
import { rows, statement, uuids } from "../../../database/statements/Statement.ts"

interface LimitedRequest {
  /** Undefined for operators. */
  readonly caller: Pick<Caller, "keyId" | "isPayoutLimited"> | undefined
  readonly requested: { readonly accountId: string }
}

/** Limits of an owner, and what is used of them. */
export interface PayoutLimits {
  readonly ownerId: string
  readonly perHour: number | null
  readonly perDay: number | null
  readonly centsPerDay: number | null
  readonly recipients: ReadonlyArray<string> | null
  readonly inHour: number
  readonly inDay: number
  readonly centsInDay: number
  /** The hour and the day that are counted, as text of PostgreSQL, and the seconds that are left of them. */
  readonly hour: string
  readonly day: string
  readonly secondsOfHour: number
  readonly secondsOfDay: number
}

export type LimitRefusal =
  | { readonly _tag: "RecipientRestricted" }
  | { readonly _tag: "LimitExceeded"; readonly retryAfterSeconds: number }

/** Why the limits do not allow a payout, if so. */
export const refusedByLimits = (
  all: ReadonlyArray<PayoutLimits>,
  recipient: string | null,
  amount: number
): LimitRefusal | undefined => {
  if (all.some(({ recipients }) => recipients !== null && (recipient === null || !recipients.includes(recipient)))) {
    return { _tag: "RecipientRestricted" }
  }
  const waits = all.flatMap((limits) => [
    limits.inHour + 1 > (limits.perHour ?? Infinity) ? limits.secondsOfHour : 0,
    limits.inDay + 1 > (limits.perDay ?? Infinity) ? limits.secondsOfDay : 0,
    limits.centsInDay + amount > (limits.centsPerDay ?? Infinity) ? limits.secondsOfDay : 0
  ])
  const retryAfterSeconds = Math.max(0, ...waits)
  return retryAfterSeconds === 0 ? undefined : { _tag: "LimitExceeded", retryAfterSeconds }
}

/** The limits after a payout. */
export const countedIn = (limits: PayoutLimits, amount: number): PayoutLimits => ({
  ...limits,
  inHour: limits.inHour + 1,
  inDay: limits.inDay + 1,
  centsInDay: limits.centsInDay + amount
})

/** Whose limits a payout is subject to: those of its account and of its key. */
export const ownersOf = ({ caller, requested }: LimitedRequest): ReadonlyArray<string> =>
  caller === undefined ? [requested.accountId] : [requested.accountId, caller.keyId]

/** The limits of the requests by their owner. No statement where there is none. */
export const payoutLimits = Effect.fnUntraced(function* (
  sql: SqlClient,
  requests: ReadonlyArray<LimitedRequest>,
  accounts: ReadonlyMap<string, { readonly isLimited: boolean }>
) {
  const owners = requests.flatMap(({ caller, requested: { accountId } }) => [
    ...(accounts.get(accountId)?.isLimited === true ? [accountId] : []),
    ...(caller?.isPayoutLimited === true ? [caller.keyId] : [])
  ])
  const found = owners.length === 0 ? [] : yield* sql.unsafe<LimitsRow>(...readLimits({ owners: [...new Set(owners)] }))
  return new Map(found.map((row) => [row.owner_id, limitsFrom(row)]))
})

/** Stores what is used. */
export const storeUse = (sql: SqlClient, used: ReadonlyMap<string, PayoutLimits>) =>
  used.size === 0 ? Effect.void : sql.unsafe(...updateUse({ used: [...used.values()] }))

interface LimitsRow {
  readonly owner_id: string
  readonly payouts_per_hour: number | null
  readonly payouts_per_day: number | null
  readonly payout_cents_per_day: bigint | null
  readonly recipients: ReadonlyArray<string> | null
  readonly payouts_in_hour: number
  readonly payouts_in_day: number
  readonly cents_in_day: bigint
  readonly hour: string
  readonly day: string
  readonly seconds_of_hour: number
  readonly seconds_of_day: number
}

const limitsFrom = (row: LimitsRow): PayoutLimits => ({
  ownerId: row.owner_id,
  perHour: row.payouts_per_hour,
  perDay: row.payouts_per_day,
  centsPerDay: row.payout_cents_per_day === null ? null : Number(row.payout_cents_per_day),
  recipients: row.recipients,
  inHour: row.payouts_in_hour,
  inDay: row.payouts_in_day,
  centsInDay: Number(row.cents_in_day),
  hour: row.hour,
  day: row.day,
  secondsOfHour: row.seconds_of_hour,
  secondsOfDay: row.seconds_of_day
})

const secondsUntil = (end: string): string =>
  `greatest(1, ceil(extract(epoch FROM ${end} - clock_timestamp())))::integer`

// The time of the statement: the transaction began before it waited for the lock.
const readLimits = statement(
  { owners: uuids },
  ({ owners }) => `
  SELECT l.owner_id, l.payouts_per_hour, l.payouts_per_day, l.payout_cents_per_day, l.recipients,
    CASE WHEN l.hour >= t.hour THEN l.payouts_in_hour ELSE 0 END AS payouts_in_hour,
    CASE WHEN l.day >= t.day THEN l.payouts_in_day ELSE 0 END AS payouts_in_day,
    CASE WHEN l.day >= t.day THEN l.cents_in_day ELSE 0 END AS cents_in_day,
    greatest(l.hour, t.hour)::text AS hour, greatest(l.day, t.day)::text AS day,
    ${secondsUntil("greatest(l.hour, t.hour) + interval '1 hour'")} AS seconds_of_hour,
    ${secondsUntil(startOf("(greatest(l.day, t.day) + 1)"))} AS seconds_of_day
  FROM limits l, (SELECT date_trunc('hour', clock_timestamp()) AS hour, ${dayOf("clock_timestamp()")} AS day) t
  WHERE l.owner_id = ANY (${owners})`
)

const updateUse = statement(
  {
    used: rows({
      ownerId: uuid(),
      hour: text(),
      inHour: integer(),
      day: text(),
      inDay: integer(),
      centsInDay: bigint()
    })
  },
  ({ used }) => `
  UPDATE limits l SET hour = u.hour::timestamptz, payouts_in_hour = u.in_hour, day = u.day::date, payouts_in_day = u.in_day,
    cents_in_day = u.cents_in_day
  FROM ${used} AS u WHERE l.owner_id = u.owner_id`
)
