/** Due calls of one claim, as the loops of a process run them. */
import * as Effect from "effect/Effect"
import type { Capacity, Claimed } from "../../src/providers/Bulkheads.ts"

/** Of a process with nothing in flight, whose connections may have `limit` calls each. */
export const unusedCapacity = (limit: number): Capacity => ({ limit, share: limit, connections: [] })

/** Claims what is due and runs it to its end; how many calls there were. */
export const runDue = <E, R>(claim: (capacity: Capacity) => Effect.Effect<Claimed, E, R>, limit = 200) =>
  Effect.flatMap(claim(unusedCapacity(limit)), ({ due }) =>
    Effect.as(
      Effect.forEach(due, ({ call }) => call, { concurrency: "unbounded", discard: true }),
      due.length
    )
  )
