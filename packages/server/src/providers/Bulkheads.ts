/**
 * Background calls to providers: each connection has a share of those in flight, so that one that hangs delays no other.
 *
 * Guarantees:
 * - At most `ofConnection` calls of a connection are in flight in this process, and at most `all`.
 * - A claim passes by connections whose share is used, and starts at once when such a share has room again.
 *
 * Why: the shares of all loops together are fewer than the calls that a connection takes (`maxInFlight`), so that background
 * work leaves room for requests.
 */
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as BackgroundLoop from "../base/observability/BackgroundLoop.ts"
import { integer, uuid } from "../database/statements/Column.ts"
import { part, rows, value } from "../database/statements/Statement.ts"

export interface Bulkheads {
  /** In flight in this process. */
  readonly all: number
  /** Of one claim. Nothing is claimed while fewer than these are free. */
  readonly ofClaim: number
  readonly ofConnection: number
  readonly ofSimulator: number
}

/** How many calls a claim may start. */
export interface Capacity {
  readonly limit: number
  /** Of each connection that is not listed. */
  readonly share: number
  /** What is left of the shares of connections. */
  readonly connections: ReadonlyArray<{ readonly connectionId: string; readonly free: number }>
}

/** A claimed call. */
export interface DueCall {
  /** Null is the simulator's. */
  readonly connectionId: string | null
  /** Never fails: where it cannot be done, its lease runs out and it is claimed again. */
  readonly call: Effect.Effect<void>
}

export interface Claimed {
  readonly due: ReadonlyArray<DueCall>
  /** True where another claim may find more now. */
  readonly hasMore: boolean
}

/** Runs what is due until its scope closes. */
export const loop = <E, R>(
  name: string,
  bulkheads: Bulkheads,
  claim: (capacity: Capacity) => Effect.Effect<Claimed, E, R>,
  idle: Duration.Input
): Layer.Layer<never, never, R> =>
  Layer.effectDiscard(
    Effect.gen(function* () {
      const { all, ofClaim, ofConnection, ofSimulator } = bulkheads
      const shareOf = (id: string) => (id === SIMULATOR_CONNECTION ? ofSimulator : ofConnection)
      const calls = yield* FiberSet.make<void>()
      // The simulator's share is not that of the others, so it is always listed.
      const inFlight = new Map([[SIMULATOR_CONNECTION as string, 0]])
      let total = 0
      const freed = Latch.makeUnsafe()

      const start = ({ call, connectionId }: DueCall) => {
        const id = connectionId ?? SIMULATOR_CONNECTION
        inFlight.set(id, (inFlight.get(id) ?? 0) + 1)
        total += 1
        const end = Effect.sync(() => {
          const before = inFlight.get(id)!
          if (before >= shareOf(id) || all - total < ofClaim) freed.openUnsafe()
          if (before === 1 && id !== SIMULATOR_CONNECTION) inFlight.delete(id)
          else inFlight.set(id, before - 1)
          total -= 1
        })
        return FiberSet.run(calls, Effect.ensuring(call, end))
      }

      const round = Effect.gen(function* () {
        freed.closeUnsafe()
        if (all - total < ofClaim) return 0
        const connections = Array.from(inFlight, ([connectionId, count]) => ({
          connectionId,
          free: shareOf(connectionId) - count
        }))
        const { due, hasMore } = yield* claim({ limit: ofClaim, share: ofConnection, connections })
        yield* Effect.forEach(due, start, { discard: true })
        return due.length + (hasMore ? 1 : 0)
      })

      // Calls that end at the same time are followed by one claim.
      const room = Effect.andThen(freed.await, Effect.sleep("10 millis"))
      yield* Effect.forkScoped(BackgroundLoop.run(name, round, Effect.timeoutOption(room, idle)))
    })
  )

/** The capacity of a claim in SQL. */
export const capacityPart = part(
  { connections: rows({ connectionId: uuid(), free: integer() }), share: value("integer") },
  ({ connections, share }) => ({
    /** How many calls of this connection may start. */
    freeOf: (connection: string) =>
      `coalesce((SELECT k.free FROM ${connections} AS k WHERE k.connection_id = coalesce(${connection}, '${SIMULATOR_CONNECTION}'::uuid)), ${share})`,
    isAnyUsed: `EXISTS (SELECT FROM ${connections} AS k WHERE k.free <= 0)`
  }),
  ({ connections, share }: Capacity) => ({ connections, share })
)
