/**
 * How many charges and payouts are in each state, what was paid, returned and sent by day and hour, and the words by which they
 * are found. Counted from `changes`, but
 * for returns, of which a charge may have several without a change.
 *
 * Guarantees:
 * - A read costs as many rows as there are counts, changes since the last round and entries of 31 days in the index of
 *   completed returns, however many charges there are.
 * - Each change is counted once, in the order of commits and up to the oldest transaction that has not ended. A read adds
 *   the changes after that, so that it agrees with the tables at its snapshot.
 * - One process counts at a time, and one round at most `CHANGES_PER_ROUND`.
 * - What was counted in another cell comes as counts with its account (`cells/AccountMove.ts`).
 *
 * An unpaid charge counts as expired from the end of the minute in which it expires. A charge without the acquirer's answer
 * has no change yet, and is not counted here.
 *
 * Why not in the statements that change a charge: a trigger cost 5 µs of PostgreSQL's CPU a row in batches of 32, and
 * 80 µs in a statement of one row.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { Settings } from "../base/Settings.ts"
import * as BackgroundLoop from "../base/observability/BackgroundLoop.ts"
import { Metrics } from "../base/observability/Metrics.ts"
import { runToCompletion } from "../database/RunToCompletion.ts"
import { dayOf, startOf, TODAY } from "../database/statements/Days.ts"
import { statement, value } from "../database/statements/Statement.ts"
import type { Unavailable } from "../database/Unavailable.ts"
import { addedHours } from "./HourlyVolumes.ts"
import { insertedWords } from "../payments/words/Words.ts"

export class StatusCounts extends Context.Service<
  StatusCounts,
  {
    /** Counts further changes. Returns how many were read: 0 where another process counts. */
    readonly advance: Effect.Effect<number, Unavailable>
    /** Adds up the counts of charges that have expired. */
    readonly mergeExpired: Effect.Effect<void, Unavailable>
  }
>()("@pix-payments/server/StatusCounts") {
  static readonly layer = Layer.effect(
    StatusCounts,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { searchWords } = yield* Settings
      const metrics = yield* Metrics
      /** Runs with the position, which no other process has meanwhile. */
      const locked = <A, E>(run: (position: PositionRow) => Effect.Effect<A, E>) =>
        sql.withTransaction(
          Effect.flatMap(sql.unsafe<PositionRow>(lockPosition), ([position]) =>
            position === undefined ? Effect.undefined : run(position)
          )
        )
      return StatusCounts.of({
        advance: locked((position) =>
          Effect.map(sql.unsafe<AdvanceRow>(...advance[searchWords](position)), ([row]) => row)
        ).pipe(
          // Counted once it is committed.
          Effect.map((row) => {
            for (const each of row?.entered ?? []) {
              metrics.entered(each.resource === "charge" ? "charges" : "payouts", each.status, each.count, each.cents)
            }
            return row?.scanned ?? 0
          }),
          runToCompletion(sql)
        ),
        mergeExpired: locked(() => sql.unsafe(mergeExpired)).pipe(Effect.asVoid, runToCompletion(sql))
      })
    })
  )
}

/** Counts in the background. */
export const loop = Layer.effectDiscard(
  Effect.gen(function* () {
    const counts = yield* StatusCounts
    // Fewer changes than a whole round can wait for each other.
    const round = Effect.map(counts.advance, (scanned) => (scanned < CHANGES_PER_ROUND ? 0 : scanned))
    yield* Effect.forkScoped(BackgroundLoop.run("status counts", round, Effect.sleep("5 seconds")))
    yield* Effect.forkScoped(
      BackgroundLoop.run("expired charges", Effect.as(counts.mergeExpired, 0), Effect.sleep("1 minute"))
    )
  })
)

/** A round takes less than a second also where no page is in memory. */
const CHANGES_PER_ROUND = 2000

/** Changes that a read adds. While more wait, as after an upgrade, figures are those of an earlier moment. */
const CHANGES_PER_READ = 20_000

export interface CountRow {
  /** Of a refund there are volumes only. */
  readonly resource: "charge" | "payout" | "refund"
  /** Null for the volume of a day. */
  readonly status: string | null
  readonly date: string | null
  readonly count: bigint
  /** In cents. */
  readonly amount: string | null
}

interface AdvanceRow {
  readonly scanned: number
  /** What entered a state, for the metrics. */
  readonly entered: ReadonlyArray<{
    readonly resource: "charge" | "payout"
    readonly status: string
    readonly count: number
    readonly cents: number
  }> | null
}

interface PositionRow {
  readonly transaction_id: string
  readonly change_id: string
}

/** The end of an instant's minute. One count for each minute bounds their number, however many charges there are. */
const minuteEnd = (instant: string) =>
  `date_bin('1 minute', ${instant} + interval '59.999999 seconds', timestamptz '2000-01-01 00:00:00Z')`

/** The oldest id that a change of the resource of `c` can have: months from before it are not read. */
const oldestChangeId = `coalesce((lpad(to_hex(
    (extract(epoch FROM uuid_extract_timestamp(c.resource_id) - interval '1 day') * 1000)::bigint
  ), 12, '0') || '00000000000000000000')::uuid, '00000000-0000-0000-0000-000000000000')`

/**
 * The state before the change `c`. A charge's first change has the sequence 2, a payout's has 1. The change before a later one
 * is read, unless that is the payment of a charge that was only emitted. Retention may have removed it: changes of a charge
 * with an open dispute are kept, so that no other state leads to `c`.
 */
const previousStatus = `CASE
    WHEN c.sequence <= CASE c.resource WHEN 'charge' THEN 2 ELSE 1 END THEN NULL
    WHEN c.resource = 'charge' AND c.status = 'paid' AND c.sequence = 3 THEN 'pending'
    ELSE coalesce(
      (SELECT status FROM changes
        WHERE resource_id = c.resource_id AND sequence = c.sequence - 1 AND id >= ${oldestChangeId} LIMIT 1),
      CASE
        WHEN c.resource = 'charge' AND c.status IN ('refunded', 'infraction', 'charged_back') THEN 'paid'
        WHEN c.resource = 'payout' AND c.status IN ('completed', 'failed') THEN 'processing'
        ELSE 'pending'
      END)
  END`

/** The columns that `additions` reads of a change. */
const scannedColumns = "transaction_id, id, account_id, kind, status, sequence, resource_id, created_at"

/** CTEs that follow `scanned`, which has changes: what these add to the counts and to the volumes. */
const additions = `
  moved AS MATERIALIZED (
    SELECT c.*, h.amount, h.paid_at, coalesce(${minuteEnd("h.expires_at")}, 'infinity') AS expires_at
    FROM (
      SELECT c.account_id, c.resource, c.resource_id, c.status, c.created_at, ${previousStatus} AS previous
      FROM (
        SELECT *, CASE WHEN kind LIKE 'charge.%' THEN 'charge' ELSE 'payout' END AS resource
        FROM scanned s WHERE (kind LIKE 'charge.%' OR kind LIKE 'payment.%')
          AND NOT EXISTS (SELECT FROM accounts a WHERE a.id = s.account_id AND s.transaction_id <= a.arrived_until)
        OFFSET 0
      ) c
      OFFSET 0
    ) c
    LEFT JOIN charges h ON c.resource = 'charge' AND h.id = c.resource_id
    WHERE c.previous IS DISTINCT FROM c.status
  ),
  added_counts AS (
    SELECT account_id, resource, status, expires_at, sum(count)::bigint AS count FROM (
      SELECT account_id, resource, status,
        CASE WHEN resource = 'charge' AND status = 'pending' THEN expires_at ELSE 'infinity' END AS expires_at, 1 AS count
      FROM moved
      UNION ALL
      SELECT account_id, resource, previous,
        CASE WHEN resource = 'charge' AND previous = 'pending' THEN expires_at ELSE 'infinity' END, -1
      FROM moved WHERE previous IS NOT NULL
    ) each
    GROUP BY account_id, resource, status, expires_at HAVING sum(count) <> 0
  ),
  added_volumes AS (
    SELECT ${dayOf("paid_at")} AS date, account_id, resource, count(*) AS count,
      sum(amount)::bigint AS amount
    FROM moved WHERE resource = 'charge' AND status = 'paid' AND (previous IS NULL OR previous = 'pending')
    GROUP BY 1, 2, 3
    UNION ALL
    SELECT ${dayOf("m.created_at")}, p.account_id, m.resource, count(*), sum(p.amount)::bigint
    FROM moved m JOIN payouts p ON p.id = m.resource_id WHERE m.resource = 'payout' AND m.status = 'completed'
    GROUP BY 1, 2, 3
  )`

/** The resources of a kind whose first change was scanned. */
const firstChanges = (resource: "charge" | "payout") =>
  `SELECT DISTINCT resource_id FROM moved WHERE resource = '${resource}' AND previous IS NULL`

const lockPosition = `
  SELECT transaction_id::text AS transaction_id, change_id FROM status_counts_position FOR UPDATE SKIP LOCKED`

const advanceWith = (words: ReadonlyArray<string>) =>
  statement(
    { transaction_id: value("text"), change_id: value("uuid") },
    (p) => `
  WITH scanned AS MATERIALIZED (
    SELECT ${scannedColumns} FROM changes
    WHERE (transaction_id, id) > (${p.transaction_id}::xid8, ${p.change_id})
      AND transaction_id < pg_snapshot_xmin(pg_current_snapshot())
    ORDER BY transaction_id, id LIMIT ${CHANGES_PER_ROUND}
  ),
  ${additions},
  counted AS (
    INSERT INTO status_counts (account_id, resource, status, expires_at, count)
    SELECT account_id, resource, status, expires_at, count FROM added_counts
    ON CONFLICT (account_id, resource, status, expires_at) DO UPDATE SET count = status_counts.count + excluded.count
  ),
  summed AS (
    INSERT INTO daily_volumes (date, account_id, resource, count, amount)
    SELECT date, account_id, resource, count, amount FROM added_volumes
    ON CONFLICT (date, account_id, resource)
      DO UPDATE SET count = daily_volumes.count + excluded.count, amount = daily_volumes.amount + excluded.amount
  ),
  ${addedHours},
  ${words.map((cte) => `${cte},`).join("\n  ")}
  position_moved AS (
    UPDATE status_counts_position SET (transaction_id, change_id) = (
      SELECT transaction_id, id FROM scanned ORDER BY scanned.transaction_id DESC, id DESC LIMIT 1
    )
    WHERE EXISTS (SELECT FROM scanned)
  )
  SELECT (SELECT count(*)::integer FROM scanned) AS scanned,
    (SELECT json_agg(e) FROM (
      SELECT m.resource, m.status, count(*) AS count, coalesce(sum(coalesce(m.amount, p.amount)), 0) AS cents
      FROM moved m LEFT JOIN payouts p ON m.resource = 'payout' AND p.id = m.resource_id
      GROUP BY 1, 2
    ) e) AS entered`
  )

/** By the setting `SEARCH_WORDS`. */
const advance = {
  on: advanceWith([insertedWords("charges", firstChanges("charge")), insertedWords("payouts", firstChanges("payout"))]),
  off: advanceWith([])
}

const mergeExpired = `
  WITH expired AS (
    DELETE FROM status_counts WHERE expires_at > '-infinity' AND expires_at <= now() AND expires_at < 'infinity'
    RETURNING account_id, resource, status, count
  )
  INSERT INTO status_counts (account_id, resource, status, expires_at, count)
  SELECT account_id, resource, status, '-infinity', sum(count)::bigint FROM expired GROUP BY 1, 2, 3
  ON CONFLICT (account_id, resource, status, expires_at) DO UPDATE SET count = status_counts.count + excluded.count`

/** The first of 31 days. */
const firstDay = `(${TODAY} - 30)`

const isWithin = "($1::uuid[] IS NULL OR account_id = ANY ($1::uuid[]))"

/** Rows of `CountRow`: the counts, and the volumes of 31 days. The parameter is null, or the ids of accounts. */
export const readCounts = `
  WITH next AS MATERIALIZED (
    SELECT ${scannedColumns} FROM changes
    WHERE (transaction_id, id)
        > ((SELECT transaction_id FROM status_counts_position), (SELECT change_id FROM status_counts_position))
    ORDER BY transaction_id, id LIMIT ${CHANGES_PER_READ}
  ),
  scanned AS MATERIALIZED (SELECT * FROM next WHERE ${isWithin}),
  ${additions}
  SELECT resource, CASE WHEN resource = 'charge' AND status = 'pending' AND expires_at <= now() THEN 'expired' ELSE status END
      AS status, NULL AS date, sum(count)::bigint AS count, NULL AS amount
  FROM (
    SELECT resource, status, expires_at, count FROM status_counts WHERE ${isWithin}
    UNION ALL SELECT resource, status, expires_at, count FROM added_counts
  ) counts
  GROUP BY 1, 2 HAVING sum(count) <> 0
  UNION ALL
  SELECT resource, NULL, to_char(date, 'YYYY-MM-DD'), sum(count)::bigint, sum(amount)::text
  FROM (
    SELECT resource, date, count, amount FROM daily_volumes WHERE ${isWithin}
      AND date >= ${firstDay}
    UNION ALL SELECT resource, date, count, amount FROM added_volumes
  ) volumes
  WHERE date >= ${firstDay}
  GROUP BY resource, date
  UNION ALL
  SELECT 'refund', NULL, to_char(${dayOf("completed_at")}, 'YYYY-MM-DD'), count(*), sum(amount)::text
  FROM refunds WHERE status = 'completed' AND completed_at >= ${startOf(firstDay)} AND ${isWithin}
  GROUP BY 3`
