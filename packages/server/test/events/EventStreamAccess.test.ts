/** Who gets events, and for how long. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import * as TestClock from "effect/testing/TestClock"
import { randomUUID } from "node:crypto"
import { setTimeout as pause } from "node:timers/promises"
import { assertRefused, created } from "../support/ChargeRequests.ts"
import { eventsOf, streamed, streamFrom } from "../support/EventStream.ts"
import { makeOperator } from "../support/Operators.ts"
import { eventually } from "../support/Receiver.ts"
import { type Call, TestService } from "../support/TestService.ts"

layer(TestService.layer(), { excludeTestServices: true })("Events", (it) => {
  it.effect("OPR-109: are not for viewers", () =>
    Effect.gen(function* () {
      const viewer = yield* makeOperator("viewer")
      assertRefused(yield* viewer.call("GET", "/operator/v1/events/stream"), "FORBIDDEN")
      assertRefused(yield* viewer.call("GET", "/operator/v1/events"), "FORBIDDEN")
    })
  )

  it.effect("OPR-109: are those of an operator's accounts, and not masked", () =>
    Effect.gen(function* () {
      const { makeCaller, operatorUrl } = yield* TestService
      const own = yield* makeCaller()
      const other = yield* makeCaller()
      const developer = yield* makeOperator("developer", [own.accountId])
      const all = yield* streamFrom(operatorUrl, developer.token)
      const ofOther = yield* streamFrom(operatorUrl, developer.token, `account_id=${other.accountId}`)
      const [stranger, charge] = [yield* created(other.key), yield* created(own.key)]
      const events = yield* eventsOf(all, 2)
      assert.deepStrictEqual(new Set(events.map(({ body }) => body.data.id)), new Set([charge.id]))
      assert.include(events[0]!.data, "52998224725")
      assert.deepStrictEqual(ofOther.received, [])
      const list = (query: string) =>
        Effect.map(
          developer.call<{ data: ReadonlyArray<{ data: { data: { id: string } } }> }>(
            "GET",
            `/operator/v1/events?after=oldest&limit=100${query}`
          ),
          ({ body }) => body.data.map(({ data }) => data.data.id)
        )
      assert.deepStrictEqual(yield* list(""), [charge.id, charge.id])
      assert.deepStrictEqual(yield* list(`&account_id=${other.accountId}`), [])
      assert.notInclude(yield* list(`&application_id=${other.applicationId}`), stranger.id)
      const page = yield* developer.call("GET", "/operator/v1/events?after=oldest")
      assert.include(page.text, "52998224725")
      assertRefused(yield* developer.call("GET", `/operator/v1/events?after=${randomUUID()}.1`), "CURSOR_EXPIRED")
    }).pipe(Effect.scoped)
  )
})

layer(TestService.layer(), { excludeTestServices: true })("Positions of a limited operator", (it) => {
  it.effect("OPR-109: have no id of another account's event, and continue without a gap", () =>
    Effect.gen(function* () {
      const { makeCaller, operatorUrl } = yield* TestService
      const sql = yield* SqlClient
      const [own, other] = [yield* makeCaller(), yield* makeCaller()]
      const developer = yield* makeOperator("developer", [own.accountId])
      const page = (query: string) =>
        developer.call<{ data: ReadonlyArray<{ data: { data: { id: string } } }>; next_after: string }>(
          "GET",
          `/operator/v1/events?limit=100&${query}`
        )
      const foreignIds = Effect.map(
        sql<{ id: string }>`SELECT id FROM changes WHERE account_id = ${other.accountId}::uuid`,
        (rows) => rows.map(({ id }) => id)
      )
      const first = yield* created(own.key)
      const stranger = yield* created(other.key)
      const all = yield* streamed(`account_id=${other.accountId}`)
      yield* created(other.key)
      yield* eventsOf(all, 2)
      const { body } = yield* page("after=oldest")
      assert.deepStrictEqual(new Set(body.data.map(({ data }) => data.data.id)), new Set([first.id]))
      const reader = yield* streamFrom(operatorUrl, developer.token)
      yield* eventually(
        Effect.sync(() => reader.heartbeats),
        ({ length }) => length > 0
      )
      const ids = yield* foreignIds
      assert.isAtLeast(ids.length, 2)
      for (const position of [body.next_after, reader.heartbeats[0]!]) {
        assert.match(position, /^position\.[\w-]+$/)
        for (const id of [...ids, stranger.id]) assert.notInclude(Buffer.from(position, "base64url").toString(), id)
      }
      const next = yield* created(own.key)
      const rest = yield* eventually(page(`after=${body.next_after}`), (answer) => answer.body.data.length === 2)
      assert.deepStrictEqual(new Set(rest.body.data.map(({ data }) => data.data.id)), new Set([next.id]))
      const resumed = yield* streamFrom(operatorUrl, developer.token, "", { "last-event-id": body.next_after })
      assert.deepStrictEqual(
        (yield* eventsOf(resumed, 2)).map((event) => event.body.data.id),
        [next.id, next.id]
      )
      for (const forged of ["position.x", `${body.next_after.slice(0, -8)}AAAAAAAA`]) {
        assertRefused(yield* page(`after=${forged}`), "CURSOR_EXPIRED")
      }
    }).pipe(Effect.scoped)
  )
})

layer(TestService.layer(), { excludeTestServices: true })("Events of the past", (it) => {
  it.effect("OPR-243: what a developer reads of the past is in the audit log; what follows, and others, is not", () =>
    Effect.gen(function* () {
      const { makeCaller, operatorUrl } = yield* TestService
      const sql = yield* SqlClient
      const { accountId, key } = yield* makeCaller()
      const first = yield* created(key)
      const developer = yield* makeOperator("developer", [accountId])
      const operator = yield* makeOperator("operator", [accountId])
      const entriesOf = ({ id }: { readonly id: string }) =>
        Effect.map(
          sql<{ action: string; after: Readonly<Record<string, unknown>> }>`
            SELECT action, after FROM audit WHERE operator_id = ${id}::uuid ORDER BY id`,
          (rows) => rows.map(({ action, after }) => [action, after["after"]])
        )
      yield* streamFrom(operatorUrl, developer.token)
      const page = (by: Call, after: string) =>
        by<{ data: ReadonlyArray<{ id: string }> }>("GET", `/operator/v1/events?after=${after}`)
      const read = yield* eventually(page(operator.call, "oldest"), ({ body }) => body.data.length >= 2)
      // It follows: the event before it is new.
      assert.strictEqual((yield* page(developer.call, read.body.data[0]!.id)).status, 200)
      assert.deepStrictEqual(yield* entriesOf(developer), [])
      yield* page(developer.call, "oldest")
      const streamed = yield* streamFrom(operatorUrl, developer.token, "after=oldest")
      assert.strictEqual((yield* eventsOf(streamed, 1))[0]!.body.data.id, first.id)
      assert.deepStrictEqual(yield* entriesOf(developer), [
        ["events.list", "oldest"],
        ["events.stream", "oldest"]
      ])
      yield* streamFrom(operatorUrl, operator.token, "after=oldest")
      assert.deepStrictEqual(yield* entriesOf(operator), [])
    }).pipe(Effect.scoped)
  )

  it.effect("OPR-243: also where the past begins with thousands of others' events", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const sql = yield* SqlClient
      const first = yield* created((yield* makeCaller()).key)
      yield* sql`INSERT INTO changes (id, resource_id, account_id, application_id, kind, actions, status, sequence, data, created_at)
        SELECT uuidv7(), resource_id, account_id, application_id, kind, actions, status, sequence, data, created_at
        FROM (SELECT * FROM changes WHERE resource_id = ${first.id}::uuid LIMIT 1) c, generate_series(1, 5200)`
      const { accountId, key } = yield* makeCaller()
      const charge = yield* created(key)
      const developer = yield* makeOperator("developer")
      const path = `/operator/v1/events?after=oldest&account_id=${accountId}&wait=5`
      yield* eventually(developer.call("GET", path), ({ text }) => text.includes(charge.id))
      const entries = yield* sql`SELECT FROM audit WHERE operator_id = ${developer.id}::uuid AND action = 'events.list'`
      assert.isAbove(entries.length, 0)
    }).pipe(Effect.scoped)
  )
})

layer(TestService.layer())("An open stream", (it) => {
  it.effect("OPR-108: ends within 15 s of a revocation, and of a change of its operator's accounts", () =>
    Effect.gen(function* () {
      const { makeCaller, operate, operatorUrl } = yield* TestService
      const { accountId } = yield* makeCaller()
      const [revoked, limited, kept] = [
        yield* makeOperator("developer"),
        yield* makeOperator("operator"),
        yield* makeOperator("operator")
      ]
      const readers = yield* Effect.forEach([revoked, limited, kept], ({ token }) => streamFrom(operatorUrl, token))
      const installation = yield* streamed()
      yield* operate("POST", `/operator/v1/tokens/${revoked.tokenId}/revoke`)
      yield* operate("PATCH", `/operator/v1/operators/${limited.id}`, { body: { account_ids: [accountId] } })
      yield* TestClock.adjust("15 seconds")
      const haveEnded = () => readers.map(({ hasEnded }) => hasEnded())
      yield* Effect.promise(async () => {
        for (let tries = 0; haveEnded().filter((has) => has).length < 2 && tries < 6000; tries++) await pause(10)
      })
      assert.deepStrictEqual([...haveEnded(), installation.hasEnded()], [true, true, false, false])
    }).pipe(Effect.scoped)
  )
})
