/**
 * Background work in rounds, until the service stops.
 *
 * Guarantees:
 * - A round that fails or dies is logged and retried with exponential backoff, up to 10 s.
 * - A loop that completes no round for longer than it may is stalled (`Heartbeats`).
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { type Beat, Heartbeats } from "./Heartbeats.ts"
import { describeCause } from "./SafeCause.ts"

/**
 * Repeats `round`, which returns how much it did: at once where that is not 0, otherwise after `idle`. It completes a round
 * `within` that time.
 */
export const run = <E, R, R2>(
  name: string,
  round: Effect.Effect<number, E, R>,
  idle: Effect.Effect<unknown, never, R2>,
  { within }: { readonly within: Duration.Input } = { within: "2 minutes" }
): Effect.Effect<never, never, R | R2> =>
  Effect.gen(function* () {
    const heartbeats = yield* Heartbeats
    const beat = heartbeats.start(name, Duration.toMillis(within), yield* Clock.Clock)
    return yield* Effect.ensuring(
      repeated(name, round, idle, beat),
      Effect.sync(() => beat.end())
    )
  })

const repeated = <E, R, R2>(
  name: string,
  round: Effect.Effect<number, E, R>,
  idle: Effect.Effect<unknown, never, R2>,
  beat: Beat
): Effect.Effect<never, never, R | R2> =>
  Effect.gen(function* () {
    let failures = 0
    while (true) {
      beat.begin()
      const exit = yield* Effect.exit(round)
      if (Exit.isSuccess(exit)) {
        failures = 0
        beat.complete(exit.value === 0)
        if (exit.value === 0) yield* idle
      } else {
        // An interruption of this fiber ends the loop; one in the exit is of something the round waited for.
        failures++
        yield* Effect.logWarning(`${name}: a round failed and is retried`, describeCause(exit.cause))
        yield* Effect.sleep(Math.min(250 * 2 ** failures, 10_000))
      }
    }
  })
