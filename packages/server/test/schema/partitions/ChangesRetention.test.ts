/** Events and the history of resources are removed after their retention, while their readers and deliveries go on. */
import { assert, layer } from "@effect/vitest"
import type { EventPage } from "@pix-payments/api/operator/Events"
import type { Timeline } from "@pix-payments/api/operator/Timelines"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { EventFeed } from "../../../src/events/EventFeed.ts"
import { databaseTime, partitionsOf } from "../../../src/schema/partitions/Catalog.ts"
import * as Maintenance from "../../../src/schema/partitions/Maintenance.ts"
import { boundOf, periodAfter, timeOf } from "../../../src/database/Period.ts"
import { assertRefused, created } from "../../support/ChargeRequests.ts"
import { ahead, DAY_MS } from "../../support/DatabaseTime.ts"
import { earlierTransactionsEnded, eventsOf, streamed } from "../../support/EventStream.ts"
import { operated, paidCharge } from "../../support/Money.ts"
import { makeExplainer, makeRecorder, type Sent } from "../../support/Plans.ts"
import { asService } from "../../support/Postgres.ts"
import { eventually, loopback, receiver } from "../../support/Receiver.ts"
import { TestService } from "../../support/TestService.ts"
import { changed, registered } from "../../support/Webhooks.ts"

const settings = { webhookAllowedNetworks: loopback, webhookRetryDelaysMs: [3_600_000] }

const events = (query: string) => operated<EventPage>("GET", `/events?${query}`)

const refusedAfter = (cursor: string) =>
  Effect.flatMap(TestService, ({ operate }) =>
    Effect.forEach(["/operator/v1/events", "/operator/v1/events/stream"], (path) =>
      Effect.map(operate("GET", `${path}?after=${cursor}`), (answer) => assertRefused(answer, "CURSOR_EXPIRED"))
    )
  )

/** Waits until the statistics have counted every change. */
const counted = Effect.gen(function* () {
  yield* earlierTransactionsEnded
  const sql = yield* SqlClient
  yield* eventually(
    sql`SELECT FROM changes c JOIN status_counts_position p ON (c.transaction_id, c.id) > (p.transaction_id, p.change_id)`,
    ({ length }) => length === 0
  )
})

/** Removes the changes of until now, as the maintenance does when their month is older than the retention. */
const removeMonth = Effect.gen(function* () {
  const [first] = (yield* partitionsOf("changes"))!
  const now = yield* databaseTime
  const until = timeOf(first!.before)
  const early = yield* ahead(until - now + 395 * DAY_MS, Maintenance.run)
  const { removed } = yield* ahead(until - now + 396 * DAY_MS, Maintenance.run)
  return { name: first!.name, early: early.removed, removed }
})

const MONTHS = 14

const isOfChanges = ({ table }: { readonly table: string }) => table === "changes"

const recorder = makeRecorder()

layer(TestService.layer({ settings }), { excludeTestServices: true })("Changes", (it) => {
  it.effect(
    "OPR-193, OPR-194: are removed with their month, except those that a delivery needs; no reader misses one",
    () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const sql = yield* SqlClient
        const { accountId, key } = yield* makeCaller()
        const isUp = { value: false }
        const { received, url } = yield* receiver((_, response) => response.writeHead(isUp.value ? 200 : 503).end())
        const endpoint = yield* registered(key, { url, events: ["charge.pix.paid"] })
        const paused = yield* registered(key, { url: `${url}/paused`, events: ["charge.pix.emitted"] })

        // One delivered, one scheduled again, one paused, one whose fan-out failed, and one whose deliveries are not made.
        isUp.value = true
        const delivered = yield* paidCharge(key)
        yield* eventually(
          sql`SELECT FROM deliveries WHERE resource_id = ${delivered.id}::uuid AND status = 'delivered'`,
          ({ length }) => length === 2
        )
        isUp.value = false
        yield* changed(key, paused.id, { active: false })
        const open = yield* paidCharge(key)
        yield* eventually(
          sql`SELECT FROM deliveries WHERE resource_id = ${open.id}::uuid
          AND (paused_due_at IS NOT NULL OR status = 'scheduled' AND attempts_made = 1)`,
          ({ length }) => length === 2
        )
        const failed = yield* created(key)
        yield* eventually(
          sql`SELECT FROM deliveries WHERE resource_id = ${failed.id}::uuid AND paused_due_at IS NOT NULL`,
          ({ length }) => length === 1
        )
        yield* sql`INSERT INTO outbox_failures (id, change_id, account_id, endpoints_version, error, first_failed_at,
          last_failed_at)
        SELECT uuidv7(), id, account_id, 1, 'refused', now(), now() FROM changes
        WHERE resource_id = ${failed.id}::uuid AND 'created' = ANY (actions)`
        // What is counted is before the watermark, which transactions of other databases hold back as well.
        yield* counted
        const all = (yield* events(`account_id=${accountId}&after=oldest&limit=100`)).data
        const [kept] = yield* sql<{ id: string }>`SELECT id FROM changes
        WHERE resource_id = ${open.id}::uuid AND 'paid' = ANY (actions)`
        const other = yield* makeCaller()
        const refunded = yield* paidCharge(other.key)
        yield* counted
        const last = yield* events(`account_id=${accountId}&limit=1`)

        const { early, name, removed } = yield* removeMonth
        assert.deepStrictEqual(early.filter(isOfChanges), [])
        assert.deepStrictEqual(removed.filter(isOfChanges), [{ table: "changes", name }])
        const left = yield* sql`SELECT resource_id, actions[1] AS action, tableoid::regclass::text AS partition
        FROM changes WHERE account_id = ${accountId}::uuid ORDER BY id`
        assert.deepStrictEqual(
          left,
          [
            [open.id, "created"],
            [open.id, "paid"],
            [failed.id, "created"]
          ].map(([resource_id, action]) => ({ resource_id, action, partition: "changes_default" }))
        )

        // The charge stays, without its history.
        const shown = yield* operated<{ status: string; history: ReadonlyArray<unknown> }>(
          "GET",
          `/charges/${delivered.id}`
        )
        assert.deepStrictEqual([shown.status, shown.history.length], ["paid", 1])
        const timeline = yield* operated<Timeline>("GET", `/charges/${delivered.id}/timeline`)
        assert.deepStrictEqual(
          timeline.states.data.map(({ event }) => event),
          [null]
        )

        // It is counted once, also after its next change.
        const stats = operated<{ charges: Record<string, number> }>("GET", `/stats?account_id=${other.accountId}`)
        assert.deepStrictEqual((yield* stats).charges, { paid: 1 })
        yield* operated("POST", `/charges/${refunded.id}/refund`, {})
        yield* eventually(
          operated<{ status: string }>("GET", `/charges/${refunded.id}`),
          ({ status }) => status === "refunded"
        )
        assert.deepStrictEqual((yield* stats).charges, { refunded: 1 })

        // A reader of before has missed events, also one after an event that is kept for its delivery.
        yield* refusedAfter(all[0]!.id)
        yield* refusedAfter(all.at(-1)!.id)
        yield* refusedAfter(`${kept!.id}.1`)
        assert.deepStrictEqual((yield* events(`account_id=${accountId}&after=oldest`)).data, [])
        const after = yield* events(`account_id=${accountId}&after=${last.next_after}`)
        assert.deepStrictEqual(after.data, [])
        const reader = yield* streamed(`account_id=${accountId}&after=${after.next_after}`)
        const next = yield* created(key)
        const seen = yield* eventsOf(reader, 2)
        assert.deepStrictEqual(
          seen.map(({ body }) => body.data.id),
          [next.id, next.id]
        )

        // What was open is delivered, with the data of before.
        isUp.value = true
        yield* changed(key, paused.id, { active: true })
        yield* sql`UPDATE deliveries SET due_at = now() WHERE endpoint_id = ${endpoint.id}::uuid AND status = 'scheduled'`
        yield* eventually(
          sql`SELECT FROM deliveries WHERE resource_id = ${open.id}::uuid AND status = 'delivered'`,
          ({ length }) => length === 2
        )
        const ofOpen = received.flatMap(({ body }) => (body.data.id === open.id ? [body] : []))
        const bodies = Map.groupBy(ofOpen, ({ event }) => event)
        assert.deepStrictEqual(
          ["charge.pix.emitted", "charge.pix.paid"].map((event) => bodies.get(event)?.length),
          [1, 2]
        )
        assert.deepStrictEqual(bodies.get("charge.pix.paid")![0], bodies.get("charge.pix.paid")![1])

        // Then nothing needs its change. Those of the default partition are removed as the others.
        const end = yield* events(`account_id=${accountId}&after=${after.next_after}`)
        assert.lengthOf(end.data, 2)
        yield* counted
        const { removed: again } = yield* ahead(3 * 366 * DAY_MS, Maintenance.run)
        assert.isNotEmpty(again.filter(isOfChanges))
        assert.deepStrictEqual(
          yield* sql`SELECT DISTINCT resource_id FROM changes WHERE account_id = ${accountId}::uuid`,
          [{ resource_id: failed.id }]
        )
        yield* refusedAfter(seen[0]!.id)
        yield* refusedAfter(after.next_after)
        const later = yield* created(key)
        yield* earlierTransactionsEnded
        const resumed = yield* events(`account_id=${accountId}&after=${end.next_after}&wait=10`)
        assert.deepStrictEqual(
          [
            ...resumed.data.map(({ data }) => data.data.id),
            ...(yield* eventsOf(reader, 4)).slice(2).map(({ body }) => body.data.id)
          ],
          Array.from({ length: 4 }, () => later.id)
        )
        // A stream that is as far behind ends.
        const position = { transactionId: 1n, changeId: seen[0]!.id.slice(0, 36), n: 1 }
        const filter = { accountIds: undefined, applicationId: undefined, events: undefined }
        const feed = yield* EventFeed
        const behind = yield* Effect.flip(feed.next({ after: position, filter, limit: 1, waitMs: 0 }))
        assert.strictEqual(behind._tag, "EventsRemoved")
        const oldest = yield* events(`account_id=${accountId}&after=oldest`)
        assert.deepStrictEqual(oldest.data, resumed.data)
      }).pipe(Effect.scoped)
  )
})

layer(TestService.layer({ settings }).pipe(Layer.provide(recorder.layer)), { excludeTestServices: true })(
  "Changes of many months",
  (it) => {
    it.effect("OPR-102: pages of events, and the history of a charge, read as much of many partitions as of one", () =>
      Effect.gen(function* () {
        const { databaseUrl, makeCaller, operate } = yield* TestService
        const sql = yield* SqlClient
        const { key } = yield* makeCaller()
        const { id } = yield* created(key)
        const months = Array.from({ length: MONTHS }, (_, month) => month)
        // Later months of earlier transactions: the order of commits is not that of ids.
        const idIn = (month: number) => boundOf(periodAfter("month", Date.UTC(2030, 0), month))
        yield* Effect.forEach(months, (month) =>
          Effect.gen(function* () {
            yield* sql.unsafe(
              `CREATE TABLE changes_of_${month} PARTITION OF changes FOR VALUES FROM ('${idIn(month)}') TO ('${idIn(month + 1)}')`
            )
            yield* sql.unsafe(
              `INSERT INTO changes (id, resource_id, account_id, kind, actions, status, sequence, data, created_at,
               transaction_id)
             SELECT ('${idIn(month).slice(0, 24)}' || lpad(to_hex(n), 12, '0'))::uuid, uuidv7(), uuidv7(), 'charge.pix',
               '{paid}', 'paid', 1, '{"id":"other"}', now(), ${MONTHS - month}::text::xid8
             FROM generate_series(1, 2000) n`
            )
          })
        )
        yield* sql`ANALYZE changes`
        recorder.take()
        // After the first of the last month's changes, which are those of the first transaction.
        const first = `${idIn(MONTHS - 1).slice(0, 24)}000000000001`
        const answer = yield* operate<EventPage>("GET", `/operator/v1/events?after=${first}.1&limit=1`)
        assert.strictEqual(answer.body.data[0]!.id, `${first.slice(0, 35)}2.1`)
        yield* operated("GET", `/charges/${id}`)
        yield* operated("GET", `/charges/${id}/timeline`)
        const sent = recorder.take()
        const { explain } = yield* makeExplainer(asService(databaseUrl), recorder.settings())
        const workOf = Effect.fnUntraced(function* (words: RegExp, change?: (sent: Sent) => Sent) {
          const found = sent.filter(({ text }) => words.test(text))
          assert.isNotEmpty(found)
          return yield* explain(change?.(found[0]!) ?? found[0]!)
        })
        const page = /scanned AS MATERIALIZED/
        const { fullScans, rows } = yield* workOf(page)
        assert.deepStrictEqual(fullScans, [])
        assert.isBelow(rows, 5000 + 200 + 2 * MONTHS)
        // A reader at the end of the log.
        const atEnd = yield* workOf(page, ({ parameters, text }) => ({
          text,
          parameters: [100, ...parameters.slice(1)]
        }))
        const ofCharge = [
          yield* workOf(/SELECT status, kind, actions/),
          yield* workOf(/SELECT kind, actions, status/),
          yield* workOf(/found AS/)
        ]
        for (const work of [atEnd, ...ofCharge]) {
          assert.deepStrictEqual(work.fullScans, [])
          assert.isBelow(work.rows, 10)
          assert.isBelow(work.pages, 4 * MONTHS)
        }
      }).pipe(Effect.scoped)
    )
  }
)
