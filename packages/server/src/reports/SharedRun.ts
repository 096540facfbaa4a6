/** An effect that concurrent callers share: each awaits a run that began after its call, and runs are spaced apart. */
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"

export const makeSharedRun = (run: Effect.Effect<void>, spacing: Duration.Input) =>
  Effect.map(Effect.scope, (scope) => {
    const turn = Semaphore.makeUnsafe(1)
    /** Of the run that has not begun. */
    let next: Deferred.Deferred<void> | undefined
    return Effect.suspend(() => {
      if (next !== undefined) return Deferred.await(next)
      const done = Deferred.makeUnsafe<void>()
      next = done
      const begin = Effect.suspend(() => {
        next = undefined
        return Effect.ensuring(run, Deferred.succeed(done, undefined))
      })
      const spaced = turn.withPermits(1)(Effect.andThen(begin, Effect.sleep(spacing)))
      return Effect.andThen(Effect.forkIn(spaced, scope), Deferred.await(done))
    })
  })
