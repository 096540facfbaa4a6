/**
 * The answer to "not now": a full queue, or a database that is away or too slow to wait for.
 *
 * What fails with it may or may not have been done; repeating the call with the same idempotency key is safe.
 */
import * as Effect from "effect/Effect"
import { hasProperty } from "effect/Predicate"
import * as Schema from "effect/Schema"
import type { SqlError } from "effect/sql/SqlError"

export class Unavailable extends Schema.TaggedError<Unavailable>()("Unavailable", {
  reason: Schema.Literals(["queue-full", "database-away", "too-slow"])
}) {}

/** True where the fault is the moment's (connection, lock, time-out, shutdown), not the statement's. */
export const isPassing = (error: SqlError): boolean => {
  if (error.reason.isRetryable) return true
  const code = hasProperty(error.reason.cause, "code") ? error.reason.cause.code : undefined
  // 57P: the server is shutting down or starting; 53: it is out of connections, memory or disk.
  return typeof code === "string" && (code.startsWith("57P") || code.startsWith("53"))
}

/** Passing faults become `Unavailable`, all others defects: no caller can mend a wrong statement. */
export const orUnavailable = <A, E, R>(effect: Effect.Effect<A, E | SqlError, R>) =>
  Effect.catchIf(
    effect,
    (error): error is SqlError & E => hasProperty(error, "_tag") && error._tag === "SqlError",
    (error: SqlError) => (isPassing(error) ? new Unavailable({ reason: "database-away" }) : Effect.die(error))
  ) as Effect.Effect<A, Exclude<E, SqlError> | Unavailable, R>
