/**
 * The time from the commit of an event to its arrival at a receiver behind `pix listen`: `pnpm run drill:listen`.
 *
 * It is printed and not asserted, because it depends on the load of the machine: `docs/cli.md` has figures. The time of the event
 * is taken before its commit, so that the figures are too high rather than too low.
 */
import { assert, describe, it } from "@effect/vitest"
import { parseInstant } from "@pix-payments/domain/Instant"
import { created } from "@pix-payments/server/test/ChargeRequests"
import { createMigratedDatabase, temporaryFolder } from "@pix-payments/server/test/Postgres"
import { startProcess } from "@pix-payments/server/test/Process"
import { eventually, receiver } from "@pix-payments/server/test/Receiver"
import { clientOf, TestService } from "@pix-payments/server/test/TestService"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { loadavg } from "node:os"
import { start } from "./support/Pix.ts"

const CHARGES = Number(process.env["LISTEN_CHARGES"] ?? 20)

describe("pix listen", () => {
  it.live("CLI-11: forwards each event soon after its commit", () =>
    Effect.gen(function* () {
      const token = "the operator's token of this drill"
      const service = yield* startProcess({
        DATABASE_URL: Redacted.value(yield* createMigratedDatabase),
        DATA_DIR: yield* temporaryFolder,
        OPERATOR_TOKEN: token
      })
      const client = yield* clientOf(service, token)
      const { accountId, key } = yield* client.makeCaller()
      const clock = yield* Clock.Clock
      const tookMs: Array<number> = []
      const local = yield* receiver(({ body }, response) => {
        tookMs.push(clock.currentTimeMillisUnsafe() - (parseInstant(body.created_at) ?? 0))
        response.end("ok")
      })
      const running = yield* start(["listen", "--forward-to", local.url, "--account", accountId], {
        env: { PIX_URL: service.operatorUrl, PIX_TOKEN: token }
      })
      yield* eventually(Effect.sync(running.err), (err) => err.includes("Listening to"))
      for (let count = 0; count < CHARGES; count++) {
        yield* created(key).pipe(
          Effect.provideService(TestService, TestService.of({ ...client, databaseUrl: Redacted.make("") }))
        )
        yield* Effect.sleep("50 millis")
      }
      yield* eventually(
        Effect.sync(() => tookMs.length),
        (length) => length >= 2 * CHARGES
      )
      assert.lengthOf(tookMs, 2 * CHARGES)
      const sorted = tookMs.toSorted((one, other) => one - other)
      const at = (share: number) => sorted[Math.floor((sorted.length - 1) * share)]
      process.stderr.write(
        `pix listen: ${sorted.length} events, median ${at(0.5)} ms, 99 % ${at(0.99)} ms, most ${at(1)} ms after the commit; ` +
          `load ${loadavg()[0]?.toFixed(1)}\n`
      )
    }).pipe(Effect.scoped)
  )
})
