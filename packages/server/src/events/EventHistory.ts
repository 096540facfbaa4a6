/**
 * What happened to a resource, oldest first, read from its events.
 */
import type { ChargeStatus } from "@pix-payments/domain/Charge"
import { formatInstant } from "@pix-payments/domain/Instant"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { orUnavailable, type Unavailable } from "../sql/Unavailable.ts"

export interface HistoryEntry {
  readonly status: ChargeStatus
  readonly event: string | null
  readonly at: string
}

export class EventHistory extends Context.Service<
  EventHistory,
  {
    readonly of: (chargeId: string, createdAtMs: number) => Effect.Effect<ReadonlyArray<HistoryEntry>, Unavailable>
  }
>()("@pix-payments/server/EventHistory") {
  static readonly layer = Layer.effect(
    EventHistory,
    Effect.map(SqlClient, (sql) =>
      EventHistory.of({
        of: (chargeId, createdAtMs) =>
          sql<{ status: ChargeStatus; name: string; created_at: Date }>`
            SELECT status, name, created_at FROM events WHERE resource_id = ${chargeId}::uuid
            ORDER BY sequence, id`.pipe(
            Effect.map((rows) => [
              { status: "processing" as const, event: null, at: formatInstant(createdAtMs) },
              ...rows.map((row) => ({ status: row.status, event: row.name, at: row.created_at.toISOString() }))
            ]),
            orUnavailable
          )
      })
    )
  )
}
