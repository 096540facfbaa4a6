/** What is watched of connections: certificates that end, and metrics. */
import { assert, describe, it, layer } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Logger from "effect/Logger"
import { X509Certificate } from "node:crypto"
import { textOf } from "../../../src/base/observability/Exposition.ts"
import { Metrics } from "../../../src/base/observability/Metrics.ts"
import { ConnectionRegistry } from "../../../src/providers/connections/ConnectionRegistry.ts"
import { makeWatch, warningDays } from "../../../src/providers/connections/ConnectionMonitor.ts"
import { startDouble } from "../../support/Bank.ts"
import { storeConnection } from "../../support/Connections.ts"
import { domainServicesLayer } from "../../support/DomainServices.ts"

const DAY_MS = 86_400_000

describe("warnings of a certificate", () => {
  it("come 30, 7 and 1 days before its end, and after it", () => {
    const days = [31, 30, 8, 7, 2, 1, 0.5, 0, -3].map((left) => warningDays(left * DAY_MS))
    assert.deepStrictEqual(days, [undefined, 30, 30, 7, 7, 1, 1, 0, 0])
  })
})

layer(domainServicesLayer({ acquirerTimeoutMs: 60_000 }), { excludeTestServices: true })("connections", (it) => {
  it.effect("OPR-60: a certificate is warned of once for each threshold; its end, circuit and calls are metrics", () =>
    Effect.gen(function* () {
      const double = yield* startDouble()
      const { id } = yield* storeConnection(double)
      yield* ConnectionRegistry.use(({ refresh }) => refresh)
      const endsAtMs = Date.parse(new X509Certificate(double.client.cert).validTo)
      const warnings: Array<string> = []
      const logger = Logger.make(({ message }) => void warnings.push(String(message)))
      const clock = yield* Clock.Clock
      const watch = yield* makeWatch
      const watchAt = (daysLeft: number) => {
        const nowMs = endsAtMs - daysLeft * DAY_MS
        return watch.pipe(
          Effect.provideService(
            Clock.Clock,
            Object.assign(Object.create(clock) as Clock.Clock, { currentTimeMillis: Effect.succeed(nowMs) })
          ),
          Effect.provideService(Logger.CurrentLoggers, new Set([logger]))
        )
      }
      for (const daysLeft of [40, 29, 28, 6, 6, 0.5, -1, -1]) yield* watchAt(daysLeft)
      const of = (text: string) => `the client certificate of a connection ${text}`
      assert.deepStrictEqual(warnings, [
        of("ends within 30 days"),
        of("ends within 7 days"),
        of("ends within 1 day"),
        of("has ended")
      ])
      const metrics = textOf((yield* Metrics).read())
      for (const name of ["circuit_open", "calls_in_flight", "certificate_seconds"]) {
        assert.match(metrics, new RegExp(`pix_payments_acquirer_connection_${name}\\{[^}]*connection="${id}"[^}]*\\}`))
      }
    }).pipe(Effect.scoped)
  )
})
