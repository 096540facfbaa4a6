/**
 * What was received, returned, sent and failed in each hour or day of a range.
 *
 * Guarantees: an answer reads one row for each hour, account and kind of the range, and the completed returns of it, however many
 * charges there are. A range has at most `MAX_DAYS` of its interval. Figures are some seconds old: `StatusCounts.ts` writes them.
 */
import type { StatsPeriod } from "@pix-payments/api/operator/Stats"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { dayOf, startOf } from "../database/statements/Days.ts"

/** CTE of `StatusCounts`: what changes add to the hours. */
export const addedHours = `
  added_hours AS (
    INSERT INTO hourly_volumes (at, account_id, resource, reason, count, amount)
    SELECT date_trunc('hour', paid_at), account_id, 'charge', '', count(*), sum(amount)::bigint
    FROM moved WHERE resource = 'charge' AND status = 'paid' AND (previous IS NULL OR previous = 'pending')
    GROUP BY 1, 2
    UNION ALL
    SELECT date_trunc('hour', m.created_at), p.account_id, 'payout', '', count(*), sum(p.amount)::bigint
    FROM moved m JOIN payouts p ON p.id = m.resource_id WHERE m.resource = 'payout' AND m.status = 'completed'
    GROUP BY 1, 2
    UNION ALL
    SELECT date_trunc('hour', m.created_at), m.account_id, 'failed_' || m.resource,
      coalesce(left(CASE m.resource WHEN 'charge' THEN c.failure_reason ELSE p.failure_reason END, 300), ''), count(*),
      sum(coalesce(c.amount, p.amount, 0))::bigint
    FROM moved m LEFT JOIN charges c ON m.resource = 'charge' AND c.id = m.resource_id
      LEFT JOIN payouts p ON m.resource = 'payout' AND p.id = m.resource_id
    WHERE m.status = 'failed' GROUP BY 1, 2, 3, 4
    ON CONFLICT (at, account_id, resource, reason)
      DO UPDATE SET count = hourly_volumes.count + excluded.count, amount = hourly_volumes.amount + excluded.amount
  )`

export const MAX_DAYS = { hour: 8, day: 92 } as const

export interface Range {
  /** Days, both included. */
  readonly from: string
  readonly to: string
  readonly interval: "hour" | "day"
}

interface Row {
  readonly start: Date
  readonly resource: "charge" | "payout" | "refund" | "failed_charge" | "failed_payout"
  readonly reason: string
  readonly count: bigint
  readonly amount: bigint
}

/** The periods of a range that have something, oldest first. `accounts` is an array as text; null for all. */
export const readPeriods = Effect.fnUntraced(function* ({ from, interval, to }: Range, accounts: string | null) {
  const sql = yield* SqlClient
  const rows = yield* sql.unsafe<Row>(interval === "hour" ? hours : days, [accounts, from, to])
  return [...Map.groupBy(rows, ({ start }) => start.getTime()).values()].map(toPeriod)
})

const toPeriod = (rows: ReadonlyArray<Row>): StatsPeriod => {
  const of = (resource: Row["resource"]) => rows.find((row) => row.resource === resource)
  const [received, returned, sent] = (["charge", "refund", "payout"] as const).map((each) =>
    Number(of(each)?.amount ?? 0)
  )
  return {
    start: rows[0]!.start.toISOString(),
    charges_paid: Number(of("charge")?.count ?? 0),
    received: received!,
    refunds_completed: Number(of("refund")?.count ?? 0),
    returned: returned!,
    payouts_completed: Number(of("payout")?.count ?? 0),
    sent: sent!,
    net: received! - returned! - sent!,
    failed: rows.flatMap(({ count, reason, resource }) =>
      resource === "failed_charge" || resource === "failed_payout"
        ? [
            {
              resource: resource === "failed_charge" ? ("charge" as const) : ("payout" as const),
              reason,
              count: Number(count)
            }
          ]
        : []
    )
  }
}

const within = "($1::uuid[] IS NULL OR account_id = ANY ($1::uuid[]))"

const periodsBy = (period: (instant: string) => string) => `
  SELECT ${period("at")} AS start, resource, reason, sum(count)::bigint AS count, sum(amount)::bigint AS amount
  FROM hourly_volumes WHERE at >= ${startOf("$2::date")} AND at < ${startOf("($3::date + 1)")} AND ${within}
  GROUP BY 1, 2, 3
  UNION ALL
  SELECT ${period("completed_at")}, 'refund', '', count(*), sum(amount)::bigint FROM refunds
  WHERE status = 'completed' AND completed_at >= ${startOf("$2::date")} AND completed_at < ${startOf("($3::date + 1)")}
    AND ${within}
  GROUP BY 1
  ORDER BY 1, 4 DESC`

const hours = periodsBy((instant) => `date_trunc('hour', ${instant})`)
const days = periodsBy((instant) => startOf(dayOf(instant)))
