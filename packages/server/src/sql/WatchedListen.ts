/**
 * `LISTEN` on a connection of its own, whose death is noticed.
 *
 * Guarantees:
 * - A connection that no longer answers (a firewall forgot it, a machine vanished) fails its queue with an `SqlError`
 *   within `every` + `within` + 5 s; its consumer listens again.
 * - The listening session takes no place in the pool.
 * - Closing the scope never waits for a connection that does not answer.
 *
 * Why: a session that only listens sends nothing, so TCP never finds out. Keep-alive probes take minutes by the system's
 * defaults. The heartbeat is a query of the listening session itself, so it tests that connection, and works on a
 * read-only server too.
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

/** The same client; its `listen` notices a connection that died. */
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
