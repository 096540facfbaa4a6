/** The history of a charge, oldest first, read from its changes that are kept. */
import type { ChargeStatus } from "@pix-payments/domain/Charge"
import { formatInstant } from "@pix-payments/domain/Instant"
import { lowestIdAt } from "@pix-payments/domain/Uuid"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { DAY_MS } from "../database/Period.ts"
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
