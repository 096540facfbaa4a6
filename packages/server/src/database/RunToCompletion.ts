/**
 * Writes that run to their end after their callers have left.
 *
 * Guarantees:
 * - A write that has started is never cancelled. Its caller gets `Unavailable` after `DATABASE_TIMEOUT_MS`.
 * - A write that has not started ends with its caller.
 * - A statement on a dead connection is interrupted once the server does not know it any more.
 *
 * Why: docs/decisions/0010-writes-are-not-cancelled.md. TCP may take a quarter of an hour to notice a dead connection.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import {
  DATABASE_TIMEOUT_MS,
  orUnavailableWithin,
  transientAsUnavailable,
  type Unavailable,
  within
} from "./Unavailable.ts"
import { withWriteSlot } from "./WriteSlots.ts"

/**
 * `orUnavailable` for a write (a statement or a transaction). Nested writes share the timeout and the slot of the outermost
 * one. A write that an account's caller asks for takes one of the account's slots.
 */
export const runToCompletion =
  (sql: SqlClient, accountId?: string) =>
  <A, E, R>(write: Effect.Effect<A, E | SqlError, R>): Effect.Effect<A, Exclude<E, SqlError> | Unavailable, R> =>
    Effect.flatMap(IsNested, (isNested) => {
      if (isNested) return transientAsUnavailable(write)
      const slotted = withWriteSlot(sql, Effect.provideService(write, IsNested, true), accountId)
      return transientAsUnavailable(
        within(slotted.effect, DATABASE_TIMEOUT_MS, (fiber) => abandon(sql, fiber, slotted.hasStarted()))
      )
    })

/** `runToCompletion` without a timeout, for writes that no caller waits for. */
export const runToCompletionUntimed =
  (sql: SqlClient) =>
  <A, E, R>(write: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
    const slotted = withWriteSlot(sql, write)
    return Effect.flatMap(Effect.forkDetach(slotted.effect, { startImmediately: true }), (fiber) =>
      Effect.onInterrupt(Fiber.join(fiber), () => abandon(sql, fiber, slotted.hasStarted()))
    )
  }

const IsNested = Context.Reference<boolean>("@pix-payments/server/database/RunToCompletion", {
  defaultValue: () => false
})

/** Stops waiting for a write: one that has started goes on in the background, one that has not is interrupted. */
export const abandon = (
  sql: SqlClient,
  fiber: Fiber.Fiber<unknown, unknown>,
  hasStarted: boolean
): Effect.Effect<void> =>
  Effect.suspend(() => {
    if (fiber.pollUnsafe() !== undefined) return Effect.void
    return hasStarted ? Effect.asVoid(Effect.forkDetach(interruptWhenDead(sql, fiber))) : Fiber.interrupt(fiber)
  })

/**
 * Interrupts a statement that has not answered for half a minute while the server answers others and no commit waits for
 * a standby. (The server cancels a statement after five seconds, up to its commit.)
 */
const interruptWhenDead = (sql: SqlClient, fiber: Fiber.Fiber<unknown, unknown>): Effect.Effect<void> =>
  Effect.gen(function* () {
    while (true) {
      yield* Effect.sleep(CHECK_EVERY_MS)
      if (fiber.pollUnsafe() !== undefined) return
      const commits = yield* Effect.exit(
        orUnavailableWithin(sql.unsafe<{ readonly count: bigint }>(waitingCommits), 5000)
      )
      if (commits._tag === "Failure" || commits.value[0]?.count !== 0n) continue
      fiber.interruptUnsafe()
      return
    }
  })

const CHECK_EVERY_MS = 30_000

const waitingCommits = `SELECT count(*) AS count FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND usename = current_user`
