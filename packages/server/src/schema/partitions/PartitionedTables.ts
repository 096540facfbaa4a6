/**
 * The tables that are partitioned by id, which is by the month or quarter of creation.
 */
import { lowestIdAt } from "@pix-payments/domain/Uuid"
import type { SettingsShape } from "../../base/Settings.ts"
import { DAY_MS, type Period, timeOf } from "../../database/Period.ts"
import { newestRemovedChange, recordEventLogStart } from "../../events/EventLogStart.ts"

/** For how many days rows are kept. */
export type RetentionDays = Pick<
  SettingsShape,
  | "retentionRequestsDays"
  | "retentionAttemptsDays"
  | "retentionNotificationsDays"
  | "retentionDeliveriesDays"
  | "retentionEventsDays"
>

export interface PartitionedTable {
  readonly name: string
  readonly period: Period
  /** Storage parameters of each partition. */
  readonly storage: string
}

/** A table whose old partitions are removed. No partition of another table ever is. */
export interface RetainedTable extends PartitionedTable {
  /** The setting that says for how many days rows are kept. */
  readonly retention: keyof RetentionDays
  /**
   * A query of the ids of those of `rows`, a table, that are needed however old they are. All have ids before `before`. They
   * move to the default partition.
   */
  readonly neededIds?: (rows: string, before: string) => string
  /**
   * A condition on a row that is needed, where an update may make a row needed again. A deletion checks it under the row's
   * lock.
   */
  readonly isNeeded?: string
  /** What is recorded of a removal. */
  readonly removal?: {
    /** The query of the newest position, of `transaction_id` and `id`, among rows that are given as a table or CTE. */
    readonly newest: (rows: string) => string
    /** The INSERT of what such a query finds. It is part of the removal's transaction. */
    readonly record: (newest: string) => string
  }
}

/**
 * An append-only table: vacuum follows the inserts, so that its visibility map and its frozen rows are never far behind,
 * and statistics are gathered as often in a full partition as in a new one.
 */
const appendOnly =
  "autovacuum_vacuum_insert_scale_factor = 0, autovacuum_vacuum_insert_threshold = 200000, " +
  "autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 200000"

/**
 * A table whose rows are updated soon after they are inserted, and then no more. Vacuum frees the first versions for new
 * rows.
 */
const updatedOnce =
  "autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_threshold = 50000, " +
  "autovacuum_analyze_scale_factor = 0, autovacuum_analyze_threshold = 200000"

const scheduled = "d.status IN ('scheduled', 'delivering') AND d.due_at IS NOT NULL AND d.attempts_made"

/** Deliveries `d` that are due, in flight or paused: the conditions of the partial indexes. */
const openDeliveries = [`${scheduled} = 0`, `${scheduled} > 0`, "d.paused_due_at IS NOT NULL"]

/** Changes before an id whose deliveries are not all made. */
const unfinishedFanOuts = (before: string): string => `
        SELECT o.change_id FROM outbox o WHERE o.change_id < '${before}'
        UNION ALL SELECT f.change_id FROM outbox_failures f WHERE f.change_id < '${before}'`

export const partitionedTables: ReadonlyArray<PartitionedTable | RetainedTable> = [
  { name: "requests", period: "month", retention: "retentionRequestsDays", storage: appendOnly },
  { name: "delivery_attempts", period: "month", retention: "retentionAttemptsDays", storage: appendOnly },
  { name: "notifications", period: "month", retention: "retentionNotificationsDays", storage: appendOnly },
  {
    name: "deliveries",
    period: "month",
    retention: "retentionDeliveriesDays",
    storage: updatedOnce,
    // Deliveries that are due, in flight or paused, and those whose change has endpoints that the fan-out failed for: its
    // repetition would insert them again.
    neededIds: (rows, before) => {
      const ofChange = (end: string) => `(left(o.change_id::text, 18) || '${end}')::uuid`
      return `
        ${openDeliveries.map((open) => `SELECT d.id FROM ${rows} d WHERE ${open}`).join(" UNION ALL ")}
        UNION ALL SELECT d.id FROM (${unfinishedFanOuts(before)}) o JOIN ${rows} d ON d.change_id = o.change_id
          AND d.id BETWEEN ${ofChange("-0000-000000000000")} AND ${ofChange("-ffff-ffffffffffff")}`
    },
    isNeeded: "status IN ('scheduled', 'delivering')"
  },
  {
    name: "changes",
    period: "month",
    retention: "retentionEventsDays",
    storage: appendOnly,
    // Changes without deliveries yet, and those of deliveries that are due, in flight or paused. A delivery is made at most a
    // day after its change. Also changes that the statistics have not counted, and those of charges with an open dispute.
    neededIds: (rows, before) => {
      const latest = lowestIdAt(timeOf(before) + DAY_MS)
      const ofDeliveries = openDeliveries.map(
        (open) => `SELECT d.change_id FROM deliveries d WHERE d.id < '${latest}' AND ${open}`
      )
      return `
        ${[unfinishedFanOuts(before), ...ofDeliveries].join(" UNION ALL ")}
        UNION ALL SELECT c.id FROM ${rows} c WHERE (c.transaction_id, c.id)
          > ((SELECT transaction_id FROM status_counts_position), (SELECT change_id FROM status_counts_position))
        UNION ALL SELECT c.id FROM disputes p JOIN ${rows} c ON c.resource_id = p.charge_id
          WHERE p.status IN ('open', 'under_review')`
    },
    removal: { newest: newestRemovedChange, record: recordEventLogStart }
  },
  // Money has no retention. Three tenths of each page of charges are for their updates.
  { name: "charges", period: "quarter", storage: "fillfactor = 70" },
  { name: "payouts", period: "quarter", storage: "fillfactor = 100" }
]

export const hasRetention = (table: PartitionedTable): table is RetainedTable => "retention" in table

export const defaultPartitionOf = (table: string): string => `${table}_default`
