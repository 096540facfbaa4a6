/**
 * Rounds over many rows in which one row cannot fail the others.
 *
 * A statement that fails for what it works on is tried again in halves, down to single rows. A statement that the
 * server cancelled after its time-out is halved too; a connection, a lock or a server that fails is not.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { SqlClient } from "effect/sql/SqlClient"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import { runToCompletion } from "./RunToCompletion.ts"
import { codeOf, isTransient, type Unavailable } from "./Unavailable.ts"

/** A statement failed for the rows that it works on. */
export class StatementFailed extends Schema.TaggedError<StatementFailed>()("StatementFailed", {
  /** What PostgreSQL said. */
  message: Schema.String,
  /** The server cancelled it after `statement_timeout`. */
  isTimeout: Schema.Boolean,
  /** SQLSTATE. This is what is logged: the message may quote the row. */
  code: Schema.String
}) {}

/** Runs a statement that writes; fails with `StatementFailed` where other rows may succeed. */
export const attemptWrite = <A, R>(sql: SqlClient, statement: Effect.Effect<A, SqlError, R>) =>
  runToCompletion(sql)(
    Effect.catchCause(statement, (cause): Effect.Effect<never, SqlError | StatementFailed> => {
      const fault = sqlErrorOf(cause)
      if (fault === undefined) return Effect.failCause(cause)
      return isTransient(fault) && codeOf(fault) !== TIMED_OUT ? Effect.failCause(cause) : Effect.fail(failureOf(fault))
    })
  )

/** Runs `run` for all members, in halves where it fails; `alone` decides about a member that fails by itself. */
export const bisect = <A, B, R, R2>(
  members: ReadonlyArray<A>,
  run: (members: ReadonlyArray<A>) => Effect.Effect<B, StatementFailed | Unavailable, R>,
  alone: (member: A, failure: StatementFailed) => Effect.Effect<void, Unavailable, R2>
): Effect.Effect<ReadonlyArray<B>, Unavailable, R | R2> =>
  members.length === 0
    ? Effect.succeed([])
    : run(members).pipe(
        Effect.map((result) => [result]),
        Effect.catchTag("StatementFailed", (failure) =>
          members.length === 1
            ? Effect.as(alone(members[0]!, failure), [])
            : Effect.zipWith(
                bisect(members.slice(0, members.length >> 1), run, alone),
                bisect(members.slice(members.length >> 1), run, alone),
                (first, second) => [...first, ...second]
              )
        )
      )

const sqlErrorOf = (cause: Cause.Cause<unknown>): SqlError | undefined => {
  for (const reason of cause.reasons) {
    const failure = Cause.isFailReason(reason) ? reason.error : Cause.isDieReason(reason) ? reason.defect : undefined
    if (isSqlError(failure)) return failure
  }
  return undefined
}

export const failureOf = (fault: SqlError): StatementFailed =>
  new StatementFailed({
    message: messageOf(fault),
    isTimeout: codeOf(fault) === TIMED_OUT,
    code: codeOf(fault) ?? "no SQLSTATE"
  })

/** `statement_timeout`. */
const TIMED_OUT = "57014"

/** The server's words, in the length in which they are stored. */
const messageOf = (fault: SqlError): string => {
  const { cause } = fault.reason
  const text = cause instanceof Error ? cause.message : fault.message
  return `${codeOf(fault) ?? ""} ${text}`.trim().slice(0, 500)
}
