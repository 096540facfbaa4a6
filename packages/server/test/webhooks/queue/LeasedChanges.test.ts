/** When the deliveries of a leased change are stored. */
import { NIL_UUID } from "@pix-payments/domain/Uuid"
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Latch from "effect/Latch"
import * as TestClock from "effect/testing/TestClock"
import { Unavailable } from "../../../src/database/Unavailable.ts"
import { type ClaimedDelivery, type CompletedAttempt } from "../../../src/webhooks/deliveries/Delivery.ts"
import type { DeliveryQueue } from "../../../src/webhooks/queue/DeliveryQueue.ts"
import { makeLeasedChanges, STORE_AFTER_MS } from "../../../src/webhooks/queue/LeasedChanges.ts"
import type { SentChange } from "../../../src/webhooks/queue/LeasedChangeStatements.ts"
import { attemptNow, leaseOf } from "../../support/Leases.ts"

/** Deliveries of a change that are sent to a queue that notes what it stores. */
const noted = (changeId: string, count: number, storing: Effect.Effect<void, Unavailable> = Effect.void) => {
  const calls: Array<string> = []
  const note = (change: SentChange) =>
    Effect.sync(() => {
      const states = change.deliveries.map(({ completed, dueInMs }) =>
        [
          completed?.outcome.status ?? (dueInMs === 0 ? "scheduled" : "in flight"),
          ...(dueInMs === null ? [] : [dueInMs])
        ].join(" ")
      )
      calls.push(`store ${change.changeId}: ${states.join(", ")}`)
    })
  const queue: Pick<DeliveryQueue["Service"], "record" | "store"> = {
    record: ({ outcome }) => Effect.sync(() => void calls.push(`record ${outcome.status}`)),
    store: (change) => Effect.andThen(storing, note(change))
  }
  const deliveries = Array.from({ length: count }, (_, index): ClaimedDelivery => ({
    ...leaseOf(`delivery ${index}`, NIL_UUID, 0),
    unstored: { changeId, applicationId: null, origin: "https://shop.example", createdAtMs: 0 }
  }))
  const changes = makeLeasedChanges({ queue, leaseMs: 60_000, onScheduled: () => void calls.push("scheduled") })
  const ended = (index: number, outcome: CompletedAttempt["outcome"] = { status: "delivered" }) =>
    Effect.flatMap(Effect.zip(attemptNow(), Clock.currentTimeMillis), ([attempt, atMs]) =>
      changes.record({ delivery: deliveries[index]!, attempt: { ...attempt, atMs, durationMs: 0 }, outcome })
    )
  /** Leases all of them, and starts the first ones. */
  const started = (some = count) =>
    Effect.map(changes.add(deliveries), () => deliveries.slice(0, some).forEach(changes.start))
  return { calls, changes, deliveries, ended, started }
}

describe("Leased changes", () => {
  it.effect("are stored once, with the last attempt", () =>
    Effect.gen(function* () {
      const { calls, changes, ended, started } = noted("a", 3)
      yield* started()
      yield* ended(1)
      yield* ended(2, { status: "failed" })
      assert.deepStrictEqual(calls, [])
      yield* ended(0)
      assert.deepStrictEqual(calls, ["store a: delivered, failed, delivered"])
      yield* TestClock.adjust("1 hour")
      yield* changes.storeOverdue
      yield* changes.giveBack
      assert.lengthOf(calls, 1)
    })
  )

  it.effect("are stored while attempts are in flight, whose ends are recorded afterwards", () =>
    Effect.gen(function* () {
      const { calls, changes, ended, started } = noted("a", 2)
      yield* started()
      yield* ended(0)
      yield* TestClock.adjust(STORE_AFTER_MS - 1)
      yield* changes.storeOverdue
      assert.deepStrictEqual(calls, [])
      yield* TestClock.adjust(1)
      yield* changes.storeOverdue
      yield* ended(1, { status: "failed" })
      assert.deepStrictEqual(calls, ["store a: delivered, in flight 60000", "record failed"])
    })
  )

  it.effect("are stored by a process that stops: what is in flight is due at once", () =>
    Effect.gen(function* () {
      const { calls, changes, ended, started } = noted("a", 2)
      yield* started()
      yield* ended(0)
      yield* changes.giveBack
      assert.deepStrictEqual(calls, ["store a: delivered, scheduled 0"])
    })
  )

  it.effect("do not concern deliveries that are stored", () =>
    Effect.gen(function* () {
      const { calls, changes, deliveries } = noted("a", 1)
      const stored = { ...deliveries[0]!, unstored: undefined }
      yield* changes.record({ delivery: stored, attempt: yield* attemptNow(), outcome: { status: "delivered" } })
      assert.deepStrictEqual(calls, ["record delivered"])
    })
  )

  it.effect("are recorded after the statement that stores them", () =>
    Effect.gen(function* () {
      const isStored = Latch.makeUnsafe(false)
      const { calls, changes, ended, started } = noted("a", 1, isStored.await)
      yield* started()
      yield* TestClock.adjust(STORE_AFTER_MS)
      const storing = yield* Effect.forkChild(changes.storeOverdue, { startImmediately: true })
      const recording = yield* Effect.forkChild(ended(0), { startImmediately: true })
      assert.deepStrictEqual(calls, [])
      yield* isStored.open
      yield* Fiber.join(storing)
      yield* Fiber.join(recording)
      assert.deepStrictEqual(calls, ["store a: in flight 60000", "record delivered"])
    })
  )

  it.effect("are stored again while the database is away, until their lease expires", () =>
    Effect.gen(function* () {
      let failures = 2
      const failing = Effect.suspend(() =>
        failures-- > 0 ? Effect.fail(new Unavailable({ reason: "database-away" })) : Effect.void
      )
      const { calls, changes, ended, started } = noted("a", 2, failing)
      yield* started()
      yield* ended(0)
      yield* TestClock.adjust(STORE_AFTER_MS)
      yield* changes.storeOverdue
      yield* ended(1)
      assert.deepStrictEqual(calls, [])
      yield* changes.storeOverdue
      assert.deepStrictEqual(calls, ["store a: delivered, delivered"])
      const slow = noted("c", 1, Effect.fail(new Unavailable({ reason: "too-slow" })))
      yield* slow.started()
      yield* TestClock.adjust(STORE_AFTER_MS)
      yield* slow.changes.storeOverdue
      yield* slow.changes.giveBack
      yield* slow.ended(0)
      assert.deepStrictEqual(slow.calls, ["record delivered"])
      failures = Infinity
      const other = noted("b", 1, failing)
      yield* other.started()
      yield* TestClock.adjust(59_999)
      yield* other.changes.storeOverdue
      yield* TestClock.adjust(1)
      yield* other.changes.storeOverdue
      failures = 0
      yield* other.changes.storeOverdue
      yield* other.changes.giveBack
      assert.deepStrictEqual(other.calls, [])
    })
  )

  it.effect("DLV-3: are due again by the end of their attempt, not by when it is stored", () =>
    Effect.gen(function* () {
      const { calls, ended, started } = noted("a", 2)
      yield* started()
      yield* ended(0, { status: "scheduled", delayMs: 5000 })
      yield* TestClock.adjust(900)
      yield* ended(1)
      assert.deepStrictEqual(calls, ["store a: scheduled 4100, delivered"])
    })
  )

  it.effect("DLV-9: that wait for capacity are stored as scheduled after a while, and are not sent after that", () =>
    Effect.gen(function* () {
      const { calls, changes, deliveries, ended, started } = noted("a", 3)
      yield* started(2)
      assert.deepStrictEqual(changes.waiting(), [deliveries[2]!])
      yield* ended(0)
      yield* TestClock.adjust(STORE_AFTER_MS)
      yield* changes.storeOverdue
      assert.deepStrictEqual(changes.waiting(), [])
      yield* ended(1)
      assert.deepStrictEqual(calls, [
        "store a: delivered, in flight 60000, scheduled 0",
        "scheduled",
        "record delivered"
      ])
    })
  )

  it.effect("DLV-9: that are left to claims are stored with the last attempt of the others, or at once", () =>
    Effect.gen(function* () {
      const { calls, changes, deliveries, ended, started } = noted("a", 3)
      yield* started(1)
      yield* changes.leaveToClaims([deliveries[1]!])
      yield* ended(0)
      assert.deepStrictEqual(changes.waiting(), [deliveries[2]!])
      assert.deepStrictEqual(calls, [])
      changes.start(deliveries[2]!)
      yield* ended(2)
      assert.deepStrictEqual(calls, ["store a: delivered, delivered, scheduled 0", "scheduled"])
      const none = noted("b", 2)
      yield* none.started(0)
      yield* none.changes.leaveToClaims(none.deliveries)
      assert.deepStrictEqual(none.calls, ["store b: scheduled 0, scheduled 0", "scheduled"])
    })
  )

  it.effect("are bounded in how many wait for capacity", () =>
    Effect.gen(function* () {
      const { changes, deliveries, started } = noted("a", 500)
      assert.isTrue(changes.hasRoom())
      yield* started(0)
      assert.isFalse(changes.hasRoom())
      changes.start(deliveries[0]!)
      assert.isTrue(changes.hasRoom())
    })
  )
})
