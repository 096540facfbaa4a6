/** The history of a charge, oldest first, and when a charge or payout failed, read from the changes that are kept. */
import type { ChargeStatus } from "@pix-payments/domain/Charge"
import { formatInstant } from "@pix-payments/domain/Instant"
import { lowestIdAt } from "@pix-payments/domain/Uuid"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { DAY_MS } from "../database/Period.ts"
import type { Condition } from "../database/statements/Condition.ts"
import { idsBetween } from "../database/statements/Paging.ts"
import { HIGHEST, LOWEST } from "../database/statements/Seek.ts"
import { orUnavailable, type Unavailable } from "../database/Unavailable.ts"

export interface HistoryEntry {
  readonly status: ChargeStatus
  readonly event: string | null
  readonly at: string
}

export class EventHistory extends Context.Service<
  EventHistory,
  {
    readonly ofCharge: (charge: {
      readonly id: string
      readonly createdAtMs: number
    }) => Effect.Effect<ReadonlyArray<HistoryEntry>, Unavailable>
  }
>()("@pix-payments/server/EventHistory") {
  static readonly layer = Layer.effect(
    EventHistory,
    Effect.map(SqlClient, (sql) =>
      EventHistory.of({
        ofCharge: ({ createdAtMs, id }) =>
          // Partitions from before the charge are not read. Clocks of servers differ by less than a day.
          sql<ChangeRow>`
            SELECT status, kind, actions, created_at FROM changes
            WHERE resource_id = ${id}::uuid AND id >= ${lowestIdAt(createdAtMs - DAY_MS)}::uuid
            ORDER BY sequence, id`.pipe(
            Effect.map((rows) => [
              { status: "processing" as const, event: null, at: formatInstant(createdAtMs) },
              ...rows.flatMap(toEntries)
            ]),
            orUnavailable
          )
      })
    )
  )
}

interface ChangeRow {
  readonly status: ChargeStatus
  readonly kind: string
  readonly actions: ReadonlyArray<string>
  readonly created_at: Date
}

const toEntries = ({ actions, created_at, kind, status }: ChangeRow): ReadonlyArray<HistoryEntry> => {
  const at = created_at.toISOString()
  return actions.length === 0
    ? [{ status, event: null, at }]
    : actions.map((action) => ({ status, event: `${kind}.${action}`, at }))
}

/** After one instant and before another, in epoch milliseconds. */
export interface FailedBetween {
  readonly failedAfterMs?: number | undefined
  readonly failedBeforeMs?: number | undefined
}

/** The condition that a charge or payout of a list failed in this time. The id of a change has its instant. */
export const failedBetween = (
  table: "charges" | "payouts",
  { failedAfterMs, failedBeforeMs }: FailedBetween
): ReadonlyArray<Condition> => {
  if (failedAfterMs === undefined && failedBeforeMs === undefined) return []
  const { before, from } = idsBetween({ createdAfterMs: failedAfterMs, createdBeforeMs: failedBeforeMs })
  return [
    // The time is compared outside: a range of ids within would be read for each row.
    (bind) => `${table}.status = 'failed' AND EXISTS (
      SELECT FROM (
        SELECT c.id FROM changes c WHERE c.resource_id = ${table}.id AND c.status = 'failed' ORDER BY c.sequence DESC LIMIT 1
      ) failed WHERE failed.id >= ${bind(from ?? LOWEST)}::uuid AND failed.id < ${bind(before ?? HIGHEST)}::uuid
    )`
  ]
}
