/**
 * The pool of connections grows again after a connection was refused (`53300`) while others wait for one: see
 * `patches/effect@4.1.0.patch`.
 */
import { assert, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Pool from "effect/Pool"

it.live("A pool that is busy becomes as large as it may be, though an acquisition failed", () =>
  Effect.gen(function* () {
    const refused = Deferred.makeUnsafe<number, string>()
    const late = Deferred.makeUnsafe<number, string>()
    const lease = Deferred.makeUnsafe<void>()
    let acquisitions = 0
    const pool = yield* Pool.makeWithTTL<number, string, never>({
      // The first comes at once, the second is refused, the third comes late, all others at once.
      acquire: Effect.suspend(() => {
        const nth = ++acquisitions
        return nth === 2 ? Deferred.await(refused) : nth === 3 ? Deferred.await(late) : Effect.succeed(nth)
      }),
      min: 0,
      max: 3,
      concurrency: 1,
      timeToLive: "60 seconds",
      timeToLiveStrategy: "usage"
    })
    // A lease ends, and in the same turn an acquisition fails.
    yield* Effect.forkChild(
      Pool.use(pool, () =>
        Effect.andThen(
          Deferred.await(lease),
          Effect.sync(() => queueMicrotask(() => Deferred.doneUnsafe(refused, Exit.fail("53300"))))
        )
      )
    )
    yield* turns(5)
    let atOnce = 0
    let most = 0
    let uses = 0
    const use = Pool.use(pool, () =>
      Effect.gen(function* () {
        uses++
        most = Math.max(most, ++atOnce)
        yield* turns(2)
        atOnce--
      })
    )
    for (let index = 0; index < 8; index++) yield* Effect.forkChild(Effect.forever(Effect.ignore(use)))
    yield* turns(5)
    Deferred.doneUnsafe(lease, Exit.void)
    yield* turns(5)
    Deferred.doneUnsafe(late, Exit.succeed(3))
    const before = uses
    yield* Effect.repeat(turns(1), { until: () => most === 3 || uses >= before + 1000 })
    assert.strictEqual(most, 3, `${uses - before} uses later`)
    assert.strictEqual(acquisitions, 4)
  }).pipe(Effect.scoped)
)

/** Waits for this many turns of the event loop. */
const turns = (count: number) =>
  Effect.repeat(
    Effect.promise(() => new Promise<void>((resolve) => void setImmediate(resolve))),
    { times: count - 1 }
  )
