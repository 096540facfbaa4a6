/** Batching: single requests become one statement, and each gets its own outcome. */
import { assert, describe, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type { SqlClient } from "effect/sql/SqlClient"
import {
  ConnectionError,
  ConstraintError,
  DeadlockError,
  LockTimeoutError,
  SerializationError,
  SqlError,
  StatementTimeoutError
} from "effect/sql/SqlError"
import { afterEach, beforeEach, vi } from "vitest"
import * as Batching from "../../../src/database/batching/Batching.ts"
import { LOCKED } from "../../../src/database/statements/LockMode.ts"
import { Unavailable } from "../../../src/database/Unavailable.ts"

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

  it.live("tries again in halves what the server ended for its time, and refuses only the one that it is for", () =>
    Effect.gen(function* () {
      for (const reason of [StatementTimeoutError, LockTimeoutError]) {
        const code = reason === StatementTimeoutError ? "57014" : "55P03"
        const fault = new SqlError({ reason: new reason({ cause: Object.assign(new Error("ended"), { code }) }) })
        const store = yield* makeStore({ poison: 2, fault })
        const release = store.hold()
        const fibers = yield* firstThenOthers(store.one, [0, 1, 2, 3, 4])
        release()
        const exits = yield* Effect.forEach(fibers, Fiber.await)
        for (const [member, exit] of exits.entries()) {
          if (member !== 2) assert.deepStrictEqual(exit, Exit.succeed(`done ${member}`))
          else assert.deepStrictEqual(exit, Exit.fail(new Unavailable({ reason: "too-slow" })))
        }
        assert.deepStrictEqual(store.batches, [[0], [1, 2, 3, 4], [1, 2], [1], [2], [3, 4]])
      }
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

  it.live("lets an account that is locked wait apart, in its order, while the others go on", () =>
    Effect.gen(function* () {
      const locked = Deferred.makeUnsafe<void>()
      const runs: Array<string> = []
      const one = yield* Batching.make<string, string>({
        maxBatch: 10,
        accountOf: (member) => member[0]!,
        run: (members, how) =>
          Effect.gen(function* () {
            runs.push(`${how} ${members.join(" ")}`)
            if (how === "wait") yield* Deferred.await(locked)
            yield* Effect.yieldNow
            const isFree = yield* Deferred.isDone(locked)
            return members.map((member) => (member.startsWith("a") && !isFree ? LOCKED : `done ${member}`))
          })
      })
      const held = yield* Effect.forEach(["a1", "a2"], (member) => begin(one(member)))
      assert.strictEqual(yield* one("b1"), "done b1")
      const behind = yield* begin(one("a3"))
      assert.strictEqual(yield* one("b2"), "done b2")
      Deferred.doneUnsafe(locked, Effect.void)
      assert.deepStrictEqual(yield* Effect.forEach([...held, behind], Fiber.join), ["done a1", "done a2", "done a3"])
      assert.strictEqual(yield* one("a4"), "done a4")
      assert.deepStrictEqual(runs, ["skip a1 a2 b1", "wait a1 a2", "skip b2", "wait a3", "skip a4"])
    })
  )

  it.live("waits for each locked account in a separate statement: one whose lock is released continues", () =>
    Effect.gen(function* () {
      const locks = { a: Deferred.makeUnsafe<void>(), b: Deferred.makeUnsafe<void>() }
      const one = yield* Batching.make<"a" | "b", string>({
        maxBatch: 10,
        accountOf: (member) => member,
        run: (members, lockMode) =>
          Effect.gen(function* () {
            if (lockMode === "skip") return members.map(() => LOCKED)
            for (const member of members) yield* Deferred.await(locks[member])
            return members.map((member) => `done ${member}`)
          })
      })
      const [first, second] = [yield* begin(one("a")), yield* begin(one("b"))]
      Deferred.doneUnsafe(locks.b, Effect.void)
      assert.strictEqual(yield* Fiber.join(second), "done b")
      assert.isUndefined(first.pollUnsafe())
      Deferred.doneUnsafe(locks.a, Effect.void)
      assert.strictEqual(yield* Fiber.join(first), "done a")
    })
  )

  describe("where a statement does not answer", () => {
    beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }))
    afterEach(() => void vi.useRealTimers())

    it.live(
      "that writes: answers its callers in time, leaves it to end, and lets so many beside it go on and no more",
      () =>
        Effect.gen(function* () {
          const ends: Array<Deferred.Deferred<void>> = []
          let interrupted = 0
          const one = yield* Batching.make<number, number>({
            maxBatch: 10,
            writes: unused,
            run: (members) =>
              Effect.suspend(() => {
                const end = Deferred.makeUnsafe<void>()
                ends.push(end)
                return Effect.as(Deferred.await(end), members)
              }).pipe(Effect.onInterrupt(() => Effect.sync(() => interrupted++)))
          })
          const first = yield* begin(one(1))
          yield* turn
          const behind = yield* begin(one(2))
          assert.lengthOf(ends, 1, "one at a time")
          vi.advanceTimersByTime(1000)
          yield* turn
          assert.lengthOf(ends, 2, "the slow one has stepped aside")
          const waiting = yield* begin(one(3))
          vi.advanceTimersByTime(5000)
          assert.deepInclude(yield* Effect.flip(Fiber.join(first)), { reason: "too-slow" })
          vi.advanceTimersByTime(1000)
          assert.deepInclude(yield* Effect.flip(Fiber.join(behind)), { reason: "too-slow" })
          assert.deepInclude(yield* Effect.flip(Fiber.join(waiting)), { reason: "too-slow" })
          assert.deepInclude(yield* Effect.flip(one(4)), { reason: "too-slow" }, "no third one")
          assert.lengthOf(ends, 2)
          assert.strictEqual(interrupted, 0)
          // One has committed: the next has a slot.
          Deferred.doneUnsafe(ends[1]!, Effect.void)
          yield* turn
          const next = yield* begin(one(5))
          yield* turn
          Deferred.doneUnsafe(ends[2]!, Effect.void)
          assert.strictEqual(yield* Fiber.join(next), 5)
        })
    )

    it.live.each([
      { what: "for one of its members", reason: new ConstraintError({ cause: new Error("thrown by the test") }) },
      { what: "by a deadlock", reason: new DeadlockError({ cause: { code: "40P01" } }) }
    ])("and fails $what after its callers were answered: nothing more is sent", ({ reason }) =>
      Effect.gen(function* () {
        const end = Deferred.makeUnsafe<void>()
        let sent = 0
        const one = yield* Batching.make<number, number>({
          maxBatch: 10,
          writes: unused,
          run: () =>
            Effect.suspend(() => {
              sent++
              return Effect.andThen(Deferred.await(end), new SqlError({ reason }))
            })
        })
        const fibers = [yield* begin(one(1)), yield* begin(one(2))]
        yield* turn
        vi.advanceTimersByTime(6000)
        for (const fiber of fibers) assert.deepInclude(yield* Effect.flip(Fiber.join(fiber)), { reason: "too-slow" })
        Deferred.doneUnsafe(end, Effect.void)
        yield* turn
        assert.strictEqual(sent, 1)
      })
    )

    it.live("that reads: answers its callers in time and ends it; a slow page delays others by a second", () =>
      Effect.gen(function* () {
        const slow = Deferred.makeUnsafe<void>()
        let interrupted = 0
        const one = yield* Batching.make<number, number>({
          maxBatch: 10,
          reads: unused,
          run: (members) =>
            Effect.as(members.includes(1) ? Deferred.await(slow) : Effect.void, members).pipe(
              Effect.onInterrupt(() => Effect.sync(() => interrupted++))
            )
        })
        const first = yield* begin(one(1))
        yield* turn
        const others = [yield* begin(one(2)), yield* begin(one(3))]
        vi.advanceTimersByTime(1000)
        assert.deepStrictEqual(yield* Effect.forEach(others, Fiber.join), [2, 3])
        vi.advanceTimersByTime(5000)
        assert.deepInclude(yield* Effect.flip(Fiber.join(first)), { reason: "too-slow" })
        yield* turn
        assert.strictEqual(interrupted, 1)
        assert.strictEqual(yield* one(4), 4)
      })
    )
  })
})

const begin = <A, E>(effect: Effect.Effect<A, E>) => Effect.forkChild(effect, { startImmediately: true })

/** Until every fiber that is scheduled has run. */
const turn = Effect.promise(() => new Promise<void>((resolve) => void setImmediate(() => setImmediate(resolve))))

/** Options of a run that writes, for tests that do not read them. */
const unused = {} as SqlClient

/** The first is alone in its batch; the others come in the turn after. */
const firstThenOthers = Effect.fnUntraced(function* <A, E>(
  one: (member: number) => Effect.Effect<A, E>,
  members: ReadonlyArray<number>
) {
  const first = yield* begin(one(members[0]!))
  yield* Effect.promise(() => Promise.resolve())
  return [first, ...(yield* Effect.forEach(members.slice(1), (member) => begin(one(member))))]
})

/** A store that records its batches; `hold` makes the next one wait for the release. */
const makeStore = (
  options: {
    readonly maxBatch?: number
    readonly maxWaiting?: number
    readonly poison?: number
    readonly isAway?: boolean
    readonly fault?: SqlError
    readonly accountOf?: (member: number) => string
    readonly sizeOf?: (member: number) => number
  } = {}
) =>
  Effect.gen(function* () {
    const batches: Array<ReadonlyArray<number>> = []
    const done: Array<number> = []
    let gate: Deferred.Deferred<void> | undefined
    let atOnce = 0
    let most = 0
    const one = yield* Batching.make<number, string>({
      maxBatch: options.maxBatch ?? 100,
      ...(options.maxWaiting === undefined ? {} : { maxWaiting: options.maxWaiting }),
      ...(options.accountOf === undefined ? {} : { accountOf: options.accountOf }),
      ...(options.sizeOf === undefined ? {} : { sizeOf: options.sizeOf }),
      run: (members) =>
        Effect.gen(function* () {
          batches.push(members)
          most = Math.max(most, ++atOnce)
          const held = gate
          gate = undefined
          if (held !== undefined) yield* Deferred.await(held)
          yield* Effect.yieldNow
          atOnce--
          const cause = new Error("thrown by the test")
          if (options.isAway === true) return yield* new SqlError({ reason: new ConnectionError({ cause }) })
          if (members.some((member) => member === options.poison)) {
            return yield* options.fault ?? new SqlError({ reason: new ConstraintError({ cause }) })
          }
          done.push(...members)
          return members.map((member) => `done ${member}`)
        })
    })
    return {
      one,
      batches,
      done,
      mostAtOnce: () => most,
      hold: () => {
        const held = Deferred.makeUnsafe<void>()
        gate = held
        return () => Deferred.doneUnsafe(held, Effect.void)
      }
    }
  })
