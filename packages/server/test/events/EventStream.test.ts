/** Events as they are committed: what they are, filters, cursors, and pages that wait. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { SqlClient } from "effect/sql/SqlClient"
import { randomUUID } from "node:crypto"
import { assertRefused, created } from "../support/ChargeRequests.ts"
import { ended, eventsOf, type Received, streamed } from "../support/EventStream.ts"
import { paidCharge, simulated } from "../support/Money.ts"
import { gauge } from "../support/RawConnection.ts"
import { eventually, loopback, receiver } from "../support/Receiver.ts"
import { TestService } from "../support/TestService.ts"
import { registered } from "../support/Webhooks.ts"

const settings = { webhookAllowedNetworks: loopback, simulatorSettleMs: 0, answerTimeoutMs: 300 }

interface Page {
  readonly object: string
  readonly data: ReadonlyArray<{ readonly id: string; readonly data: Received["body"] }>
  readonly has_more: boolean
  readonly next_after: string
}

const page = (query: string) =>
  Effect.map(
    Effect.flatMap(TestService, ({ operate }) => operate<Page>("GET", `/operator/v1/events?${query}`)),
    (answer) => {
      assert.strictEqual(answer.status, 200, answer.text)
      return answer.body
    }
  )

const namesOf = (events: ReadonlyArray<Received>) => events.map(({ body }) => body.event)

layer(TestService.layer({ settings }), { excludeTestServices: true })("The event stream", (it) => {
  it.effect("OPR-100, OPR-101: has the body of each delivery but for its id, which is the same for all readers", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const hooks = yield* receiver()
      yield* registered(key, {
        url: hooks.url,
        events: ["charge.pix.created", "charge.pix.emitted", "charge.pix.paid"]
      })
      const reader = yield* streamed(`account_id=${accountId}`)
      assert.strictEqual(reader.status, 200)
      assert.strictEqual(reader.headers["content-type"], "text/event-stream")
      assert.strictEqual(reader.headers["cache-control"], "no-store")
      yield* paidCharge(key)
      const events = yield* eventsOf(reader, 3)
      yield* eventually(
        Effect.sync(() => hooks.received.length),
        (count) => count === 3
      )
      assert.deepStrictEqual(namesOf(events), ["charge.pix.created", "charge.pix.emitted", "charge.pix.paid"])
      for (const { body, data, id } of events) {
        assert.match(id, /^[0-9a-f-]{36}\.[12]$/)
        const delivered = hooks.received.find((each) => each.body.event === body.event)!
        assert.strictEqual(data.replace(body.id, delivered.body.id), delivered.bytes.toString())
        assert.notStrictEqual(body.id, delivered.body.id)
      }
      // The two events of one change, and all again from the beginning.
      assert.strictEqual(events[0]!.id.replace(/1$/, "2"), events[1]!.id)
      const again = yield* streamed(`account_id=${accountId}&after=oldest`)
      assert.deepStrictEqual([...(yield* eventsOf(again, 3))], events)
    }).pipe(Effect.scoped)
  )

  it.effect("OPR-100: has events that are not sent to endpoints, and those of accounts without endpoints", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      yield* paidCharge(key, 5000)
      const reader = yield* streamed(`account_id=${accountId}`)
      const { body } = yield* operate<{ id: string }>("POST", `/operator/v1/accounts/${accountId}/payouts`, {
        idempotencyKey: randomUUID(),
        body: { amount: 1000, pix_key_type: "email", pix_key: "ana@example.com" }
      })
      const ofPayout = () => reader.received.filter((event) => event.body.data.id === body.id)
      yield* eventually(Effect.sync(ofPayout), (events) => namesOf(events).includes("payment.pix.completed"))
    }).pipe(Effect.scoped)
  )

  it.effect("OPR-102: continues after `Last-Event-ID`, also between the two events of a change, without a repeat", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      yield* paidCharge(key)
      const all = [...(yield* eventsOf(yield* streamed(`account_id=${accountId}&after=oldest`), 3))]
      for (const [index, { id }] of all.entries()) {
        // The header is newer than the parameter of the same URL.
        const reader = yield* streamed(`account_id=${accountId}&after=oldest`, { "last-event-id": id })
        const { id: next } = yield* created(key)
        const rest = yield* eventually(
          Effect.sync(() => reader.received),
          (events) => events.some(({ body }) => body.data.id === next)
        )
        assert.deepStrictEqual(
          rest.slice(0, 2 - index).map((event) => event.id),
          all.slice(index + 1).map((event) => event.id)
        )
        assert.strictEqual(new Set(rest.map((event) => event.id)).size, rest.length)
      }
    }).pipe(Effect.scoped)
  )

  it.effect("OPR-103: filters by account, application and events", () =>
    Effect.gen(function* () {
      const { makeApplication, makeCaller, makeKey } = yield* TestService
      const { accountId, applicationId, key } = yield* makeCaller()
      const other = yield* makeApplication(accountId)
      const { key: otherKey } = yield* makeKey(other)
      const stranger = yield* makeCaller()
      const names = "events=charge.pix.emitted&events=charge.pix.canceled"
      const ofAccount = yield* streamed(`account_id=${accountId.toUpperCase()}&events=charge.pix.emitted`)
      const ofApplication = yield* streamed(`application_id=${applicationId}&${names}`)
      const ofNobody = yield* streamed(`account_id=${randomUUID()}`)
      const charges = [yield* created(key), yield* created(otherKey), yield* created(stranger.key), yield* created(key)]
      const ids = charges.map(({ id }) => id)
      assert.deepStrictEqual(
        (yield* eventsOf(ofAccount, 3)).map(({ body }) => body.data.id),
        [ids[0], ids[1], ids[3]]
      )
      assert.deepStrictEqual(
        (yield* eventsOf(ofApplication, 2)).map(({ body }) => body.data.id),
        [ids[0], ids[3]]
      )
      assert.deepStrictEqual(ofNobody.received, [])
    }).pipe(Effect.scoped)
  )

  it.effect("OPR-104: a cursor that is not kept is 410, and a malformed one 400", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      yield* created(key)
      yield* created(key)
      const [first] = yield* eventsOf(yield* streamed(`account_id=${accountId}&after=oldest`), 4)
      const sql = yield* SqlClient
      yield* sql`DELETE FROM changes WHERE id = ${first!.id.slice(0, 36)}::uuid`
      for (const path of ["/operator/v1/events", "/operator/v1/events/stream"]) {
        assertRefused(yield* operate("GET", `${path}?after=${first!.id}`), "CURSOR_EXPIRED")
        assertRefused(yield* operate("GET", `${path}?after=${randomUUID()}.1`), "CURSOR_EXPIRED")
        for (const after of ["newest", randomUUID(), `${randomUUID()}.`, `${randomUUID()}.1.2`, "x.1"]) {
          assertRefused(yield* operate("GET", `${path}?after=${after}`), "VALIDATION_ERROR", ["after"])
        }
        assertRefused(yield* operate("GET", `${path}?events=charge.pix.lost&account_id=x`), "VALIDATION_ERROR", [
          "account_id",
          "events"
        ])
      }
      const headers = { "last-event-id": "17" }
      assertRefused(yield* operate("GET", "/operator/v1/events/stream", { headers }), "VALIDATION_ERROR", [
        "Last-Event-ID"
      ])
    }).pipe(Effect.scoped)
  )

  it.effect("OPR-105: pages are the same events, oldest first; one waits for an event", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const filter = `account_id=${accountId}`
      const start = yield* page(filter)
      assert.deepStrictEqual([start.object, start.data, start.has_more], ["list", [], false])
      // A page without an event has waited: an open transaction of another test delays what it may show.
      const waited = Effect.gen(function* () {
        const startedAt = performance.now()
        const found = yield* page(`${filter}&after=${start.next_after}&wait=10`)
        if (found.data.length === 0) assert.isAbove(performance.now() - startedAt, 9000)
        return found
      })
      const waiting = yield* Effect.forkChild(eventually(waited, ({ data }) => data.length > 0))
      yield* created(key)
      assert.isAbove((yield* Fiber.join(waiting)).data.length, 0)
      const charge = yield* created(key)
      yield* simulated(`/charges/${charge.id}/pay`)
      const reader = yield* streamed(`${filter}&after=oldest`)
      const all = yield* eventsOf(reader, 5)
      const read: Array<string> = []
      let after = "oldest"
      while (true) {
        const { data, has_more, next_after } = yield* page(`${filter}&limit=2&after=${after}`)
        assert.isAtMost(data.length, 2)
        read.push(...data.map(({ id }) => id))
        after = next_after
        if (!has_more && data.length === 0) break
      }
      assert.deepStrictEqual(
        read,
        all.map(({ id }) => id)
      )
      assertRefused(yield* operate("GET", "/operator/v1/events?wait=11&limit=101"), "VALIDATION_ERROR", [
        "limit",
        "wait"
      ])
    }).pipe(Effect.scoped)
  )

  it.effect("OPR-106: 16 streams of an operator are open; one more is 503", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      yield* Effect.gen(function* () {
        const readers = yield* Effect.forEach(Array.from({ length: 16 }), () => streamed())
        for (const { status } of readers) assert.strictEqual(status, 200)
        const { headers, status } = yield* operate("GET", "/operator/v1/events/stream")
        assert.deepStrictEqual([status, headers["retry-after"]], [503, "1"])
      }).pipe(Effect.scoped)
      // Readers that left make room.
      yield* eventually(Effect.scoped(Effect.map(streamed(), ({ status }) => status)), (status) => status === 200)
    })
  )

  it.effect("OPR-106: a reader that does not read is disconnected, and continues where it was", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { accountId, applicationId } = yield* makeCaller()
      const sql = yield* SqlClient
      const query = `account_id=${accountId}`
      const cut = gauge('http_connections_cut_total{listener="operator",reason="unread"}')
      const before = yield* cut
      const { next_after: start } = yield* page(query)
      const reader = yield* streamed(query, { "last-event-id": start })
      reader.response.pause()
      // 20 MB, more than the sockets of both sides buffer.
      const data = JSON.stringify({ id: randomUUID(), text: "x".repeat(20_000) })
      yield* sql`INSERT INTO changes (id, resource_id, account_id, application_id, kind, actions, status, sequence, data,
          created_at)
        SELECT uuidv7(), uuidv7(), ${accountId}::uuid, ${applicationId}::uuid, 'charge.pix', '{created}', 'pending', 1,
          ${data}, now() FROM generate_series(1, 1000)`
      yield* eventually(cut, (count) => count > before)
      reader.response.resume()
      yield* ended(reader)
      assert.isBelow(reader.received.length, 1000)
      const all = [...reader.received]
      // On a busy machine it is cut before it has read one.
      let last = reader.lastEventId() ?? start
      // On a busy machine the next reader may be cut too.
      while (all.length < 1000) {
        const resumed = yield* streamed(query, { "last-event-id": last })
        yield* eventually(
          Effect.sync(() => all.length + resumed.received.length >= 1000 || resumed.hasEnded()),
          (isOver) => isOver
        )
        all.push(...resumed.received)
        last = resumed.lastEventId() ?? last
      }
      assert.strictEqual(new Set(all.map(({ id }) => id)).size, 1000)
      assert.lengthOf(all, 1000)
    }).pipe(Effect.scoped)
  )
})
