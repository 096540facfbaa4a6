/** What a lane sends, leaves to claims and claims, without a database. */
import { assert, describe, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import { Unavailable } from "../../../src/database/Unavailable.ts"
import { DeliverySignal } from "../../../src/events/DeliverySignal.ts"
import { type ClaimedDelivery, destinationKey } from "../../../src/webhooks/deliveries/Delivery.ts"
import type { DueDelivery, Position } from "../../../src/webhooks/queue/DeliveryClaims.ts"
import { DeliveryQueue } from "../../../src/webhooks/queue/DeliveryQueue.ts"
import { STORE_AFTER_MS } from "../../../src/webhooks/queue/LeasedChanges.ts"
import { makeDeliveryLane } from "../../../src/webhooks/sending/DeliveryLane.ts"
import { attemptNow, leaseOf } from "../../support/Leases.ts"

const silent = { await: Effect.never, rest: Effect.succeed(false) }
const signal = DeliverySignal.of({
  afterCommit: () => {},
  wake: () => {},
  await: Effect.never,
  rest: Effect.void,
  first: silent,
  retries: silent
})

const reached: Position = { dueAt: "2026-01-01 00:00:00+00", id: "00000000-0000-0000-0000-000000000000" }

const slow = destinationKey("a", "slow")

/** A lane of which the test ends the attempts, on a queue of rows in memory. */
const laneOf = Effect.fnUntraced(function* () {
  /** Rows that are due, the longest first. */
  const due: Array<DueDelivery> = []
  let newlyDue: Array<DueDelivery> = []
  let failures = 0
  const froms: Array<Position> = []
  const claimed: Array<string> = []
  const stored: Array<ReadonlyArray<string>> = []
  const sent = new Map<string, Deferred.Deferred<void>>()
  const deliveryOf = (id: string, destination: string): ClaimedDelivery => ({
    ...leaseOf(id, "a", 0),
    destination,
    previousDestination: destination
  })
  const queue = DeliveryQueue.of({
    look: (_, { backlogged, from, perDestination }) =>
      Effect.sync(() => {
        froms.push(from)
        const waiting = backlogged.flatMap((one) =>
          due.filter(({ destination }) => destination === one).slice(0, perDestination)
        )
        const found = newlyDue
        newlyDue = []
        due.push(...found)
        return {
          due: [...waiting.map((one) => ({ ...one, isNewlyDue: false })), ...found],
          reached,
          isCaughtUp: true,
          nextInMs: undefined
        }
      }),
    claim: (some) =>
      Effect.suspend(() => {
        if (failures-- > 0) return Effect.fail(new Unavailable({ reason: "database-away" }))
        for (const { id } of some) {
          claimed.push(id)
          due.splice(
            due.findIndex((one) => one.id === id),
            1
          )
        }
        const deliveries = some.map(({ destination, id }) => deliveryOf(id, destination))
        return Effect.succeed({ claimed: deliveries, changed: some.length, left: [] })
      }),
    sweep: () => Effect.succeed({ last_account: null, due: null, unfinished: null }),
    record: () => Effect.void,
    store: ({ deliveries }) =>
      Effect.sync(
        () =>
          void stored.push(
            deliveries.map(
              ({ completed, dueInMs }) => completed?.outcome.status ?? (dueInMs === 0 ? "scheduled" : "in flight")
            )
          )
      ),
    giveBack: () => Effect.void
  })
  const lane = yield* makeDeliveryLane({
    lane: "first",
    name: "test",
    maxInFlight: 768,
    maxPerClaim: 100,
    leaseMs: 60_000,
    send: (delivery) =>
      Effect.gen(function* () {
        const answered = Deferred.makeUnsafe<void>()
        sent.set(delivery.id, answered)
        yield* Deferred.await(answered)
        return { delivery, attempt: yield* attemptNow(), outcome: { status: "delivered" } } as const
      })
  }).pipe(Effect.provideService(DeliveryQueue, queue), Effect.provideService(DeliverySignal, signal))
  const settled = TestClock.adjust("1 second")
  return {
    lane,
    settled,
    froms,
    claimed,
    stored,
    sent: () => [...sent.keys()],
    /** The receiver answers those of these that were sent. */
    answered: (ids: ReadonlyArray<string>) =>
      Effect.andThen(
        Effect.forEach(ids, (id) => {
          const attempt = sent.get(id)
          return attempt === undefined ? Effect.void : Deferred.succeed(attempt, undefined)
        }),
        // Without a poll.
        TestClock.adjust(0)
      ),
    /** The fan-out leases a change with one delivery each. */
    offered: (ids: ReadonlyArray<string>, destination: string) =>
      Effect.andThen(
        lane.offer(
          ids.map((id) => ({
            ...deliveryOf(id, destination),
            unstored: {
              changeId: `change of ${id}`,
              applicationId: null,
              origin: "https://shop.example",
              createdAtMs: 0
            }
          }))
        ),
        TestClock.adjust(0)
      ),
    fallDue: (ids: ReadonlyArray<string>, destination: string) => {
      newlyDue.push(...ids.map((id) => ({ id, destination, isNewlyDue: true })))
    },
    failClaims: (count: number) => {
      failures = count
    }
  }
})

const numbered = (name: string, count: number) => Array.from({ length: count }, (_, index) => `${name} ${index}`)

describe("A lane", () => {
  it.effect("DLV-9: sends a burst as its receiver answers, without a claim", () =>
    Effect.gen(function* () {
      const { answered, claimed, offered, sent, stored } = yield* laneOf()
      const burst = numbered("burst", 120)
      yield* offered(burst, slow)
      assert.deepStrictEqual(sent(), burst.slice(0, 50))
      yield* answered(burst.slice(0, 24))
      assert.lengthOf(sent(), 50)
      // Half of them have ended.
      yield* answered(burst.slice(24, 25))
      assert.deepStrictEqual(sent(), burst.slice(0, 75))
      yield* answered(burst.slice(25, 75))
      yield* answered(burst.slice(75))
      yield* answered(burst.slice(75))
      assert.deepStrictEqual(sent(), burst)
      assert.deepStrictEqual(claimed, [])
      assert.deepStrictEqual(
        stored,
        burst.map(() => ["delivered"])
      )
    }).pipe(Effect.scoped)
  )

  it.effect("DLV-9: leaves to claims what waits longer than a second, and what comes after it", () =>
    Effect.gen(function* () {
      const { claimed, fallDue, lane, offered, sent, settled, stored } = yield* laneOf()
      const burst = numbered("burst", 60)
      yield* offered(burst, slow)
      yield* TestClock.adjust(STORE_AFTER_MS)
      yield* lane.storeOverdue
      assert.lengthOf(
        stored.flat().filter((status) => status === "scheduled"),
        10
      )
      assert.lengthOf(
        stored.flat().filter((status) => status === "in flight"),
        50
      )
      fallDue(burst.slice(50), slow)
      yield* settled
      // The destination has a backlog now.
      yield* offered(["late"], slow)
      assert.deepStrictEqual(stored.at(-1), ["scheduled"])
      assert.deepStrictEqual(sent(), burst.slice(0, 50))
      assert.deepStrictEqual(claimed, [])
      yield* offered(["other"], destinationKey("a", "fast"))
      assert.strictEqual(sent().at(-1), "other")
    }).pipe(Effect.scoped)
  )

  it.effect("DLV-9: leaves the deliveries of an account that is full to claims at once", () =>
    Effect.gen(function* () {
      const { offered, sent, stored } = yield* laneOf()
      for (const index of [0, 1, 2, 3, 4]) yield* offered(numbered(`${index}`, 50), destinationKey("a", String(index)))
      assert.lengthOf(sent(), 192)
      assert.lengthOf(stored, 250 - 192)
      yield* offered(["other"], destinationKey("b", "fast"))
      assert.strictEqual(sent().at(-1), "other")
    }).pipe(Effect.scoped)
  )

  it.effect("claims what is due as its receiver answers, in the order of due times", () =>
    Effect.gen(function* () {
      const { answered, claimed, fallDue, settled } = yield* laneOf()
      const rows = numbered("row", 130)
      fallDue(rows, slow)
      yield* settled
      assert.deepStrictEqual(claimed, rows.slice(0, 50))
      fallDue(["late"], slow)
      yield* answered(rows.slice(0, 25))
      assert.deepStrictEqual(claimed, rows.slice(0, 75))
      yield* answered(rows.slice(25, 75))
      yield* answered(rows.slice(75))
      yield* settled
      assert.deepStrictEqual(claimed, [...rows, "late"])
    }).pipe(Effect.scoped)
  )

  it.effect("repeats a look whose claim failed, with all its capacity", () =>
    Effect.gen(function* () {
      const { claimed, failClaims, fallDue, froms, sent, settled } = yield* laneOf()
      yield* settled
      failClaims(1)
      fallDue(numbered("lost", 50), slow)
      const before = froms.at(-1)
      yield* settled
      yield* settled
      assert.deepStrictEqual(froms.at(-1), before)
      assert.deepStrictEqual(claimed, [])
      // Nothing of the claim that failed is in flight.
      fallDue(numbered("row", 50), slow)
      yield* settled
      yield* settled
      assert.deepStrictEqual(sent(), numbered("row", 50))
    }).pipe(Effect.scoped)
  )
})
