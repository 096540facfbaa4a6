import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { TestClock } from "effect/testing"
import { makeSharedRun } from "../../src/base/SharedRun.ts"

describe("A shared run", () => {
  it.effect("begins after each call, one for all that wait, and not before the spacing has passed", () =>
    Effect.gen(function* () {
      let runs = 0
      const first = yield* Deferred.make<void>()
      const shared = yield* makeSharedRun(
        Effect.suspend(() => (++runs === 1 ? Deferred.await(first) : Effect.void)),
        "250 millis"
      )
      const one = yield* Effect.forkChild(shared, { startImmediately: true })
      yield* Effect.yieldNow
      const others = yield* Effect.forkChild(
        Effect.all(
          Array.from({ length: 100 }, () => shared),
          { concurrency: "unbounded" }
        ),
        { startImmediately: true }
      )
      yield* Effect.yieldNow
      yield* Deferred.succeed(first, undefined)
      yield* Fiber.join(one)
      yield* TestClock.adjust("249 millis")
      assert.strictEqual(runs, 1)
      yield* TestClock.adjust("1 millis")
      yield* Fiber.join(others)
      assert.strictEqual(runs, 2)
    }).pipe(Effect.scoped)
  )

  it.effect("gives its value, or its failure, to all that wait", () =>
    Effect.gen(function* () {
      let runs = 0
      const shared = yield* makeSharedRun(
        Effect.suspend(() => (++runs === 1 ? Effect.fail("away") : Effect.succeed(runs)))
      )
      const three = Effect.forEach([1, 2, 3], () => Effect.exit(shared), { concurrency: "unbounded" })
      assert.deepStrictEqual(
        yield* three,
        Array.from({ length: 3 }, () => Exit.fail("away"))
      )
      yield* TestClock.adjust(0)
      assert.deepStrictEqual(
        yield* three,
        Array.from({ length: 3 }, () => Exit.succeed(2))
      )
    }).pipe(Effect.scoped)
  )
})
