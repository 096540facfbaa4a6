import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as TestClock from "effect/testing/TestClock"
import { makeTurns } from "../src/Turns.ts"

const turns = () => makeTurns({ maxWaiting: 2, maxWaitMs: 1000, whenFull: "full" as const })

describe("turns", () => {
  it.effect("are taken in the order of arrival, one at a time", () =>
    Effect.gen(function* () {
      const inTurn = turns()
      const done: Array<number> = []
      let running = 0
      const work = (n: number) =>
        inTurn(
          Effect.gen(function* () {
            running += 1
            assert.strictEqual(running, 1)
            yield* Effect.sleep(100)
            running -= 1
            done.push(n)
          })
        )
      const all = yield* Effect.forkChild(Effect.forEach([1, 2, 3], work, { concurrency: "unbounded" }))
      yield* TestClock.adjust(300)
      yield* Fiber.join(all)
      assert.deepStrictEqual(done, [1, 2, 3])
    })
  )

  it.effect("pass on after a failure, an interruption while running and one while waiting", () =>
    Effect.gen(function* () {
      const inTurn = turns()
      assert.strictEqual(yield* Effect.flip(inTurn(Effect.fail("broken"))), "broken")
      const gate = yield* Deferred.make<void>()
      const running = yield* Effect.forkChild(inTurn(Deferred.await(gate)))
      yield* Effect.yieldNow
      const waiting = yield* Effect.forkChild(inTurn(Effect.succeed("never")))
      const last = yield* Effect.forkChild(inTurn(Effect.succeed("last")))
      yield* Effect.yieldNow
      assert.strictEqual(yield* Effect.flip(inTurn(Effect.void)), "full")
      yield* Fiber.interrupt(waiting)
      yield* Fiber.interrupt(running)
      assert.strictEqual(yield* Fiber.join(last), "last")
      assert.strictEqual(yield* inTurn(Effect.succeed("free")), "free")
    })
  )

  it.effect("a wait that ends without a turn leaves the queue", () =>
    Effect.gen(function* () {
      const inTurn = turns()
      const gate = yield* Deferred.make<void>()
      const running = yield* Effect.forkChild(inTurn(Deferred.await(gate)))
      yield* Effect.yieldNow
      const waiting = yield* Effect.forkChild(Effect.flip(inTurn(Effect.die("it had no turn"))))
      yield* TestClock.adjust(1000)
      assert.strictEqual(yield* Fiber.join(waiting), "full")
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(running)
      assert.strictEqual(yield* inTurn(Effect.succeed("free")), "free")
    })
  )
})
