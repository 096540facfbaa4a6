/**
 * Rounds over the rows of many tenants in which one row cannot fail the others.
 *
 * Guarantees:
 * - A statement that fails on its rows, or exceeds `statement_timeout`, is retried in halves, down to single rows.
 * - A failure of a connection, a lock or the server fails the round.
 *
 * Why: docs/decisions/0014-failures-in-halves.md.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { runToCompletion } from "../RunToCompletion.ts"
import { isTransient, QUERY_CANCELED, sqlErrorIn, sqlStateOf } from "../SqlState.ts"
import type { Unavailable } from "../Unavailable.ts"

/** A statement failed on its rows. */
export class StatementFailed extends Schema.TaggedError<StatementFailed>()("StatementFailed", {
  /** PostgreSQL's message. */
  message: Schema.String,
  /** PostgreSQL cancelled it at `statement_timeout`. */
  isTimeout: Schema.Boolean,
  /** The SQLSTATE. Logs contain this and not the message, which may quote the row. */
  code: Schema.String
}) {}

/** Runs a write. It fails with `StatementFailed` where other rows may succeed. */
export const attemptWrite = <A, R>(sql: SqlClient, statement: Effect.Effect<A, SqlError, R>) =>
  runToCompletion(sql)(orStatementFailed(statement))

/** A statement that fails with `StatementFailed` where other rows may succeed. */
export const orStatementFailed = <A, R>(statement: Effect.Effect<A, SqlError, R>) =>
  Effect.catchCause(statement, (cause): Effect.Effect<never, SqlError | StatementFailed> => {
    const error = sqlErrorIn(cause)
    if (error === undefined) return Effect.failCause(cause)
    return isTransient(error) && sqlStateOf(error) !== QUERY_CANCELED
      ? Effect.failCause(cause)
      : Effect.fail(failureOf(error))
  })

/** Runs `run` for all members, in halves where it fails. `alone` handles a member that fails on its own. */
export const bisect = <A, B, R, R2, E extends SqlError | Unavailable>(
  members: ReadonlyArray<A>,
  run: (members: ReadonlyArray<A>) => Effect.Effect<B, StatementFailed | E, R>,
  alone: (member: A, failure: StatementFailed) => Effect.Effect<void, E, R2>
): Effect.Effect<ReadonlyArray<B>, E, R | R2> =>
  members.length === 0
    ? Effect.succeed([])
    : run(members).pipe(
        Effect.map((result) => [result]),
        Effect.catchIf(isStatementFailed, (failure) =>
          members.length === 1
            ? Effect.as(alone(members[0]!, failure), [])
            : Effect.zipWith(
                bisect(members.slice(0, members.length >> 1), run, alone),
                bisect(members.slice(members.length >> 1), run, alone),
                (first, second) => [...first, ...second]
              )
        )
      )

const isStatementFailed = (error: StatementFailed | SqlError | Unavailable): error is StatementFailed =>
  error._tag === "StatementFailed"

export const failureOf = (error: SqlError): StatementFailed =>
  new StatementFailed({
    message: messageOf(error),
    isTimeout: sqlStateOf(error) === QUERY_CANCELED,
    code: sqlStateOf(error) ?? "no SQLSTATE"
  })

/** PostgreSQL's message, cut to the length that is stored. */
const messageOf = (error: SqlError): string => {
  const { cause } = error.reason
  const text = cause instanceof Error ? cause.message : error.message
  return `${sqlStateOf(error) ?? ""} ${text}`.trim().slice(0, 500)
}
