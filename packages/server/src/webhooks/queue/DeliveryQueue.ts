/**
 * Due deliveries: claimed in batches, recorded in batches.
 *
 * Guarantees:
 * - a claim is a lease: while a delivery is in flight, `due_at` is the end of its lease, so that the deliveries of a dead
 *   process become due again;
 * - only the holder of an attempt's lease records it, releases it or fails the delivery; attempt, health and next due time
 *   are one commit;
 * - first attempts and retries are claimed separately, and so are newly due deliveries and backlogs: neither the retries
 *   of others nor a receiver that hangs delays a first attempt;
 * - capacity is shared by account before it is shared by destination;
 * - deliveries of a paused endpoint, or of a disabled endpoint, application or account, are parked when claimed; those of
 *   a deleted endpoint are canceled; URL and secret of an endpoint are those at the claim;
 * - deliveries to an endpoint that another transaction has locked stay due, and no others wait for them;
 * - a round that fails is bisected by account; the deliveries of an account that fails alone are bisected in the
 *   background, while rounds leave the account out; a delivery that fails alone ends `failed` with PostgreSQL's message as
 *   its reason. One row never stops the others.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { isSqlError, type SqlError } from "effect/sql/SqlError"
import { Metrics } from "../../base/observability/Metrics.ts"
import { describeCause } from "../../base/observability/SafeCause.ts"
import * as Batching from "../../database/batching/Batching.ts"
import {
  attemptWrite,
  bisect,
  failureOf,
  orStatementFailed,
  type StatementFailed
} from "../../database/batching/Bisection.ts"
import { runToCompletion } from "../../database/RunToCompletion.ts"
import { isTransient, sqlErrorIn } from "../../database/SqlState.ts"
import { orUnavailable, type Unavailable } from "../../database/Unavailable.ts"
import { makeCooldown } from "../deliveries/Cooldown.ts"
import {
  accountOf,
  type ClaimedDelivery,
  type ClaimedRow,
  type CompletedAttempt,
  type Lane,
  NIL_UUID
} from "../deliveries/Delivery.ts"
import * as claims from "./DeliveryClaims.ts"
import * as outcomes from "../deliveries/DeliveryOutcomes.ts"
import * as sweeps from "./DeliverySweeps.ts"
import type { Capacity } from "./InFlightDeliveries.ts"
import * as leasedChanges from "./LeasedChangeStatements.ts"

export interface Claim extends Capacity {
  readonly leaseMs: number
  /** Where the last claim ended. */
  readonly from: claims.Position
  /** Whether what is newly due may be of any age; else it is of the last weeks. */
  readonly isOfAllTime: boolean
  /** Destinations from which nothing newly due is taken: they are saturated or backlogged. */
  readonly excluded: ReadonlyArray<string>
  /** Backlogged destinations whose turn it is. */
  readonly backlogged: ReadonlyArray<string>
}

export interface Sweep extends Capacity {
  readonly leaseMs: number
  readonly excluded: ReadonlyArray<string>
  /** The account after which it begins; empty for the first account. */
  readonly afterAccount: string
  /** Destinations at which earlier sweeps stopped within an account. */
  readonly resume: ReadonlyArray<string>
}

export class DeliveryQueue extends Context.Service<
  DeliveryQueue,
  {
    /** Claims what became due since the last claim, and some of what waits at backlogged destinations. */
    readonly claim: (lane: Lane, claim: Claim) => Effect.Effect<claims.ClaimResult, Unavailable>
    /** Claims what is due at each destination of some accounts. */
    readonly sweep: (lane: Lane, sweep: Sweep) => Effect.Effect<sweeps.SweepResult, Unavailable>
    readonly record: (completed: CompletedAttempt) => Effect.Effect<void, Unavailable>
    /** Stores the deliveries of a leased change. If that fails, the fan-out inserts them, and they are sent again. */
    readonly store: (change: leasedChanges.SentChange) => Effect.Effect<void, Unavailable>
    /** Ends leases, so that another process may claim the deliveries at once. */
    readonly release: (claimed: ReadonlyArray<ClaimedDelivery>) => Effect.Effect<void, Unavailable>
  }
>()("@pix-payments/server/DeliveryQueue") {
  static readonly layer = Layer.effect(
    DeliveryQueue,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const metrics = yield* Metrics
      const cooldown = makeCooldown(yield* Clock.Clock)
      const scope = yield* Effect.scope
      /** Accounts whose round failed, until their deliveries are bisected. */
      const quarantined = new Set<string>()

      /** Fails a delivery whose statement fails alone. If that fails too, this process skips the delivery for a while. */
      const failAlone = (id: string, failure: StatementFailed, attemptsMade?: number) =>
        Effect.gen(function* () {
          yield* Effect.logError(`delivery ${id} fails alone: ${failure.code}`)
          // A timeout may pass: the delivery is tried again later.
          if (failure.isTimeout) return cooldown.add(id)
          metrics.deliverySetAside()
          const reason = failure.message
          const fail =
            attemptsMade === undefined
              ? outcomes.failDue({ id, reason })
              : outcomes.failAttempted({ id, reason, attemptsMade })
          yield* attemptWrite(sql, sql.unsafe(...fail)).pipe(
            Effect.catchTag("StatementFailed", (again) => {
              cooldown.add(id)
              return Effect.logError(`delivery ${id} cannot be marked as failed: ${again.code}`)
            })
          )
        })

      const claimByIds = (ids: ReadonlyArray<string>, leaseMs: number) =>
        attemptWrite(sql, sql.unsafe<ClaimedRow>(...claims.claimByIds({ ids, leaseMs })))

      /** Finds which of one account's deliveries fail. The others stay due: their lease has no length. */
      const bisectAccount = (candidates: ReadonlyArray<claims.Candidate>) =>
        bisect(
          candidates.map(({ id }) => id),
          (ids) => claimByIds(ids, 0),
          (id, failure) => failAlone(id, failure)
        ).pipe(
          Effect.catchCause((cause) => Effect.logWarning("bisecting deliveries failed", describeCause(cause))),
          Effect.ensuring(Effect.sync(() => quarantined.delete(candidates[0]!.account_id)))
        )

      /** Repeats a claim or sweep that failed in halves of its accounts. */
      const bisectRound = (
        [find, parameters]: readonly [string, ReadonlyArray<unknown>],
        leaseMs: number,
        failure: StatementFailed
      ) =>
        Effect.gen(function* () {
          yield* Effect.logWarning(`claiming deliveries failed and is bisected: ${failure.code}`)
          const candidates = yield* orUnavailable(sql.unsafe<claims.Candidate>(find, parameters))
          const rows = yield* bisect(
            [...Map.groupBy(candidates, ({ account_id }) => account_id).values()],
            (some) =>
              claimByIds(
                some.flat().map(({ id }) => id),
                leaseMs
              ),
            (ofAccount): Effect.Effect<void> => {
              const accountId = ofAccount[0]!.account_id
              if (quarantined.has(accountId)) return Effect.void
              quarantined.add(accountId)
              return Effect.asVoid(Effect.forkIn(bisectAccount(ofAccount), scope))
            }
          )
          // Deliveries to a locked endpoint stay due: the next round finds them.
          return claims.dueDeliveries(rows.flat(), null)
        })

      const record = yield* Batching.make<CompletedAttempt, void>({
        maxBatch: 200,
        writes: sql,
        run: (completed) =>
          Effect.as(
            sql.unsafe(...outcomes.recordAttempts(completed)),
            completed.map(() => undefined)
          )
      })

      /** Changes whose statement is repeated if it fails, and then leaves out deliveries that are stored. */
      const attempted = new WeakSet<leasedChanges.SentChange>()

      const storeAll = (changes: ReadonlyArray<leasedChanges.SentChange>) =>
        Effect.suspend(() => {
          const mayBeStored = changes.some((change) => attempted.has(change))
          for (const change of changes) attempted.add(change)
          return sql.unsafe(...leasedChanges.storeDeliveries(changes, mayBeStored))
        })

      /** Stored by a statement of a batch that is repeated. */
      const stored = new WeakSet<leasedChanges.SentChange>()

      /** Stores the changes of each account for which that succeeds, and leaves the others to the fan-out. */
      const storeByAccount = (changes: ReadonlyArray<leasedChanges.SentChange>) =>
        bisect(
          [...Map.groupBy(changes, ({ accountId }) => accountId).values()],
          (some) =>
            Effect.tap(orStatementFailed(storeAll(some.flat())), () =>
              Effect.sync(() => some.flat().forEach((change) => stored.add(change)))
            ),
          (ofAccount, { code }) =>
            Effect.andThen(
              Effect.logError(`deliveries of account ${ofAccount[0]!.accountId} cannot be stored: ${code}`),
              Effect.asVoid(sql.unsafe(...leasedChanges.endLeases({ changes: ofAccount })))
            )
        )

      const store = yield* Batching.make<leasedChanges.SentChange, void>({
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

      return DeliveryQueue.of({
        claim: (lane, claim) => {
          const { excluded, from, isOfAllTime, leaseMs, limit, perAccount, perDestination, perOrigin } = claim
          const backlogged = claim.backlogged.filter((destination) => !quarantined.has(accountOf(destination)))
          const input = {
            limit,
            leaseMs,
            perDestination,
            excludedIds: cooldown.ids(),
            excludedAccounts: [...claim.saturatedAccounts, ...quarantined],
            fromDueAt: from.dueAt ?? null,
            fromId: from.id,
            // A quarter is left for backlogs, so that both make progress.
            newlyDueLimit: backlogged.length === 0 ? limit : Math.ceil((limit * 3) / 4),
            excluded,
            backlogged,
            perAccount,
            excludedOrigins: [...claim.saturatedOrigins],
            perOrigin,
            isOfAllTime
          }
          return attemptWrite(sql, sql.unsafe<claims.ClaimRow>(...claims.claim[lane](input))).pipe(
            Effect.flatMap((rows) => {
              const result = claims.claimResult(rows)
              return result === undefined ? Effect.die(new Error("a claim returned no row")) : Effect.succeed(result)
            }),
            Effect.catchTag("StatementFailed", (failure) =>
              Effect.map(
                bisectRound(claims.claimCandidates[lane](input), leaseMs, failure),
                (due): claims.ClaimResult => ({
                  ...due,
                  reached: from,
                  isCaughtUp: false,
                  truncated: [],
                  nextInMs: undefined
                })
              )
            )
          )
        },
        sweep: (lane, { afterAccount, excluded, leaseMs, resume, ...capacity }) => {
          const input = {
            limit: capacity.limit,
            leaseMs,
            perDestination: capacity.perDestination,
            excludedIds: cooldown.ids(),
            excludedAccounts: [...capacity.saturatedAccounts, ...quarantined],
            afterAccount: afterAccount === "" ? NIL_UUID : afterAccount,
            excluded,
            resume,
            excludedOrigins: [...capacity.saturatedOrigins]
          }
          return attemptWrite(sql, sql.unsafe<sweeps.SweepRow>(...sweeps.sweep[lane](input))).pipe(
            Effect.map(sweeps.sweepResult),
            Effect.catchTag("StatementFailed", (failure) =>
              Effect.map(
                bisectRound(sweeps.sweepCandidates[lane](input), leaseMs, failure),
                (due): sweeps.SweepResult => ({
                  ...due,
                  lastAccount: afterAccount,
                  visitedAccounts: [],
                  unfinished: []
                })
              )
            )
          )
        },
        record: (completed) =>
          Effect.catchCause(record(completed), (cause) => {
            const fault = cause.reasons.find(Cause.isDieReason)?.defect
            if (!isSqlError(fault)) return Effect.failCause(cause)
            // Its batch was bisected and it failed alone: sent again at every end of its lease if it were not failed.
            return Effect.andThen(
              Effect.logError("a delivery attempt cannot be recorded", describeCause(cause)),
              failAlone(completed.delivery.id, failureOf(fault), completed.delivery.attemptsMade)
            )
          }),
        store,
        release: (leases) => Effect.asVoid(runToCompletion(sql)(sql.unsafe(...outcomes.releaseLeases({ leases }))))
      })
    })
  )
}
