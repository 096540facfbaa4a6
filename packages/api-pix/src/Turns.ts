/**
 * One effect at a time, the others in a bounded queue.
 *
 * Guarantees
 * - Effects run in the order in which they came. At most `maxWaiting` wait, each for at most `maxWaitMs`; any beyond ends
 *   as `whenFull` and does not run.
 * - An effect that is interrupted, waiting or running, passes its turn on.
 */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"

export const makeTurns = <F>(options: {
  readonly maxWaiting: number
  readonly maxWaitMs: number
  readonly whenFull: F
}): (<A, E>(effect: Effect.Effect<A, E>) => Effect.Effect<A, E | F>) => {
  const { maxWaiting, maxWaitMs, whenFull } = options
  const waiting: Array<Deferred.Deferred<void>> = []
  let isTaken = false

  const pass = () => {
    const next = waiting.shift()
    if (next === undefined) isTaken = false
    else Deferred.doneUnsafe(next, Exit.void)
  }

  const leave = (turn: Deferred.Deferred<void>) => {
    const place = waiting.indexOf(turn)
    if (place >= 0) waiting.splice(place, 1)
    // The turn came while the waiting ended.
    else pass()
  }

  return (effect) =>
    Effect.uninterruptibleMask((restore) => {
      const run = Effect.ensuring(restore(effect), Effect.sync(pass))
      if (!isTaken) {
        isTaken = true
        return run
      }
      if (waiting.length >= maxWaiting) return Effect.fail(whenFull)
      const turn = Deferred.makeUnsafe<void>()
      waiting.push(turn)
      return restore(
        Effect.timeoutOrElse(Deferred.await(turn), { duration: maxWaitMs, orElse: () => Effect.fail(whenFull) })
      ).pipe(
        Effect.onExit((exit) => (Exit.isSuccess(exit) ? Effect.void : Effect.sync(() => leave(turn)))),
        Effect.andThen(run)
      )
    })
}
