/**
 * `LISTEN` on a dedicated connection whose failure is detected.
 *
 * Guarantees:
 * - A connection that stops answering fails its queue with an `SqlError` within `every` + `within` + 5 s. Its consumer then
 *   listens again.
 * - It is not a connection of the pool.
 * - Closing the scope never waits for a connection that does not answer.
 *
 * Why: a session that only listens sends nothing, so TCP does not detect a dead peer, and keep-alive takes minutes by
 * default. The heartbeat is a query of the listening session, which also works on a read-only server.
 */
import type * as PgClient from "@effect/sql-pg/PgClient"
import * as PgConnection from "@effect/sql-pg/PgConnection"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"

interface Heartbeat {
  readonly every: Duration.Input
  /** How long an answer may take. */
  readonly within: Duration.Input
}

/** The client with a `listen` that detects a dead connection. */
export const withWatchedListen = (client: PgClient.PgClient, heartbeat: Heartbeat = HEARTBEAT): PgClient.PgClient =>
  Object.assign(client, { listen: (channel: string) => listen(client.config, channel, heartbeat) })

const HEARTBEAT: Heartbeat = { every: "10 seconds", within: "5 seconds" }

const listen = Effect.fnUntraced(function* (
  config: PgClient.PgClientConfig,
  channel: string,
  { every, within }: Heartbeat
) {
  const connectionScope = yield* Scope.fork(yield* Effect.scope)
  const connection = yield* Scope.provide(PgConnection.make(config), connectionScope)
  const session = yield* connection.pin
  const queue = yield* session.listen(channel)
  yield* session.query("SELECT 'heartbeat of LISTEN'", [], false).pipe(
    // The interruption of a query that never answers destroys its connection, which fails the queue.
    Effect.timeoutOrElse({ duration: within, orElse: () => Effect.void }),
    Effect.ignore,
    Effect.andThen(Effect.sleep(every)),
    Effect.forever,
    Effect.forkScoped
  )
  // First of all finalizers: that of `listen` sends UNLISTEN, and would wait for its answer for ever.
  yield* Effect.addFinalizer(() => Scope.close(connectionScope, Exit.void))
  return queue
})
