/**
 * The progress of the sweeps in the rows of the connections.
 *
 * Guarantees:
 * - A connection is leased to one process at a time. When its lease has expired, another process sweeps it.
 * - `swept_until` grows only by slices that were complete, and is never ahead of the database's clock.
 * - The second reading of the last five days, and that of the payments of 190 days that have a return, both once in 24 hours, are
 *   resumed where they were left. Of a connection younger than five days, the sweeps read all returns.
 * - Times are the database's: a process whose clock is wrong leaves nothing out. Nor does a database whose clock was ahead for a while.
 */
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { runToCompletion } from "../database/RunToCompletion.ts"
import type { Unavailable } from "../database/Unavailable.ts"
import { RETURNED_MS } from "./ListPages.ts"

export interface DueSweep {
  readonly connectionId: string
  /** By the database's clock. */
  readonly nowMs: number
  readonly createdAtMs: number
  /** The end of the last complete slice; null before the first. */
  readonly sweptUntilMs: number | null
  /** Where the second reading of the last days goes on; null where none is due. */
  readonly lastDaysFromMs: number | null
  /** Where the reading of payments that have a return goes on; null where none is due. */
  readonly returnsFromMs: number | null
}

export class SweepStore extends Context.Service<
  SweepStore,
  {
    /** Leases up to `limit` connections that are due. */
    readonly claim: (limit: number, leaseMs: number) => Effect.Effect<ReadonlyArray<DueSweep>, Unavailable>
    /** Extends the lease of a connection while it is swept. */
    readonly extend: (connectionId: string, leaseMs: number) => Effect.Effect<void, Unavailable>
    /** Stores the end of a complete slice. */
    readonly swept: (connectionId: string, untilMs: number) => Effect.Effect<void, Unavailable>
    /** Stores where the second reading of the last days goes on; null at its end. */
    readonly lastDaysRead: (connectionId: string, untilMs: number | null) => Effect.Effect<void, Unavailable>
    /** What begins then could not be read or applied: the next reading begins there, and soon. */
    readonly lastDaysFailed: (connectionId: string, fromMs: number) => Effect.Effect<void, Unavailable>
    /** Stores the number of entries that are not the connection's. */
    readonly metForeign: (connectionId: string, count: number) => Effect.Effect<void, Unavailable>
    /** Stores where the reading of payments that have a return goes on; null at its end. Whether nothing of it failed. */
    readonly returnsRead: (connectionId: string, untilMs: number | null) => Effect.Effect<boolean, Unavailable>
    /** A part of it could not be read: the next reading begins within an hour. */
    readonly returnsFailed: (connectionId: string) => Effect.Effect<void, Unavailable>
    /** Ends the lease: the connection is due again after a time. */
    readonly release: (connectionId: string, inMs: number) => Effect.Effect<void, Unavailable>
  }
>()("@pix-payments/server/SweepStore") {
  static readonly layer = Layer.effect(
    SweepStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const write = runToCompletion(sql)
      // Five days: a Pix may be blocked for 72 hours and be listed then, as of its beginning, and a day passes between two readings.
      const areLastDaysDue = sql.literal(`(${isDue("last_days_at", "24 hours")}
        OR last_days_failed IS NOT NULL AND ${isDue("last_days_at", "10 minutes")} OR swept_until > now())`)
      const areReturnsDue = sql.literal(isDue("returns_at", "24 hours"))
      const dueIn = (connectionId: string, inMs: number) =>
        Effect.asVoid(
          write(sql`
            UPDATE acquirer_connections SET due_at = now() + ${inMs}::double precision * interval '1 millisecond'
            WHERE id = ${connectionId}::uuid`)
        )

      return SweepStore.of({
        claim: (limit, leaseMs) =>
          write(
            Effect.map(
              sql<DueRow>`
                UPDATE acquirer_connections
                SET due_at = now() + ${leaseMs}::double precision * interval '1 millisecond',
                  swept_until = CASE WHEN swept_until > now() THEN now() ELSE swept_until END,
                  last_days_from = CASE
                    WHEN last_days_from IS NOT NULL THEN least(last_days_from, now())
                    WHEN ${areLastDaysDue}
                      THEN least(greatest(created_at, now() - interval '30 days', least(last_days_failed, now() - interval '5 days')), now())
                  END,
                  last_days_at = CASE WHEN last_days_from IS NULL AND ${areLastDaysDue} THEN now() ELSE last_days_at END,
                  last_days_failed = CASE WHEN last_days_from IS NULL AND ${areLastDaysDue} THEN NULL ELSE last_days_failed END,
                  returns_from = CASE
                    WHEN created_at > now() - interval '5 days' THEN NULL
                    WHEN returns_from IS NOT NULL THEN least(returns_from, now())
                    WHEN ${areReturnsDue}
                      THEN greatest(created_at, now() - ${RETURNED_MS}::double precision * interval '1 millisecond')
                  END,
                  returns_at = CASE WHEN returns_from IS NULL AND ${areReturnsDue} THEN now() ELSE returns_at END
                WHERE id IN (
                  SELECT id FROM acquirer_connections
                  WHERE id <> ${SIMULATOR_CONNECTION}::uuid AND (due_at IS NULL OR due_at <= now()
                    OR due_at > now() + interval '10 minutes' AND isfinite(due_at))
                  ORDER BY due_at NULLS FIRST LIMIT ${limit}::integer FOR NO KEY UPDATE SKIP LOCKED
                )
                RETURNING id, now() AS now, created_at, swept_until, last_days_from, returns_from`,
              (found) =>
                found.map((row) => ({
                  connectionId: row.id,
                  nowMs: row.now.getTime(),
                  createdAtMs: row.created_at.getTime(),
                  sweptUntilMs: row.swept_until?.getTime() ?? null,
                  lastDaysFromMs: row.last_days_from?.getTime() ?? null,
                  returnsFromMs: row.returns_from?.getTime() ?? null
                }))
            )
          ),
        extend: dueIn,
        release: dueIn,
        swept: (connectionId, untilMs) =>
          Effect.asVoid(
            write(sql`
              UPDATE acquirer_connections
              SET swept_until = greatest(swept_until, to_timestamp(${untilMs}::double precision / 1000))
              WHERE id = ${connectionId}::uuid`)
          ),
        metForeign: (connectionId, count) =>
          Effect.asVoid(
            write(sql`
              UPDATE acquirer_connections SET foreign_entries = ${count}::integer, foreign_at = now()
              WHERE id = ${connectionId}::uuid`)
          ),
        returnsRead: (connectionId, untilMs) =>
          Effect.map(
            write(sql<{ is_whole: boolean }>`
              UPDATE acquirer_connections SET returns_from = to_timestamp(${untilMs}::double precision / 1000)
              WHERE id = ${connectionId}::uuid RETURNING returns_at > now() - interval '${sql.literal(FAILED_AGO)}' AS is_whole`),
            ([row]) => row?.is_whole === true
          ),
        returnsFailed: (connectionId) =>
          Effect.asVoid(
            write(sql`
              UPDATE acquirer_connections SET returns_at = now() - interval '${sql.literal(FAILED_AGO)}' WHERE id = ${connectionId}::uuid`)
          ),
        lastDaysRead: (connectionId, untilMs) =>
          Effect.asVoid(
            write(sql`
              UPDATE acquirer_connections SET last_days_from = to_timestamp(${untilMs}::double precision / 1000)
              WHERE id = ${connectionId}::uuid`)
          ),
        lastDaysFailed: (connectionId, fromMs) =>
          Effect.asVoid(
            write(sql`
              UPDATE acquirer_connections
              SET last_days_failed = least(last_days_failed, to_timestamp(${fromMs}::double precision / 1000))
              WHERE id = ${connectionId}::uuid`)
          )
      })
    })
  )
}

/** What began at that time is due again; so is what a clock that was ahead began. */
const isDue = (startedAt: string, after: string) =>
  `((${startedAt} > now() - interval '${after}' AND ${startedAt} <= now()) IS NOT TRUE)`

interface DueRow {
  readonly id: string
  readonly now: Date
  readonly created_at: Date
  readonly swept_until: Date | null
  readonly last_days_from: Date | null
  readonly returns_from: Date | null
}

/** The start that a reading of returns gets when a part of it fails: an hour before it is due again. None takes as long. */
const FAILED_AGO = "23 hours"

/** Of a sweep: longer than one page takes. */
export const LEASE_MS = 3 * 60_000
