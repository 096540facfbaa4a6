/**
 * How much waits in the database, and for how long: gauges, read in the background, so that a scrape waits for no query.
 *
 * Guarantee: a round reads at most `LIMIT` rows of each kind, by an index. Beyond that a count is at least as much, and an age is of
 * the rows that were read.
 */
import { DEADLINE_HOURS } from "@pix-payments/domain/Alert"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import * as BackgroundLoop from "../base/observability/BackgroundLoop.ts"
import { Metrics } from "../base/observability/Metrics.ts"
import { orUnavailable } from "../database/Unavailable.ts"
import { forLanes } from "../webhooks/queue/DeliveryClaims.ts"

export const loop = Layer.effectDiscard(
  Effect.gen(function* () {
    const sql = yield* SqlClient
    const { gauges } = yield* Metrics
    const round = Effect.gen(function* () {
      const rows = yield* orUnavailable(sql.unsafe<WaitingRow>(waiting))
      for (const { count, kind, seconds } of rows) set(gauges, kind, Number(count), seconds ?? 0)
      return 0
    })
    yield* Effect.forkScoped(BackgroundLoop.run("gauges of work", round, Effect.sleep(EVERY_MS)))
  })
)

/** The kind of disputes whose deadline is within so many hours. */
const DUE_WITHIN = "disputes within "

const EVERY_MS = 10_000
const LIMIT = 10_000

interface WaitingRow {
  readonly kind: string
  readonly count: bigint
  /** The age of the oldest; of disputes, the time until the next deadline. */
  readonly seconds: number | null
}

const set = (gauges: Metrics["Service"]["gauges"], kind: string, count: number, seconds: number): void => {
  switch (kind) {
    case "charges":
      return gauges({ charges_processing: count, charges_processing_oldest_seconds: seconds })
    case "payouts":
      return gauges({ payouts_processing: count, payouts_processing_oldest_seconds: seconds })
    case "orders":
      return gauges({ acquirer_orders_oldest_seconds: seconds })
    case "outbox":
      return gauges({ outbox_changes_waiting: count, outbox_oldest_seconds: seconds })
    case "approvals":
      return gauges({ approvals_pending: count })
    case "disputes":
      return gauges({ disputes_open: count, disputes_next_deadline_seconds: seconds })
    default:
      if (kind.startsWith(DUE_WITHIN)) {
        return gauges({ disputes_due: count }, { within_hours: kind.slice(DUE_WITHIN.length) })
      }
      return gauges(
        { webhook_deliveries_waiting: count, webhook_oldest_undelivered_seconds: seconds },
        { reason: kind }
      )
  }
}

const age = (oldest: string) => `extract(epoch FROM now() - ${oldest})::float8`

const counted = (kind: string, seconds: string, rows: string) => `
  SELECT '${kind}' AS kind, count(*) AS count, ${seconds} AS seconds FROM (${rows}) r`

const due = forLanes(
  (lane) => `(SELECT due_at FROM deliveries WHERE ${lane} AND due_at <= now() ORDER BY due_at, id LIMIT ${LIMIT})`
)

/** Rows of `WaitingRow`. */
export const waiting = [
  counted(
    "charges",
    age("min(created_at)"),
    `SELECT created_at FROM charges
      WHERE status = 'processing'
        AND id = ANY (ARRAY(SELECT unnest(charge_ids) FROM charge_recoveries ORDER BY due_at, id LIMIT ${LIMIT}))`
  ),
  // One that is paused is not due.
  counted(
    "payouts",
    age("min(created_at)"),
    `SELECT created_at FROM payouts WHERE status = 'processing' AND due_at > '-infinity' ORDER BY due_at LIMIT ${LIMIT}`
  ),
  counted(
    "orders",
    age("min(created_at)"),
    `SELECT created_at FROM acquirer_orders WHERE state = 'ordered' ORDER BY created_at LIMIT 1`
  ),
  counted(
    "outbox",
    age("min(uuid_extract_timestamp(change_id))"),
    `SELECT change_id FROM outbox ORDER BY account_id, change_id LIMIT ${LIMIT}`
  ),
  // How late they are: a retry of today may be of a delivery of yesterday.
  counted("due", age("min(due_at)"), `${due.first} UNION ALL ${due.retries}`),
  counted(
    "retry",
    age("min(created_at)"),
    forLanes(
      (lane) => `SELECT created_at FROM deliveries WHERE ${lane} AND due_at > now() ORDER BY due_at, id LIMIT ${LIMIT}`
    ).retries
  ),
  counted(
    "paused",
    age("min(created_at)"),
    `SELECT created_at FROM deliveries WHERE paused_due_at IS NOT NULL
      ORDER BY coalesce(endpoint_id, application_id, account_id), id LIMIT ${LIMIT}`
  ),
  counted(
    "approvals",
    "0::float8",
    `SELECT FROM approvals WHERE status = 'pending' AND expires_at > now() LIMIT ${LIMIT}`
  ),
  counted(
    "disputes",
    "coalesce(extract(epoch FROM min(defense_deadline_at) - now()), 604800)::float8",
    `SELECT defense_deadline_at FROM disputes WHERE status = 'open' ORDER BY id LIMIT ${LIMIT}`
  ),
  ...DEADLINE_HOURS.map((hours) =>
    counted(
      `${DUE_WITHIN}${hours}`,
      "0::float8",
      `SELECT FROM disputes WHERE status = 'open' AND defense_deadline_at >= now()
        AND defense_deadline_at < now() + interval '${hours} hours' LIMIT ${LIMIT}`
    )
  )
].join(" UNION ALL ")
