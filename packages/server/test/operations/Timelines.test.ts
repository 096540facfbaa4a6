/** What happened to a charge or payout, in one answer. */
import { assert, layer } from "@effect/vitest"
import { type Timeline, timelineLimits } from "@pix-payments/api/operator/Timelines"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { randomUUID } from "node:crypto"
import { assertRefused, created } from "../support/ChargeRequests.ts"
import { makeOperator } from "../support/Operators.ts"
import { holding, operated, paidCharge, paidOut, payoutReaching, simulated } from "../support/Money.ts"
import { makeExplainer, makeRecorder } from "../support/Plans.ts"
import { asService } from "../support/Postgres.ts"
import { eventually, loopback, receiver } from "../support/Receiver.ts"
import { TestService } from "../support/TestService.ts"
import { registered } from "../support/Webhooks.ts"

const settings = { webhookAllowedNetworks: loopback, webhookRetryDelaysMs: [3_600_000] }
const recorder = makeRecorder()

/** A timeline once the loops that follow a change have written what it shows. */
const timelineOf = (path: string, isComplete: (timeline: Timeline) => boolean) =>
  eventually(operated<Timeline>("GET", `${path}/timeline`), isComplete)

const attemptsIn = ({ deliveries }: Timeline) => deliveries.data.flatMap(({ attempts }) => attempts)

layer(TestService.layer({ settings }).pipe(Layer.provide(recorder.layer)), { excludeTestServices: true })(
  "Timelines",
  (it) => {
    it.effect("OPR-141: a charge shows its states, requests, orders, notifications, money and deliveries", () =>
      Effect.gen(function* () {
        const { call, makeCaller } = yield* TestService
        const { key, keyId } = yield* makeCaller()
        const { url } = yield* receiver((_, response) => response.writeHead(503).end("come back later"))
        yield* registered(key, { url, events: ["charge.pix.paid"] })
        const { id } = yield* created(key, { amount: 5000 })
        yield* call("GET", `/v1/charges/${id}`, { key })
        yield* simulated(`/charges/${id}/pay`)
        yield* simulated(`/charges/${id}/pay`, {}, 202)
        yield* operated("POST", `/charges/${id}/refund`, { amount: 2000 })
        yield* simulated(`/charges/${id}/infraction`, { reason: "fraud" }, 201)
        const timeline = yield* timelineOf(
          `/charges/${id}`,
          (one) => attemptsIn(one).length > 0 && one.requests.data.length === 2
        )
        assert.strictEqual(timeline.resource_id, id)
        assert.deepStrictEqual(
          timeline.states.data.map(({ event, status }) => [status, event]),
          [
            ["infraction", "charge.pix.infraction"],
            ["paid", "charge.pix.paid"],
            ["pending", "charge.pix.emitted"],
            ["pending", "charge.pix.created"],
            ["processing", null]
          ]
        )
        assert.deepStrictEqual(
          timeline.requests.data.map(({ key_id, resource_id, route }) => [route, key_id, resource_id]),
          [
            ["GET /v1/charges/{id}", keyId, id],
            ["POST /v1/charges", keyId, id]
          ]
        )
        assert.deepStrictEqual(
          timeline.orders.data.map(({ amount, attempts, kind, status }) => `${kind} ${status} ${amount} ${attempts}`),
          ["refund done 2000 1"]
        )
        assert.deepStrictEqual(
          timeline.refunds.data.map(({ amount, id, status }) => [id, status, amount]),
          [[timeline.orders.data[0]!.id, "completed", 2000]]
        )
        const notifications = timeline.notifications.data.map(({ name, outcome }) => `${name} ${outcome}`)
        assert.strictEqual(notifications[0], "med.opened applied")
        assert.includeMembers(notifications, ["charge.paid applied", "charge.paid exception"])
        assert.deepStrictEqual(
          timeline.disputes.data.map(({ amount, status }) => [status, amount]),
          [["open", 3000]]
        )
        const money = timeline.ledger_entries.data.map(({ amount, reason }) => `${reason} ${amount}`)
        assert.include(money, "charge.paid 5000")
        assert.isAbove(money.length, 2)
        const [delivery] = timeline.deliveries.data
        assert.deepInclude(delivery, { event: "charge.pix.paid", url, status: "scheduled", attempts_made: 1 })
        assert.deepInclude(delivery!.attempts[0], {
          status_code: 503,
          error: "status 503",
          response_body: "come back later"
        })
        for (const { data, has_more } of [timeline.states, timeline.requests, timeline.ledger_entries]) {
          assert.isFalse(has_more)
          assert.deepStrictEqual(
            data.map(({ created_at }) => created_at),
            data
              .map(({ created_at }) => created_at)
              .toSorted()
              .toReversed()
          )
        }
      })
    )

    it.effect("OPR-141: an order that is refused, and a charge that the acquirer has not answered", () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        const paid = yield* paidCharge(key, 1000)
        yield* operated("POST", `/charges/${paid.id}/refund`, { description: "fail@simulator.test" }, 422)
        const { ledger_entries: money, orders } = yield* operated<Timeline>("GET", `/charges/${paid.id}/timeline`)
        assert.deepStrictEqual(
          orders.data.map(({ kind, status }) => [kind, status]),
          [["refund", "refused"]]
        )
        assert.isAbove(money.data.length, 2, "the money went back")

        const pending = yield* created(key)
        const sql = yield* SqlClient
        yield* sql`INSERT INTO charge_recoveries (due_at, id, charge_ids, account_id, attempts)
          SELECT now() + interval '1 day', id, ARRAY[id], account_id, 4 FROM charges WHERE id = ${pending.id}::uuid`
        const asked = yield* operated<Timeline>("GET", `/charges/${pending.id}/timeline`)
        assert.deepStrictEqual(
          asked.orders.data.map(({ attempts, kind, status }) => [kind, status, attempts]),
          [["emission", "in_progress", 5]]
        )
        yield* sql`DELETE FROM charge_recoveries WHERE id = ${pending.id}::uuid`
      })
    )

    it.effect("OPR-141: a payout shows its states, how often it was submitted, its outcome and its money", () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { key } = yield* makeCaller()
        yield* paidCharge(key, 90_000)
        const { id } = yield* paidOut(key, { ...holding, amount: 700 })
        yield* simulated(`/payouts/${id}/fail`, { reason: "account closed" })
        yield* payoutReaching(key, id, "failed")
        const timeline = yield* timelineOf(`/payouts/${id}`, ({ requests }) =>
          requests.data.some(({ route }) => route === "POST /v1/payouts")
        )
        assert.deepStrictEqual(
          timeline.states.data.map(({ event, status }) => [status, event]),
          [
            ["failed", "payment.pix.failed"],
            ["processing", "payment.pix.processing"],
            ["processing", "payment.pix.created"]
          ]
        )
        assert.deepStrictEqual(
          timeline.orders.data.map(({ amount, kind, status }) => `${kind} ${status} ${amount}`),
          ["payout failed 700"]
        )
        assert.isAbove(timeline.orders.data[0]!.attempts, 0)
        assert.deepStrictEqual(
          timeline.notifications.data.map(({ name, outcome }) => [name, outcome]),
          [["payout.failed", "applied"]]
        )
        assert.isAbove(timeline.ledger_entries.data.length, 1, "the money left and came back")
        // Of another payout the acquirer accepted nothing.
        const { id: refusedId } = yield* paidOut(key, { ...holding, amount: 800 })
        yield* payoutReaching(key, refusedId, "processing")
        yield* simulated(`/payouts/${refusedId}/fail`, { reason: "no such key" })
        yield* payoutReaching(key, refusedId, "failed")
        const sql = yield* SqlClient
        yield* sql`UPDATE payouts SET processed_at = NULL WHERE id = ${refusedId}::uuid`
        const { orders } = yield* operated<Timeline>("GET", `/payouts/${refusedId}/timeline`)
        assert.deepStrictEqual(
          orders.data.map(({ kind, status }) => [kind, status]),
          [["payout", "refused"]]
        )
      })
    )

    it.effect("OPR-142: a timeline is bounded, and reads a range of an index for each kind", () =>
      Effect.gen(function* () {
        const { databaseUrl, makeCaller } = yield* TestService
        const { accountId, key, keyId } = yield* makeCaller()
        const { id } = yield* paidCharge(key, 1000)
        const sql = yield* SqlClient
        // Beside those of the charge, the rows of others.
        for (const owner of [`'${id}'::uuid`, "uuidv7()"]) {
          yield* sql.unsafe(
            `INSERT INTO requests (id, request_id, key_id, account_id, resource_id, route, status, duration_us, at)
             SELECT uuidv7(), n::text, $1::uuid, $2::uuid, ${owner}, 'GET /v1/charges/{id}', 200, 1, now()
             FROM generate_series(1, 2000) n`,
            [keyId, accountId]
          )
          yield* sql.unsafe(
            `INSERT INTO changes (id, resource_id, account_id, kind, actions, status, sequence, data, created_at)
             SELECT uuidv7(), ${owner}, $1::uuid, 'charge.pix', '{}', 'paid', 10 + n, '{}', now()
             FROM generate_series(1, 2000) n`,
            [accountId]
          )
          yield* sql.unsafe(
            `INSERT INTO deliveries (id, change_id, event, resource_id, account_id, url, destination, destination_hash, status,
               attempts_made, created_at)
             SELECT uuidv7(), uuidv7(), 'charge.pix.paid', ${owner}, $1::uuid,
               'https://example.com/', 'https://example.com', text_digest('https://example.com'), 'failed', 10000, now() FROM generate_series(1, 2000) n`,
            [accountId]
          )
          yield* sql.unsafe(
            `INSERT INTO delivery_attempts (id, delivery_id, at, duration_ms, status_code)
             SELECT uuidv7(), ${owner === "uuidv7()" ? owner : "d.id"}, now(), 5, 500 + n % 10
             FROM (SELECT id FROM deliveries WHERE resource_id = $1::uuid ORDER BY id DESC LIMIT 1) d,
               generate_series(1, 10000) n`,
            [id]
          )
        }
        yield* sql`ANALYZE`
        recorder.take()
        const timeline = yield* operated<Timeline>("GET", `/charges/${id}/timeline`)
        const names = [id, id.replaceAll("-", ""), timeline.deliveries.data[0]!.id]
        const sent = recorder
          .take()
          .filter(({ parameters }) => names.some((name) => JSON.stringify(parameters).includes(name)))
        assert.lengthOf(timeline.requests.data, timelineLimits.rows)
        assert.lengthOf(timeline.states.data, timelineLimits.rows)
        assert.lengthOf(timeline.deliveries.data, timelineLimits.deliveries)
        assert.deepStrictEqual(
          [timeline.requests, timeline.states, timeline.deliveries].map(({ has_more }) => has_more),
          [true, true, true]
        )
        const attempts = attemptsIn(timeline)
        assert.lengthOf(attempts, timelineLimits.attempts)
        // The newest ones, oldest first.
        assert.deepStrictEqual(
          attempts.map(({ status_code }) => status_code),
          [501, 502, 503, 504, 505, 506, 507, 508, 509, 500]
        )
        const { explain } = yield* makeExplainer(asService(databaseUrl), recorder.settings())
        assert.isAbove(sent.length, 6)
        for (const one of sent) {
          const { fullScans, rows } = yield* explain(one)
          assert.isBelow(rows, 600, one.text)
          assert.deepStrictEqual(
            fullScans.filter((table) => ["requests", "changes", "deliveries", "delivery_attempts"].includes(table)),
            [],
            one.text
          )
        }
      })
    )

    it.effect("OPR-39, OPR-143: a timeline is of the operator's accounts, and has no personal data", () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { accountId, key } = yield* makeCaller()
        const { accountId: otherId } = yield* makeCaller()
        const customer = { name: "Maria Segredo", document: "52998224725", email: "maria.segredo@example.com" }
        const { id } = yield* paidCharge(key, 1000, { customer })
        const mine = yield* makeOperator("viewer", [accountId])
        const other = yield* makeOperator("viewer", [otherId])
        const shown = yield* mine.call("GET", `/operator/v1/charges/${id}/timeline`)
        assert.strictEqual(shown.status, 200, shown.text)
        for (const secret of Object.values(customer)) assert.notInclude(shown.text, secret)
        assertRefused(yield* other.call("GET", `/operator/v1/charges/${id}/timeline`), "NOT_FOUND")
        assertRefused(yield* mine.call("GET", `/operator/v1/charges/${randomUUID()}/timeline`), "NOT_FOUND")
        assertRefused(yield* mine.call("GET", "/operator/v1/payouts/x/timeline"), "NOT_FOUND")
      })
    )
  }
)
