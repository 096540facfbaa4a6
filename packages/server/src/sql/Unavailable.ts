/**
 * The answer to "not now": a full queue, or a database that is away or too slow to wait for.
 *
 * What fails with it may or may not have been done; repeating the call with the same idempotency key is safe.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { hasProperty } from "effect/Predicate"
import * as Schema from "effect/Schema"
import { isSqlError, type SqlError } from "effect/sql/SqlError"

export class Unavailable extends Schema.TaggedError<Unavailable>()("Unavailable", {
  reason: Schema.Literals(["queue-full", "database-away", "too-slow"])
}) {}

/** The SQLSTATE of a fault, where the server has told one. */
export const codeOf = (error: SqlError): string | undefined => {
  const code = hasProperty(error.reason.cause, "code") ? error.reason.cause.code : undefined
  return typeof code === "string" ? code : undefined
}

/** True where the fault is the moment's (connection, lock, time-out, shutdown), not the statement's. */
export const isTransient = (error: SqlError): boolean => {
  if (error.reason.isRetryable) return true
  const code = codeOf(error)
  return code !== undefined && (passing.has(code) || code.startsWith("57P") || code.startsWith("53"))
}

/**
 * Beside 57P (the server is shutting down or starting) and 53 (it is out of connections, memory or disk): a primary that
 * is read-only, a transaction that was idle for too long, and a password that is being changed.
 */
const passing = new Set(["25006", "25P03", "28P01"])

/**
 * The fault of the database in a cause. Where a connection breaks in the midst of a transaction, the roll-back fails as
 * well, and the driver lets that be a defect.
 */
export const faultOf = (cause: Cause.Cause<unknown>): SqlError | undefined => {
  for (const reason of cause.reasons) {
    const failure = Cause.isFailReason(reason) ? reason.error : Cause.isDieReason(reason) ? reason.defect : undefined
    if (isSqlError(failure) && (Cause.isFailReason(reason) || isTransient(failure))) return failure
  }
  return undefined
}

/**
 * How long anybody waits for the database. It ends statements after five seconds by itself: beyond that it is silent.
 */
export const DATABASE_TIMEOUT_MS = 6000

/** Passing faults become `Unavailable`, and so does a silence; all others defects: no caller can mend a wrong statement. */
export const orUnavailable = <A, E, R>(effect: Effect.Effect<A, E | SqlError, R>) =>
  orUnavailableWithin(effect, DATABASE_TIMEOUT_MS)

/** The same for what may take longer, or less. */
export const orUnavailableWithin = <A, E, R>(effect: Effect.Effect<A, E | SqlError, R>, patienceMs: number) =>
  transientAsUnavailable(within(effect, patienceMs))

/** The same for what somebody else ends in time. */
export const transientAsUnavailable = <A, E, R>(effect: Effect.Effect<A, E | SqlError, R>) =>
  Effect.catchCause(effect, (cause): Effect.Effect<never, unknown> => {
    const fault = faultOf(cause)
    if (fault === undefined) return Effect.failCause(cause)
    return isTransient(fault) ? Effect.fail(new Unavailable({ reason: "database-away" })) : Effect.die(fault)
  }) as Effect.Effect<A, Exclude<E, SqlError> | Unavailable, R>

/**
 * A time-out that does not wait for the interruption, which a silent database does not answer either. A caller
 * that is interrupted waits for it as ever, so that a transaction's statements stay one after the other. `end` does
 * with the effect what is to be done with it then.
 */
export const within = <A, E, R>(
  effect: Effect.Effect<A, E, R>,
  patienceMs: number,
  end: (fiber: Fiber.Fiber<A, E>) => Effect.Effect<void> = Fiber.interrupt
): Effect.Effect<A, E | Unavailable, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(Effect.forkDetach(Effect.interruptible(effect), { startImmediately: true }), (fiber) =>
      restore(
        Effect.callback<A, E | Unavailable>((resume) => {
          const timer = setTimeout(() => {
            resume(new Unavailable({ reason: "too-slow" }))
            Effect.runForkWith(fiber.context)(end(fiber))
          }, patienceMs)
          const stop = fiber.addObserver((exit) => {
            clearTimeout(timer)
            resume(exit)
          })
          return Effect.sync(() => {
            clearTimeout(timer)
            stop()
          })
        })
      ).pipe(Effect.onInterrupt(() => end(fiber)))
    )
  )
