/**
 * Statistics of an installation or of one account.
 *
 * Guarantees:
 * - An answer reads no settled charge, no ended payout and no successful delivery, however many there are. It reads counts
 *   (`StatusCounts.ts`, `delivery_totals`), the returns of 31 days, what is open, and the deliveries that failed or were canceled.
 */
import type { Stats as StatsBody } from "@pix-payments/api/operator/Stats"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { UNANSWERED } from "../payments/charges/ChargeLists.ts"
import { withReportPlanner } from "../database/Database.ts"
import { LimitedTo } from "../database/statements/Paging.ts"
import { orUnavailable, type Unavailable } from "../database/Unavailable.ts"
import { forLanes } from "../webhooks/queue/DeliveryClaims.ts"
import { readTotals } from "../webhooks/deliveries/DeliveryTotals.ts"
import { type CountRow, readCounts } from "./StatusCounts.ts"

export class Statistics extends Context.Service<
  Statistics,
  {
    /** Statistics of an account; of all accounts, or of those that the request is limited to, where it is `undefined`. */
    readonly read: (accountId: string | undefined) => Effect.Effect<StatsBody, Unavailable>
  }
>()("@pix-payments/server/Statistics") {
  static readonly layer = Layer.effect(
    Statistics,
    Effect.map(SqlClient, (sql) => {
      return Statistics.of({
        read: (accountId) =>
          withReportPlanner(
            Effect.gen(function* () {
              const limit = yield* LimitedTo
              const accountIds = accountId === undefined ? limit : [accountId].filter((id) => isWithin(id, limit))
              const parameters = [accountIds === undefined ? null : `{${accountIds.join(",")}}`]
              const [installed] = yield* sql<{ timezone: string }>`SELECT timezone FROM installation_settings`
              const counts = yield* sql.unsafe<CountRow>(readCounts, parameters)
              const [totals] = yield* sql.unsafe<TotalsRow>(attemptTotals, parameters)
              return {
                object: "stats" as const,
                timezone: installed!.timezone,
                charges: {
                  ...byState(counts.filter(isState("charge"))),
                  ...byState(yield* sql.unsafe<StateRow>(UNANSWERED_CHARGES, parameters))
                },
                payouts: byState(counts.filter(isState("payout"))),
                disputes: byState(yield* sql.unsafe<StateRow>(inStates("disputes"), parameters)),
                deliveries: {
                  ...byState(yield* sql.unsafe<StateRow>(deliveriesByState, parameters)),
                  ...toDelivered(totals)
                },
                volume_per_day: toDays(counts),
                ...toDue(yield* sql.unsafe<DueRow>(due, parameters)),
                ...toSuccessRate(totals)
              }
            })
          ).pipe(Effect.provideService(SqlClient, sql), orUnavailable)
      })
    })
  )
}

interface StateRow {
  readonly status: string
  readonly count: bigint
}

interface DueRow {
  readonly count: bigint
  readonly oldest: Date | null
}

interface TotalsRow {
  readonly successes: bigint
  readonly recent_attempts: bigint
  readonly recent_successes: bigint
}

const isWithin = (accountId: string, limit: ReadonlyArray<string> | undefined): boolean =>
  limit === undefined || limit.includes(accountId.toLowerCase())

const inAccount = (column: string) => `($1::uuid[] IS NULL OR ${column} = ANY ($1::uuid[]))`

const inStates = (table: string) =>
  `SELECT status, count(*) AS count FROM ${table} WHERE ${inAccount("account_id")} GROUP BY status`

/** These have no change yet. */
const UNANSWERED_CHARGES = `
  SELECT 'processing' AS status, count(*) AS count FROM charges WHERE ${UNANSWERED} AND ${inAccount("account_id")}
  HAVING count(*) > 0`

/** Deliveries that are due, in flight or waiting for their next attempt. Each part is what a partial index has. */
const inLanes = Object.values(
  forLanes((lane) => `SELECT status, due_at, endpoint_id, account_id FROM deliveries WHERE ${lane}`)
).join(" UNION ALL ")

const paused = "SELECT status, due_at, endpoint_id, account_id FROM deliveries WHERE paused_due_at IS NOT NULL"

// Scheduled deliveries of a deleted endpoint count as canceled.
const deliveriesByState = `
  SELECT status, count(*) AS count FROM (
    SELECT CASE WHEN d.status = 'scheduled' AND w.deleted_at IS NOT NULL THEN 'canceled' ELSE d.status END AS status
    FROM (${inLanes} UNION ALL ${paused}) d LEFT JOIN webhook_endpoints w ON w.id = d.endpoint_id
    WHERE ${inAccount("d.account_id")}
    UNION ALL
    SELECT status FROM deliveries WHERE status IN ('failed', 'canceled') AND ${inAccount("account_id")}
  ) kept
  GROUP BY 1`

// Deliveries of a paused endpoint are not due. Changes that are not fanned out yet are.
const due = `
  SELECT count(*) AS count, min(due_at) AS oldest FROM (
    SELECT d.due_at FROM (${inLanes}) d LEFT JOIN webhook_endpoints w ON w.id = d.endpoint_id
    WHERE d.status = 'scheduled' AND d.due_at <= now() AND ${inAccount("d.account_id")}
      AND w.deleted_at IS NULL AND coalesce(w.active, true)
    UNION ALL
    SELECT c.created_at FROM outbox o JOIN changes c ON c.id = o.change_id
    WHERE (o.leased_until IS NULL OR o.leased_until <= now()) AND ${inAccount("o.account_id")}
  ) waiting`

const attemptTotals = readTotals(inAccount("account_id"))

const byState = (rows: ReadonlyArray<StateRow>) =>
  Object.fromEntries(rows.map(({ count, status }) => [status, Number(count)]))

const isState =
  (resource: CountRow["resource"]) =>
  (row: CountRow): row is CountRow & StateRow =>
    row.resource === resource && row.status !== null

/** The newest day first. */
const toDays = (rows: ReadonlyArray<CountRow>) => {
  const volumes = rows.filter(({ date }) => date !== null)
  const of = (resource: CountRow["resource"], date: string | null) =>
    volumes.find((row) => row.resource === resource && row.date === date)
  return [...new Set(volumes.map(({ date }) => date))]
    .toSorted()
    .toReversed()
    .map((date) => {
      const [charges, refunds, payouts] = [of("charge", date), of("refund", date), of("payout", date)]
      const received = Number(charges?.amount ?? 0)
      const returned = Number(refunds?.amount ?? 0)
      const sent = Number(payouts?.amount ?? 0)
      return {
        date: date ?? "",
        charges_paid: Number(charges?.count ?? 0),
        received,
        refunds_completed: Number(refunds?.count ?? 0),
        returned,
        payouts_completed: Number(payouts?.count ?? 0),
        sent,
        net: received - returned - sent
      }
    })
}

const toDue = ([dueNow]: ReadonlyArray<DueRow>) => ({
  deliveries_due: Number(dueNow?.count ?? 0),
  oldest_due_at: dueNow?.oldest?.toISOString() ?? null
})

const toDelivered = (totals: TotalsRow | undefined) =>
  totals === undefined || totals.successes === 0n ? {} : { delivered: Number(totals.successes) }

const toSuccessRate = (totals: TotalsRow | undefined) => ({
  success_rate:
    totals === undefined || totals.recent_attempts === 0n
      ? null
      : Number(totals.recent_successes) / Number(totals.recent_attempts)
})
