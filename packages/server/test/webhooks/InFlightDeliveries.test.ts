/** What a lane may have under way: shared by account, then by destination, the last places for the many. */
import { assert, describe, it } from "@effect/vitest"
import type { Claimed, ClaimedDue, SweptDue } from "../../src/webhooks/DeliveryQueue.ts"
import { accountOf, placeOf } from "../../src/webhooks/Claimed.ts"
import { makeClaimCursor } from "../../src/webhooks/ClaimCursor.ts"
import { makeInFlightDeliveries } from "../../src/webhooks/InFlightDeliveries.ts"

const claimed = (id: string, destination: string, foundAt = destination): Claimed => ({
  id,
  accountId: accountOf(destination),
  destination,
  foundAt,
  event: "charge.pix.paid",
  endpointId: null,
  resourceId: id,
  url: destination,
  sealedSecret: null,
  attemptsMade: 0,
  curveFrom: 0,
  body: "{}"
})

describe("UnderWay", () => {
  it("is bounded for each destination, and leaves the last places to the many", () => {
    const underWay = makeInFlightDeliveries(768, 100, () => {})
    let hanging = 0
    // Each destination takes all that it may, and lets nothing go.
    while (hanging < 30) {
      const room = underWay.room()
      assert.isDefined(room, `no place left for destination ${hanging}`)
      for (let count = 0; count < room!.perDestination; count++) {
        underWay.add(claimed(`${hanging}/${count}`, placeOf(`account ${hanging}`, `origin ${hanging}`)))
      }
      assert.isAtMost(room!.perDestination, 50)
      hanging++
    }
  })

  it("says when a destination that was full has let go of half, and when all places have room again", () => {
    let eased = 0
    const underWay = makeInFlightDeliveries(60, 10, () => void eased++)
    const many = Array.from({ length: 12 }, (_, index) => claimed(String(index), "a/slow"))
    for (const each of many) underWay.add(each)
    assert.deepStrictEqual(underWay.room()?.full, new Set(["a/slow"]))
    for (const each of many.slice(0, 5)) underWay.remove(each)
    // Looked at meanwhile: it is still waited for.
    assert.deepStrictEqual(underWay.room()?.full, new Set())
    assert.strictEqual(eased, 0)
    underWay.remove(many[5]!)
    assert.strictEqual(eased, 1)
    underWay.remove(many[5]!)
    assert.lengthOf(underWay.all(), 6)
  })

  it("gives back the places of what was claimed again while it was under way", () => {
    const underWay = makeInFlightDeliveries(60, 10, () => {})
    const twice = Array.from({ length: 2 }, () => claimed("1", "a/slow"))
    for (let round = 0; round < 3; round++) {
      for (const each of twice) underWay.add(each)
      assert.deepStrictEqual(underWay.all(), twice)
      for (const each of twice) underWay.remove(each)
    }
    // Nine of the eleven that it may have.
    for (let index = 0; index < 9; index++) underWay.add(claimed(`other ${index}`, "a/slow"))
    assert.deepStrictEqual(underWay.room(), {
      limit: 10,
      perAccount: 17,
      perDestination: 11,
      perOrigin: 22,
      fullAccounts: new Set<string>(),
      full: new Set<string>(),
      fullOrigins: new Set<string>()
    })
  })

  it("counts what goes to a moved endpoint where it was found too", () => {
    const underWay = makeInFlightDeliveries(768, 100, () => {})
    for (let index = 0; index < 50; index++) {
      underWay.add(claimed(String(index), "a/new", "a/old"))
    }
    assert.deepStrictEqual(underWay.room()?.full, new Set(["a/new", "a/old"]))
  })
})

describe("Places by account", () => {
  /** An account takes all that it may at destinations of its own, and lets nothing go. */
  const hang = (underWay: ReturnType<typeof makeInFlightDeliveries>, account: string): number => {
    let taken = 0
    for (let destination = 0; ; destination++) {
      const room = underWay.room()
      if (room === undefined || room.fullAccounts.has(account)) return taken
      for (let count = 0; count < room.perDestination; count++) {
        if (underWay.room()?.fullAccounts.has(account) !== false) return taken
        underWay.add(claimed(`${account}/${destination}/${count}`, placeOf(account, `${account} ${destination}`)))
        taken++
      }
    }
  }

  it("2,000 names of one account that hang take a quarter of the places", () => {
    const underWay = makeInFlightDeliveries(768, 100, () => {})
    assert.strictEqual(hang(underWay, "hostile"), 192)
    const room = underWay.room()
    assert.deepStrictEqual(room?.fullAccounts, new Set(["hostile"]))
    assert.strictEqual(room?.limit, 100)
    assert.strictEqual(room?.perDestination, 50)
  })

  it("each further account that hangs finds places, and has four at the least", () => {
    const underWay = makeInFlightDeliveries(768, 100, () => {})
    const taken = Array.from({ length: 16 }, (_, index) => hang(underWay, `account ${index}`))
    assert.deepStrictEqual(taken.slice(0, 4), [192, 144, 108, 81])
    assert.isAtLeast(Math.min(...taken), 4)
    assert.isDefined(underWay.room())
  })

  it("accounts that share an origin that hangs take twice what one may have there", () => {
    const underWay = makeInFlightDeliveries(768, 100, () => {})
    for (let account = 0; account < 100; account++) {
      const room = underWay.room()
      if (room?.fullOrigins.has("shared") === true) break
      underWay.add(claimed(String(account), placeOf(`account ${account}`, "shared")))
    }
    assert.lengthOf(underWay.all(), 100)
    assert.isTrue(underWay.room()?.fullOrigins.has("shared"))
  })

  it("says when an account that was full has let go of enough", () => {
    let eased = 0
    const underWay = makeInFlightDeliveries(60, 10, () => void eased++)
    const many = Array.from({ length: 16 }, (_, index) => claimed(String(index), placeOf("a", String(index))))
    for (const each of many) underWay.add(each)
    assert.deepStrictEqual(underWay.room()?.fullAccounts, new Set(["a"]))
    for (const each of many.slice(0, 7)) underWay.remove(each)
    assert.strictEqual(eased, 0)
    underWay.remove(many[7]!)
    assert.strictEqual(eased, 1)
  })
})

describe("Lookout", () => {
  const none = new Set<string>()
  const limits = { limit: 10, perAccount: 50, perDestination: 5, perOrigin: 10 }
  const room = { ...limits, fullAccounts: none, full: none, fullOrigins: none }
  const due = (found: Readonly<Record<string, number>>, more: Partial<ClaimedDue> = {}): ClaimedDue => ({
    claimed: [],
    found: new Map(Object.entries(found)),
    count: Object.values(found).reduce((sum, each) => sum + each, 0),
    reached: { dueAt: "2026-01-01 00:00:00+00", id: "00000000-0000-0000-0000-000000000000" },
    isCaughtUp: true,
    cut: [],
    locked: none,
    nextInMs: undefined,
    ...more
  })

  it("asks for what a claim left, until a claim with room finds no more", () => {
    const lookout = makeClaimCursor()
    assert.isTrue(lookout.claimed(due({ "x/a": 5, "x/b": 2 }, { cut: ["x/c"] }), [], room))
    assert.deepStrictEqual(lookout.ask(room).behind, ["x/c", "x/a"])
    // Full: there may be more at each of them; who had something comes last.
    assert.isTrue(lookout.claimed(due({ "x/c": 4, "x/d": 6 }), ["x/c", "x/a"], room))
    assert.deepStrictEqual(lookout.ask(room).behind, ["x/a", "x/c", "x/d"])
    assert.isTrue(lookout.claimed(due({ "x/a": 1 }), ["x/a", "x/c", "x/d"], room))
    assert.deepStrictEqual(lookout.ask(room).behind, [])
    assert.isFalse(lookout.claimed(due({}), [], room))
  })

  it("asks again for what waits for an endpoint that is locked", () => {
    const cursor = makeClaimCursor()
    cursor.claimed(due({ "x/a": 1 }, { locked: new Set(["x/a"]) }), [], room)
    assert.deepInclude(cursor.ask(room), { except: ["x/a"], behind: ["x/a"] })
    cursor.claimed(due({ "x/a": 1 }, { locked: new Set(["x/a"]) }), ["x/a"], room)
    assert.deepInclude(cursor.ask(room), { behind: ["x/a"] })
    cursor.claimed(due({ "x/a": 1 }), ["x/a"], room)
    assert.deepInclude(cursor.ask(room), { except: [], behind: [] })
  })

  it("passes by what is full, and asks for it when it is not", () => {
    const lookout = makeClaimCursor()
    assert.deepInclude(lookout.ask({ ...room, full: new Set(["x/a"]) }), { except: ["x/a"], behind: [] })
    assert.deepInclude(lookout.ask({ ...room, fullAccounts: new Set(["x"]) }), { except: ["x/a"], behind: [] })
    assert.deepInclude(lookout.ask(room), { except: ["x/a"], behind: ["x/a"] })
  })

  it("goes on for as long as destinations wait to be asked", () => {
    const lookout = makeClaimCursor()
    const full = new Set(Array.from({ length: 45 }, (_, index) => `${index % 5}/${index}`))
    lookout.ask({ ...room, full })
    let claims = 0
    for (let goesOn = true; goesOn; claims++) goesOn = lookout.claimed(due({}), lookout.ask(room).behind, room)
    assert.strictEqual(claims, 3)
    assert.deepStrictEqual(lookout.ask(room).behind, [])
  })

  it("asks for one account's destination in the next claim, however many of another's are behind", () => {
    const lookout = makeClaimCursor()
    lookout.left(Array.from({ length: 2000 }, (_, index) => `hostile/${index}`))
    lookout.left(["other/1"])
    const { behind, except } = lookout.ask(room)
    assert.include(behind, "other/1")
    // As many as the account may have under way; and what is passed along with a claim is bounded.
    assert.lengthOf(behind, 11)
    assert.lengthOf(except, 201)
    // It had its turn, and comes after all others.
    lookout.claimed(due(Object.fromEntries(behind.map((place) => [place, 1]))), behind, room)
    lookout.left(["other/2"])
    assert.strictEqual(lookout.ask(room).behind[0], "hostile/10")
    assert.include(lookout.ask(room).behind, "other/2")
  })

  it("passes along a bounded number with a claim, however many accounts have many behind, and some of each", () => {
    const lookout = makeClaimCursor()
    for (let account = 0; account < 500; account++) {
      lookout.left(Array.from({ length: 100 }, (_, index) => `${account}/${index}`))
    }
    const { behind, except } = lookout.ask(room)
    assert.isAtMost(except.length, 10_000 + 500 * 4)
    assert.strictEqual(new Set(except.map(accountOf)).size, 500)
    // What is done makes room again.
    lookout.claimed(due({}), behind, room)
    lookout.left(["new/1"])
    assert.include(lookout.ask(room).except, "new/1")
  })

  it("sweeps on from the account where a full sweep ended, and round again", () => {
    const lookout = makeClaimCursor()
    const swept = (found: Readonly<Record<string, number>>, more: Partial<SweptDue> = {}): SweptDue => ({
      ...due(found),
      walkedTo: undefined,
      walked: [],
      unfinished: [],
      ...more
    })
    // Full in the midst of account c: the next begins behind it, and c goes on where it was left.
    const walked = ["a", "b", "c", "d"]
    assert.isTrue(lookout.swept(swept({ "a/1": 5, "c/1": 3, "c/2": 2 }, { walked, unfinished: ["d/9"] }), room))
    assert.deepStrictEqual(lookout.sweep(room), { after: "c", except: ["a/1", "c/2"], resume: ["c/2"] })
    assert.isFalse(
      lookout.swept(swept({ "d/1": 1 }, { walkedTo: "k", walked: ["d", "k"], unfinished: ["d/20"] }), room)
    )
    assert.deepInclude(lookout.sweep(room), { after: "k", resume: ["c/2", "d/20"] })
    assert.isFalse(lookout.swept(swept({ "m/1": 1 }, { walked: ["m"] }), room))
    assert.deepInclude(lookout.sweep(room), { after: "" })
    // Seen to the end: from its beginning again.
    assert.isFalse(lookout.swept(swept({}, { walked: ["a", "c", "d"] }), room))
    assert.deepInclude(lookout.sweep(room), { resume: [] })
  })
})
