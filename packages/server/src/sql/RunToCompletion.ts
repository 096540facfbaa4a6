/**
 * What happens to a statement that writes once its callers are answered.
 *
 * A commit that waits for a standby is not cancelled: PostgreSQL would keep it, unreplicated, and show it to everybody.
 * So such a statement is left to end. Only one that the server does not know of any more is ended here: its connection
 * is dead, which TCP may find out a quarter of an hour later. All that writes has so many places, and no more.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { hasProperty } from "effect/Predicate"
import * as Semaphore from "effect/Semaphore"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import {
  orUnavailableWithin,
  DATABASE_TIMEOUT_MS,
  transientAsUnavailable,
  type Unavailable,
  within
} from "./Unavailable.ts"

/** How long callers wait for a batch. */
export interface Patience {
  /** Calls `slow` after a second, and `tooSlow` after `DATABASE_TIMEOUT_MS`. */
  readonly begin: (slow: (() => void) | undefined, tooSlow: () => void) => void
  /** The server has ended a statement, and others are tried: once, callers wait as long again. */
  readonly heard: () => void
  readonly end: () => void
}

export const makePatience = (): Patience => {
  let timer: NodeJS.Timeout | undefined
  let isExtended = false
  let giveUp: (() => void) | undefined
  const end = () => {
    clearTimeout(timer)
    giveUp = undefined
  }
  return {
    begin: (slow, tooSlow) => {
      giveUp = () => {
        end()
        tooSlow()
      }
      timer = setTimeout(() => {
        timer = setTimeout(() => giveUp?.(), DATABASE_TIMEOUT_MS - SLOW_MS)
        slow?.()
      }, SLOW_MS)
    },
    heard: () => {
      if (giveUp === undefined || isExtended) return
      isExtended = true
      clearTimeout(timer)
      timer = setTimeout(() => giveUp?.(), DATABASE_TIMEOUT_MS)
    },
    end
  }
}

/** From here on a batch no longer holds up the next one. */
const SLOW_MS = 1000

/**
 * Ends a statement that has not answered for half a minute, where the server answers others and no commit waits. (The
 * server ends a statement after five seconds by itself, up to its commit.)
 */
export const endDeadStatement = (sql: SqlClient, fiber: Fiber.Fiber<unknown, unknown>): Effect.Effect<void> =>
  Effect.gen(function* () {
    while (true) {
      yield* Effect.sleep(LOOK_EVERY_MS)
      if (fiber.pollUnsafe() !== undefined) return
      const commits = yield* Effect.exit(orUnavailableWithin(sql.unsafe<{ readonly count: bigint }>(waiting), 5000))
      if (commits._tag === "Failure" || commits.value[0]?.count !== 0n) continue
      fiber.interruptUnsafe()
      return
    }
  })

const LOOK_EVERY_MS = 30_000

const waiting = `SELECT count(*) AS count FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND usename = current_user`

/**
 * `orUnavailable` for what writes, a statement or a transaction: who waits for it gives up, or goes away, and it is left
 * to end, but for what has not begun. What is in it (`runToCompletion` as well) has the time and the place of the outermost.
 */
export const runToCompletion =
  (sql: SqlClient) =>
  <A, E, R>(write: Effect.Effect<A, E | SqlError, R>): Effect.Effect<A, Exclude<E, SqlError> | Unavailable, R> =>
    Effect.flatMap(IsLeftToEnd, (isInside) => {
      if (isInside) return transientAsUnavailable(write)
      const placed = withWriteSlot(sql, Effect.provideService(write, IsLeftToEnd, true))
      return transientAsUnavailable(
        within(placed.effect, DATABASE_TIMEOUT_MS, (fiber) => abandon(sql, fiber, placed.hasBegun()))
      )
    })

/** The same for what nobody waits for: it has all the time it takes. */
export const runToCompletionUntimed =
  (sql: SqlClient) =>
  <A, E, R>(write: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
    const placed = withWriteSlot(sql, write)
    return Effect.flatMap(Effect.forkDetach(placed.effect, { startImmediately: true }), (fiber) =>
      Effect.onInterrupt(Fiber.join(fiber), () => abandon(sql, fiber, placed.hasBegun()))
    )
  }

const IsLeftToEnd = Context.Reference<boolean>("@pix-payments/server/sql/IsLeftToEnd", { defaultValue: () => false })

/** Leaves what writes to its end, where it has begun. */
export const abandon = (sql: SqlClient, fiber: Fiber.Fiber<unknown, unknown>, hasBegun: boolean): Effect.Effect<void> =>
  Effect.suspend(() => {
    if (fiber.pollUnsafe() !== undefined) return Effect.void
    return hasBegun ? Effect.asVoid(Effect.forkDetach(endDeadStatement(sql, fiber))) : Fiber.interrupt(fiber)
  })

/**
 * Waits for one of the places that all that writes has, and keeps it to its end: however much waits for a standby, there
 * are connections left for what reads.
 */
export const withWriteSlot = <A, E, R>(
  sql: SqlClient,
  write: Effect.Effect<A, E, R>
): { readonly effect: Effect.Effect<A, E, R>; readonly hasBegun: () => boolean } => {
  let hasBegun = false
  return {
    effect: placesOf(sql).withPermits(1)(
      Effect.suspend(() => {
        hasBegun = true
        return write
      })
    ),
    hasBegun: () => hasBegun
  }
}

const places = new WeakMap<SqlClient, Semaphore.Semaphore>()

const placesOf = (sql: SqlClient): Semaphore.Semaphore => {
  let made = places.get(sql)
  if (made === undefined) {
    made = Semaphore.makeUnsafe(writeSlotsOf(connectionsOf(sql)))
    places.set(sql, made)
  }
  return made
}

/** A quarter of the connections is left for what reads. */
export const writeSlotsOf = (connections: number): number => connections - Math.max(1, Math.floor(connections / 4))

const connectionsOf = (sql: SqlClient): number => {
  const config = hasProperty(sql, "config") ? sql.config : undefined
  const most = hasProperty(config, "maxConnections") ? config.maxConnections : undefined
  return typeof most === "number" ? most : 10
}

/** In a transaction of its own, in which no statement may take longer than half a second. */
export const withShortTimeouts = <A>(
  sql: SqlClient,
  statement: Effect.Effect<A, SqlError>
): Effect.Effect<A, SqlError> =>
  sql.withTransaction(
    Effect.andThen(
      sql`SELECT set_config('statement_timeout', '500ms', true), set_config('lock_timeout', '500ms', true)`,
      statement
    )
  )
