/**
 * Uses of the installation's token, which is for the first admin and for emergencies.
 *
 * Guarantees: each request is counted in a metric. The first one from an address within an hour, in each process, is an
 * entry of the audit log before it is served.
 *
 * Rules: OPR-40.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { CurrentOperator } from "@pix-payments/api/Security"
import { Metrics } from "../../observability/Metrics.ts"
import { AuditLog } from "../../operations/AuditLog.ts"
import { runToCompletion } from "../../sql/RunToCompletion.ts"
import type { Unavailable } from "../../sql/Unavailable.ts"
import type { Connection } from "./SessionCookie.ts"

export class InstallationUses extends Context.Service<
  InstallationUses,
  {
    readonly record: (connection: Connection) => Effect.Effect<void, Unavailable, CurrentOperator>
  }
>()("@pix-payments/server/InstallationUses") {
  static readonly layer = Layer.effect(
    InstallationUses,
    Effect.gen(function* () {
      const metrics = yield* Metrics
      const audit = yield* AuditLog
      const sql = yield* SqlClient
      const recordedAt = new Map<string, number>()

      return InstallationUses.of({
        record: Effect.fnUntraced(function* ({ address }) {
          metrics.installationTokenUsed()
          const now = yield* Clock.currentTimeMillis
          if (now - (recordedAt.get(address) ?? -Infinity) < ENTRY_EVERY_MS) return
          if (recordedAt.size >= MAX_ADDRESSES) recordedAt.clear()
          recordedAt.set(address, now)
          yield* runToCompletion(sql)(audit.record("installation.use", null)).pipe(
            Effect.tapError(() => Effect.sync(() => recordedAt.delete(address)))
          )
        })
      })
    })
  )
}

const ENTRY_EVERY_MS = 60 * 60 * 1000
const MAX_ADDRESSES = 10_000
