/**
 * Limits how many writes of a pool run at once, so that reads keep a quarter of its connections.
 *
 * A write keeps its slot until it ends, also while its commit waits for a standby.
 */
import * as Effect from "effect/Effect"
import { hasProperty } from "effect/Predicate"
import * as Semaphore from "effect/Semaphore"
import type { SqlClient } from "effect/sql/SqlClient"

/** A write that waits for a slot first. `hasStarted` is true once it has one. */
export const withWriteSlot = <A, E, R>(
  sql: SqlClient,
  write: Effect.Effect<A, E, R>
): { readonly effect: Effect.Effect<A, E, R>; readonly hasStarted: () => boolean } => {
  let hasStarted = false
  return {
    effect: semaphoreOf(sql).withPermits(1)(
      Effect.suspend(() => {
        hasStarted = true
        return write
      })
    ),
    hasStarted: () => hasStarted
  }
}

const semaphores = new WeakMap<SqlClient, Semaphore.Semaphore>()

const semaphoreOf = (sql: SqlClient): Semaphore.Semaphore => {
  let semaphore = semaphores.get(sql)
  if (semaphore === undefined) {
    semaphore = Semaphore.makeUnsafe(writeSlotsOf(connectionsOf(sql)))
    semaphores.set(sql, semaphore)
  }
  return semaphore
}

/** The write slots of a pool with so many connections. */
export const writeSlotsOf = (connections: number): number => connections - Math.max(1, Math.floor(connections / 4))

const connectionsOf = (sql: SqlClient): number => {
  const config = hasProperty(sql, "config") ? sql.config : undefined
  const maxConnections = hasProperty(config, "maxConnections") ? config.maxConnections : undefined
  return typeof maxConnections === "number" ? maxConnections : 10
}
