/** How many lookups an account may have at once. */
import { assert, describe, it } from "@effect/vitest"
import { makeLookupScheduler } from "../../../src/base/network/LookupScheduler.ts"

describe("Shares of look-ups: 4 of 64 at once for an account while others want them, 16 alone", () => {
  const make = (limits: Partial<Parameters<typeof makeLookupScheduler>[0]> = {}) => {
    const started: Array<string> = []
    const refused: Array<string> = []
    const scheduler = makeLookupScheduler({
      running: 64,
      shared: 4,
      alone: 16,
      waitingOfAccount: 128,
      waiting: 4096,
      ...limits
    })
    const ask = (account: string, count = 1) =>
      Array.from({ length: count }, () => {
        const job = { account, start: () => void started.push(account), refuse: () => void refused.push(account) }
        scheduler.submit(job)
        return job
      })
    const of = (account: string, list = started) => list.filter((each) => each === account).length
    return { ...scheduler, ask, started, of, refused }
  }

  it("an account alone has 16; 4 once there is another, which starts its own at once", () => {
    const { ask, started, finished, of } = make()
    ask("a", 100)
    assert.strictEqual(of("a"), 16)
    ask("b", 100)
    assert.deepStrictEqual([of("a"), of("b")], [16, 4])
    // Of 16 that a has, 12 end before it starts another.
    for (let count = 0; count < 12; count++) finished("a")
    assert.strictEqual(of("a"), 16)
    finished("a")
    assert.strictEqual(of("a"), 17)
    finished("b")
    assert.strictEqual(of("b"), 5)
    assert.lengthOf(started, 22)
  })

  it("at most 64 in all; free ones go to the accounts in turn", () => {
    const { ask, started, counts, finished } = make()
    const accounts = Array.from({ length: 20 }, (_, index) => `account ${index}`)
    for (const account of accounts) ask(account, 10)
    assert.deepStrictEqual(counts(), { running: 64, waiting: 200 - 64 })
    const before = started.length
    // The first has 10 from when it was alone; what ends of it goes to those that have less than 4.
    for (let count = 0; count < 10; count++) finished("account 0")
    const after = started.slice(before)
    assert.lengthOf(after, 10)
    assert.deepStrictEqual(new Set(after), new Set(accounts.slice(14)))
  })

  it("128 of an account wait, one more is refused; past 4,096 the last of the longest backlog is refused", () => {
    const { ask, counts, of, refused } = make({ waiting: 300 })
    ask("a", 16 + 128)
    assert.deepStrictEqual(refused, [])
    ask("a")
    assert.deepStrictEqual(refused, ["a"])
    ask("b", 4 + 128)
    ask("c", 4 + 44)
    assert.strictEqual(counts().waiting, 300)
    ask("d", 5)
    assert.deepStrictEqual([of("a", refused) + of("b", refused), of("d", refused)], [1 + 1, 0])
    assert.strictEqual(counts().waiting, 300)
    assert.strictEqual(of("d"), 4)
  })

  it("a cancelled lookup is not started, and leaves nothing", () => {
    const { ask, counts, finished, cancel, of } = make()
    const jobs = ask("a", 20)
    for (const job of jobs.slice(16)) cancel(job)
    for (let count = 0; count < 16; count++) finished("a")
    assert.deepStrictEqual(counts(), { running: 0, waiting: 0 })
    assert.strictEqual(of("a"), 16)
    ask("a", 1)
    assert.strictEqual(of("a"), 17)
  })
})
