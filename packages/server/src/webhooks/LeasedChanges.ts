/**
 * Changes whose first deliveries are sent before they are stored, while the change is leased in the outbox.
 *
 * Guarantees:
 * - The deliveries of a change are stored by one statement, which deletes its outbox row: once all their attempts have
 *   ended, or after `STORE_AFTER_MS`, those in flight as `delivering`.
 * - If that fails or the process dies, the lease expires. The fan-out then inserts deliveries of the same ids, which are
 *   sent again with the same bytes.
 * - A delivery that waits for others of its change is not in flight.
 *
 * Why: docs/decisions/0036-leased-changes.md.
 */
import type * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import { describeCause } from "../observability/SafeCause.ts"
import type { Unavailable } from "../sql/Unavailable.ts"
import type { ClaimedDelivery, CompletedAttempt } from "./Delivery.ts"
import type { DeliveryQueue } from "./DeliveryQueue.ts"

interface Leased {
  readonly accountId: string
  readonly changeId: string
  readonly leasedAtMs: number
  readonly completed: Array<CompletedAttempt>
  readonly inFlight: Set<ClaimedDelivery>
  /** Set where the change is stored while deliveries are in flight, and done once it is. */
  stored: Deferred.Deferred<void> | undefined
}

export const makeLeasedChanges = (queue: Pick<DeliveryQueue["Service"], "record" | "store">, leaseMs: number) => {
  /** The change of each delivery that is not stored, and of those in flight that are stored without their attempt. */
  const changes = new Map<ClaimedDelivery, Leased>()
  /** Changes that are not stored, in the order of their leases. */
  const unstored = new Set<Leased>()

  const store = ({ accountId, changeId, completed, inFlight }: Leased, leaseMs: number) =>
    queue.store({
      accountId,
      changeId,
      deliveries: [
        ...completed.map((one) => ({ delivery: one.delivery, completed: one, leaseMs: 0 })),
        ...[...inFlight].map((delivery) => ({ delivery, completed: undefined, leaseMs }))
      ]
    })

  return {
    /** Adds the deliveries among these that are not stored. */
    add: (claimed: ReadonlyArray<ClaimedDelivery>): Effect.Effect<void> =>
      Effect.map(Clock.currentTimeMillis, (leasedAtMs) => {
        const byId = new Map<string, Leased>()
        for (const delivery of claimed) {
          if (delivery.unstored === undefined) continue
          const { changeId } = delivery.unstored
          const change: Leased = byId.get(changeId) ?? {
            accountId: delivery.accountId,
            changeId,
            leasedAtMs,
            completed: [],
            inFlight: new Set(),
            stored: undefined
          }
          byId.set(changeId, change)
          change.inFlight.add(delivery)
          changes.set(delivery, change)
          unstored.add(change)
        }
      }),

    /** Stores an attempt: with its change, if that is not stored and it is the last one. */
    record: (attempt: CompletedAttempt): Effect.Effect<void, Unavailable> =>
      Effect.suspend(() => {
        const change = changes.get(attempt.delivery)
        changes.delete(attempt.delivery)
        if (change === undefined) return queue.record(attempt)
        if (change.stored !== undefined) return Effect.andThen(Deferred.await(change.stored), queue.record(attempt))
        change.inFlight.delete(attempt.delivery)
        change.completed.push(attempt)
        if (change.inFlight.size > 0) return Effect.void
        unstored.delete(change)
        return store(change, 0)
      }),

    /** Stores the changes that have waited long enough. Returns how many. */
    storeOverdue: Effect.flatMap(Clock.currentTimeMillis, (nowMs) => {
      const storing: Array<Effect.Effect<void>> = []
      for (const change of unstored) {
        if (change.leasedAtMs > nowMs - STORE_AFTER_MS) break
        unstored.delete(change)
        const stored = Deferred.makeUnsafe<void>()
        change.stored = stored
        storing.push(
          store(change, leaseMs).pipe(
            Effect.catchCause(logFailure),
            Effect.ensuring(Deferred.succeed(stored, undefined))
          )
        )
      }
      return Effect.as(Effect.all(storing, { concurrency: "unbounded", discard: true }), storing.length)
    }).pipe(Effect.uninterruptible),

    /** Stores all, and makes the deliveries in flight due now. */
    release: Effect.suspend(() => {
      const all = [...unstored]
      unstored.clear()
      return Effect.forEach(all, (change) => Effect.catchCause(store(change, 0), logFailure), {
        concurrency: "unbounded",
        discard: true
      })
    })
  }
}

/** The lease expires, and the same bytes are sent again. */
const logFailure = (cause: Cause.Cause<unknown>) =>
  Effect.logWarning("deliveries that were sent could not be stored", describeCause(cause))

/** Receivers answer within it as a rule. Meanwhile lists do not show the deliveries. */
export const STORE_AFTER_MS = 1000
