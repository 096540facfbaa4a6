/** Requests in flight: the share of an account, and the bound of each listener. */
import { assert, describe, it, layer } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { SqlClient } from "effect/sql/SqlClient"
import * as InFlight from "../../../src/http/pipeline/InFlight.ts"
import { assertRefused, create } from "../../support/ChargeRequests.ts"
import { eventually } from "../../support/Receiver.ts"
import { TestService } from "../../support/TestService.ts"
import { gauge } from "../../support/RawConnection.ts"

describe("slots for requests", () => {
  const taken = (slots: InFlight.InFlight, accountId: string | undefined, tries: number) =>
    Array.from({ length: tries }, () => slots.take(accountId)).filter((slot) => slot !== undefined)

  it("alone, an account has all but an eighth; what is left is there for the others", () => {
    const slots = InFlight.make(500)
    assert.lengthOf(taken(slots, "a", 1000), 438)
    assert.lengthOf(taken(slots, "b", 1000), 62)
    assert.isTrue(slots.isFull())
  })

  it("while another has a request in flight, an account has a quarter", () => {
    const slots = InFlight.make(500)
    const [other] = taken(slots, "b", 1)
    assert.lengthOf(taken(slots, "a", 1000), 125)
    assert.lengthOf(taken(slots, "c", 1000), 125)
    slots.release(other!)
    assert.lengthOf(taken(slots, "a", 1), 0, "c is still there")
  })

  it("an account above its quarter gets no more slots once another account has requests", () => {
    const slots = InFlight.make(16)
    const mine = taken(slots, "a", 16)
    assert.lengthOf(mine, 14)
    assert.lengthOf(taken(slots, "b", 1), 1)
    for (const slot of mine.splice(0, 10)) slots.release(slot)
    assert.lengthOf(taken(slots, "a", 1), 0)
    slots.release(mine.pop()!)
    assert.lengthOf(taken(slots, "a", 16), 1)
  })

  it("callers who are not known yet have all but an eighth, and count as their account's once they are", () => {
    const slots = InFlight.make(16)
    const unknown = taken(slots, undefined, 16)
    assert.lengthOf(unknown, 14)
    assert.isTrue(slots.moveTo(unknown[0]!, "b"))
    const may = unknown.slice(1, 8).map((slot) => slots.moveTo(slot, "a"))
    assert.deepStrictEqual(may, [true, true, true, true, false, false, false])
    assert.lengthOf(taken(slots, undefined, 16), 2)
    for (const slot of unknown) slots.release(slot)
    assert.deepStrictEqual([slots.count(), slots.countOf("a"), slots.countOf("b")], [2, 0, 0])
  })

  it("there is always one slot for each", () => {
    const slots = InFlight.make(1)
    assert.lengthOf(taken(slots, "a", 2), 1)
    assert.lengthOf(taken(slots, "b", 2), 0)
  })
})

const AT_ONCE = 64
const CONNECTIONS = 400

// A bank that answers late: PostgreSQL would be given up after six seconds, which a busy machine needs for the test itself.
layer(
  TestService.layer({
    settings: { maxRequestsInFlight: AT_ONCE, acquirerTimeoutMs: 120_000, simulatorLatencyMs: 20_000 }
  }),
  { excludeTestServices: true }
)("Bounds of slow calls", (it) => {
  it.effect(
    "ERR-9: an account's slow calls leave room: a quarter while another is in flight, then `SERVICE_UNAVAILABLE`",
    () =>
      Effect.gen(function* () {
        const { call, makeCaller } = yield* TestService
        const one = yield* makeCaller()
        const other = yield* makeCaller()
        for (const { key } of [one, other]) assert.strictEqual((yield* call("GET", "/v1/account", { key })).status, 200)
        const asked = (key: string, count: number) =>
          Effect.forEach(Array.from({ length: count }), () => Effect.forkChild(create(key), { startImmediately: true }))
        const shed = gauge('http_requests_shed_total{listener="public",reason="account"}')
        const before = yield* shed
        const others = yield* asked(other.key, 1)
        yield* eventually(gauge('http_requests_in_flight{listener="public"}'), (count) => count === 1)
        const mine = yield* asked(one.key, 40)
        const refused = yield* eventually(
          Effect.sync(() => mine.filter((fiber) => fiber.pollUnsafe() !== undefined)),
          ({ length }) => length === 40 - AT_ONCE / 4
        )
        for (const fiber of refused) {
          const answer = yield* Fiber.join(fiber)
          assertRefused(answer, "SERVICE_UNAVAILABLE")
          assert.match(String(answer.headers["retry-after"]), /^[1-9]\d*$/)
        }
        assert.strictEqual(yield* gauge('http_requests_in_flight{listener="public"}'), AT_ONCE / 4 + 1)
        assert.strictEqual((yield* shed) - before, 40 - AT_ONCE / 4)
        // The other account has a quarter too, and a request that does not wait for the bank is answered.
        others.push(...(yield* asked(other.key, AT_ONCE / 4 - 2)))
        assert.strictEqual((yield* call("GET", "/v1/account", { key: other.key })).status, 200)
        for (const fiber of [...mine, ...others]) {
          if (!refused.includes(fiber)) assert.strictEqual((yield* Fiber.join(fiber)).status, 201)
        }
        yield* eventually(gauge('http_requests_in_flight{listener="public"}'), (count) => count === 0)
      })
  )
})

layer(
  TestService.layer({
    settings: { maxRequestsInFlight: AT_ONCE, maxConnections: CONNECTIONS, answerTimeoutMs: 400 }
  }),
  { excludeTestServices: true }
)("Bounds", (it) => {
  it.effect("the operator listener has the same bound, and its health checks and metrics are outside of it", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { operate } = yield* TestService
      const stalled = yield* Deferred.make<void>()
      const release = yield* Deferred.make<void>()
      const lock = yield* Effect.forkChild(
        sql.withTransaction(
          Effect.gen(function* () {
            yield* sql`LOCK TABLE disputes IN ACCESS EXCLUSIVE MODE`
            yield* Deferred.succeed(stalled, undefined)
            yield* Deferred.await(release)
          })
        )
      )
      yield* Deferred.await(stalled)
      const most = AT_ONCE - AT_ONCE / 8
      const asked = yield* Effect.forEach(Array.from({ length: most + 10 }), () =>
        Effect.forkChild(operate("GET", "/operator/v1/disputes"), { startImmediately: true })
      )
      const refused = yield* eventually(
        Effect.sync(() => asked.filter((fiber) => fiber.pollUnsafe() !== undefined)),
        ({ length }) => length === 10
      )
      for (const fiber of refused) {
        const answer = yield* Fiber.join(fiber)
        assertRefused(answer, "SERVICE_UNAVAILABLE")
        assert.match(String(answer.headers["retry-after"]), /^[1-9]\d*$/)
      }
      assert.strictEqual((yield* operate("GET", "/health/ready")).status, 200)
      assert.strictEqual(yield* gauge('http_requests_in_flight{listener="operator"}'), most)
      yield* Deferred.succeed(release, undefined)
      yield* Fiber.join(lock)
      for (const fiber of asked) yield* Fiber.join(fiber)
      yield* eventually(gauge('http_requests_in_flight{listener="operator"}'), (count) => count === 0)
    })
  )
})
