/**
 * Uses of the installation's token and of its sessions, which is for the first admin and for emergencies.
 *
 * Guarantees:
 * - Each request is counted in a metric.
 * - The first use of a route from an address is an entry of the audit log before it is served. Further ones within the same
 *   minute are one more entry, with their number, when the minute or the process ends.
 * - A failed write of a number is repeated. A crash loses the numbers of a minute, never that a route was used.
 * - A stream is one request, however often it is judged.
 *
 * Why: entries are never removed, and a program with the token could add thousands each second. The entry of the first use
 * says by whom, from where and for what; each change is an entry besides.
 *
 * Rules: OPR-40.
 */
import { CurrentOperator, type Operator } from "@pix-payments/api/Security"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { run } from "../../base/observability/BackgroundLoop.ts"
import { Metrics } from "../../base/observability/Metrics.ts"
import { CurrentRequest, type RequestInfo } from "../../base/observability/RequestContext.ts"
import { AuditLog, type Fields } from "../../operations/AuditLog.ts"
import type { Unavailable } from "../../database/Unavailable.ts"

/** The uses of a route from an address that have no entry yet. */
interface FurtherUses {
  readonly route: string
  readonly operator: Operator
  readonly info: RequestInfo
  readonly count: number
}

export class InstallationUses extends Context.Service<
  InstallationUses,
  {
    readonly record: (info: RequestInfo, method: string) => Effect.Effect<void, Unavailable, CurrentOperator>
  }
>()("@pix-payments/server/InstallationUses") {
  static readonly layer = Layer.effect(
    InstallationUses,
    Effect.gen(function* () {
      const metrics = yield* Metrics
      const audit = yield* AuditLog
      const recorded = new WeakSet<RequestInfo>()
      const unrecorded: Array<FurtherUses> = []
      let minute = new Map<string, FurtherUses>()

      const write = (info: RequestInfo, after: Fields) =>
        Effect.provideService(audit.recordUse("installation.use", after), CurrentRequest, info)

      /** Ends the minute, and records the further uses in it. Returns 0: the next one begins. */
      const endMinute = Effect.gen(function* () {
        unrecorded.push(...[...minute.values()].filter(({ count }) => count > 0))
        minute = new Map()
        for (let uses = unrecorded[0]; uses !== undefined; uses = unrecorded[0]) {
          const { count, info, operator, route } = uses
          yield* write(info, { route, count }).pipe(Effect.provideService(CurrentOperator, operator))
          unrecorded.shift()
        }
        return 0
      })

      yield* Effect.addFinalizer(() =>
        Effect.catchCause(endMinute, (cause) =>
          Effect.logError("uses of the installation's token could not be recorded at the end", cause)
        )
      )
      yield* Effect.forkScoped(run("uses of the installation's token", endMinute, Effect.sleep("1 minute")))

      return InstallationUses.of({
        record: (info, method) =>
          Effect.gen(function* () {
            if (recorded.has(info)) return
            recorded.add(info)
            metrics.installationTokenUsed()
            const route = `${method} ${info.route}`
            const key = `${route} ${info.address}`
            const uses = minute.get(key)
            if (uses !== undefined) {
              minute.set(key, { ...uses, info, count: uses.count + 1 })
              return
            }
            const operator = yield* CurrentOperator
            yield* write(info, { route })
            if (!minute.has(key) && minute.size < MAX_ROUTES) minute.set(key, { route, operator, info, count: 0 })
          })
      })
    })
  )
}

/** The routes and addresses of a minute. Beyond them, each use is an entry. */
const MAX_ROUTES = 10_000
