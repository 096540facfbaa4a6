/**
 * The answer to "not now": the queue is full, the database is away or too slow, or a cached caller has changed
 * (`accounts/Caller.ts`).
 *
 * The operation may or may not have been done. Repeating it with the same idempotency key is safe.
 */
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import type { SqlError } from "effect/sql/SqlError"
import { isTransient, sqlFailureIn } from "./SqlState.ts"

export class Unavailable extends Schema.TaggedError<Unavailable>()("Unavailable", {
  reason: Schema.Literals(["queue-full", "database-away", "too-slow", "stale-caller"])
}) {}

/** How long a caller waits for the database. The server cancels statements after five seconds; later it is unresponsive. */
export const DATABASE_TIMEOUT_MS = 6000

/** Turns transient SQL errors and a timeout into `Unavailable`, and all other SQL errors into defects. */
export const orUnavailable = <A, E, R>(effect: Effect.Effect<A, E | SqlError, R>) =>
  orUnavailableWithin(effect, DATABASE_TIMEOUT_MS)

/** `orUnavailable` with another timeout. */
export const orUnavailableWithin = <A, E, R>(effect: Effect.Effect<A, E | SqlError, R>, timeoutMs: number) =>
  transientAsUnavailable(within(effect, timeoutMs))

/** `orUnavailable` without a timeout. */
export const transientAsUnavailable = <A, E, R>(effect: Effect.Effect<A, E | SqlError, R>) =>
  Effect.catchCause(effect, (cause): Effect.Effect<never, unknown> => {
    const error = sqlFailureIn(cause)
    if (error === undefined) return Effect.failCause(cause)
    return isTransient(error) ? Effect.fail(new Unavailable({ reason: "database-away" })) : Effect.die(error)
  }) as Effect.Effect<A, Exclude<E, SqlError> | Unavailable, R>

/**
 * A timeout that does not wait for the interruption, which an unresponsive database does not answer either. At the
 * timeout `end` gets the fiber. An interrupted caller waits for `end`, so that the statements of a transaction stay
 * sequential.
 */
export const within = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  timeoutMs: number,
  end: (fiber: Fiber.Fiber<A, E>, hasTimedOut: boolean) => Effect.Effect<void> = Fiber.interrupt
): Effect.Effect<A, E | Unavailable, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(Effect.forkDetach(Effect.interruptible(effect), { startImmediately: true }), (fiber) =>
      restore(
        Effect.callback<A, E | Unavailable>((resume) => {
          const timer = setTimeout(() => {
            resume(new Unavailable({ reason: "too-slow" }))
            Effect.runForkWith(fiber.context)(end(fiber, true))
          }, timeoutMs)
          const stop = fiber.addObserver((exit) => {
            clearTimeout(timer)
            resume(exit)
          })
          return Effect.sync(() => {
            clearTimeout(timer)
            stop()
          })
        })
      ).pipe(Effect.onInterrupt(() => end(fiber, false)))
    )
  )
