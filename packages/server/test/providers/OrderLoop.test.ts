/** The loop of due orders in virtual time: what a connection that hangs costs the others. */
import { assert, describe, it } from "@effect/vitest"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import * as OrderLoop from "../../src/providers/OrderLoop.ts"
import type { Leased, OrderStore, StoredOrder } from "../../src/providers/OrderStore.ts"

const HUNG = "00000000-0000-4000-8000-000000000001"
const OTHER = "00000000-0000-4000-8000-000000000002"
const SHARE = 8
const LATENCY_MS = 300
/** Between a call that has ended and the claim that follows it. */
const CLAIM_DELAY_MS = 10

const orderOf = (connectionId: string, index: number): Leased => ({
  id: `${connectionId} ${index}`,
  kind: "return",
  chargeId: null,
  accountId: null,
  exceptionId: null,
  disputeId: null,
  connectionId,
  endToEndId: null,
  amount: 100,
  pending: 0,
  attempts: 1,
  acceptedAtMs: null,
  leasedUntilMs: Infinity
})

/** Virtual milliseconds until the `count` orders of the other connection are done, with `hung` due orders before them. */
const elapsedMs = Effect.fnUntraced(function* (kind: StoredOrder["kind"], hung: number, count: number) {
  const waiting = [
    ...Array.from({ length: hung }, (_, index) => orderOf(HUNG, index)),
    ...Array.from({ length: count }, (_, index) => orderOf(OTHER, index))
  ]
  const inFlight = new Map<string, number>()
  const most = new Map<string, number>()
  let done = 0
  let lastAtMs = 0

  const claim: OrderStore["Service"]["claim"] = (kinds, { connections, limit, share }) =>
    Effect.sync(() => {
      assert.deepStrictEqual(kinds, [kind])
      const free = new Map(connections.map((each) => [each.connectionId, each.free]))
      const due: Array<Leased> = []
      for (const order of waiting) {
        const left = free.get(order.connectionId ?? "") ?? share
        if (left <= 0 || due.length === limit) continue
        free.set(order.connectionId ?? "", left - 1)
        due.push(order)
      }
      for (const order of due) waiting.splice(waiting.indexOf(order), 1)
      return due
    })

  const execute = Effect.fnUntraced(function* ({ connectionId }: StoredOrder) {
    const id = connectionId ?? ""
    inFlight.set(id, (inFlight.get(id) ?? 0) + 1)
    most.set(id, Math.max(most.get(id) ?? 0, inFlight.get(id)!))
    yield* id === HUNG ? Effect.never : Effect.sleep(LATENCY_MS)
    inFlight.set(id, inFlight.get(id)! - 1)
    done += 1
    lastAtMs = yield* Clock.currentTimeMillis
  })

  const startedMs = yield* Clock.currentTimeMillis
  const orders = { claim } as OrderStore["Service"]
  yield* Layer.build(OrderLoop.loop("due orders", OrderLoop.claimDue(orders, [kind], 1000, execute)))
  yield* TestClock.adjust("1 minute")
  assert.strictEqual(done, count)
  assert.isAtMost(most.get(OTHER) ?? 0, SHARE)
  assert.deepStrictEqual([inFlight.get(HUNG) ?? 0, most.get(HUNG) ?? 0], [Math.min(hung, SHARE), Math.min(hung, SHARE)])
  return lastAtMs - startedMs
})

describe("The loop of due orders", () => {
  it.effect.each(["return", "refund", "defend"] as const)(
    "BAL-12, CHG-26, OPR-75: a connection that hangs takes its share, and no time from the orders of another (%s)",
    (kind) =>
      Effect.gen(function* () {
        const count = 80
        const alone = yield* elapsedMs(kind, 0, count)
        assert.strictEqual(alone, (count / SHARE) * (LATENCY_MS + CLAIM_DELAY_MS) - CLAIM_DELAY_MS)
        assert.strictEqual(yield* elapsedMs(kind, 1000, count), alone)
      })
  )
})
