/**
 * The connections of this process as its callbacks need them: what authenticates a sender.
 *
 * Guarantees:
 * - A new connection or secret is known to every process within seconds, and at once where `refreshOnMiss` is awaited.
 * - Callbacks that name unknown connections or secrets read the rows at most once in `MISS_SPACING`, all of them together.
 * - Secrets are stored sealed, for their own row only.
 */
import type { Profile } from "@pix-payments/api-pix/Profile"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Semaphore from "effect/Semaphore"
import { SqlClient } from "effect/sql/SqlClient"
import { ConnectionRegistry } from "../providers/connections/ConnectionRegistry.ts"
import { profileOf } from "../providers/connections/OpenConnection.ts"
import { Metrics } from "../base/observability/Metrics.ts"
import { describeCause } from "../base/observability/SafeCause.ts"
import { Secrets } from "../base/Secrets.ts"
import { orUnavailable, type Unavailable } from "../database/Unavailable.ts"
import { type Credential, hashOf } from "./CallbackSender.ts"
import { makeSharedRun } from "../base/SharedRun.ts"

export interface CallbackConnection extends Credential {
  readonly id: string
  readonly profile: Profile
}

export class CallbackConnections extends Context.Service<
  CallbackConnections,
  {
    readonly find: (id: string) => CallbackConnection | undefined
    /** Reads the rows. */
    readonly refresh: Effect.Effect<void, Unavailable>
    /** Ends after a read of the rows that began after this call; what is known stays where the database is unavailable. */
    readonly refreshOnMiss: Effect.Effect<void>
  }
>()("@pix-payments/server/CallbackConnections") {
  static readonly layer = Layer.effect(
    CallbackConnections,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const secrets = yield* Secrets
      const registry = yield* ConnectionRegistry
      const metrics = yield* Metrics
      const clock = yield* Clock.Clock
      let rows = new Map<string, KnownRow>()

      metrics.onRead(() =>
        metrics.sweepAges(
          [...rows.values()].map(({ id, sweptUntilMs }) => ({
            connectionId: id,
            seconds: Math.max(0, (clock.currentTimeMillisUnsafe() - sweptUntilMs) / 1000)
          }))
        )
      )

      /** Undefined, and logged, where the secret cannot be opened: no callback with it is accepted. */
      const opened = (id: string, sealed: string) =>
        Effect.catchCause(
          Effect.sync(() => hashOf(Redacted.value(secrets.open(sealed, { kind: "connection", id })))),
          (cause) =>
            Effect.as(
              Effect.annotateLogs(Effect.logWarning("a callback secret cannot be opened", describeCause(cause)), {
                connection_id: id
              }),
              undefined
            )
        )

      const refresh = Effect.gen(function* () {
        const found = yield* orUnavailable(sql<SecretRow>`
          SELECT id, webhook_secret, coalesce(swept_until, created_at) AS swept_until,
            coalesce((settings ->> 'webhook_mtls')::boolean, false) AS is_mutual_tls
          FROM acquirer_connections
          WHERE kind = 'api-pix'`)
        const next = new Map<string, KnownRow>()
        for (const { id, is_mutual_tls: isMutualTls, swept_until, webhook_secret: sealed } of found) {
          const before = rows.get(id)
          const secretHash =
            sealed === null ? undefined : before?.sealed === sealed ? before.secretHash : yield* opened(id, sealed)
          next.set(id, { id, sealed, secretHash, isMutualTls, sweptUntilMs: swept_until.getTime() })
        }
        rows = next
      }).pipe(Semaphore.makeUnsafe(1).withPermits(1))

      const refreshOnMiss = yield* makeSharedRun(Effect.ignore(Effect.andThen(registry.refresh, refresh)), MISS_SPACING)

      yield* Effect.catchTag(refresh, "Unavailable", () => Effect.void)

      return CallbackConnections.of({
        find: (id) => {
          const known = registry.find(id)?.row
          const profile = known === undefined ? undefined : profileOf(known.profile)
          if (known === undefined || profile === undefined) return undefined
          return {
            id,
            profile,
            secretHash: rows.get(id)?.secretHash,
            isMutualTls: rows.get(id)?.isMutualTls ?? false,
            addresses: profile.callbackAddresses
          }
        },

        refresh,
        refreshOnMiss
      })
    })
  )
}

const MISS_SPACING = "250 millis"

interface SecretRow {
  readonly id: string
  readonly webhook_secret: string | null
  readonly swept_until: Date
  readonly is_mutual_tls: boolean
}

interface KnownRow {
  readonly id: string
  readonly sealed: string | null
  readonly secretHash: Buffer | undefined
  readonly isMutualTls: boolean
  readonly sweptUntilMs: number
}
