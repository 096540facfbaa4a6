/**
 * Watches the connections of this process: metrics of their circuits, calls and certificates, and what the log says of them.
 *
 * Guarantees:
 * - of all processes one warns, 30, 7 and 1 days before the end of a certificate, and once it has ended. A new certificate is
 *   warned of anew;
 * - the log has one line when the provider of a connection goes away, and one with the duration when it is back.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { formatInstant } from "@pix-payments/domain/Instant"
import { counted } from "@pix-payments/domain/Reason"
import * as BackgroundLoop from "../../base/observability/BackgroundLoop.ts"
import { Metrics, type SeenConnection } from "../../base/observability/Metrics.ts"
import { ConnectionRegistry } from "./ConnectionRegistry.ts"
import { ConnectionStore } from "./ConnectionStore.ts"

/** One look at every connection, each time it runs. */
export const makeWatch = Effect.sync(() => {
  const awaySince = new Map<string, number>()
  return lookAtAll(awaySince)
})

const lookAtAll = Effect.fnUntraced(function* (awaySince: Map<string, number>) {
  const registry = yield* ConnectionRegistry
  const store = yield* ConnectionStore
  const metrics = yield* Metrics
  const nowMs = yield* Clock.currentTimeMillis
  const seen: Array<SeenConnection> = []
  for (const connection of registry.all()) {
    const { id, name } = connection.row
    const status = yield* registry.statusOf(connection)
    if (status === undefined) continue
    const about = { connection_id: id, connection: name }
    const since = awaySince.get(id)
    if (status.circuit._tag === "Open" && since === undefined) {
      awaySince.set(id, nowMs)
      yield* Effect.annotateLogs(Effect.logWarning("the provider of a connection is away"), about)
    }
    if (status.circuit._tag === "Closed" && since !== undefined) {
      awaySince.delete(id)
      const seconds = Math.round((nowMs - since) / 1000)
      yield* Effect.annotateLogs(Effect.logInfo("the provider of a connection is back"), { ...about, seconds })
    }
    const untilEndMs = status.certificateEndsAtMs - nowMs
    seen.push({
      id,
      isOpen: status.circuit._tag !== "Closed",
      inFlight: status.inFlight,
      certificateSeconds: untilEndMs / 1000
    })
    const days = warningDays(untilEndMs)
    if (days === undefined || !(yield* store.warnOnce(id, days))) continue
    yield* Effect.annotateLogs(
      Effect.logWarning(
        days === 0
          ? "the client certificate of a connection has ended"
          : `the client certificate of a connection ends within ${counted(days, "day")}`
      ),
      { ...about, ends_at: formatInstant(status.certificateEndsAtMs) }
    )
  }
  metrics.connections(seen)
  return 0
})

export const loop = Layer.effectDiscard(
  Effect.flatMap(makeWatch, (watch) =>
    Effect.forkScoped(BackgroundLoop.run("connection monitor", watch, Effect.sleep("10 seconds")))
  )
)

/** Days before its end on which a certificate is warned of; 0: it has ended. */
const WARNING_DAYS = [0, 1, 7, 30]

const DAY_MS = 86_400_000

/** The last warning that is due. */
export const warningDays = (untilEndMs: number): number | undefined =>
  WARNING_DAYS.find((days) => untilEndMs <= days * DAY_MS)
