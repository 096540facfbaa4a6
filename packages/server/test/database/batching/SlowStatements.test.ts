/** Batching where a statement is slow or waits for a lock: its callers are answered in time, and the others go on. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type { SqlClient } from "effect/sql/SqlClient"
import { ConstraintError, DeadlockError, LockTimeoutError, SqlError, StatementTimeoutError } from "effect/sql/SqlError"
import { afterEach, beforeEach, vi } from "vitest"
import * as Batching from "../../../src/database/batching/Batching.ts"
import { LOCKED } from "../../../src/database/statements/LockMode.ts"
import { Unavailable } from "../../../src/database/Unavailable.ts"
import { begin, firstThenOthers, makeStore, turn } from "../../support/Batches.ts"

/** Options of a run that writes, for tests that do not read them. */
const unused = {} as SqlClient

describe("Batching of slow statements", () => {
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
