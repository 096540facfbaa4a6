/** The deliveries of a lane in flight, and when a round is worthwhile again. */
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { makeInFlightDeliveries } from "../../../src/webhooks/queue/InFlightDeliveries.ts"

const to = (destination: string, previousDestination = destination) => ({ destination, previousDestination })

const many = (length: number, destination: (index: number) => string) =>
  Array.from({ length }, (_, index) => to(destination(index)))

/** Deliveries of an account are found due, or the oldest of those admitted are claimed, all but every nth, or some end. */
const steps = Schema.Array(
  Schema.Tuple([
    Schema.Literals(["due", "claim", "end"]),
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 })),
    Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 600 }))
  ])
)

describe("InFlightDeliveries", () => {
  it.prop(
    "DLV-9: an account never has more than a quarter of the capacity, in whatever order claims and attempts end",
    [steps],
    ([taken]) => {
      const inFlight = makeInFlightDeliveries(768)
      const admitted: Array<ReadonlyArray<ReturnType<typeof to>>> = []
      const sent: Array<ReturnType<typeof to>> = []
      let next = 0
      for (const [step, account, n] of taken) {
        if (step === "due") {
          const due = many(n, () => `${account}/${(next += 1) % 40} of ${account}`)
          // The fan-out sends at once what it leased.
          if (account === 0) sent.push(...inFlight.admit(due, Infinity))
          else admitted.push(inFlight.admit(due, 300))
        } else if (step === "claim") {
          const replaced = admitted.shift() ?? []
          const claimed = replaced.filter((_, index) => index % (n + 1) < n).map(({ destination }) => to(destination))
          claimed.forEach(inFlight.add)
          for (const one of replaced) inFlight.remove(one)
          sent.push(...claimed)
        } else {
          for (const one of sent.splice(0, n)) inFlight.remove(one)
        }
        for (const [of, { length }] of Map.groupBy(sent, ({ destination }) => destination.split("/")[0]!)) {
          assert.isAtMost(length, 192, `account ${of}`)
        }
      }
    }
  )

  it("counts what it admits at once", () => {
    const inFlight = makeInFlightDeliveries(768)
    assert.lengthOf(
      inFlight.admit(
        many(80, () => "a/slow"),
        30
      ),
      30
    )
    assert.isUndefined(inFlight.fullScope("a/slow"))
    assert.isTrue(inFlight.isHalfFull("a/slow"))
    assert.lengthOf(
      inFlight.admit(
        many(80, () => "a/slow"),
        30
      ),
      20
    )
    assert.strictEqual(inFlight.fullScope("a/slow"), "a/slow")
    assert.isFalse(inFlight.isHalfFull("a/other"))
  })

  it("reports that half of what a destination has in flight has ended, once, and only if it refused a delivery", () => {
    const inFlight = makeInFlightDeliveries(60)
    const slow = inFlight.admit(
      many(12, () => "a/slow"),
      12
    )
    assert.lengthOf(slow, 10)
    const freed = slow.map((one) => inFlight.remove(one))
    assert.deepStrictEqual(
      freed.map((is, index) => [is, index]).filter(([is]) => is),
      [[true, 4]]
    )
    const fast = inFlight.admit(
      many(5, () => "a/slow"),
      5
    )
    assert.deepStrictEqual([...new Set(fast.map((one) => inFlight.remove(one)))], [false])
    // Nor is one that is not in flight.
    assert.isFalse(inFlight.remove(slow[4]!))
  })

  it("reports that enough of a full account has ended", () => {
    const inFlight = makeInFlightDeliveries(60)
    const all = inFlight.admit(
      many(20, (index) => `a/${index}`),
      20
    )
    assert.strictEqual(inFlight.fullScope("a/another"), "a")
    assert.isUndefined(inFlight.fullScope("b/another"))
    const freed = all.map((one) => inFlight.remove(one))
    assert.strictEqual(freed.indexOf(true), Math.ceil(all.length / 2) - 1)
  })

  it("counts a delivery that was claimed again while it was in flight until each claim completes", () => {
    const inFlight = makeInFlightDeliveries(60)
    const twice = [to("a/slow"), to("a/slow")]
    twice.forEach(inFlight.add)
    inFlight.remove(twice[0]!)
    inFlight.remove(twice[0]!)
    // One of the ten that the destination may have is in flight.
    assert.lengthOf(
      inFlight.admit(
        many(20, () => "a/slow"),
        20
      ),
      9
    )
    assert.strictEqual(inFlight.fullScope("a/slow"), "a/slow")
  })

  it("counts a delivery to a moved endpoint at both destinations", () => {
    const inFlight = makeInFlightDeliveries(768)
    const moved = Array.from({ length: 50 }, () => to("a/new", "a/old"))
    moved.forEach(inFlight.add)
    assert.deepStrictEqual(["a/new", "a/old", "a/other"].map(inFlight.fullScope), ["a/new", "a/old", undefined])
    moved.forEach((one) => inFlight.remove(one))
    assert.deepStrictEqual(["a/new", "a/old"].map(inFlight.isHalfFull), [false, false])
  })
})
