/**
 * Statistics of an installation or of one account: a report over whole tables, not for frequent polling.
 */
import type { Stats as StatsBody } from "@pix-payments/api/operator/Stats"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { withReportPlanner } from "../sql/Database.ts"
import { LimitedTo } from "../sql/Paging.ts"
import { orUnavailable, type Unavailable } from "../sql/Unavailable.ts"

export class Statistics extends Context.Service<
  Statistics,
  {
    /** Statistics of an account; of all accounts, or of those that the request is limited to, where it is `undefined`. */
    readonly read: (accountId: string | undefined) => Effect.Effect<StatsBody, Unavailable>
  }
>()("@pix-payments/server/Statistics") {
  static readonly layer = Layer.effect(
    Statistics,
    Effect.map(SqlClient, (sql) =>
      Statistics.of({
        read: (accountId) =>
          withReportPlanner(
            Effect.gen(function* () {
              const limit = yield* LimitedTo
              const accountIds = accountId === undefined ? limit : [accountId].filter((id) => isWithin(id, limit))
              const parameters = [accountIds === undefined ? null : `{${accountIds.join(",")}}`]
              return {
                object: "stats" as const,
                charges: byState(yield* sql.unsafe<StateRow>(chargesByState, parameters)),
                payouts: byState(yield* sql.unsafe<StateRow>(inStates("payouts"), parameters)),
                disputes: byState(yield* sql.unsafe<StateRow>(inStates("disputes"), parameters)),
                deliveries: byState(yield* sql.unsafe<StateRow>(deliveriesByState, parameters)),
                volume_per_day: (yield* sql.unsafe<DayRow>(volumePerDay, parameters)).map(toDay),
                ...toDue(
                  yield* sql.unsafe<DueRow>(due, parameters),
                  yield* sql.unsafe<RateRow>(successRate, parameters)
                )
              }
            })
          ).pipe(Effect.provideService(SqlClient, sql), orUnavailable)
      })
    )
  )
}

interface StateRow {
  readonly status: string
  readonly count: bigint
}

interface DayRow {
  readonly date: string
  readonly charges_paid: bigint
  readonly charges_amount: string
  readonly payouts_created: bigint
  readonly payouts_amount: string
}

interface DueRow {
  readonly count: bigint
  readonly oldest: Date | null
}

interface RateRow {
  readonly attempts: bigint
  readonly successes: bigint
}

const isWithin = (accountId: string, limit: ReadonlyArray<string> | undefined): boolean =>
  limit === undefined || limit.includes(accountId.toLowerCase())

const inAccount = (column: string) => `($1::uuid[] IS NULL OR ${column} = ANY ($1::uuid[]))`

const inStates = (table: string) =>
  `SELECT status, count(*) AS count FROM ${table} WHERE ${inAccount("account_id")} GROUP BY status`

const chargesByState = `
  SELECT CASE WHEN status <> 'pending' THEN status WHEN NOT acquirer_answered THEN 'processing'
    WHEN expires_at <= now() THEN 'expired' ELSE status END AS status,
    count(*) AS count
  FROM charges WHERE ${inAccount("account_id")} GROUP BY 1`

const volumePerDay = `
  WITH paid AS (
    SELECT (paid_at AT TIME ZONE 'UTC')::date AS day, count(*) AS count, sum(amount) AS amount FROM charges
    WHERE paid_at >= now() - interval '30 days' AND ${inAccount("account_id")} GROUP BY 1
  ),
  sent AS (
    SELECT (created_at AT TIME ZONE 'UTC')::date AS day, count(*) AS count, sum(amount) AS amount FROM payouts
    WHERE created_at >= now() - interval '30 days' AND ${inAccount("account_id")} GROUP BY 1
  )
  SELECT to_char(coalesce(p.day, s.day), 'YYYY-MM-DD') AS date, coalesce(p.count, 0) AS charges_paid,
    coalesce(p.amount, 0)::text AS charges_amount, coalesce(s.count, 0) AS payouts_created,
    coalesce(s.amount, 0)::text AS payouts_amount
  FROM paid p FULL JOIN sent s ON s.day = p.day ORDER BY 1 DESC`

// Scheduled deliveries of a deleted endpoint count as canceled.
const deliveriesByState = `
  SELECT CASE WHEN d.status = 'scheduled' AND w.deleted_at IS NOT NULL THEN 'canceled' ELSE d.status END AS status,
    count(*) AS count
  FROM deliveries d LEFT JOIN webhook_endpoints w ON w.id = d.endpoint_id
  WHERE ${inAccount("d.account_id")} GROUP BY 1`

// Deliveries of a paused endpoint are not due. Changes that are not fanned out yet are.
const due = `
  SELECT count(*) AS count, min(due_at) AS oldest FROM (
    SELECT d.due_at FROM deliveries d LEFT JOIN webhook_endpoints w ON w.id = d.endpoint_id
    WHERE d.status = 'scheduled' AND d.due_at <= now() AND ${inAccount("d.account_id")}
      AND w.deleted_at IS NULL AND coalesce(w.active, true)
    UNION ALL
    SELECT c.created_at FROM outbox o JOIN changes c ON c.id = o.change_id WHERE ${inAccount("o.account_id")}
  ) waiting`

const successRate = `
  SELECT count(*) AS attempts, count(*) FILTER (WHERE a.error IS NULL) AS successes
  FROM delivery_attempts a JOIN deliveries d ON d.id = a.delivery_id WHERE ${inAccount("d.account_id")}`

const byState = (rows: ReadonlyArray<StateRow>) =>
  Object.fromEntries(rows.map(({ count, status }) => [status, Number(count)]))

const toDay = (row: DayRow) => ({
  date: row.date,
  charges_paid: Number(row.charges_paid),
  charges_amount: Number(row.charges_amount),
  payouts_created: Number(row.payouts_created),
  payouts_amount: Number(row.payouts_amount)
})

const toDue = ([dueNow]: ReadonlyArray<DueRow>, [rate]: ReadonlyArray<RateRow>) => ({
  deliveries_due: Number(dueNow?.count ?? 0),
  oldest_due_at: dueNow?.oldest?.toISOString() ?? null,
  success_rate: rate === undefined || rate.attempts === 0n ? null : Number(rate.successes) / Number(rate.attempts)
})
