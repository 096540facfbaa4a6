/**
 * Statistics of an installation or of one account: a report over whole tables, not for frequent polling.
 */
import type { Stats as StatsBody } from "@pix-payments/api/operator/Stats"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { UNANSWERED } from "../charges/ChargeLists.ts"
import { withReportPlanner } from "../sql/Database.ts"
import { LimitedTo } from "../sql/Paging.ts"
import { orUnavailable, type Unavailable } from "../sql/Unavailable.ts"
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
    Effect.map(SqlClient, (sql) =>
      Statistics.of({
        read: (accountId) =>
          withReportPlanner(
            Effect.gen(function* () {
              const limit = yield* LimitedTo
              const accountIds = accountId === undefined ? limit : [accountId].filter((id) => isWithin(id, limit))
              const parameters = [accountIds === undefined ? null : `{${accountIds.join(",")}}`]
              const counts = yield* sql.unsafe<CountRow>(readCounts, parameters)
              return {
                object: "stats" as const,
                charges: {
                  ...byState(counts.filter(isState("charge"))),
                  ...byState(yield* sql.unsafe<StateRow>(unansweredCharges, parameters))
                },
                payouts: byState(counts.filter(isState("payout"))),
                disputes: byState(yield* sql.unsafe<StateRow>(inStates("disputes"), parameters)),
                deliveries: byState(yield* sql.unsafe<StateRow>(deliveriesByState, parameters)),
                volume_per_day: toDays(counts),
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

/** These have no change yet. */
const unansweredCharges = `
  SELECT 'processing' AS status, count(*) AS count FROM charges WHERE ${UNANSWERED} AND ${inAccount("account_id")}
  HAVING count(*) > 0`

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

// Those stored in their delivery are kept for longer. They count as long as they would as rows.
const successRate = `
  SELECT sum(attempts)::bigint AS attempts, sum(successes)::bigint AS successes FROM (
    SELECT count(*) AS attempts, count(*) FILTER (WHERE a.error IS NULL) AS successes
    FROM delivery_attempts a JOIN deliveries d ON d.id = a.delivery_id WHERE ${inAccount("d.account_id")}
    UNION ALL
    SELECT count(*), count(*) FROM deliveries d WHERE ${inAccount("d.account_id")}
      AND d.first_attempt_at >= coalesce((SELECT uuid_extract_timestamp(before_id) FROM removed_partitions
        WHERE parent = 'delivery_attempts' ORDER BY before_id DESC LIMIT 1), '-infinity')
  ) a`

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
    .map((date) => ({
      date: date ?? "",
      charges_paid: Number(of("charge", date)?.count ?? 0),
      charges_amount: Number(of("charge", date)?.amount ?? 0),
      payouts_created: Number(of("payout", date)?.count ?? 0),
      payouts_amount: Number(of("payout", date)?.amount ?? 0)
    }))
}

const toDue = ([dueNow]: ReadonlyArray<DueRow>, [rate]: ReadonlyArray<RateRow>) => ({
  deliveries_due: Number(dueNow?.count ?? 0),
  oldest_due_at: dueNow?.oldest?.toISOString() ?? null,
  success_rate: rate === undefined || rate.attempts === 0n ? null : Number(rate.successes) / Number(rate.attempts)
})
