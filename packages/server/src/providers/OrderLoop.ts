/**
 * Repeats open orders until the provider's answer is known, also after a crash between its answer and our commit.
 */
import * as Effect from "effect/Effect"
import { describeCause } from "../base/observability/SafeCause.ts"
import type { Unavailable } from "../database/Unavailable.ts"
import type { AcquirerRefused, AcquirerUnclear } from "./Acquirer.ts"
import * as Bulkheads from "./Bulkheads.ts"
import type { OrderStore, StoredOrder } from "./OrderStore.ts"
import { isLastRequest } from "./Retries.ts"

export type ClaimDue = (capacity: Bulkheads.Capacity) => Effect.Effect<Bulkheads.Claimed, Unavailable>

/** Claims the due orders of these kinds. Each call executes one, under its own id. */
export const claimDue =
  (
    orders: OrderStore["Service"],
    kinds: ReadonlyArray<StoredOrder["kind"]>,
    leaseMs: number,
    execute: (order: StoredOrder) => Effect.Effect<unknown, Unavailable>
  ): ClaimDue =>
  (capacity) =>
    Effect.map(orders.claim(kinds, capacity, leaseMs), (due) => ({
      hasMore: false,
      due: due.map((order) => ({
        connectionId: order.connectionId,
        // An order that fails is repeated when its lease has expired.
        call: Effect.catchCause(Effect.asVoid(execute(order)), (cause) =>
          Effect.annotateLogs(Effect.logWarning("an order could not be finished", describeCause(cause)), {
            order_id: order.id
          })
        )
      }))
    }))

/** The provider's refusal of a request. It says nothing of an earlier request. */
export interface Refused {
  readonly _tag: "Refused"
  readonly reason: string
}

/**
 * The provider's answer to an order; `undefined` where it is asked again: after an unclear answer, and after a refusal while an
 * earlier request may still arrive.
 */
export const answerTo = <A>(
  { attempts }: StoredOrder,
  asked: Effect.Effect<A, AcquirerRefused | AcquirerUnclear | Unavailable>
): Effect.Effect<A | Refused | undefined, Unavailable> =>
  Effect.catchTags(asked, {
    AcquirerRefused: ({ reason }) =>
      Effect.succeed<Refused | undefined>(isLastRequest(attempts) ? { _tag: "Refused", reason } : undefined),
    AcquirerUnclear: () => Effect.undefined
  })

/** Executes due orders until its scope closes. */
export const loop = (name: string, claim: ClaimDue) =>
  Bulkheads.loop(name, { all: 256, ofClaim: 64, ofConnection: 8, ofSimulator: 8 }, claim, "1 second")

/** The time in which a process asks the provider and commits the answer, beyond the time of the call. */
export const LEASE_MARGIN_MS = 10_000
