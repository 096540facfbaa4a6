/** Which deliveries are sent now: within the limits, all that fit, in turns, in their order. */
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import { accountOf, destinationKey, originOf } from "../../../src/webhooks/deliveries/Delivery.ts"
import {
  admit,
  type Candidate,
  count,
  type Counters,
  countersOf,
  fullScope,
  scopesOf
} from "../../../src/webhooks/queue/Admission.ts"

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

/** One in two origins is used by several accounts. */
const destinations = Schema.Tuple([between(0, 4), between(0, 5)])

const keyOf = ([account, origin]: readonly [number, number]): string =>
  destinationKey(`account ${account}`, origin % 2 === 0 ? `shared ${origin}` : `origin ${origin} of ${account}`)

/** What is in flight after these were admitted one by one, in this order. */
const inFlightOf = (most: number, admitted: ReadonlyArray<string>, before?: Counters) => {
  const counters = countersOf(before ?? { most, counts: new Map(), accounts: 0 })
  for (const destination of admitted) count(counters, scopesOf(destination), 1)
  return counters
}

interface Numbered extends Candidate {
  readonly number: number
}

/** The capacity, a load within or beyond the limits, candidates, and the limit of the round. */
const round = Schema.Tuple([between(1, 300), Schema.Array(destinations), Schema.Array(destinations), between(0, 80)])

const loadOf = ([most, load]: typeof round.Type) => inFlightOf(most, load.map(keyOf))

const admittedOf = (input: typeof round.Type) => {
  const [most, , due, limit] = input
  const before = loadOf(input)
  const candidates = due
    .flatMap((one) => Array.from({ length: 1 + (one[0] % 3) * 7 }, () => keyOf(one)))
    .map((destination, number): Numbered => ({ destination, number }))
  const { admitted, full } = admit(candidates, before, limit)
  const taken = new Set(admitted)
  const after = inFlightOf(
    most,
    admitted.map(({ destination }) => destination),
    before
  )
  return { before, candidates, admitted, full, after, limit, refused: candidates.filter((one) => !taken.has(one)) }
}

const countBy = (all: ReadonlyArray<Candidate>, by: (destination: string) => string): ReadonlyMap<string, number> =>
  new Map([...Map.groupBy(all, ({ destination }) => by(destination))].map(([key, { length }]) => [key, length]))

describe("Admission", () => {
  it.prop(
    "DLV-9: never exceeds the limits: in all, of an account, of an origin, of a destination",
    [round],
    ([input]) => {
      const { admitted, after, before, limit } = admittedOf(input)
      assert.isAtMost(admitted.length, limit)
      for (const [scope, of] of after.counts) {
        const earlier = before.counts.get(scope) ?? 0
        const isAccount = scope !== "" && !scope.includes("/")
        const most =
          scope === ""
            ? after.most
            : isAccount
              ? Math.max(4, Math.ceil(after.most / 3))
              : scope.startsWith("/")
                ? Math.min(100, 2 * Math.ceil(after.most / 5))
                : Math.min(50, Math.ceil(after.most / 5))
        assert.isAtMost(of, Math.max(earlier, most), scope)
      }
      // As little is left for others, as much less is taken.
      const left = before.most - (before.counts.get("") ?? 0)
      for (const [destination, taken] of countBy(admitted, (of) => of)) {
        assert.isAtMost(taken, Math.ceil(Math.max(0, left) / 5), destination)
      }
    }
  )

  it.prop("leaves no capacity over: what is refused exceeds a limit", [round], ([input]) => {
    const { admitted, after, full, limit, refused } = admittedOf(input)
    if (admitted.length === limit) return
    for (const { destination } of refused) {
      const scope = fullScope(destination, after)
      assert.isDefined(scope, destination)
      assert.isTrue(scopesOf(destination).some((one) => full.has(one)))
    }
  })

  it.prop("DLV-9: gives accounts turns, and the destinations of each account", [round], ([input]) => {
    const { admitted, full, refused } = admittedOf(input)
    const ofAccount = countBy(admitted, accountOf)
    const ofDestination = countBy(admitted, (of) => of)
    for (const { destination } of refused) {
      // It was refused because there was nothing left at all.
      const [, ...own] = scopesOf(destination)
      if (own.some((scope) => full.has(scope))) continue
      const mine = ofAccount.get(accountOf(destination)) ?? 0
      for (const [account, others] of ofAccount) assert.isAtMost(others, mine + 1, `${account} before ${destination}`)
      for (const [other, taken] of ofDestination) {
        if (accountOf(other) !== accountOf(destination)) continue
        assert.isAtMost(taken, (ofDestination.get(destination) ?? 0) + 1, `${other} before ${destination}`)
      }
    }
  })

  it.prop("keeps the order of each destination, and changes nothing", [round], ([input]) => {
    const { admitted, before, candidates } = admittedOf(input)
    for (const [destination, of] of Map.groupBy(admitted, (one) => one.destination)) {
      const all = candidates.filter((one) => one.destination === destination)
      assert.deepStrictEqual(of, all.slice(0, of.length))
    }
    assert.deepStrictEqual(before, loadOf(input))
  })

  it("DLV-9: 2,000 names of one account that hang take a quarter of the capacity", () => {
    const hostile = Array.from({ length: 2000 }, (_, index) => destinationKey("hostile", `origin ${index}`))
    const { admitted, full } = admit(
      hostile.map((destination) => ({ destination })),
      inFlightOf(768, []),
      Infinity
    )
    assert.lengthOf(admitted, 192)
    assert.deepStrictEqual([...full], ["hostile"])
    assert.isUndefined(fullScope("other/1", inFlightOf(768, hostile.slice(0, 192))))
  })

  it("DLV-9: each further account that hangs has capacity for at least four", () => {
    let after = inFlightOf(768, [])
    const taken = Array.from({ length: 16 }, (_, account) => {
      const hanging = Array.from({ length: 400 }, (_unused, index) => ({
        destination: destinationKey(`account ${account}`, `origin ${account} ${index % 20}`)
      }))
      const { admitted } = admit(hanging, after, Infinity)
      after = inFlightOf(
        768,
        admitted.map(({ destination }) => destination),
        after
      )
      return admitted.length
    })
    assert.deepStrictEqual(taken.slice(0, 4), [192, 144, 108, 81])
    assert.isAtLeast(Math.min(...taken), 4)
    assert.isUndefined(fullScope("another/1", after))
  })

  it("DLV-9: accounts that share an origin that hangs take twice the limit of one account there", () => {
    const shared = Array.from({ length: 150 }, (_, account) => ({
      destination: destinationKey(`account ${account}`, "shared")
    }))
    const { admitted, full } = admit(shared, inFlightOf(768, []), Infinity)
    assert.lengthOf(admitted, 100)
    assert.deepStrictEqual([...full], [`/${originOf(shared[0]!.destination)}`])
  })
})
