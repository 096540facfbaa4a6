/**
 * Background work in rounds, until the service stops.
 *
 * Guarantees: a round that fails or dies is logged and retried with exponential backoff, up to 10 s.
 */
import { describeCause } from "./SafeCause.ts"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

/** Repeats `round`, which returns how much it did: at once where that is not 0, otherwise after `idle`. */
export const run = <E, R, R2>(
  name: string,
  round: Effect.Effect<number, E, R>,
  idle: Effect.Effect<unknown, never, R2>
): Effect.Effect<never, never, R | R2> =>
  Effect.gen(function* () {
    let failures = 0
    while (true) {
      const exit = yield* Effect.exit(round)
      if (Exit.isSuccess(exit)) {
        failures = 0
        if (exit.value === 0) yield* idle
      } else {
        // An interruption of this fiber ends the loop; one in the exit is of something the round waited for.
        failures++
        yield* Effect.logWarning(`${name}: a round failed and is retried`, describeCause(exit.cause))
        yield* Effect.sleep(Math.min(250 * 2 ** failures, 10_000))
      }
    }
  })
