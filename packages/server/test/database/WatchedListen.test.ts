/** Notifications after the listening connection died silently. */
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Queue from "effect/Queue"
import * as Scope from "effect/Scope"
import { SqlClient } from "effect/sql/SqlClient"
import { DeliverySignal } from "../../src/events/DeliverySignal.ts"
import { withWatchedListen } from "../../src/database/WatchedListen.ts"
import { cuttingWire } from "../support/CuttingWire.ts"
import { createDatabase } from "../support/Postgres.ts"
import { eventually } from "../support/Receiver.ts"
import { TestService } from "../support/TestService.ts"

const heartbeat = { every: "50 millis", within: "200 millis" } as const
const CHANNEL = "pix_payments_deliveries"

layer(Layer.empty, { excludeTestServices: true })("A connection that listens", (it) => {
  it.effect("that no longer answers fails, and closing it waits for nothing", () =>
    Effect.gen(function* () {
      const wire = yield* cuttingWire(yield* createDatabase(), Math.random)
      const client = withWatchedListen(yield* connected(wire.url), heartbeat)
      const scope = yield* Scope.make()
      const queue = yield* Scope.provide(client.listen("a_channel"), scope)
      wire.silence()
      assert.isTrue(Exit.isFailure(yield* Effect.exit(Queue.take(queue))))
      yield* Scope.close(scope, Exit.void)

      // Before the death is noticed.
      const unnoticed = yield* Scope.make()
      yield* Scope.provide(withWatchedListen(client, { ...heartbeat, every: "1 hour" }).listen("a_channel"), unnoticed)
      wire.silence()
      yield* Scope.close(unnoticed, Exit.void)
    }).pipe(Effect.scoped)
  )

  it.effect("is replaced: a process hears of the others' commits again", () =>
    Effect.gen(function* () {
      const url = yield* createDatabase()
      const wire = yield* cuttingWire(url, Math.random)
      const client = withWatchedListen(yield* connected(wire.url), heartbeat)
      const other = yield* connected(url)
      const signal = Context.get(
        yield* Layer.build(DeliverySignal.layer.pipe(Layer.provide(Layer.succeed(PgClient.PgClient, client)))),
        DeliverySignal
      )
      // Repeated, because nothing reports when it listens again.
      const hears = Effect.andThen(
        signal.rest,
        Effect.raceFirst(
          signal.await,
          Effect.forever(Effect.andThen(other.notify(CHANNEL, "another process"), Effect.sleep("50 millis")))
        )
      )
      yield* hears
      wire.silence()
      yield* hears
    }).pipe(Effect.scoped)
  )
})

layer(TestService.layer(), { excludeTestServices: true })("The service", (it) => {
  it.effect("listens on a connection outside its pool, and tests it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      yield* eventually(
        sql`SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND query LIKE '%heartbeat of LISTEN%'
          AND pid <> pg_backend_pid()`,
        ({ length }) => length === 1
      )
    })
  )
})

const connected = (url: Parameters<typeof PgClient.layer>[0]["url"]) =>
  Effect.map(Layer.build(Layer.fresh(PgClient.layer({ url, maxConnections: 3 }))), Context.get(PgClient.PgClient))
