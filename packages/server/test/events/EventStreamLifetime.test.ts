/** What an open stream does as time passes. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as TestClock from "effect/testing/TestClock"
import { SqlClient } from "effect/sql/SqlClient"
import { setTimeout as pause } from "node:timers/promises"
import { type Reader, streamed } from "../support/EventStream.ts"
import { TestService } from "../support/TestService.ts"

/** Waits for I/O, which the test's clock does not move. */
const until = (isTrue: () => boolean) =>
  Effect.promise(async () => {
    for (let tries = 0; !isTrue() && tries < 6000; tries++) await pause(10)
    assert.isTrue(isTrue())
  })

const heartbeats = ({ heartbeats: sent }: Reader, count: number) => until(() => sent.length >= count)

/** Within 15 s of when the stream began to wait, which may be later than the test knows. */
const soon = Effect.fnUntraced(function* (isTrue: () => boolean) {
  for (let seconds = 0; !isTrue() && seconds < 29; seconds++) {
    yield* TestClock.adjust("1 second")
    yield* Effect.promise(() => pause(20))
  }
  yield* until(isTrue)
})

const insertChange = Effect.fnUntraced(function* () {
  const sql = yield* SqlClient
  const [row] = yield* sql<{ id: string }>`
    INSERT INTO changes (id, resource_id, account_id, kind, actions, status, sequence, data, created_at)
    VALUES (uuidv7(), uuidv7(), uuidv7(), 'charge.pix', '{created,emitted}', 'pending', 1, '{}', now()) RETURNING id`
  return row!.id
})

layer(TestService.layer())("An open stream", (it) => {
  it.effect("OPR-107: without an event sends a heartbeat each 15 s, with the id to continue from", () =>
    Effect.gen(function* () {
      const id = yield* insertChange()
      const reader = yield* streamed("events=dispute.pix.lost")
      yield* heartbeats(reader, 1)
      yield* TestClock.adjust("14 seconds")
      assert.lengthOf(reader.heartbeats, 1)
      yield* soon(() => reader.heartbeats.length >= 2)
      // An open transaction of another test delays what a stream may show.
      const reaches = Effect.fnUntraced(function* (lastEventId: string) {
        for (let tries = 0; reader.lastEventId() !== lastEventId && tries < 2000; tries++) {
          yield* TestClock.adjust("15 seconds")
          yield* Effect.promise(() => pause(50))
        }
        assert.strictEqual(reader.lastEventId(), lastEventId)
      })
      yield* reaches(`${id}.999`)
      // What does not meet the filter is passed all the same.
      yield* reaches(`${yield* insertChange()}.999`)
      assert.deepStrictEqual(reader.received, [])
      const resumed = yield* streamed("", { "last-event-id": reader.lastEventId()! })
      const next = yield* insertChange()
      for (let tries = 0; resumed.received.length < 2 && tries < 2000; tries++) {
        yield* TestClock.adjust("50 millis")
        yield* Effect.promise(() => pause(10))
      }
      assert.deepStrictEqual(
        resumed.received.map((event) => event.id),
        [`${next}.1`, `${next}.2`]
      )
    }).pipe(Effect.scoped)
  )

  it.effect("OPR-108: ends within 15 s when its request would be refused", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const id = yield* insertChange()
      const kept = yield* streamed()
      const refused = yield* streamed(`after=${id}.2`)
      yield* heartbeats(refused, 1)
      yield* heartbeats(kept, 1)
      yield* sql`DELETE FROM changes WHERE id = ${id}::uuid`
      yield* soon(refused.hasEnded)
      assert.isFalse(kept.hasEnded())
    }).pipe(Effect.scoped)
  )
})
