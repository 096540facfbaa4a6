/**
 * A batch: the calls that one statement answers, and its retries.
 *
 * Guarantees:
 * - A batch that fails because of one member is retried in halves, so that the other members succeed.
 * - A batch that PostgreSQL cancels at a timeout is retried in halves, each with timeouts of half a second where the client
 *   of its statement is given.
 * - A batch that PostgreSQL ends for a deadlock or a serialization failure is retried once as a whole.
 * - A statement whose outcome is unknown is never retried.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import type { Span } from "effect/Tracer"
import { type BatchDeadline, makeBatchDeadline } from "./BatchDeadline.ts"
import { LOCKED, type LockMode } from "../statements/LockMode.ts"
import {
  DEADLOCK_DETECTED,
  isTransient,
  LOCK_NOT_AVAILABLE,
  QUERY_CANCELED,
  SERIALIZATION_FAILURE,
  sqlFailureIn,
  sqlStateOf
} from "../SqlState.ts"
import { Unavailable } from "../Unavailable.ts"

/** Does all members in one commit, and answers them in order. */
export type Run<A, B> = (
  members: ReadonlyArray<A>,
  lockMode: LockMode
) => Effect.Effect<ReadonlyArray<B | typeof LOCKED>, SqlError>

/** A caller that waits for its member. */
export interface Call<A, B> {
  readonly member: A
  /** Where the caller is traced: from its call to its answer. */
  readonly span: Span | undefined
  readonly resume: (result: Effect.Effect<B, Unavailable>) => void
  isAnswered: boolean
}

export interface Batch<A, B> {
  readonly calls: ReadonlyArray<Call<A, B>>
  readonly lockMode: LockMode
  readonly deadline: BatchDeadline
  isSlow: boolean
  /** Its callers were answered at the deadline; its statement has not ended. */
  hasTimedOut: boolean
  /** The answers that callers get once the batch has ended. */
  readonly results: Array<readonly [Call<A, B>, Effect.Effect<B, Unavailable>]>
  readonly onLocked: (call: Call<A, B>) => void
}

/** Runs a batch. `onEnd` is called before its callers continue. */
export type Start<A, B> = (
  batch: Batch<A, B>,
  on: { readonly onSlow?: () => void; readonly onTimeout: () => void; readonly onEnd: () => void }
) => void

export const makeBatch = <A, B>(
  calls: ReadonlyArray<Call<A, B>>,
  lockMode: LockMode,
  onLocked: (call: Call<A, B>) => void
): Batch<A, B> => ({
  calls,
  lockMode,
  deadline: makeBatchDeadline(),
  isSlow: false,
  hasTimedOut: false,
  results: [],
  onLocked
})

/** Answers the calls that have no answer yet. */
export const answer = <A, B>(calls: ReadonlyArray<Call<A, B>>, result: Effect.Effect<B, Unavailable>): void => {
  for (const call of calls) {
    if (call.isAnswered) continue
    call.isAnswered = true
    call.resume(result)
  }
}

/**
 * Runs the statement and its retries. The first statement's answers go to `results`; those of retries go to their
 * callers at once. `client` is that of the statement.
 */
export const execute = <A, B>(
  batch: Batch<A, B>,
  run: Run<A, B>,
  client: SqlClient | undefined
): Effect.Effect<void> => {
  const { deadline, lockMode } = batch
  const runAll = (calls: ReadonlyArray<Call<A, B>>) =>
    run(
      calls.map(({ member }) => member),
      lockMode
    )
  const attempt = (calls: ReadonlyArray<Call<A, B>>) => Effect.exit(Effect.suspend(() => runAll(calls)))
  const attemptQuickly = (sql: SqlClient, calls: ReadonlyArray<Call<A, B>>) =>
    Effect.exit(withShortTimeouts(sql, runAll(calls)))

  const part = (
    calls: ReadonlyArray<Call<A, B>>,
    isFirst: boolean,
    attempted: Effect.Effect<Exit.Exit<ReadonlyArray<B | typeof LOCKED>, SqlError>>,
    mayRepeat: boolean
  ): Effect.Effect<void> =>
    Effect.flatMap(attempted, (exit) => {
      const answerAll = (result: Effect.Effect<B, Unavailable>) =>
        Effect.sync(() => void batch.results.push(...calls.map((call) => [call, result] as const)))
      const halves = (isAfterTimeout: boolean) => {
        const middle = calls.length >> 1
        const half = (some: ReadonlyArray<Call<A, B>>) =>
          Effect.suspend(() => {
            if (batch.hasTimedOut) return answerAll(new Unavailable({ reason: "too-slow" }))
            const again = isAfterTimeout && client !== undefined ? attemptQuickly(client, some) : attempt(some)
            return part(some, false, again, true)
          })
        return Effect.andThen(half(calls.slice(0, middle)), half(calls.slice(middle)))
      }
      if (Exit.isSuccess(exit)) {
        return Effect.sync(() => {
          for (const [index, call] of calls.entries()) {
            const value = exit.value[index]!
            if (value === LOCKED) batch.onLocked(call)
            else if (isFirst) batch.results.push([call, Effect.succeed(value as B)])
            else answer([call], Effect.succeed(value as B))
          }
        })
      }
      deadline.extend()
      const error = sqlFailureIn(exit.cause)
      const code = error === undefined ? undefined : sqlStateOf(error)
      if (code !== undefined && retriedAsAWhole.has(code) && mayRepeat && !batch.hasTimedOut)
        return part(calls, isFirst, attempt(calls), false)
      if (code !== undefined && timeouts.has(code)) {
        // With `wait`, all members wait for the same lock.
        return calls.length === 1 || (lockMode === "wait" && code === LOCK_NOT_AVAILABLE)
          ? answerAll(new Unavailable({ reason: "too-slow" }))
          : halves(true)
      }
      if (error !== undefined && isTransient(error)) return answerAll(new Unavailable({ reason: "database-away" }))
      return calls.length === 1 ? answerAll(Effect.orDie(Effect.failCause(exit.cause))) : halves(false)
    })

  return part(batch.calls, true, attempt(batch.calls), true)
}

/** PostgreSQL cancelled the statement and rolled it back. */
const timeouts = new Set([QUERY_CANCELED, LOCK_NOT_AVAILABLE])

const retriedAsAWhole = new Set([DEADLOCK_DETECTED, SERIALIZATION_FAILURE])

/** In a transaction in which no statement takes longer than half a second. */
const withShortTimeouts = <A>(sql: SqlClient, statement: Effect.Effect<A, SqlError>): Effect.Effect<A, SqlError> =>
  sql.withTransaction(
    Effect.andThen(
      sql`SELECT set_config('statement_timeout', '500ms', true), set_config('lock_timeout', '500ms', true)`,
      statement
    )
  )
