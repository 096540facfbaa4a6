/**
 * Repeats open orders until the provider's answer is known, also after a crash between its answer and our commit.
 */
import * as Effect from "effect/Effect"
import type { OrderStore, StoredOrder } from "../acquirer/OrderStore.ts"
import { describeCause } from "../observability/SafeCause.ts"
import type { Unavailable } from "../sql/Unavailable.ts"

/** Executes the due orders of these kinds, each under its own id; how many there were. */
export const finishDue = (
  orders: OrderStore["Service"],
  kinds: ReadonlyArray<StoredOrder["kind"]>,
  leaseMs: number,
  execute: (order: StoredOrder) => Effect.Effect<unknown, Unavailable>
): Effect.Effect<number, Unavailable> => {
  // An order that fails delays no other: it is repeated when its lease has expired.
  const executeApart = (order: StoredOrder) =>
    Effect.catchCause(execute(order), (cause) =>
      Effect.annotateLogs(Effect.logWarning("an order could not be finished", describeCause(cause)), {
        order_id: order.id
      })
    )
  return Effect.gen(function* () {
    const due = yield* orders.claim(kinds, ORDERS_AT_ONCE, leaseMs)
    // All at the same time, because an order that waited for another's answer would outlive its lease.
    yield* Effect.forEach(due, executeApart, { concurrency: "unbounded", discard: true })
    return due.length
  })
}

/** The time in which a process asks the provider and commits the answer, beyond the time of the call. */
export const LEASE_MARGIN_MS = 10_000

/** Of each connection. */
const ORDERS_AT_ONCE = 8
