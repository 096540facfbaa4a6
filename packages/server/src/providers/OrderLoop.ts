/**
 * Repeats open orders until the provider's answer is known, also after a crash between its answer and our commit.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { describeCause } from "../base/observability/SafeCause.ts"
import type { Unavailable } from "../database/Unavailable.ts"
import type { AcquirerRefused, AcquirerUnclear } from "./Acquirer.ts"
import * as Bulkheads from "./Bulkheads.ts"
import type { Leased, OrderStore, StoredOrder } from "./OrderStore.ts"
import { isLastRequest } from "./Retries.ts"

export type ClaimDue = (capacity: Bulkheads.Capacity) => Effect.Effect<Bulkheads.Claimed, Unavailable>

/** Claims the due orders of these kinds. Each call executes one, under its own id. */
export const claimDue =
  (
    orders: OrderStore["Service"],
    kinds: ReadonlyArray<StoredOrder["kind"]>,
    leaseMs: number,
    execute: (order: Leased) => Effect.Effect<unknown, Unavailable>
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
 * earlier request may still arrive, or was accepted. A process that was stopped beyond its lease does not ask.
 */
export const answerTo = <A>(
  { acceptedAtMs, attempts, leasedUntilMs }: Leased,
  asked: Effect.Effect<A, AcquirerRefused | AcquirerUnclear | Unavailable>
): Effect.Effect<A | Refused | undefined, Unavailable> =>
  Effect.flatMap(Clock.currentTimeMillis, (nowMs) =>
    nowMs >= leasedUntilMs
      ? Effect.undefined
      : Effect.catchTags(asked, {
          AcquirerRefused: ({ reason }) =>
            Effect.succeed<Refused | undefined>(
              isLastRequest(attempts) && acceptedAtMs === null ? { _tag: "Refused", reason } : undefined
            ),
          AcquirerUnclear: () => Effect.undefined
        })
  )

/** Whether the refusal of an order's request ends it, given the order as it is now, locked. */
export const isRefusalFinal = ({ attempts }: StoredOrder, now: StoredOrder): boolean =>
  now.attempts === attempts && now.acceptedAtMs === null

/** Executes due orders until its scope closes. */
export const loop = (name: string, claim: ClaimDue) =>
  Bulkheads.loop(name, { all: 256, ofClaim: 64, ofConnection: 8, ofSimulator: 8 }, claim, "1 second")

/** The time in which a process asks the provider and commits the answer, beyond the time of the call. */
export const LEASE_MARGIN_MS = 10_000
