/**
 * Stores attempts, and deliveries that were sent before they were stored, in batches.
 *
 * Guarantees: a batch that fails is bisected. An attempt that fails alone fails its delivery; the leased changes of an account
 * that fail are left to the fan-out.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/sql/SqlClient"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import { describeCause } from "../../base/observability/SafeCause.ts"
import * as Batching from "../../database/batching/Batching.ts"
import { bisect, failureOf, orStatementFailed } from "../../database/batching/Bisection.ts"
import { isTransient, sqlErrorIn } from "../../database/SqlState.ts"
import type { CompletedAttempt } from "../deliveries/Delivery.ts"
import { recordAttempts } from "../deliveries/DeliveryOutcomes.ts"
import type { FailAlone } from "./FailedAlone.ts"
import { endLeases, type SentChange, storeDeliveries } from "./LeasedChangeStatements.ts"

export const makeAttemptRecords = Effect.fnUntraced(function* (sql: SqlClient, failAlone: FailAlone) {
  const record = yield* Batching.make<CompletedAttempt, void>({
    maxBatch: 200,
    writes: sql,
    run: (completed) =>
      Effect.as(
        sql.unsafe(...recordAttempts(completed)),
        completed.map(() => undefined)
      )
  })
  return {
    record: (completed: CompletedAttempt) =>
      Effect.catchCause(record(completed), (cause) => {
        const fault = cause.reasons.find(Cause.isDieReason)?.defect
        if (!isSqlError(fault)) return Effect.failCause(cause)
        // Its batch was bisected and it failed alone: sent again at every end of its lease if it were not failed.
        return Effect.andThen(
          Effect.logError("a delivery attempt cannot be recorded", describeCause(cause)),
          failAlone(completed.delivery.id, failureOf(fault), completed.delivery.attemptsMade)
        )
      }),
    store: yield* makeStore(sql)
  }
})

const makeStore = (sql: SqlClient) => {
  /** Changes whose statement is repeated if it fails, and then leaves out deliveries that are stored. */
  const attempted = new WeakSet<SentChange>()

  const storeAll = (changes: ReadonlyArray<SentChange>) =>
    Effect.suspend(() => {
      const mayBeStored = changes.some((change) => attempted.has(change))
      for (const change of changes) attempted.add(change)
      return sql.unsafe(...storeDeliveries(changes, mayBeStored))
    })

  /** Stored by a statement of a batch that is repeated. */
  const stored = new WeakSet<SentChange>()

  /** Stores the changes of each account for which that succeeds, and leaves the others to the fan-out. */
  const storeByAccount = (changes: ReadonlyArray<SentChange>) =>
    bisect(
      [...Map.groupBy(changes, ({ accountId }) => accountId).values()],
      (some) =>
        Effect.tap(orStatementFailed(storeAll(some.flat())), () =>
          Effect.sync(() => some.flat().forEach((change) => stored.add(change)))
        ),
      (ofAccount, { code }) =>
        Effect.andThen(
          Effect.logError(`deliveries of account ${ofAccount[0]!.accountId} cannot be stored: ${code}`),
          Effect.asVoid(sql.unsafe(...endLeases({ changes: ofAccount })))
        )
    )

  return Batching.make<SentChange, void>({
    maxBatch: 100,
    writes: sql,
    run: (changes) => {
      const left = changes.filter((change) => !stored.has(change))
      return storeAll(left).pipe(
        Effect.catchCause((cause): Effect.Effect<unknown, SqlError> => {
          const error = sqlErrorIn(cause)
          return error === undefined || isTransient(error) ? Effect.failCause(cause) : storeByAccount(left)
        }),
        Effect.as(changes.map(() => undefined))
      )
    }
  })
}
