/** The turns of destinations with a backlog, and where sweeps go on. */
import { NIL_UUID } from "@pix-payments/domain/Uuid"
import { assert, describe, it } from "@effect/vitest"
import { makeBacklog } from "../../../src/webhooks/queue/Backlog.ts"
import { makeSweepPosition } from "../../../src/webhooks/queue/DeliverySweeps.ts"

const all = () => true

const backlogOf = (destinations: ReadonlyArray<string>) => {
  const backlog = makeBacklog()
  destinations.forEach(backlog.add)
  return backlog
}

describe("Backlog", () => {
  it("gives each destination a turn, of each account one after the other", () => {
    const backlog = backlogOf(["x/a", "x/b", "x/a", "x/c", "y/a"])
    assert.deepStrictEqual(backlog.next(all, 3), ["x/a", "y/a", "x/b"])
    // Those that had a turn come last.
    assert.deepStrictEqual(backlog.next(all, 3), ["y/a", "x/c", "x/a"])
    backlog.remove("x/b")
    backlog.remove("x/b")
    assert.isFalse(backlog.has("x/b"))
    assert.sameMembers([...backlog.next(all, 10)], ["x/a", "x/c", "y/a"])
    for (const destination of ["x/a", "x/c", "y/a"]) backlog.remove(destination)
    assert.deepStrictEqual(backlog.next(all, 10), [])
  })

  it("passes by destinations without capacity, which keep their turn", () => {
    const backlog = backlogOf(["x/a", "x/b", "y/a"])
    assert.deepStrictEqual(
      backlog.next((destination) => destination !== "x/a", 10),
      ["x/b", "y/a"]
    )
    assert.deepStrictEqual(backlog.next(all, 1), ["x/a"])
    assert.isTrue(backlog.hasNext((destination) => destination === "y/a"))
    assert.isFalse(backlog.hasNext(() => false))
  })

  it("DLV-9: has another account in the next turns, however many destinations of one account wait", () => {
    const backlog = backlogOf([...Array.from({ length: 2000 }, (_, index) => `hostile/${index}`), "other/1"])
    assert.include(backlog.next(all, 2), "other/1")
    assert.lengthOf(backlog.next(all, Infinity), 201)
  })

  it("is bounded, and has some of each account", () => {
    const backlog = makeBacklog()
    for (let account = 0; account < 500; account++) {
      for (let index = 0; index < 100; index++) backlog.add(`${account}/${index}`)
    }
    const kept = backlog.next(all, Infinity)
    assert.isAtMost(kept.length, 10_000 + 500 * 4)
    assert.strictEqual(new Set(kept.map((destination) => destination.split("/")[0])).size, 500)
    // A destination that is removed makes room for others.
    kept.forEach(backlog.remove)
    backlog.add("new/1")
    assert.deepStrictEqual(backlog.next(all, Infinity), ["new/1"])
  })
})

describe("Sweeps", () => {
  it("go on after the last account, in each unfinished account where they stopped, and round again", () => {
    const position = makeSweepPosition()
    assert.deepStrictEqual(position.next(), { afterAccount: NIL_UUID, resumed: [] })
    position.swept({ last_account: "c", due: ["a/1"], unfinished: ["a/9", "c/4"] })
    assert.deepStrictEqual(position.next(), { afterAccount: "c", resumed: ["a/9", "c/4"] })
    position.swept({ last_account: null, due: null, unfinished: ["e/9"] })
    assert.deepStrictEqual(position.next(), { afterAccount: NIL_UUID, resumed: ["a/9", "c/4", "e/9"] })
    // Account a is finished, c is not.
    position.swept({ last_account: "d", due: null, unfinished: ["c/8"] })
    assert.deepStrictEqual(position.next(), { afterAccount: "d", resumed: ["e/9", "c/8"] })
  })
})
