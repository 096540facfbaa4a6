/**
 * The fan-out of quarantined accounts: those with a change that failed alone.
 *
 * Guarantees:
 * - common rounds exclude an account from its failure until it has not failed for a while;
 * - accounts take turns, each with a bounded number of statements;
 * - what fails is bisected down to one change, and a change that fails alone down to its endpoints, so that one endpoint of
 *   n costs about 2 log2(n) statements. Endpoints that fail alone are stored in `outbox_failures`.
 *
 * Deliveries are inserted `scheduled`: claims find them.
 */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Metrics } from "../../base/observability/Metrics.ts"
import { attemptWrite, bisect, type StatementFailed } from "../../database/batching/Bisection.ts"
import { orUnavailable } from "../../database/Unavailable.ts"
import { makeCooldown } from "../deliveries/Cooldown.ts"
import * as statements from "./FanOutStatements.ts"

export interface Change {
  readonly account_id: string
  readonly change_id: string
}

/** Changes of one round, and the deliveries that it inserts, unless one change has more. */
export const MAX_CHANGES = 100
export const MAX_DELIVERIES = 1000

export const makeFanOutQuarantine = (sql: SqlClient, metrics: Metrics["Service"], clock: Clock.Clock) => {
  /** Changes that this process skips for a while. */
  const cooldown = makeCooldown(clock)
  const accounts = new Map<string, Quarantined>()

  const extend = (accountId: string) => {
    const [oldest] = accounts.keys()
    if (accounts.size >= MAX_ACCOUNTS && oldest !== undefined && !accounts.has(accountId)) accounts.delete(oldest)
    const untilMs = clock.currentTimeMillisUnsafe() + QUARANTINE_MS
    const known = accounts.get(accountId)
    if (known === undefined) accounts.set(accountId, { untilMs, maxChanges: MAX_CHANGES })
    else known.untilMs = untilMs
  }

  const add = (accountId: string, code: string) =>
    Effect.andThen(
      Effect.sync(() => extend(accountId)),
      Effect.logWarning(`the fan-out of account ${accountId} fails alone and is quarantined: ${code}`)
    )

  /** Bisects the endpoints of a change that failed alone, and stores which fail. Returns whether the change is completed. */
  const bisectChange = (change: Change, failure: StatementFailed) =>
    Effect.gen(function* () {
      yield* Effect.logWarning(`the fan-out of change ${change.change_id} fails alone: ${failure.code}`)
      const inserted = yield* insertByEndpoint(sql, change)
      // A timeout may pass: the change is tried again later.
      if (inserted.isTooSlow) cooldown.add(change.change_id)
      if (inserted.isTooSlow || inserted.isUnfinished) return false
      return yield* complete(change, inserted.failures)
    })

  /** Stores the failures of a change. */
  const complete = ({ account_id, change_id }: Change, failures: ReadonlyArray<EndpointFailure>) =>
    Effect.gen(function* () {
      for (const { endpoint_id } of failures) {
        metrics.setAside("fan-out")
        yield* Effect.logError(
          `the fan-out of change ${change_id} to ${endpoint_id ?? "its own address"} is stored as failed`
        )
      }
      return yield* attemptWrite(
        sql,
        sql.unsafe(...statements.completeWithFailures({ account: account_id, change: change_id, failures }))
      ).pipe(
        Effect.as(true),
        Effect.catchTag("StatementFailed", (again) => {
          cooldown.add(change_id)
          return Effect.as(
            Effect.logError(`the fan-out of change ${change_id} cannot be stored as failed: ${again.code}`),
            false
          )
        })
      )
    })

  /** An account's turn, which ends when its statements are used up. Returns how many changes were completed. */
  const serve = (accountId: string) =>
    Effect.gen(function* () {
      const account = accounts.get(accountId)
      if (account === undefined) return 0
      let statementsLeft = STATEMENTS_PER_TURN
      let completed = 0
      const changes = yield* orUnavailable(
        sql.unsafe<Change>(
          ...statements.accountCandidates({
            account: accountId,
            changes: account.maxChanges,
            deliveries: MAX_DELIVERIES,
            excludedChanges: cooldown.ids()
          })
        )
      )
      const fanOut = (picked: ReadonlyArray<Change>) =>
        attemptWrite(sql, sql.unsafe<RoundRow>(...statements.fanOutChanges({ picked }))).pipe(
          Effect.map(([row]) => {
            completed += row?.completed ?? 0
          }),
          Effect.tapError((failure) =>
            Effect.sync(() => {
              if (failure._tag !== "StatementFailed") return
              if (failure.isTimeout) statementsLeft -= TIMEOUT_COST
              extend(accountId)
            })
          )
        )
      yield* bisect(
        changes,
        (some) => (statementsLeft-- > 0 ? fanOut(some) : Effect.void),
        (change, failure) =>
          Effect.map(bisectChange(change, failure), (isCompleted) => {
            if (isCompleted) completed++
          })
      )
      // Timeouts may use up all statements before any change is completed: take fewer changes next time.
      if (statementsLeft > 0) account.maxChanges = MAX_CHANGES
      else if (completed === 0) account.maxChanges = Math.max(1, account.maxChanges >> 3)
      if (account.untilMs <= clock.currentTimeMillisUnsafe()) accounts.delete(accountId)
      return completed
    })

  return {
    add,
    /** What common rounds exclude. */
    excluded: () => ({ excludedChanges: cooldown.ids(), quarantined: [...accounts.keys()] }),
    /** Returns how many changes were completed. */
    round: Effect.suspend(() =>
      Effect.map(Effect.forEach([...accounts.keys()], serve), (turns) => turns.reduce((sum, count) => sum + count, 0))
    )
  }
}

/** Inserts the deliveries of a change, in halves of its endpoints. */
const insertByEndpoint = (sql: SqlClient, change: Change) =>
  Effect.gen(function* () {
    const failures: Array<EndpointFailure> = []
    let isTooSlow = false
    const failed = (endpoint_id: string | null, { isTimeout, message }: StatementFailed) => {
      if (isTimeout) isTooSlow = true
      else failures.push({ endpoint_id, error: message })
    }
    const endpoints = yield* attemptWrite(
      sql,
      sql.unsafe<{ readonly endpoint_id: string | null }>(
        ...statements.endpointsOf({ account: change.account_id, change: change.change_id })
      )
    ).pipe(
      Effect.catchTag("StatementFailed", (failure) => {
        failed(null, failure)
        return Effect.succeed([])
      })
    )
    const rows = yield* bisect(
      endpoints.map(({ endpoint_id }) => endpoint_id),
      (some) =>
        isTooSlow
          ? Effect.succeed([])
          : attemptWrite(
              sql,
              sql.unsafe<RoundRow>(...statements.fanOutToEndpoints({ picked: [change], endpoints: some }))
            ),
      (endpointId, failure) => Effect.sync(() => failed(endpointId, failure))
    )
    return {
      failures,
      isTooSlow,
      /** An endpoint is locked, or another process has the change: the next turn completes it. */
      isUnfinished: rows.flat().some(({ picked, waiting }) => waiting > 0 || picked === 0)
    }
  })

interface EndpointFailure {
  /** Null for the resource's own address. */
  readonly endpoint_id: string | null
  /** PostgreSQL's message. */
  readonly error: string
}

interface Quarantined {
  /** In epoch milliseconds. */
  untilMs: number
  /** Changes of its next turn. */
  maxChanges: number
}

interface RoundRow {
  readonly waiting: number
  /** How many changes the statement found free. */
  readonly picked: number
  readonly completed: number
}

/** Statements of one account's turn, besides those that bisect the endpoints of a change. */
const STATEMENTS_PER_TURN = 50

/** A statement that times out counts as so many more. */
const TIMEOUT_COST = 10

/** How long an account is quarantined after its last failure. */
const QUARANTINE_MS = 30_000

/** Beyond it, the account that is quarantined longest returns to the common rounds. */
const MAX_ACCOUNTS = 1000
