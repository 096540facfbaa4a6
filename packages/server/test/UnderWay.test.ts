/** What a lane may have under way: bounded in all and for each destination, the last places for the many. */
import { assert, describe, it } from "@effect/vitest"
import type { Claimed, ClaimedDue, SweptDue } from "../src/webhooks/DeliveryQueue.ts"
import { makeLookout } from "../src/webhooks/Lookout.ts"
import { makeUnderWay } from "../src/webhooks/UnderWay.ts"

const claimed = (id: string, destination: string, foundAt = destination): Claimed => ({
  id,
  destination,
  foundAt,
  accountId: "a",
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
    const underWay = makeUnderWay(768, 100, () => {})
    let hanging = 0
    // Each destination takes all that it may, and lets nothing go.
    while (hanging < 30) {
      const room = underWay.room()
      assert.isDefined(room, `no place left for destination ${hanging}`)
      for (let count = 0; count < room!.perDestination; count++) {
        underWay.add(claimed(`${hanging}/${count}`, `https://${hanging}.example.com`))
      }
      assert.isAtMost(room!.perDestination, 50)
      hanging++
    }
  })

  it("says when a destination that was full has let go of half, and when all places have room again", () => {
    let eased = 0
    const underWay = makeUnderWay(60, 10, () => void eased++)
    const many = Array.from({ length: 12 }, (_, index) => claimed(String(index), "https://slow.example.com"))
    for (const each of many) underWay.add(each)
    assert.deepStrictEqual(underWay.room()?.full, new Set(["https://slow.example.com"]))
    for (const each of many.slice(0, 5)) underWay.remove(each)
    // Looked at meanwhile: it is still waited for.
    assert.deepStrictEqual(underWay.room()?.full, new Set())
    assert.strictEqual(eased, 0)
    underWay.remove(many[5]!)
    assert.strictEqual(eased, 1)
    underWay.remove(many[5]!)
    assert.strictEqual(underWay.ids().length, 6)
  })

  it("gives back the places of what was claimed again while it was under way", () => {
    const underWay = makeUnderWay(60, 10, () => {})
    const twice = Array.from({ length: 2 }, () => claimed("1", "https://slow.example.com"))
    for (let round = 0; round < 3; round++) {
      for (const each of twice) underWay.add(each)
      assert.deepStrictEqual(underWay.ids(), ["1"])
      for (const each of twice) underWay.remove(each)
    }
    // Nine of the eleven that it may have.
    for (let index = 0; index < 9; index++) underWay.add(claimed(`other ${index}`, "https://slow.example.com"))
    assert.deepStrictEqual(underWay.room(), { limit: 10, perDestination: 11, full: new Set<string>() })
  })

  it("counts what goes to a moved endpoint where it was found too", () => {
    const underWay = makeUnderWay(768, 100, () => {})
    for (let index = 0; index < 50; index++) {
      underWay.add(claimed(String(index), "https://new.example.com", "https://old.example.com"))
    }
    assert.deepStrictEqual(underWay.room()?.full, new Set(["https://new.example.com", "https://old.example.com"]))
  })
})

describe("Lookout", () => {
  const room = { limit: 10, perDestination: 5, full: new Set<string>() }
  const due = (found: Readonly<Record<string, number>>, more: Partial<ClaimedDue> = {}): ClaimedDue => ({
    claimed: [],
    found: new Map(Object.entries(found)),
    count: Object.values(found).reduce((sum, each) => sum + each, 0),
    reached: { dueAt: "2026-01-01 00:00:00+00", id: "00000000-0000-0000-0000-000000000000" },
    isCaughtUp: true,
    cut: [],
    nextInMs: undefined,
    ...more
  })

  it("asks for what a claim left, until a claim with room finds no more", () => {
    const lookout = makeLookout()
    assert.isTrue(lookout.claimed(due({ a: 5, b: 2 }, { cut: ["c"] }), [], room))
    assert.deepStrictEqual(lookout.ask(room).behind, ["c", "a"])
    // Full: there may be more at each of them; who had something comes last.
    assert.isTrue(lookout.claimed(due({ c: 4, d: 6 }), ["c", "a"], room))
    assert.deepStrictEqual(lookout.ask(room).behind, ["a", "c", "d"])
    assert.isTrue(lookout.claimed(due({ a: 1 }), ["a", "c", "d"], room))
    assert.deepStrictEqual(lookout.ask(room).behind, [])
    assert.isFalse(lookout.claimed(due({}), [], room))
  })

  it("passes by what is full, and asks for it when it is not", () => {
    const lookout = makeLookout()
    assert.deepInclude(lookout.ask({ ...room, full: new Set(["a"]) }), { except: ["a"], behind: [] })
    assert.deepInclude(lookout.ask(room), { except: ["a"], behind: ["a"] })
  })

  it("goes on for as long as destinations wait to be asked", () => {
    const lookout = makeLookout()
    const full = new Set(Array.from({ length: 45 }, (_, index) => `${index}`))
    lookout.ask({ ...room, full })
    let claims = 0
    for (let goesOn = true; goesOn; claims++) goesOn = lookout.claimed(due({}), lookout.ask(room).behind, room)
    assert.strictEqual(claims, 3)
    assert.deepStrictEqual(lookout.ask(room).behind, [])
  })

  it("sweeps on from where a full sweep ended, and round again", () => {
    const lookout = makeLookout()
    const swept = (found: Readonly<Record<string, number>>, walkedTo?: string): SweptDue => ({
      ...due(found),
      walkedTo
    })
    assert.isTrue(lookout.swept(swept({ a: 5, b: 3, c: 2 }), room))
    assert.deepStrictEqual(lookout.sweep(room), { after: "c", except: ["a", "c"] })
    assert.isFalse(lookout.swept(swept({ d: 1 }, "k"), room))
    assert.deepInclude(lookout.sweep(room), { after: "k" })
    assert.isFalse(lookout.swept(swept({ m: 1 }), room))
    assert.deepInclude(lookout.sweep(room), { after: "" })
  })
})
