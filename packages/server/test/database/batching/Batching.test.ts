/** Batching: single requests become one statement, and each gets its own outcome. Slow ones: `SlowStatements.test.ts`. */
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { ConnectionError, DeadlockError, SerializationError, SqlError } from "effect/sql/SqlError"
import * as Batching from "../../../src/database/batching/Batching.ts"
import { begin, firstThenOthers, makeStore } from "../../support/Batches.ts"

describe("Batching", () => {
  it.live("does a lone member at once, alone", () =>
    Effect.gen(function* () {
      const store = yield* makeStore()
      assert.strictEqual(yield* store.one(7), "done 7")
      assert.deepStrictEqual(store.batches, [[7]])
    })
  )

  it.live("batches all requests of one turn of the event loop", () =>
    Effect.gen(function* () {
      const store = yield* makeStore()
      const fibers = yield* Effect.forEach([1, 2, 3], (member) => begin(store.one(member)))
      yield* Effect.forEach(fibers, Fiber.join)
      assert.deepStrictEqual(store.batches, [[1, 2, 3]])
    })
  )

  it.live("begins the next batch before the callers of the last one go on", () =>
    Effect.gen(function* () {
      const store = yield* makeStore()
      const release = store.hold()
      const batchesSeen: Array<number> = []
      const fibers = yield* firstThenOthers(
        (member) =>
          Effect.tap(
            store.one(member),
            Effect.sync(() => batchesSeen.push(store.batches.length))
          ),
        [1, 2]
      )
      release()
      yield* Effect.forEach(fibers, Fiber.join)
      assert.deepStrictEqual(batchesSeen, [2, 2])
    })
  )

  it.live("has one batch in flight: what comes meanwhile is the next one, in order", () =>
    Effect.gen(function* () {
      const store = yield* makeStore({ maxBatch: 4 })
      const release = store.hold()
      const fibers = yield* firstThenOthers(store.one, [1, 2, 3, 4, 5, 6, 7])
      assert.deepStrictEqual(store.batches, [[1]])
      release()
      const answers = yield* Effect.forEach(fibers, Fiber.join)
      assert.deepStrictEqual(
        answers,
        [1, 2, 3, 4, 5, 6, 7].map((member) => `done ${member}`)
      )
      assert.deepStrictEqual(store.batches, [[1], [2, 3, 4, 5], [6, 7]])
      assert.strictEqual(store.mostAtOnce(), 1)
    })
  )

  it.live("does the others when one member cannot be done, in halves, and dies for that one alone", () =>
    Effect.gen(function* () {
      const store = yield* makeStore({ poison: 5 })
      const release = store.hold()
      const fibers = yield* firstThenOthers(store.one, [0, 1, 2, 3, 4, 5, 6, 7, 8])
      release()
      const exits = yield* Effect.forEach(fibers, Fiber.await)
      for (const [member, exit] of exits.entries()) {
        if (member !== 5) assert.deepStrictEqual(exit, Exit.succeed(`done ${member}`))
        else assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
      }
      assert.deepStrictEqual(store.batches, [
        [0],
        [1, 2, 3, 4, 5, 6, 7, 8],
        [1, 2, 3, 4],
        [5, 6, 7, 8],
        [5, 6],
        [5],
        [6],
        [7, 8]
      ])
      assert.deepStrictEqual(store.done.toSorted(), [0, 1, 2, 3, 4, 6, 7, 8])
      assert.strictEqual(yield* store.one(9), "done 9")
    })
  )

  it.live("fails every request of a batch when the database is unavailable, without a retry", () =>
    Effect.gen(function* () {
      const store = yield* makeStore({ isAway: true })
      const release = store.hold()
      const fibers = yield* firstThenOthers(store.one, [1, 2, 3])
      release()
      for (const fiber of fibers) {
        const error = yield* Effect.flip(Fiber.join(fiber))
        assert.deepInclude(error, { _tag: "Unavailable", reason: "database-away" })
      }
      assert.deepStrictEqual(store.batches, [[1], [2, 3]])
    })
  )

  it.live("says so too where the lost connection broke a transaction, whose roll-back is then lost with it", () =>
    Effect.gen(function* () {
      const lost = Effect.fail(
        new SqlError({ reason: new ConnectionError({ cause: new Error("thrown by the test") }) })
      )
      let runs = 0
      const one = yield* Batching.make<number, number>({
        maxBatch: 10,
        run: () => {
          runs++
          // As the driver does it: only the failure of the rollback is left of the cause.
          return Effect.catch(lost, () => Effect.orDie(lost))
        }
      })
      const error = yield* Effect.flip(one(1))
      assert.deepInclude(error, { _tag: "Unavailable", reason: "database-away" })
      assert.strictEqual(runs, 1)
    })
  )

  it.live("takes no more members than may wait", () =>
    Effect.gen(function* () {
      const store = yield* makeStore({ maxWaiting: 2 })
      const release = store.hold()
      const fibers = yield* firstThenOthers(store.one, [1, 2, 3])
      const error = yield* Effect.flip(store.one(4))
      assert.deepInclude(error, { _tag: "Unavailable", reason: "queue-full" })
      release()
      assert.deepStrictEqual(yield* Effect.forEach(fibers, Fiber.join), ["done 1", "done 2", "done 3"])
      assert.deepStrictEqual(store.done, [1, 2, 3])
      assert.strictEqual(yield* store.one(5), "done 5")
    })
  )

  it.live("does what a caller has asked for, gone or not", () =>
    Effect.gen(function* () {
      const store = yield* makeStore()
      const release = store.hold()
      const [inFlight, waiting] = [yield* begin(store.one(1)), yield* begin(store.one(2))]
      yield* Fiber.interrupt(inFlight)
      yield* Fiber.interrupt(waiting)
      release()
      assert.strictEqual(yield* store.one(3), "done 3")
      assert.deepStrictEqual(store.done, [1, 2, 3])
    })
  )

  it.live("continues after a statement that dies", () =>
    Effect.gen(function* () {
      let isFirst = true
      const one = yield* Batching.make<number, number>({
        maxBatch: 10,
        run: (members) => {
          if (!isFirst) return Effect.succeed(members)
          isFirst = false
          throw new Error("a mistake of ours")
        }
      })
      assert.isTrue(Exit.isFailure(yield* Effect.exit(one(1))))
      assert.strictEqual(yield* one(2), 2)
    })
  )

  it.live("takes one of each account in turn where more wait than fit, each account's in their order", () =>
    Effect.gen(function* () {
      const store = yield* makeStore({ maxBatch: 4, accountOf: (member) => (member < 100 ? "flood" : `${member % 3}`) })
      const release = store.hold()
      const fibers = yield* firstThenOthers(store.one, [0, 1, 2, 3, 4, 5, 6, 100, 101, 102, 103])
      release()
      yield* Effect.forEach(fibers, Fiber.join)
      assert.deepStrictEqual(store.batches, [[0], [1, 100, 101, 102], [2, 3, 4, 103], [5, 6]])
    })
  )

  it.live("takes members by their size, at least one", () =>
    Effect.gen(function* () {
      const store = yield* makeStore({
        maxBatch: 10,
        sizeOf: (member) => member,
        accountOf: (member) => `${member % 2}`
      })
      const release = store.hold()
      const fibers = yield* firstThenOthers(store.one, [1, 6, 2, 3, 12, 4, 10])
      release()
      yield* Effect.forEach(fibers, Fiber.join)
      assert.deepStrictEqual(store.batches, [[1], [6, 3], [2], [12], [4], [10]])
    })
  )

  it.live.each([
    ["40P01", DeadlockError],
    ["40001", SerializationError]
  ] as const)("%s: repeats the statement once", ([code, reason]) =>
    Effect.gen(function* () {
      const fault = new SqlError({ reason: new reason({ cause: Object.assign(new Error("rolled back"), { code }) }) })
      let failures = 1
      let runs = 0
      const one = yield* Batching.make<number, number>({
        maxBatch: 10,
        run: (members) => Effect.suspend(() => (runs++ < failures ? Effect.fail(fault) : Effect.succeed(members)))
      })
      assert.strictEqual(yield* one(1), 1)
      assert.strictEqual(runs, 2)
      ;[failures, runs] = [9, 0]
      assert.deepInclude(yield* Effect.flip(one(1)), { reason: "database-away" })
      assert.strictEqual(runs, 2)
    })
  )
})
