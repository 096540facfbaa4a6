/**
 * Writes that run to their end after their callers have left.
 *
 * Guarantees:
 * - A statement that was sent is never cancelled. The caller of a write gets `Unavailable` after `DATABASE_TIMEOUT_MS`, or after the time
 *   that it gives.
 * - Nothing is committed by a transaction whose caller had that answer before its COMMIT was sent (`untilAnswered`): a repetition,
 *   which waits for the same locks, finds all of it or nothing, and nothing comes later.
 * - A write that has not started ends with its caller.
 * - A statement on a dead connection is interrupted once the server does not know it any more.
 *
 * Why: docs/decisions/0010-writes-are-not-cancelled.md. TCP may take a quarter of an hour to notice a dead connection.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Option from "effect/Option"
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
 * `orUnavailable` for a write (a statement or a transaction), with a timeout. Nested writes share that and the slot of the outermost
 * one. A write that an account's caller asks for takes one of the account's slots.
 */
export const runToCompletion =
  (sql: SqlClient, accountId?: string, timeoutMs = DATABASE_TIMEOUT_MS) =>
  <A, E, R>(write: Effect.Effect<A, E | SqlError, R>): Effect.Effect<A, Exclude<E, SqlError> | Unavailable, R> =>
    Effect.flatMap(IsAnswered, (outer) => {
      if (outer !== undefined) return transientAsUnavailable(write)
      let isAnswered = false
      const slotted = withWriteSlot(
        sql,
        Effect.provideService(write, IsAnswered, () => isAnswered),
        accountId
      )
      return transientAsUnavailable(
        within(slotted.effect, timeoutMs, (fiber, hasTimedOut) => {
          isAnswered = hasTimedOut
          return abandon(sql, fiber, slotted.hasStarted())
        })
      )
    })

/** Whether the caller of a write was answered `Unavailable`; undefined outside of writes. */
export const IsAnswered = Context.Reference<(() => boolean) | undefined>("@pix-payments/server/database/IsAnswered", {
  defaultValue: () => undefined
})

/** Ends a write whose caller was answered. */
export const untilAnswered: Effect.Effect<void> = Effect.flatMap(IsAnswered, (isAnswered) =>
  isAnswered?.() === true ? Effect.interrupt : Effect.void
)

/** The client with transactions that end by `untilAnswered`. */
export const withAwaitedTransactions = <Client extends SqlClient>(client: Client): Client => {
  const { withTransaction } = client
  return Object.assign(client, {
    withTransaction: <A, E, R>(write: Effect.Effect<A, E, R>) => withTransaction(Effect.tap(write, () => untilAnswered))
  })
}

/** A statement without a transaction. It has its connection before it is sent, by `untilAnswered`. */
export const sendAwaited =
  (sql: SqlClient) =>
  <A, E>(statement: Effect.Effect<A, E>): Effect.Effect<A, E | SqlError> =>
    Effect.flatMap(Effect.serviceOption(sql.transactionService), (transaction) => {
      if (Option.isSome(transaction)) return statement
      return Effect.scoped(
        Effect.flatMap(sql.reserve, (connection) =>
          Effect.andThen(untilAnswered, Effect.provideService(statement, sql.transactionService, [connection, 0]))
        )
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
