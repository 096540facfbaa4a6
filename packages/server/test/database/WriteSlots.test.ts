/** The write slots of an account: writes whose rows are locked delay only those of the same account. */
import { assert, describe, it, layer } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { SqlClient } from "effect/sql/SqlClient"
import { withWriteSlot, writeSlotsOf } from "../../src/database/WriteSlots.ts"
import { TestService } from "../support/TestService.ts"
import { change, register, registered } from "../support/Webhooks.ts"

describe("withWriteSlot", () => {
  // A pool is known by its client; its `config` says how many connections it has.
  const poolOf = (maxConnections: number) => ({ config: { maxConnections } }) as unknown as SqlClient

  it.effect("one account has a quarter of the slots, all accounts together have all of them", () =>
    Effect.gen(function* () {
      const sql = poolOf(32)
      assert.strictEqual(writeSlotsOf(32), 24)
      const end = yield* Deferred.make<void>()
      const running = new Map<string, number>()
      const writeOf = (accountId: string) =>
        Effect.forkChild(
          withWriteSlot(
            sql,
            Effect.andThen(
              Effect.sync(() => running.set(accountId, (running.get(accountId) ?? 0) + 1)),
              Deferred.await(end)
            ),
            accountId
          ).effect,
          { startImmediately: true }
        )
      const fibers = []
      for (let index = 0; index < 30; index++) fibers.push(yield* writeOf("a"))
      assert.deepStrictEqual([...running], [["a", 6]])
      for (const accountId of ["b", "c", "d", "e"]) {
        for (let index = 0; index < 10; index++) fibers.push(yield* writeOf(accountId))
      }
      assert.deepStrictEqual(Object.fromEntries(running), { a: 6, b: 6, c: 6, d: 6 })
      yield* Deferred.succeed(end, undefined)
      for (const fiber of fibers) yield* Fiber.join(fiber)
      assert.deepStrictEqual(Object.fromEntries(running), { a: 30, b: 10, c: 10, d: 10, e: 10 })
    })
  )
})

layer(TestService.layer({ settings: { databaseConnections: 8 } }), { excludeTestServices: true })(
  "An account whose application is locked",
  (it) => {
    it.effect("cannot register endpoints meanwhile; another account can", () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const { makeCaller } = yield* TestService
        const one = yield* makeCaller()
        const other = yield* makeCaller()
        const endpoint = yield* registered(other.key)
        const stalled = yield* Deferred.make<void>()
        const release = yield* Deferred.make<void>()
        const lock = yield* Effect.forkChild(
          sql.withTransaction(
            Effect.gen(function* () {
              yield* sql`SELECT id FROM applications WHERE id = ${one.applicationId}::uuid FOR UPDATE`
              yield* Deferred.succeed(stalled, undefined)
              yield* Deferred.await(release)
            })
          )
        )
        yield* Deferred.await(stalled)
        // More than there are slots.
        const waiting = yield* Effect.forEach(Array.from({ length: 12 }), (_, index) =>
          Effect.forkChild(register(one.key, { url: `https://1.1.1.1/${index}`, events: ["charge.pix.paid"] }), {
            startImmediately: true
          })
        )
        // Answered while all of those wait: they end after five seconds at the earliest.
        const answer = yield* change(other.key, endpoint.id, { description: "not delayed" })
        assert.strictEqual(answer.status, 200)
        assert.isTrue(waiting.every((fiber) => fiber.pollUnsafe() === undefined))
        yield* Deferred.succeed(release, undefined)
        yield* Fiber.join(lock)
        for (const fiber of waiting) assert.include([201, 503], (yield* Fiber.join(fiber)).status)
      })
    )
  }
)
