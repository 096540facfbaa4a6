/** An effect that concurrent callers share: each awaits a run that began after its call, and runs are spaced apart. */
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"

export const makeSharedRun = <A, E>(run: Effect.Effect<A, E>, spacing: Duration.Input = 0) =>
  Effect.map(Effect.scope, (scope) => {
    const turn = Semaphore.makeUnsafe(1)
    /** Of the run that has not begun. */
    let next: Deferred.Deferred<A, E> | undefined
    return Effect.suspend(() => {
      if (next !== undefined) return Deferred.await(next)
      const done = Deferred.makeUnsafe<A, E>()
      next = done
      const begin = Effect.suspend(() => {
        next = undefined
        return Deferred.into(run, done)
      })
      const spaced = turn.withPermits(1)(Effect.andThen(begin, Effect.sleep(spacing)))
      return Effect.andThen(Effect.forkIn(spaced, scope), Deferred.await(done))
    })
  })
