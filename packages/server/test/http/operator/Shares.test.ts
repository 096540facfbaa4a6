/** No operator takes the places of the others. */
import { assert, layer } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { SqlClient } from "effect/sql/SqlClient"
import { assertRefused } from "../../support/ChargeRequests.ts"
import { makeOperator } from "../../support/Operators.ts"
import { eventually } from "../../support/Receiver.ts"
import { TestService } from "../../support/TestService.ts"

const AT_ONCE = 16

layer(TestService.layer({ settings: { maxRequestsInFlight: AT_ONCE, databaseConnections: 16 } }), {
  excludeTestServices: true
})("Shares of operators", (it) => {
  it.effect(
    "OPR-106, OPR-201: streams and long polls of one developer leave the places of the others, and are bounded",
    () =>
      Effect.gen(function* () {
        const { makeCaller, operatorUrl } = yield* TestService
        const { accountId } = yield* makeCaller()
        const developer = yield* makeOperator("developer", [accountId])
        const other = yield* makeOperator("viewer")
        const ask = (path: string) =>
          Effect.promise(() =>
            fetch(`${operatorUrl}/operator/v1/${path}`, { headers: { "x-operator-token": developer.token } })
          )
        const streams: Array<Response> = []
        while (streams.length < 16) streams.push(yield* ask("events/stream"))
        assert.isTrue(streams.every(({ status }) => status === 200))
        for (let each = 0; each < 24; each++) assert.strictEqual((yield* ask("events?wait=10")).status, 503)
        for (let each = 0; each < 5; each++) {
          assert.strictEqual((yield* other.call("GET", "/operator/v1/installation")).status, 200)
        }
        assert.strictEqual((yield* developer.call("GET", "/operator/v1/charges")).status, 200)
        // A response that nobody holds may be collected, which closes its stream.
        for (const { body } of streams) yield* Effect.promise(() => body!.cancel())
      })
  )

  it.effect("OPR-201: an operator has a quarter of the places while another has a request in flight", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const one = yield* makeOperator("viewer")
      const other = yield* makeOperator("viewer")
      const stalled = yield* Deferred.make<void>()
      const release = yield* Deferred.make<void>()
      const lock = yield* Effect.forkChild(
        sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`LOCK TABLE disputes IN ACCESS EXCLUSIVE MODE`
            yield* Deferred.succeed(stalled, undefined)
            yield* Deferred.await(release)
          })
        )
      )
      yield* Deferred.await(stalled)
      const asked = ({ call }: typeof one, count: number) =>
        Effect.forEach(Array.from({ length: count }), () =>
          Effect.forkChild(call("GET", "/operator/v1/disputes"), { startImmediately: true })
        )
      const [waiting] = yield* asked(other, 1)
      yield* eventually(
        Effect.map(
          // Work in the background may wait there too.
          sql<{ count: bigint }>`SELECT count(*) FROM pg_stat_activity
              WHERE wait_event_type = 'Lock' AND datname = current_database() AND query LIKE '%disputes%id DESC LIMIT%'`,
          ([row]) => Number(row?.count)
        ),
        (count) => count === 1
      )
      const mine = yield* asked(one, 7)
      const refused = yield* eventually(
        Effect.sync(() => mine.filter((fiber) => fiber.pollUnsafe() !== undefined)),
        ({ length }) => length === 7 - AT_ONCE / 4
      )
      for (const fiber of refused) assertRefused(yield* Fiber.join(fiber), "SERVICE_UNAVAILABLE")
      yield* Deferred.succeed(release, undefined)
      yield* Fiber.join(lock)
      for (const fiber of [waiting!, ...mine]) {
        if (!refused.includes(fiber)) assert.strictEqual((yield* Fiber.join(fiber)).status, 200)
      }
    })
  )
})
