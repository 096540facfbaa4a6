/** How much waits for a person. */
import { assert, layer } from "@effect/vitest"
import type { WaitingCounts } from "@pix-payments/api/operator/Waiting"
import type { OperatorWebhookEndpoint } from "@pix-payments/api/operator/WebhookEndpoints"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { created } from "../support/ChargeRequests.ts"
import { notified, paymentOf } from "../support/Exceptions.ts"
import { operated } from "../support/Money.ts"
import { makeOperator } from "../support/Operators.ts"
import { overdueReturnOf } from "../support/Overdue.ts"
import { eventually, loopback, receiver } from "../support/Receiver.ts"
import { TestService } from "../support/TestService.ts"
import { registered } from "../support/Webhooks.ts"

const none = { count: 0, has_more: false }

layer(TestService.layer({ settings: { webhookAllowedNetworks: loopback } }), { excludeTestServices: true })(
  "Waiting",
  (it) => {
    it.effect("OPR-144, OPR-39: counts what waits up to 99 of each kind, of the operator's accounts", () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const sql = yield* SqlClient
        const { accountId, applicationId } = yield* makeCaller()
        const { accountId: otherId } = yield* makeCaller()
        const disputes = (account: string, count: number, status: string) =>
          sql`INSERT INTO disputes (id, charge_id, account_id, application_id, status, amount, opened_at, arrived_resolved,
            sequence)
          SELECT uuidv7(), uuidv7(), ${account}::uuid, ${applicationId}::uuid, ${status}, 1, now(), false, 1
          FROM generate_series(1, ${count}::integer)`
        const before = yield* operated<WaitingCounts>("GET", "/waiting")
        assert.deepStrictEqual(before, {
          object: "waiting",
          approvals: none,
          disputes: none,
          exceptions: none,
          failing_endpoints: none,
          outbox_failures: none
        })
        yield* disputes(accountId, 2, "open")
        yield* disputes(accountId, 3, "won")
        yield* disputes(otherId, 97, "open")
        assert.deepStrictEqual((yield* operated<WaitingCounts>("GET", "/waiting")).disputes, {
          count: 99,
          has_more: false
        })
        yield* disputes(otherId, 1, "open")
        // Of two failures, the retry of one was requested.
        yield* sql`INSERT INTO outbox_failures (id, change_id, account_id, endpoints_version, error, first_failed_at,
          last_failed_at, retried_at)
        SELECT uuidv7(), uuidv7(), ${accountId}::uuid, 0, 'failed in a test', now(), now(), retried_at
        FROM unnest(ARRAY[NULL, now()]) AS retried_at`
        const all = yield* operated<WaitingCounts>("GET", "/waiting")
        assert.deepStrictEqual(all.disputes, { count: 99, has_more: true })
        assert.deepStrictEqual(all.outbox_failures, { count: 1, has_more: false })
        const mine = yield* (yield* makeOperator("viewer", [accountId])).call<WaitingCounts>(
          "GET",
          "/operator/v1/waiting"
        )
        assert.deepStrictEqual(mine.body.disputes, { count: 2, has_more: false })
        const others = yield* (yield* makeOperator("viewer", [otherId])).call<WaitingCounts>(
          "GET",
          "/operator/v1/waiting"
        )
        assert.deepStrictEqual(others.body.outbox_failures, none)
      })
    )

    it.effect("OPR-144, OPR-160, OPR-39: counts and lists failing endpoints, apart from failed deliveries", () =>
      Effect.gen(function* () {
        const { call, makeCaller } = yield* TestService
        const { accountId, applicationId, key } = yield* makeCaller()
        const { accountId: otherId, key: otherKey } = yield* makeCaller()
        let status = 503
        const { url } = yield* receiver((_, response) => response.writeHead(status).end())
        const events = ["charge.pix.created"]
        const failing = (yield* registered(key, { url, events })).id
        const paused = (yield* registered(key, { url: `${url}/paused`, events })).id
        const deleted = (yield* registered(key, { url: `${url}/deleted`, events })).id
        const fine = (yield* registered(otherKey, { url: (yield* receiver()).url, events })).id
        const { id } = yield* created(key)
        yield* created(otherKey)
        const waiting = operated<WaitingCounts>("GET", "/waiting")
        const of = Effect.fnUntraced(function* (query: string) {
          const { data } = yield* operated<{ data: ReadonlyArray<OperatorWebhookEndpoint> }>(
            "GET",
            `/webhooks?${query}`
          )
          return data.map((endpoint) => endpoint.id)
        })
        yield* eventually(waiting, ({ failing_endpoints: { count } }) => count === 3)
        assert.lengthOf((yield* operated<{ data: ReadonlyArray<unknown> }>("GET", "/deliveries?status=failed")).data, 0)
        yield* call("PATCH", `/v1/webhooks/${paused}`, { key, body: { active: false } })
        yield* call("DELETE", `/v1/webhooks/${deleted}`, { key })
        const sql = yield* SqlClient
        assert.deepStrictEqual(
          yield* sql`SELECT consecutive_failures FROM webhook_endpoint_health WHERE endpoint_id = ${deleted}::uuid`,
          [{ consecutive_failures: 0 }],
          "nothing reads its health any more"
        )
        assert.deepStrictEqual((yield* waiting).failing_endpoints, { count: 1, has_more: false })
        assert.deepStrictEqual(yield* of("failing=true"), [failing])
        assert.deepStrictEqual(yield* of(`failing=true&account_id=${otherId}`), [])
        assert.deepStrictEqual(yield* of(`account_id=${accountId}`), [paused, failing])
        assert.deepStrictEqual(yield* of(""), [fine, paused, failing])
        const other = yield* makeOperator("viewer", [otherId])
        const seen = yield* other.call<WaitingCounts>("GET", "/operator/v1/waiting")
        assert.deepStrictEqual(seen.body.failing_endpoints, none)
        const listed = yield* other.call<{ data: ReadonlyArray<OperatorWebhookEndpoint> }>(
          "GET",
          "/operator/v1/webhooks"
        )
        assert.deepStrictEqual(
          listed.body.data.map((endpoint) => endpoint.id),
          [fine]
        )
        for (const query of [`account_id=${accountId}`, "failing=true"]) {
          const none = yield* other.call<{ data: ReadonlyArray<unknown> }>("GET", `/operator/v1/webhooks?${query}`)
          assert.deepStrictEqual(none.body.data, [])
        }
        const [first] = (yield* operated<{ data: ReadonlyArray<OperatorWebhookEndpoint> }>(
          "GET",
          `/webhooks?account_id=${accountId}&failing=true`
        )).data
        const application = yield* operated<{ name: string }>("GET", `/applications/${applicationId}`)
        assert.deepInclude(first, {
          application_id: applicationId,
          application_name: application.name,
          consecutive_failures: 1,
          success_rate: 0
        })

        status = 200
        const { data } = yield* operated<{ data: ReadonlyArray<{ id: string }> }>(
          "GET",
          `/deliveries?resource_id=${id}&endpoint_id=${failing}`
        )
        yield* operated("POST", `/deliveries/${data[0]!.id}/resend`, undefined, 202)
        yield* eventually(waiting, ({ failing_endpoints: { count } }) => count === 0)
        assert.deepStrictEqual(yield* of("failing=true"), [])
      }).pipe(Effect.scoped)
    )
  }
)

layer(TestService.layer({ settings: { simulatorSettleMs: 0 } }), { excludeTestServices: true })("Decisions", (it) => {
  it.effect("OPR-144, OPR-215: every open exception is counted, also one whose return only a person can end", () =>
    Effect.gen(function* () {
      yield* overdueReturnOf
      yield* notified(paymentOf("", { amount: 1234, key: "pix@example.com" }))
      assert.deepStrictEqual((yield* operated<WaitingCounts>("GET", "/waiting")).exceptions, {
        count: 2,
        has_more: false
      })
    })
  )
})
