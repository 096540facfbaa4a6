/**
 * Changes whose first deliveries are sent before they are stored, while the change is leased in the outbox.
 *
 * Guarantees:
 * - The deliveries of a change are stored by one statement, which deletes its outbox row: once all their attempts have
 *   ended, or after `STORE_AFTER_MS`, those in flight as `delivering` and those that wait for capacity as `scheduled`. It is
 *   repeated until the lease expires, unless it may still be running.
 * - A delivery that is being stored is not sent any more.
 * - If the statement never succeeds or the process dies, the fan-out then inserts deliveries of the same ids, which are sent
 *   again with the same bytes.
 * - Deliveries that wait are bounded: `hasRoom` says whether more may be leased.
 *
 * Why: docs/decisions/0031-deliveries.md.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { describeCause } from "../../base/observability/SafeCause.ts"
import type { Unavailable } from "../../database/Unavailable.ts"
import type { ClaimedDelivery, CompletedAttempt } from "../deliveries/Delivery.ts"
import { delayOf } from "../deliveries/DeliveryOutcomes.ts"
import type { DeliveryQueue } from "./DeliveryQueue.ts"

interface Leased {
  readonly accountId: string
  readonly changeId: string
  readonly leasedAtMs: number
  readonly completed: Array<CompletedAttempt>
  readonly inFlight: Set<ClaimedDelivery>
  /** Not sent: those that wait for capacity, and those that are left to claims. */
  readonly unsent: Set<ClaimedDelivery>
  /** Done when the statement that stores it has ended. */
  storing: Deferred.Deferred<void> | undefined
  /** It is stored, or its lease has expired. */
  isEnded: boolean
}

export const makeLeasedChanges = (options: {
  readonly queue: Pick<DeliveryQueue["Service"], "record" | "store">
  readonly leaseMs: number
  /** Called when deliveries are stored as `scheduled`: they wait for a claim. */
  readonly onScheduled: () => void
}) => {
  const { leaseMs, onScheduled, queue } = options
  /** The change of each delivery that is not recorded, and was not stored when it was leased. */
  const changes = new Map<ClaimedDelivery, Leased>()
  /** Changes that are not stored, and not being stored. */
  const unstored = new Set<Leased>()
  /** Deliveries that wait for capacity, in their order. */
  const waiting = new Set<ClaimedDelivery>()

  /** Stores a change; its deliveries in flight are leased for so long. */
  const store = (change: Leased, othersLeaseMs: number): Effect.Effect<void> =>
    Effect.flatMap(Clock.currentTimeMillis, (nowMs) => {
      const storing = Deferred.makeUnsafe<void>()
      change.storing = storing
      unstored.delete(change)
      const { accountId, changeId, completed, inFlight, unsent } = change
      for (const delivery of unsent) {
        waiting.delete(delivery)
        changes.delete(delivery)
      }
      const deliveries = [
        ...completed.map((one) => ({ delivery: one.delivery, completed: one, dueInMs: dueInMs(one, nowMs) })),
        ...[...inFlight].map((delivery) => ({ delivery, completed: undefined, dueInMs: othersLeaseMs })),
        ...[...unsent].map((delivery) => ({ delivery, completed: undefined, dueInMs: 0 }))
      ]
      return queue.store({ accountId, changeId, deliveries }).pipe(
        Effect.matchCauseEffect({
          onSuccess: () =>
            Effect.sync(() => {
              change.isEnded = true
              if (unsent.size > 0) onScheduled()
            }),
          onFailure: (cause) => {
            // A statement that is too slow goes on. If it is not committed either, the lease expires.
            change.isEnded = nowMs >= change.leasedAtMs + leaseMs || cause.reasons.some(isTooSlow)
            if (!change.isEnded) unstored.add(change)
            return Effect.logWarning("deliveries that were sent could not be stored", describeCause(cause))
          }
        }),
        Effect.andThen(
          Effect.suspend(() => {
            change.storing = undefined
            return Deferred.succeed(storing, undefined)
          })
        )
      )
    })

  const storeAll = (some: Iterable<Leased>, othersLeaseMs: number) =>
    Effect.forEach([...some], (change) => store(change, othersLeaseMs), { concurrency: "unbounded", discard: true })

  /** Whether a change has no delivery that is in flight or waits for capacity. */
  const isDone = ({ inFlight, unsent }: Leased) => inFlight.size === 0 && ![...unsent].some((one) => waiting.has(one))

  /** Stores an attempt: with its change, if that is not stored and it is the last one. */
  const record = (attempt: CompletedAttempt): Effect.Effect<void, Unavailable> =>
    Effect.suspend(() => {
      const change = changes.get(attempt.delivery)
      if (change?.storing !== undefined) return Effect.andThen(Deferred.await(change.storing), record(attempt))
      changes.delete(attempt.delivery)
      if (change === undefined || change.isEnded) return queue.record(attempt)
      change.inFlight.delete(attempt.delivery)
      change.completed.push(attempt)
      return isDone(change) ? store(change, 0) : Effect.void
    })

  return {
    record,

    /** Adds leased deliveries. They wait until they are started, left to claims or stored. */
    add: (leased: ReadonlyArray<ClaimedDelivery>): Effect.Effect<void> =>
      Effect.map(Clock.currentTimeMillis, (leasedAtMs) => {
        const byId = Map.groupBy(leased, ({ unstored }) => unstored!.changeId)
        for (const [changeId, deliveries] of byId) {
          const change: Leased = {
            accountId: deliveries[0]!.accountId,
            changeId,
            leasedAtMs,
            completed: [],
            inFlight: new Set(),
            unsent: new Set(deliveries),
            storing: undefined,
            isEnded: false
          }
          unstored.add(change)
          for (const delivery of deliveries) {
            changes.set(delivery, change)
            waiting.add(delivery)
          }
        }
      }),

    waiting: (): ReadonlyArray<ClaimedDelivery> => [...waiting],
    hasRoom: (): boolean => waiting.size < MAX_WAITING,

    /** From here on, a delivery that waited is in flight. */
    start: (delivery: ClaimedDelivery): void => {
      const change = changes.get(delivery)!
      waiting.delete(delivery)
      change.unsent.delete(delivery)
      change.inFlight.add(delivery)
    },

    /** Leaves deliveries that waited to claims. Their changes are stored once their other attempts have ended. */
    leaveToClaims: (some: ReadonlyArray<ClaimedDelivery>): Effect.Effect<void> =>
      Effect.suspend(() => {
        for (const delivery of some) waiting.delete(delivery)
        return storeAll([...new Set(some.map((delivery) => changes.get(delivery)!))].filter(isDone), 0)
      }),

    /** Stores the changes that have waited long enough. Returns 0: the next ones are not overdue at once. */
    storeOverdue: Effect.flatMap(Clock.currentTimeMillis, (nowMs) => {
      const overdue = [...unstored].filter(({ leasedAtMs }) => leasedAtMs <= nowMs - STORE_AFTER_MS)
      return Effect.as(storeAll(overdue, leaseMs), 0)
    }).pipe(Effect.uninterruptible),

    /** Stores all, and makes the deliveries in flight due now. */
    giveBack: Effect.suspend(() => storeAll(unstored, 0))
  }
}

const isTooSlow = (reason: Cause.Reason<Unavailable>): boolean =>
  Cause.isFailReason(reason) && reason.error.reason === "too-slow"

/** The retry delay counts from the end of the attempt. */
const dueInMs = (completed: CompletedAttempt, nowMs: number): number | null => {
  const delayMs = delayOf(completed)
  const { atMs, durationMs } = completed.attempt
  return delayMs === null ? null : Math.max(0, delayMs - Math.max(0, nowMs - atMs - durationMs))
}

/** Receivers answer within it as a rule. Meanwhile lists do not show the deliveries. */
export const STORE_AFTER_MS = 1000

/** Deliveries of all changes that wait for capacity, before no more changes are leased. One more round may exceed it. */
const MAX_WAITING = 500
