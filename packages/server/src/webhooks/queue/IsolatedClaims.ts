/**
 * Claims in which no row stops the others.
 *
 * Guarantees: a claim that fails is bisected by account. The deliveries of an account that fails alone are bisected in the
 * background; meanwhile claims leave the account out. A delivery that fails alone ends `failed`.
 */
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/sql/SqlClient"
import { describeCause } from "../../base/observability/SafeCause.ts"
import { attemptWrite, bisect, type StatementFailed } from "../../database/batching/Bisection.ts"
import { accountOf, type ClaimedDelivery, toClaimedDelivery } from "../deliveries/Delivery.ts"
import { claim, type ClaimRow, type DueDelivery } from "./DeliveryClaims.ts"
import type { FailAlone } from "./FailedAlone.ts"

export interface Claimed {
  readonly claimed: ReadonlyArray<ClaimedDelivery>
  /** How many deliveries were claimed, paused or canceled. */
  readonly changed: number
  /** Destinations with deliveries that stay due: their endpoint is locked, or their account is left out. */
  readonly left: ReadonlyArray<string>
}

export const makeIsolatedClaims = Effect.fnUntraced(function* (sql: SqlClient, failAlone: FailAlone) {
  const scope = yield* Effect.scope
  /** Accounts whose claim failed, until their deliveries are bisected. */
  const quarantined = new Set<string>()

  const isLeftOut = ({ destination }: DueDelivery) => quarantined.has(accountOf(destination))

  const claimAll = (due: ReadonlyArray<DueDelivery>, leaseMs: number) => {
    const ids = due.map(({ id }) => id)
    const oldestId = ids.reduce((oldest, id) => (id < oldest ? id : oldest))
    return attemptWrite(sql, sql.unsafe<ClaimRow>(...claim({ ids, oldestId, leaseMs })))
  }

  /** Finds which of one account's deliveries fail. The others stay due: their lease has no length. */
  const bisectAccount = (accountId: string, due: ReadonlyArray<DueDelivery>) =>
    bisect(
      due,
      (some) => claimAll(some, 0),
      ({ id }, failure) => failAlone(id, failure)
    ).pipe(
      Effect.catchCause((cause) => Effect.logWarning("bisecting deliveries failed", describeCause(cause))),
      Effect.ensuring(Effect.sync(() => quarantined.delete(accountId)))
    )

  const bisectByAccount = (due: ReadonlyArray<DueDelivery>, leaseMs: number, failure: StatementFailed) =>
    Effect.gen(function* () {
      yield* Effect.logWarning(`claiming deliveries failed and is bisected: ${failure.code}`)
      const rows = yield* bisect(
        [...Map.groupBy(due, ({ destination }) => accountOf(destination))],
        (some) =>
          claimAll(
            some.flatMap(([, ofAccount]) => ofAccount),
            leaseMs
          ),
        ([accountId, ofAccount]): Effect.Effect<void> => {
          if (isLeftOut(ofAccount[0]!)) return Effect.void
          quarantined.add(accountId)
          return Effect.asVoid(Effect.forkIn(bisectAccount(accountId, ofAccount), scope))
        }
      )
      return rows.flat()
    })

  return (due: ReadonlyArray<DueDelivery>, leaseMs: number) => {
    const others = due.filter((delivery) => !isLeftOut(delivery))
    const claimed =
      others.length === 0
        ? Effect.succeed([])
        : claimAll(others, leaseMs).pipe(
            Effect.catchTag("StatementFailed", (failure) => bisectByAccount(others, leaseMs, failure))
          )
    return Effect.map(claimed, (rows: ReadonlyArray<ClaimRow>): Claimed => {
      const changed = rows.filter((row) => row.id !== null)
      const leftOut = due.filter(isLeftOut).map(({ destination }) => destination)
      return {
        claimed: changed.filter(({ status }) => status === "delivering").map((row) => toClaimedDelivery(row)),
        changed: changed.length,
        left: [...new Set([...leftOut, ...rows.flatMap(({ locked }) => locked ?? [])])]
      }
    })
  }
})
