/**
 * Work that goes on by itself: what is due is done, again and again, until the service stops.
 *
 * Guarantees: a round that fails, or dies, is logged and tried again later with growing pauses; nothing that
 * waits lives here, only in rows, so that any process may do any round.
 */
import { describeCause } from "./SafeCause.ts"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

/** Runs `round` for ever: at once again while it found something to do, else after `idle`. */
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
        // An interruption that is seen here is that of something the round waited for: its own ends the loop.
        failures++
        yield* Effect.logWarning(`${name}: a round failed and is tried again`, describeCause(exit.cause))
        yield* Effect.sleep(Math.min(250 * 2 ** failures, 10_000))
      }
    }
  })
