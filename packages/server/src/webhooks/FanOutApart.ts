/**
 * The fan-out of accounts whose changes failed by themselves, apart from that of all others.
 *
 * Guarantees:
 * - an account is left out of the common rounds from its failure on, until it has not failed for a while;
 * - accounts are served in turn, each with a bounded number of statements before the next one;
 * - what fails is done in halves, down to one change; the targets of a change that fails alone are done in halves as
 *   well, so that one endpoint of n costs about 2 log2(n) statements, and what still fails is set aside in
 *   `outbox_failures`.
 *
 * Deliveries are inserted without leases: claims find them.
 */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Metrics } from "../observability/Metrics.ts"
import { attemptWrite, bisect, type StatementFailed } from "../sql/Bisection.ts"
import { orUnavailable } from "../sql/Unavailable.ts"
import { arrayOf } from "./Claimed.ts"
import * as statements from "./FanOutStatements.ts"
import { makeSkipped } from "./Skipped.ts"

export interface Change {
  readonly account_id: string
  readonly change_id: string
}

/** Most changes of one round, and most deliveries that it makes, unless one change makes more. */
export const CHANGES = 100
export const DELIVERIES = 1000

export const makeFanOutApart = (sql: SqlClient, metrics: Metrics["Service"], clock: Clock.Clock) => {
  const skipped = makeSkipped(clock)
  const accounts = new Map<string, Apart>()

  const these = (changes: ReadonlyArray<Change>): ReadonlyArray<unknown> => [
    ...NO_PLACES,
    arrayOf(changes.map(({ account_id }) => account_id)),
    arrayOf(changes.map(({ change_id }) => change_id))
  ]

  const put = (accountId: string) => {
    const [oldest] = accounts.keys()
    if (accounts.size >= MOST_ACCOUNTS && oldest !== undefined && !accounts.has(accountId)) accounts.delete(oldest)
    const untilMs = clock.currentTimeMillisUnsafe() + APART_FOR_MS
    const known = accounts.get(accountId)
    if (known === undefined) accounts.set(accountId, { untilMs, atOnce: CHANGES })
    else known.untilMs = untilMs
  }

  const add = (accountId: string, code: string) =>
    Effect.andThen(
      Effect.sync(() => put(accountId)),
      Effect.logWarning(`the fan-out of account ${accountId} fails by itself and is done apart: ${code}`)
    )

  /** A change that failed alone: its targets in halves, and what fails is set aside. Whether it was ended. */
  const endApart = (change: Change, failure: StatementFailed, left: Set<string>) =>
    Effect.gen(function* () {
      const { account_id, change_id } = change
      yield* Effect.logWarning(`the fan-out of change ${change_id} fails by itself: ${failure.code}`)
      const failures: Array<{ readonly endpointId: string | null; readonly error: string }> = []
      let isTooSlow = false
      const targets = yield* attemptWrite(
        sql,
        sql.unsafe<{ readonly endpoint_id: string | null }>(statements.targetsOf, [account_id, change_id])
      ).pipe(
        Effect.catchTag("StatementFailed", ({ isTimeout, message }) => {
          if (isTimeout) isTooSlow = true
          else failures.push({ endpointId: null, error: message })
          return Effect.succeed([])
        })
      )
      const rows = yield* bisect(
        targets,
        (some) =>
          isTooSlow
            ? Effect.succeed([])
            : attemptWrite(
                sql,
                sql.unsafe<Row>(statements.fanOutToSome, [
                  ...these([change]),
                  `{${some.map(({ endpoint_id }) => endpoint_id ?? "NULL").join(",")}}`
                ])
              ),
        ({ endpoint_id }, { isTimeout, message }) =>
          Effect.sync(() => {
            if (isTimeout) isTooSlow = true
            else failures.push({ endpointId: endpoint_id, error: message })
          })
      )
      for (const { left_at } of rows.flat()) left_at?.forEach((place) => left.add(place))
      // Too slow is not wrong: it is tried again later.
      if (isTooSlow) {
        skipped.add(change_id)
        return false
      }
      // An endpoint is locked: the next turn does it.
      if (rows.flat().some(({ waiting }) => waiting > 0)) return false
      for (const { endpointId } of failures) {
        metrics.fanOutSetAside()
        yield* Effect.logError(`the fan-out of change ${change_id} to ${endpointId ?? "its own address"} is set aside`)
      }
      return yield* attemptWrite(
        sql,
        sql.unsafe(statements.setAside, [
          account_id,
          change_id,
          `{${failures.map(({ endpointId }) => endpointId ?? "NULL").join(",")}}`,
          JSON.stringify(failures.map(({ error }) => error))
        ])
      ).pipe(
        Effect.as(true),
        Effect.catchTag("StatementFailed", (again) => {
          skipped.add(change_id)
          return Effect.as(Effect.logError(`change ${change_id} cannot be set aside: ${again.code}`), false)
        })
      )
    })

  /** One account: ends when its statements are spent, and goes on in its next turn. */
  const serve = (accountId: string) =>
    Effect.gen(function* () {
      const account = accounts.get(accountId)
      if (account === undefined) return { left: [], ended: 0 }
      let statementsLeft = STATEMENTS
      let ended = 0
      const left = new Set<string>()
      const changes = yield* orUnavailable(
        sql.unsafe<Change>(statements.candidatesOf, [accountId, account.atOnce, DELIVERIES, arrayOf(skipped.ids())])
      )
      const fanOutTo = (some: ReadonlyArray<Change>) =>
        attemptWrite(sql, sql.unsafe<Row>(statements.fanOutThese, these(some))).pipe(
          Effect.map(([row]) => {
            ended += row?.ended ?? 0
            row?.left_at?.forEach((place) => left.add(place))
          }),
          Effect.tapError((failure) =>
            Effect.sync(() => {
              if (failure._tag !== "StatementFailed") return
              if (failure.isTimeout) statementsLeft -= TIMED_OUT
              put(accountId)
            })
          )
        )
      yield* bisect(
        changes,
        (some) => (statementsLeft-- > 0 ? fanOutTo(some) : Effect.void),
        (change, failure) =>
          Effect.map(endApart(change, failure, left), (isEnded) => {
            if (isEnded) ended++
          })
      )
      // Statements that are too slow may be spent before anything is done: fewer next time.
      if (statementsLeft > 0) account.atOnce = CHANGES
      else if (ended === 0) account.atOnce = Math.max(1, account.atOnce >> 3)
      if (account.untilMs <= clock.currentTimeMillisUnsafe()) accounts.delete(accountId)
      return { left: [...left], ended }
    })

  return {
    these,
    add,
    /** Parameters of a common round: changes and accounts that it leaves out. */
    leftOut: () => [arrayOf(skipped.ids()), arrayOf(accounts.keys())],
    round: Effect.suspend(() =>
      Effect.map(Effect.forEach([...accounts.keys()], serve), (served) => ({
        left: served.flatMap(({ left }) => left),
        ended: served.reduce((sum, { ended }) => sum + ended, 0)
      }))
    )
  }
}

interface Apart {
  /** In epoch milliseconds. */
  untilMs: number
  /** Most changes of its next turn. */
  atOnce: number
}

interface Row {
  readonly waiting: number
  readonly left_at: ReadonlyArray<string> | null
  readonly ended: number
}

/** The places of a statement that leases nothing. */
const NO_PLACES = [0, 0, 0, 0, "{}", "{}", "{}", "{}", 0]

/** Most statements for one account in its turn, beside those for the targets of one change. */
const STATEMENTS = 50

/** How many statements one counts for that was cancelled for its time. */
const TIMED_OUT = 10

/** How long an account is done apart after its last failure. */
const APART_FOR_MS = 30_000

/** Beyond these the oldest is tried with the others again. */
const MOST_ACCOUNTS = 1000
