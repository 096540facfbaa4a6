/**
 * Deliveries that are due: claimed in batches, recorded in batches.
 *
 * Guarantees:
 * - a claim is a lease: while a delivery is under way `due_at` is the lease's end, so that what a dead process held
 *   becomes due again by itself;
 * - only the holder of an attempt records, releases or ends it; attempt, health and the next due time are one commit;
 * - first attempts are claimed apart from retries, and what has fallen due to one destination apart from a backlog at
 *   another: neither the retries of others nor a receiver that hangs stand before anything;
 * - places are shared by account before they are by destination;
 * - deliveries of a paused endpoint, or of a disabled endpoint, application or account, are parked when claimed; those of
 *   a deleted endpoint are canceled; URL and secret of an endpoint are those at the claim;
 * - deliveries to an endpoint that another transaction has locked stay due, and no others wait for them;
 * - a round that fails is done again in halves of its accounts; the deliveries of one that fails alone are done in halves
 *   beside the rounds, which leave it out meanwhile, and a delivery that fails alone ends `failed` with PostgreSQL's words
 *   as its reason, so that one row never stops the others, nor holds what they have leased.
 *
 * A claim reads on from where the last one ended, in the order of due times, and then from destinations that are known
 * to have more. Measured: it costs the same with ten thousand and with a million waiting, for one destination or for a
 * hundred. What that order misses (what was due before, a commit that took long) is found by a sweep, which steps through
 * an index from destination to destination, and costs as many steps.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { isSqlError } from "effect/sql/SqlError"
import { describeCause } from "../observability/SafeCause.ts"
import { Metrics } from "../observability/Metrics.ts"
import * as Batching from "../sql/Batching.ts"
import { attemptWrite, failureOf, bisect, type StatementFailed } from "../sql/Bisection.ts"
import { runToCompletion } from "../sql/RunToCompletion.ts"
import { orUnavailable, type Unavailable } from "../sql/Unavailable.ts"
import {
  accountOf,
  arrayOf,
  type Claimed,
  type Lane,
  placeOf,
  placeParameters,
  type TakenRow,
  toClaimed
} from "./Claimed.ts"
import * as statements from "./DeliveryStatements.ts"
import { makeSkipped } from "./Skipped.ts"
import type { Room } from "./InFlightDeliveries.ts"

export type { Claimed } from "./Claimed.ts"

/** One attempt, as it is kept. */
export interface Attempt {
  readonly id: string
  readonly atMs: number
  readonly durationMs: number
  readonly address: string | null
  readonly statusCode: number | null
  readonly error: string | null
  readonly responseBody: string | null
}

export interface Recorded {
  readonly delivery: Claimed
  readonly attempt: Attempt
  /** `scheduled` again after `delayMs`, or done for good. */
  readonly outcome:
    | { readonly status: "delivered" | "failed" }
    | { readonly status: "scheduled"; readonly delayMs: number }
}

export interface Claim extends Room {
  readonly leaseMs: number
  /** Where the last claim ended. */
  readonly from: Position
  /** Destinations that are passed by: they have as much under way as they may, or more that waits. */
  readonly except: ReadonlyArray<string>
  /** Those of them whose turn it is to have some of what waits. */
  readonly behind: ReadonlyArray<string>
}

/** A place in the order of due times: an instant to the microsecond, and the id of the delivery there. */
export interface Position {
  /** Undefined: the moment of the claim. */
  readonly dueAt: string | undefined
  readonly id: string
}

/** What falls due from now on. */
export const now: Position = { dueAt: undefined, id: statements.NONE }

export interface Due {
  readonly claimed: ReadonlyArray<Claimed>
  /** How many were found at each destination, with those that were parked, canceled, or left in `locked`. */
  readonly found: ReadonlyMap<string, number>
  readonly count: number
  /** Destinations with deliveries that wait for an endpoint that somebody else has locked. */
  readonly locked: ReadonlySet<string>
}

export interface ClaimedDue extends Due {
  /** Where the next claim begins. */
  readonly reached: Position
  /** Whether everything that has become due has been looked at. */
  readonly isCaughtUp: boolean
  /** Destinations of which more was looked at than one may have. */
  readonly cut: ReadonlyArray<string>
  /** How soon the next delivery falls due, in milliseconds; undefined where none waits. */
  readonly nextInMs: number | undefined
}

export interface SweptDue extends Due {
  /** The account at which it stopped for there were so many; undefined where it was full, or went round. */
  readonly walkedTo: string | undefined
  /** Accounts that were looked at, and where it stopped in those that have more destinations. */
  readonly walked: ReadonlyArray<string>
  readonly unfinished: ReadonlyArray<string>
}

export interface Sweep extends Room {
  readonly leaseMs: number
  readonly except: ReadonlyArray<string>
  /** The account behind which it begins. */
  readonly after: string
  /** Where it goes on in accounts that an earlier sweep left in the midst. */
  readonly resume: ReadonlyArray<string>
}

export class DeliveryQueue extends Context.Service<
  DeliveryQueue,
  {
    /** Claims what has become due since the last claim, and some of what waits at destinations that are behind. */
    readonly claim: (lane: Lane, claim: Claim) => Effect.Effect<ClaimedDue, Unavailable>
    /** Claims whatever is due, destination by destination, at some of them. */
    readonly sweep: (lane: Lane, sweep: Sweep) => Effect.Effect<SweptDue, Unavailable>
    readonly record: (recorded: Recorded) => Effect.Effect<void, Unavailable>
    /** Gives leases back, so that another process may take the deliveries at once. */
    readonly release: (claimed: ReadonlyArray<Claimed>) => Effect.Effect<void, Unavailable>
  }
>()("@pix-payments/server/DeliveryQueue") {
  static readonly layer = Layer.effect(
    DeliveryQueue,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const metrics = yield* Metrics
      const skipped = makeSkipped(yield* Clock.Clock)
      const scope = yield* Effect.scope
      /** Accounts whose round failed, until what fails of it is known. */
      const apart = new Set<string>()

      /** Ends a delivery that failed by itself; where not even that can be done, this process leaves it out for a while. */
      const setAside = (id: string, failure: StatementFailed, attemptsMade?: number) =>
        Effect.gen(function* () {
          yield* Effect.logError(`delivery ${id} fails by itself and is left out: ${failure.code}`)
          // Too slow is not wrong: it is tried again later.
          if (failure.isTimeout) return skipped.add(id)
          metrics.deliverySetAside()
          const ending =
            attemptsMade === undefined
              ? sql.unsafe(statements.setAsideDue, [id, failure.message])
              : sql.unsafe(statements.setAsideAttempted, [id, failure.message, attemptsMade])
          yield* attemptWrite(sql, ending).pipe(
            Effect.catchTag("StatementFailed", (again) => {
              skipped.add(id)
              return Effect.logError(`delivery ${id} cannot be set aside: ${again.code}`)
            })
          )
        })

      const claimThese = (ids: ReadonlyArray<string>, leaseMs: number) =>
        attemptWrite(sql, sql.unsafe<TakenRow>(statements.claimThese, [arrayOf(ids), leaseMs]))

      /** Finds what fails of one account's deliveries. Those that do not are due as before: the lease is none. */
      const findFailing = (of: ReadonlyArray<Found>) =>
        bisect(
          of.map(({ id }) => id),
          (ids) => claimThese(ids, 0),
          (id, failure) => setAside(id, failure)
        ).pipe(
          Effect.catchCause((cause) =>
            Effect.logWarning("deliveries could not be looked through", describeCause(cause))
          ),
          Effect.ensuring(Effect.sync(() => apart.delete(of[0]!.account_id)))
        )

      /** Does what a claim or a sweep failed at in halves of accounts; `find` is its statement without locks. */
      const isolated = (find: string, parameters: ReadonlyArray<unknown>, leaseMs: number, failure: StatementFailed) =>
        Effect.gen(function* () {
          yield* Effect.logWarning(`a round of deliveries failed and is done in halves: ${failure.code}`)
          const found = yield* orUnavailable(sql.unsafe<Found>(find, parameters))
          const taken = yield* bisect(
            [...Map.groupBy(found, ({ account_id }) => account_id).values()],
            (some) =>
              claimThese(
                some.flat().map(({ id }) => id),
                leaseMs
              ),
            (of): Effect.Effect<void> => {
              if (apart.has(of[0]!.account_id)) return Effect.void
              apart.add(of[0]!.account_id)
              return Effect.asVoid(Effect.forkIn(findFailing(of), scope))
            }
          )
          // What is locked stays due, and is found by the next round.
          return dueOf(taken.flat(), null)
        })

      const record = yield* Batching.make<Recorded, void>({
        maxBatch: 200,
        writes: sql,
        run: (all) =>
          Effect.as(
            sql.unsafe(statements.recordMany, [
              ...statements.outcomes.parameters(all.map(toRecord)),
              ...statements.health.parameters(healthOf(all))
            ]),
            all.map(() => undefined)
          )
      })

      return DeliveryQueue.of({
        claim: (lane, { behind: asked, except, from, leaseMs, ...room }) => {
          const { fullAccounts, fullOrigins, limit, perAccount, perDestination, perOrigin } = room
          const behind = asked.filter((place) => !apart.has(accountOf(place)))
          const parameters = [
            limit,
            leaseMs,
            perDestination,
            arrayOf(skipped.ids()),
            arrayOf([...fullAccounts, ...apart]),
            from.dueAt ?? null,
            from.id,
            // Both get on, whatever there is of the other.
            behind.length === 0 ? limit : Math.ceil((limit * 3) / 4),
            ...placeParameters(except),
            ...placeParameters(behind),
            perAccount,
            arrayOf(fullOrigins),
            perOrigin
          ]
          return attemptWrite(sql, sql.unsafe<ClaimRow>(statements.claims[lane], parameters)).pipe(
            Effect.flatMap((rows): Effect.Effect<ClaimedDue> => {
              const [first] = rows
              if (first === undefined) return Effect.die(new Error("a claim says where it ended"))
              return Effect.succeed({
                ...dueOf(
                  rows.filter((row) => row.id !== null),
                  first.locked
                ),
                reached: { dueAt: first.reached_due_at, id: first.reached_id },
                isCaughtUp: first.is_caught_up,
                cut: first.cut ?? [],
                nextInMs: first.next_in_ms ?? undefined
              })
            }),
            Effect.catchTag("StatementFailed", (failure) =>
              Effect.map(
                isolated(statements.candidates.claim[lane], parameters, leaseMs, failure),
                (due): ClaimedDue => ({
                  ...due,
                  reached: from,
                  isCaughtUp: false,
                  cut: [],
                  nextInMs: undefined
                })
              )
            )
          )
        },
        sweep: (lane, { after, except, leaseMs, resume, ...room }) => {
          const { fullAccounts, fullOrigins, limit, perDestination } = room
          const parameters = [
            limit,
            leaseMs,
            perDestination,
            arrayOf(skipped.ids()),
            arrayOf([...fullAccounts, ...apart]),
            after === "" ? statements.NONE : after,
            ...placeParameters(except),
            ...placeParameters(resume),
            arrayOf(fullOrigins)
          ]
          return attemptWrite(sql, sql.unsafe<SweepRow>(statements.sweeps[lane], parameters)).pipe(
            Effect.map((rows): SweptDue => ({
              ...dueOf(
                rows.filter((row) => row.id !== null),
                rows[0]?.locked
              ),
              walkedTo: rows[0]?.walked_to ?? undefined,
              walked: rows[0]?.walked ?? [],
              unfinished: rows[0]?.unfinished ?? []
            })),
            Effect.catchTag("StatementFailed", (failure) =>
              Effect.map(
                isolated(statements.candidates.sweep[lane], parameters, leaseMs, failure),
                (due): SweptDue => ({
                  ...due,
                  walkedTo: after,
                  walked: [],
                  unfinished: []
                })
              )
            )
          )
        },
        record: (recorded) =>
          Effect.catchCause(record(recorded), (cause) => {
            const fault = cause.reasons.find(Cause.isDieReason)?.defect
            if (!isSqlError(fault)) return Effect.failCause(cause)
            // Its batch was done in halves and it failed alone: not sent again until the lease ends, but set aside.
            return Effect.andThen(
              Effect.logError("an outcome cannot be recorded", describeCause(cause)),
              setAside(recorded.delivery.id, failureOf(fault), recorded.delivery.attemptsMade)
            )
          }),
        release: (claimed) => {
          const leases = [
            arrayOf(claimed.map(({ id }) => id)),
            arrayOf(claimed.map(({ attemptsMade }) => String(attemptsMade)))
          ]
          return Effect.asVoid(runToCompletion(sql)(sql.unsafe(statements.releaseMany, leases)))
        }
      })
    })
  )
}

/** What a round would take. */
interface Found {
  readonly id: string
  readonly account_id: string
}

/** One row at least, without a delivery where nothing was taken. */
type ClaimRow = (TakenRow | { readonly id: null }) & {
  readonly reached_due_at: string
  readonly reached_id: string
  readonly is_caught_up: boolean
  readonly cut: ReadonlyArray<string> | null
  readonly locked: ReadonlyArray<string> | null
  readonly next_in_ms: number | null
}

/** One row at least, as a claim's. */
type SweepRow = (TakenRow | { readonly id: null }) & {
  readonly walked_to: string | null
  readonly walked: ReadonlyArray<string> | null
  readonly locked: ReadonlyArray<string> | null
  readonly unfinished: ReadonlyArray<string> | null
}

/** `locked`: the place of each delivery that waits for an endpoint. */
const dueOf = (rows: ReadonlyArray<TakenRow>, locked: ReadonlyArray<string> | null | undefined): Due => {
  const places = [...rows.map(({ account_id, found_hash }) => placeOf(account_id, found_hash)), ...(locked ?? [])]
  const found = new Map<string, number>()
  for (const place of places) found.set(place, (found.get(place) ?? 0) + 1)
  return {
    claimed: rows.filter(({ status }) => status === "delivering").map(toClaimed),
    found,
    count: places.length,
    locked: new Set(locked)
  }
}

const toRecord = ({ attempt, delivery, outcome }: Recorded) => ({
  delivery_id: delivery.id,
  attempts_made: delivery.attemptsMade,
  status: outcome.status,
  delay_ms: outcome.status === "scheduled" ? outcome.delayMs : null,
  attempt_id: attempt.id,
  at: attempt.atMs,
  duration_ms: attempt.durationMs,
  address: attempt.address,
  status_code: attempt.statusCode,
  error: attempt.error,
  response_body: attempt.responseBody
})

/** What a batch of outcomes, in the order of the attempts, says of each registered endpoint. */
const healthOf = (all: ReadonlyArray<Recorded>) => {
  const byEndpoint = new Map<string, Health>()
  for (const { attempt, delivery, outcome } of all) {
    if (delivery.endpointId === null) continue
    const health = byEndpoint.get(delivery.endpointId) ?? {
      endpoint_id: delivery.endpointId,
      consecutive_failures: 0,
      successes: 0,
      failures: 0,
      last_success_at: null,
      last_failure_at: null
    }
    byEndpoint.set(delivery.endpointId, health)
    if (outcome.status === "delivered") {
      health.successes += 1
      health.consecutive_failures = 0
      health.last_success_at = attempt.atMs
    } else {
      health.failures += 1
      health.consecutive_failures += 1
      health.last_failure_at = attempt.atMs
    }
  }
  return [...byEndpoint.values()]
}

interface Health {
  readonly endpoint_id: string
  consecutive_failures: number
  successes: number
  failures: number
  last_success_at: number | null
  last_failure_at: number | null
}
