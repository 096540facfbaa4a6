/** Cached names, and names that are never answered. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { lookupLimits } from "../../../src/base/network/LookupScheduler.ts"
import { makeNameLookups } from "../../../src/base/network/NameLookups.ts"
import { withNames, somewhere, isSilent, soon } from "../../support/Names.ts"

describe("What is kept of names", () => {
  it.effect("is bounded: the 4,097th takes the place of the first", () =>
    Effect.gen(function* () {
      const asked: Array<string> = []
      const { counts, lookUp } = makeNameLookups(
        (name) => {
          asked.push(name)
          return Promise.resolve({ _tag: "NoSuchName" })
        },
        lookupLimits,
        () => 0
      )
      const ask = (index: number) => lookUp("account", { name: `n${index}.test`, isAbsolute: false })
      for (let index = 0; index < 4096; index++) yield* ask(index)
      yield* ask(0)
      assert.lengthOf(asked, 4096)
      yield* ask(4096)
      yield* ask(1)
      assert.lengthOf(asked, 4097)
      yield* ask(0)
      assert.lengthOf(asked, 4098)
      assert.deepStrictEqual(counts(), { running: 0, waiting: 0 })
    })
  )

  it.effect("does not hold a failure of the query itself against anybody: its place is given back", () =>
    Effect.gen(function* () {
      const { counts, lookUp } = makeNameLookups(
        () => Promise.reject(new Error("no sockets")),
        lookupLimits,
        () => 0
      )
      const lookup = yield* lookUp("account", { name: "a.test", isAbsolute: false })
      assert.strictEqual(lookup._tag, "NotAnswered")
      assert.deepStrictEqual(counts(), { running: 0, waiting: 0 })
    })
  )
})

describe("400 names of one account that are never answered", () => {
  it.effect("take 16 slots, 4 once another account looks up names, and none of the others'", () =>
    Effect.gen(function* () {
      const { reached, server } = yield* withNames((question) => (isSilent(question) ? "silence" : somewhere))
      const silent = () => server.names().filter((name) => name.endsWith(".silent.test"))
      const results: Array<string> = []
      const hostile = yield* Effect.forEach(Array.from({ length: 400 }), (_, index) =>
        Effect.forkChild(Effect.map(reached(`n${index}.silent.test`, "hostile"), (result) => void results.push(result)))
      )
      yield* soon(() => silent().length === 16)
      // Look-ups beyond the queue have failed at once.
      yield* soon(() => results.length === 400 - 16 - 128)
      assert.deepStrictEqual(new Set(results), new Set(["too many name look-ups"]))
      for (let account = 0; account < 20; account++) {
        const found = yield* Effect.forEach(
          Array.from({ length: 10 }),
          (_, index) => reached(`n${index}.account${account}.test`, `account ${account}`),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(new Set(found), new Set(["1.1.1.1,2606:4700:4700::1111"]))
      }
      assert.lengthOf(silent(), 16)
      yield* Fiber.interruptAll(hostile)
    })
  )

  it.effect("that start during lookups of another account take 4 slots", () =>
    Effect.gen(function* () {
      const { reached, server } = yield* withNames(() => "silence")
      const of = (zone: string) => server.names().filter((name) => name.endsWith(zone))
      const begin = (count: number, zone: string, account: string) =>
        Effect.forEach(Array.from({ length: count }), (_, index) =>
          Effect.forkChild(reached(`n${index}${zone}`, account))
        )
      const other = yield* begin(2, ".other.silent.test", "other")
      yield* soon(() => of(".other.silent.test").length === 2)
      const hostile = yield* begin(400, ".hostile.silent.test", "hostile")
      yield* soon(() => of(".hostile.silent.test").length === 4)
      const third = yield* begin(10, ".third.silent.test", "third")
      yield* soon(() => of(".third.silent.test").length === 4)
      assert.deepStrictEqual([of(".other.silent.test").length, of(".hostile.silent.test").length], [2, 4])
      yield* Fiber.interruptAll([...other, ...hostile, ...third])
    })
  )
})
