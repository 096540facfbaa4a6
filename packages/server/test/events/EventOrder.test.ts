/** Cursors of the event stream, while transactions commit in another order than they began or made their ids. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { SqlClient } from "effect/sql/SqlClient"
import { randomUUID } from "node:crypto"
import { EventFeed } from "../../src/events/EventFeed.ts"
import { EventLog, OLDEST, type Position } from "../../src/events/EventLog.ts"
import { created } from "../support/ChargeRequests.ts"
import { eventsOf, streamed } from "../support/EventStream.ts"
import { eventually } from "../support/Receiver.ts"
import { TestService } from "../support/TestService.ts"

const WRITERS = 3

/** What one of the writers does, or the reader. */
const Step = Schema.Struct({
  writer: Schema.Literals([0, 1, 2]),
  does: Schema.Literals(["insert", "insert", "commit", "roll back", "read", "read", "reconnect"]),
  limit: Schema.Literals([1, 2, 100])
})

layer(TestService.layer(), { excludeTestServices: true })("The event stream", (it) => {
  it.effect("OPR-102, OPR-103: waits for a transaction that commits late, and skips nothing of it", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const sql = yield* SqlClient
      const { accountId, key } = yield* makeCaller()
      const filter = `account_id=${accountId}`
      const reader = yield* streamed(filter)
      const before = yield* created(key)
      yield* eventsOf(reader, 2)
      // Its id is made before the others, and its commit comes after theirs.
      const lateId = yield* sql.withTransaction(
        Effect.gen(function* () {
          const [late] = yield* sql<{ id: string }>`
            INSERT INTO changes (id, resource_id, account_id, kind, actions, status, sequence, data, created_at)
            VALUES (uuidv7(), uuidv7(), ${accountId}::uuid, 'dispute.pix', '{lost}', 'lost', 1, ${'{"id":"late"}'}, now())
            RETURNING id`
          yield* Effect.forEach(Array.from({ length: 40 }), () => created(key), { concurrency: 20 })
          const { body } = yield* operate<{ data: ReadonlyArray<unknown> }>(
            "GET",
            `/operator/v1/events?${filter}&after=${reader.received[1]!.id}&wait=1`
          )
          assert.deepStrictEqual(body.data, [])
          assert.lengthOf(reader.received, 2)
          return late!.id
        })
      )
      const all = yield* eventsOf(reader, 83)
      assert.lengthOf(all, 83)
      assert.strictEqual(all[0]!.body.data.id, before.id)
      assert.strictEqual(all[2]!.id, `${lateId}.1`)
      assert.strictEqual(new Set(all.map(({ id }) => id)).size, 83)
      // Of one resource, the events are in the order of its changes.
      for (const events of Map.groupBy(all, ({ body }) => body.data.id).values()) {
        const sequences = events.map(({ body }) => body.sequence)
        assert.deepStrictEqual(
          sequences,
          sequences.toSorted((a, b) => a - b)
        )
      }
      // Each id is a cursor with exactly the rest.
      for (const index of [0, 1, 2, 40, 81]) {
        const resumed = yield* streamed(filter, { "last-event-id": all[index]!.id })
        const rest = yield* eventsOf(resumed, 82 - index)
        assert.deepStrictEqual(
          rest.map(({ id }) => id),
          all.slice(index + 1).map(({ id }) => id)
        )
      }
    }).pipe(Effect.scoped)
  )

  it.effect.prop(
    "OPR-102: whatever commits when, a reader that reconnects anywhere gets every committed event once, in one order",
    [Schema.Array(Step).check(Schema.isBetweenLength(30, 60))],
    ([steps]) =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const feed = yield* EventFeed
        const log = yield* EventLog
        const accountId = randomUUID()
        const filter = { accountIds: [accountId], applicationId: undefined, events: undefined }
        const writers = yield* Effect.forEach(Array.from({ length: WRITERS }), () => sql.reserve)
        const open = new Map<number, Array<string>>()
        const committed = new Set<string>()

        let position: Position = OLDEST
        const read: Array<string> = []
        const next = Effect.fnUntraced(function* (limit: number) {
          const batch = yield* feed.next({ after: position, filter, limit, waitMs: 0 })
          position = batch.end
          for (const { position: at } of batch.events) read.push(`${at.changeId}.${at.n}`)
          return batch
        })

        for (const { does, limit, writer } of steps) {
          const run = (text: string, parameters: ReadonlyArray<unknown> = []) =>
            writers[writer]!.executeRaw(text, parameters)
          const mine = open.get(writer)
          if (does === "insert") {
            if (mine === undefined) yield* run("BEGIN")
            // Ids in any order: the clocks of processes differ.
            const id = randomUUID()
            yield* run(
              `INSERT INTO changes (id, resource_id, account_id, kind, actions, status, sequence, data, created_at)
              VALUES ($1::uuid, uuidv7(), $2::uuid, 'charge.pix', '{created,emitted}', 'pending', 1, '{}', now())`,
              [id, accountId]
            )
            open.set(writer, [...(mine ?? []), `${id}.1`, `${id}.2`])
          } else if (does === "commit" && mine !== undefined) {
            yield* run("COMMIT")
            open.delete(writer)
            for (const id of mine) committed.add(id)
          } else if (does === "roll back" && mine !== undefined) {
            yield* run("ROLLBACK")
            open.delete(writer)
          } else if (does === "read") {
            yield* next(limit)
          } else if (does === "reconnect" && read.length > 0) {
            const [changeId = "", n] = read.at(-1)!.split(".")
            position = (yield* log.find(changeId, Number(n)))!
          }
        }
        for (const [writer, ids] of open) {
          yield* writers[writer]!.executeRaw("COMMIT", [])
          for (const id of ids) committed.add(id)
        }
        yield* eventually(Effect.as(next(100), read), ({ length }) => length >= committed.size)
        const inOneOrder = [...read]
        assert.deepStrictEqual(new Set(inOneOrder), committed)
        assert.lengthOf(inOneOrder, committed.size)
        position = OLDEST
        read.length = 0
        let isMore = true
        while (isMore) ({ isMore } = yield* next(3))
        assert.deepStrictEqual(read, inOneOrder)
      }).pipe(Effect.scoped),
    { arbitrary: { runs: 30 } }
  )
})
