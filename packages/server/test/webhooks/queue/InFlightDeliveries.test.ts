/** The capacity of a lane, shared by account, then by destination; and where its claims begin. */
import { assert, describe, it } from "@effect/vitest"
import { makeClaimCursor } from "../../../src/webhooks/queue/ClaimCursor.ts"
import { accountOf, type ClaimedDelivery, destinationKey } from "../../../src/webhooks/deliveries/Delivery.ts"
import type { ClaimResult } from "../../../src/webhooks/queue/DeliveryClaims.ts"
import type { SweepResult } from "../../../src/webhooks/queue/DeliverySweeps.ts"
import { makeInFlightDeliveries } from "../../../src/webhooks/queue/InFlightDeliveries.ts"

const claimed = (id: string, destination: string, previousDestination = destination): ClaimedDelivery => ({
  id,
  accountId: accountOf(destination),
  destination,
  previousDestination,
  event: "charge.pix.paid",
  endpointId: null,
  resourceId: id,
  url: destination,
  sealedSecret: null,
  attemptsMade: 0,
  curveFrom: 0,
  unstored: undefined,
  body: "{}"
})

describe("InFlightDeliveries", () => {
  it("is bounded by destination, and leaves capacity for others", () => {
    const inFlight = makeInFlightDeliveries(768, 100, () => {})
    let hanging = 0
    // Each destination takes all that it may, and nothing completes.
    while (hanging < 30) {
      const capacity = inFlight.capacity()
      assert.isDefined(capacity, `no capacity left for destination ${hanging}`)
      for (let count = 0; count < capacity!.perDestination; count++) {
        inFlight.add(claimed(`${hanging}/${count}`, destinationKey(`account ${hanging}`, `origin ${hanging}`)))
      }
      assert.isAtMost(capacity!.perDestination, 50)
      hanging++
    }
  })

  it("counts what is in flight for a destination", () => {
    const inFlight = makeInFlightDeliveries(768, 100, () => {})
    const moved = claimed("2", "a/new", "a/old")
    for (const each of [claimed("1", "a/new"), moved]) inFlight.add(each)
    assert.deepStrictEqual(["a/new", "a/old", "a/other"].map(inFlight.countOf), [2, 1, 0])
    inFlight.remove(moved)
    assert.deepStrictEqual(["a/new", "a/old"].map(inFlight.countOf), [1, 0])
  })

  it("signals when half of a saturated destination has completed, and when a full claim has capacity again", () => {
    let freed = 0
    const inFlight = makeInFlightDeliveries(60, 10, () => void freed++)
    const many = Array.from({ length: 12 }, (_, index) => claimed(String(index), "a/slow"))
    for (const each of many) inFlight.add(each)
    assert.deepStrictEqual(inFlight.capacity()?.saturatedDestinations, new Set(["a/slow"]))
    for (const each of many.slice(0, 5)) inFlight.remove(each)
    // Asking for the capacity meanwhile does not lose the signal.
    assert.deepStrictEqual(inFlight.capacity()?.saturatedDestinations, new Set())
    assert.strictEqual(freed, 0)
    inFlight.remove(many[5]!)
    assert.strictEqual(freed, 1)
    inFlight.remove(many[5]!)
    assert.lengthOf(inFlight.all(), 6)
  })

  it("counts a delivery that was claimed again while it was in flight until each claim completes", () => {
    const inFlight = makeInFlightDeliveries(60, 10, () => {})
    const twice = Array.from({ length: 2 }, () => claimed("1", "a/slow"))
    for (let round = 0; round < 3; round++) {
      for (const each of twice) inFlight.add(each)
      assert.deepStrictEqual(inFlight.all(), twice)
      for (const each of twice) inFlight.remove(each)
    }
    // Nine of the eleven that it may have.
    for (let index = 0; index < 9; index++) inFlight.add(claimed(`other ${index}`, "a/slow"))
    assert.deepStrictEqual(inFlight.capacity(), {
      limit: 10,
      perAccount: 17,
      perDestination: 11,
      perOrigin: 22,
      saturatedAccounts: new Set<string>(),
      saturatedDestinations: new Set<string>(),
      saturatedOrigins: new Set<string>()
    })
  })

  it("counts a delivery to a moved endpoint at both destinations", () => {
    const inFlight = makeInFlightDeliveries(768, 100, () => {})
    for (let index = 0; index < 50; index++) {
      inFlight.add(claimed(String(index), "a/new", "a/old"))
    }
    assert.deepStrictEqual(inFlight.capacity()?.saturatedDestinations, new Set(["a/new", "a/old"]))
  })
})

describe("Capacity by account", () => {
  /** An account takes all that it may at its own destinations, and nothing completes. Returns how many. */
  const hang = (inFlight: ReturnType<typeof makeInFlightDeliveries>, account: string): number => {
    let taken = 0
    for (let destination = 0; ; destination++) {
      const capacity = inFlight.capacity()
      if (capacity === undefined || capacity.saturatedAccounts.has(account)) return taken
      for (let count = 0; count < capacity.perDestination; count++) {
        if (inFlight.capacity()?.saturatedAccounts.has(account) !== false) return taken
        inFlight.add(
          claimed(`${account}/${destination}/${count}`, destinationKey(account, `${account} ${destination}`))
        )
        taken++
      }
    }
  }

  it("2,000 names of one account that hang take a quarter of the capacity", () => {
    const inFlight = makeInFlightDeliveries(768, 100, () => {})
    assert.strictEqual(hang(inFlight, "hostile"), 192)
    const capacity = inFlight.capacity()
    assert.deepStrictEqual(capacity?.saturatedAccounts, new Set(["hostile"]))
    assert.strictEqual(capacity?.limit, 100)
    assert.strictEqual(capacity?.perDestination, 50)
  })

  it("each further account that hangs has capacity for at least four", () => {
    const inFlight = makeInFlightDeliveries(768, 100, () => {})
    const taken = Array.from({ length: 16 }, (_, index) => hang(inFlight, `account ${index}`))
    assert.deepStrictEqual(taken.slice(0, 4), [192, 144, 108, 81])
    assert.isAtLeast(Math.min(...taken), 4)
    assert.isDefined(inFlight.capacity())
  })

  it("accounts that share an origin that hangs take twice the limit of one account there", () => {
    const inFlight = makeInFlightDeliveries(768, 100, () => {})
    for (let account = 0; account < 100; account++) {
      const capacity = inFlight.capacity()
      if (capacity?.saturatedOrigins.has("shared") === true) break
      inFlight.add(claimed(String(account), destinationKey(`account ${account}`, "shared")))
    }
    assert.lengthOf(inFlight.all(), 100)
    assert.isTrue(inFlight.capacity()?.saturatedOrigins.has("shared"))
  })

  it("signals when enough of a saturated account has completed", () => {
    let freed = 0
    const inFlight = makeInFlightDeliveries(60, 10, () => void freed++)
    const many = Array.from({ length: 16 }, (_, index) => claimed(String(index), destinationKey("a", String(index))))
    for (const each of many) inFlight.add(each)
    assert.deepStrictEqual(inFlight.capacity()?.saturatedAccounts, new Set(["a"]))
    for (const each of many.slice(0, 7)) inFlight.remove(each)
    assert.strictEqual(freed, 0)
    inFlight.remove(many[7]!)
    assert.strictEqual(freed, 1)
  })
})

describe("ClaimCursor", () => {
  const none = new Set<string>()
  const limits = { limit: 10, perAccount: 50, perDestination: 5, perOrigin: 10 }
  const capacity = { ...limits, saturatedAccounts: none, saturatedDestinations: none, saturatedOrigins: none }
  const due = (found: Readonly<Record<string, number>>, more: Partial<ClaimResult> = {}): ClaimResult => ({
    claimed: [],
    found: new Map(Object.entries(found)),
    count: Object.values(found).reduce((sum, each) => sum + each, 0),
    reached: { dueAt: "2026-01-01 00:00:00+00", id: "00000000-0000-0000-0000-000000000000" },
    isCaughtUp: true,
    truncated: [],
    locked: none,
    nextInMs: undefined,
    ...more
  })

  it("takes turns at what a claim left, until a claim that is not full finds no more", () => {
    const cursor = makeClaimCursor()
    assert.isTrue(cursor.claimed(due({ "x/a": 5, "x/b": 2 }, { truncated: ["x/c"] }), [], capacity))
    assert.deepStrictEqual(cursor.nextClaim(capacity).backlogged, ["x/c", "x/a"])
    // A full claim: there may be more at each of them; those with deliveries come last.
    assert.isTrue(cursor.claimed(due({ "x/c": 4, "x/d": 6 }), ["x/c", "x/a"], capacity))
    assert.deepStrictEqual(cursor.nextClaim(capacity).backlogged, ["x/a", "x/c", "x/d"])
    assert.isTrue(cursor.claimed(due({ "x/a": 1 }), ["x/a", "x/c", "x/d"], capacity))
    assert.deepStrictEqual(cursor.nextClaim(capacity).backlogged, [])
    assert.isFalse(cursor.claimed(due({}), [], capacity))
  })

  it("repeats destinations whose endpoint is locked", () => {
    const cursor = makeClaimCursor()
    cursor.claimed(due({ "x/a": 1 }, { locked: new Set(["x/a"]) }), [], capacity)
    assert.deepInclude(cursor.nextClaim(capacity), { excluded: ["x/a"], backlogged: ["x/a"] })
    cursor.claimed(due({ "x/a": 1 }, { locked: new Set(["x/a"]) }), ["x/a"], capacity)
    assert.deepInclude(cursor.nextClaim(capacity), { backlogged: ["x/a"] })
    cursor.claimed(due({ "x/a": 1 }), ["x/a"], capacity)
    assert.deepInclude(cursor.nextClaim(capacity), { excluded: [], backlogged: [] })
  })

  it("excludes saturated destinations, and gives them a turn when they are not", () => {
    const cursor = makeClaimCursor()
    assert.deepInclude(cursor.nextClaim({ ...capacity, saturatedDestinations: new Set(["x/a"]) }), {
      excluded: ["x/a"],
      backlogged: []
    })
    assert.deepInclude(cursor.nextClaim({ ...capacity, saturatedAccounts: new Set(["x"]) }), {
      excluded: ["x/a"],
      backlogged: []
    })
    assert.deepInclude(cursor.nextClaim(capacity), { excluded: ["x/a"], backlogged: ["x/a"] })
  })

  it("continues while backlogged destinations wait for their turn", () => {
    const cursor = makeClaimCursor()
    const saturatedDestinations = new Set(Array.from({ length: 45 }, (_, index) => `${index % 5}/${index}`))
    cursor.nextClaim({ ...capacity, saturatedDestinations })
    let claims = 0
    for (let isMore = true; isMore; claims++)
      isMore = cursor.claimed(due({}), cursor.nextClaim(capacity).backlogged, capacity)
    assert.strictEqual(claims, 3)
    assert.deepStrictEqual(cursor.nextClaim(capacity).backlogged, [])
  })

  it("takes one account's destination in the next claim, however many of another's are backlogged", () => {
    const cursor = makeClaimCursor()
    cursor.addBacklogged(Array.from({ length: 2000 }, (_, index) => `hostile/${index}`))
    cursor.addBacklogged(["other/1"])
    const { backlogged, excluded } = cursor.nextClaim(capacity)
    assert.include(backlogged, "other/1")
    // As many as the account may have in flight; and the parameters of a claim are bounded.
    assert.lengthOf(backlogged, 11)
    assert.lengthOf(excluded, 201)
    // The account had its turn, and comes after all others.
    cursor.claimed(due(Object.fromEntries(backlogged.map((destination) => [destination, 1]))), backlogged, capacity)
    cursor.addBacklogged(["other/2"])
    assert.strictEqual(cursor.nextClaim(capacity).backlogged[0], "hostile/10")
    assert.include(cursor.nextClaim(capacity).backlogged, "other/2")
  })

  it("excludes a bounded number, however many accounts have many backlogged, and some of each", () => {
    const cursor = makeClaimCursor()
    for (let account = 0; account < 500; account++) {
      cursor.addBacklogged(Array.from({ length: 100 }, (_, index) => `${account}/${index}`))
    }
    const { backlogged, excluded } = cursor.nextClaim(capacity)
    assert.isAtMost(excluded.length, 10_000 + 500 * 4)
    assert.strictEqual(new Set(excluded.map(accountOf)).size, 500)
    // Destinations without a backlog make room for others.
    cursor.claimed(due({}), backlogged, capacity)
    cursor.addBacklogged(["new/1"])
    assert.include(cursor.nextClaim(capacity).excluded, "new/1")
  })

  it("sweeps on from the account where a full sweep ended, and round again", () => {
    const cursor = makeClaimCursor()
    const swept = (found: Readonly<Record<string, number>>, more: Partial<SweepResult> = {}): SweepResult => ({
      ...due(found),
      lastAccount: undefined,
      visitedAccounts: [],
      unfinished: [],
      ...more
    })
    // Full within account c: the next begins after it, and c resumes where the sweep stopped.
    const visitedAccounts = ["a", "b", "c", "d"]
    assert.isTrue(
      cursor.swept(swept({ "a/1": 5, "c/1": 3, "c/2": 2 }, { visitedAccounts, unfinished: ["d/9"] }), capacity)
    )
    assert.deepStrictEqual(cursor.nextSweep(capacity), { afterAccount: "c", excluded: ["a/1", "c/2"], resume: ["c/2"] })
    assert.isFalse(
      cursor.swept(
        swept({ "d/1": 1 }, { lastAccount: "k", visitedAccounts: ["d", "k"], unfinished: ["d/20"] }),
        capacity
      )
    )
    assert.deepInclude(cursor.nextSweep(capacity), { afterAccount: "k", resume: ["c/2", "d/20"] })
    assert.isFalse(cursor.swept(swept({ "m/1": 1 }, { visitedAccounts: ["m"] }), capacity))
    assert.deepInclude(cursor.nextSweep(capacity), { afterAccount: "" })
    // Visited to the end: from the beginning again.
    assert.isFalse(cursor.swept(swept({}, { visitedAccounts: ["a", "c", "d"] }), capacity))
    assert.deepInclude(cursor.nextSweep(capacity), { resume: [] })
  })
})
