/** The request log and the audit log. */
import { allScopes } from "@pix-payments/domain/Scope"
import { lowestIdAt } from "@pix-payments/domain/Uuid"
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { exportPieces } from "../../src/http/operator/operations/LogHandlers.ts"
import { AuditLog } from "../../src/operations/AuditLog.ts"
import { create } from "../support/ChargeDeliveries.ts"
import { assertRefused, instant, uuid7 } from "../support/ChargeRequests.ts"
import { makeOperator, newestEntries, signIn } from "../support/Operators.ts"
import { eventually, loopback } from "../support/Receiver.ts"
import { newKey, TestService } from "../support/TestService.ts"
import { type Key, type List, someAccount } from "../support/Operator.ts"

const settings = { webhookAllowedNetworks: loopback, webhookRetryDelaysMs: [20], acquirerTimeoutMs: 300 }

layer(TestService.layer({ settings }), { excludeTestServices: true })("Logs", (it) => {
  it.effect("OPR-161: lists 1000 requests of a request id at most", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const sql = yield* SqlClient
      yield* sql`INSERT INTO requests (id, request_id, route, status, duration_us, at)
        SELECT uuidv7(), 'repeated', 'GET /v1/balance', 200, 1, now() FROM generate_series(1, 1050)`
      const seen = new Set<string>()
      for (let after = "", hasMore = true; hasMore;) {
        const { body } = yield* operate<List<LoggedRequest>>(
          "GET",
          `/operator/v1/requests?request_id=repeated&limit=100${after}`
        )
        for (const { id } of body.data) seen.add(id)
        after = `&starting_after=${body.data.at(-1)!.id}`
        hasMore = body.has_more
      }
      assert.strictEqual(seen.size, 1000)
    })
  )

  it.effect("ERR-12, OPR-31, OPR-161: records every request of /v1, and when a key was last used", () =>
    Effect.gen(function* () {
      const { call, makeCaller, operate } = yield* TestService
      const { applicationId, key, keyId } = yield* makeCaller()
      const headers = { "x-request-id": "my-request-1" }
      const created = yield* create({ key })
      assert.strictEqual(
        (yield* call("GET", `/v1/charges/${created.body.id}`, { key, headers })).headers["x-request-id"],
        "my-request-1"
      )
      yield* call("GET", "/v1/charges?limit=x", { key })
      yield* call("GET", "/v1/account", { key: "nobody's", headers: { "x-request-id": "my-request-2" } })
      const logged = (query: string, count: number) =>
        Effect.map(
          eventually(
            operate<List<LoggedRequest>>("GET", `/operator/v1/requests?${query}`),
            ({ body }) => body.data.length === count
          ),
          ({ body }) => body.data
        )
      const mine = yield* logged(`key_id=${keyId}`, 3)
      assert.deepStrictEqual(
        mine.map(({ key_id, object, route, status }) => ({ key_id, object, route, status })),
        [
          { key_id: keyId, object: "request", route: "GET /v1/charges", status: 400 },
          { key_id: keyId, object: "request", route: "GET /v1/charges/{id}", status: 200 },
          { key_id: keyId, object: "request", route: "POST /v1/charges", status: 201 }
        ]
      )
      for (const { created_at, duration_ms, id } of mine) {
        assert.match(created_at, instant)
        assert.match(id, uuid7)
        assert.isTrue(Number.isInteger(duration_ms) && duration_ms >= 0)
      }
      assert.strictEqual(mine[1]?.request_id, "my-request-1")
      assert.deepStrictEqual(
        (yield* logged("request_id=my-request-1", 1)).map(({ id }) => id),
        [mine[1]?.id]
      )
      yield* logged(`request_id=my-request-1&key_id=${keyId}&status=400`, 0)
      yield* logged("request_id=my-request-0", 0)
      const strangers = yield* makeOperator("viewer", [(yield* makeCaller()).accountId])
      const unseen = yield* strangers.call<List<LoggedRequest>>("GET", "/operator/v1/requests?request_id=my-request-1")
      assert.deepStrictEqual(unseen.body.data, [])
      assert.strictEqual(mine[2]?.request_id, created.headers["x-request-id"])
      assert.deepStrictEqual(
        (yield* logged(`key_id=${keyId}&status=400`, 1)).map(({ id }) => id),
        [mine[0]?.id]
      )
      assert.deepStrictEqual(
        (yield* logged(`key_id=${keyId}&route=POST%20/v1/charges`, 1)).map(({ id }) => id),
        [mine[2]?.id]
      )
      const refused = (yield* eventually(
        operate<List<LoggedRequest>>("GET", "/operator/v1/requests?status=401"),
        ({ body }) => body.data.some(({ request_id }) => request_id === "my-request-2")
      )).body.data.find(({ request_id }) => request_id === "my-request-2")
      assert.deepInclude<unknown>(refused, { key_id: null, route: "GET /v1/account" })

      const lastUsed = Effect.map(
        operate<List<Key>>("GET", `/operator/v1/applications/${applicationId}/keys`),
        ({ body }) => String(body.data[0]?.last_used_at)
      )
      const first = yield* lastUsed
      assert.strictEqual(first, mine[0]?.created_at)
      yield* call("GET", "/v1/account", { key })
      yield* eventually(lastUsed, (at) => at > first)
    })
  )

  it.effect("OPR-140: an entry names the resource that was created or read, and none that the key may not see", () =>
    Effect.gen(function* () {
      const { call, makeCaller, operate } = yield* TestService
      const { key, keyId } = yield* makeCaller()
      const { key: stranger, keyId: strangerId } = yield* makeCaller()
      const created = yield* create({ key })
      const { id } = created.body
      yield* call("GET", `/v1/charges/${id}`, { key })
      yield* call("GET", "/v1/charges", { key })
      yield* call("GET", `/v1/charges/${id}`, { key: stranger })
      const refused = yield* call<{ charge_id: string }>("POST", "/v1/charges", {
        key,
        idempotencyKey: newKey(),
        body: { amount: 1000, customer: { name: "A", document: "52998224725", email: "refuse@simulator.test" } }
      })
      assert.strictEqual(refused.status, 422, refused.text)
      const endpoint = yield* call<{ id: string }>("POST", "/v1/webhooks", {
        key,
        body: { url: "http://127.0.0.1:1/", events: ["charge.pix.paid"], secret: "secret-of-a-webhook" }
      })
      yield* call("DELETE", `/v1/webhooks/${endpoint.body.id}`, { key })
      const logged = (query: string, count: number) =>
        Effect.map(
          eventually(
            operate<List<LoggedRequest>>("GET", `/operator/v1/requests?${query}`),
            ({ body }) => body.data.length === count
          ),
          ({ body }) => body.data.map(({ resource_id, route, status }) => [route, status, resource_id])
        )
      assert.deepStrictEqual(yield* logged(`key_id=${keyId}`, 6), [
        ["DELETE /v1/webhooks/{id}", 204, endpoint.body.id],
        ["POST /v1/webhooks", 201, endpoint.body.id],
        ["POST /v1/charges", 422, refused.body.charge_id],
        ["GET /v1/charges", 200, null],
        ["GET /v1/charges/{id}", 200, id],
        ["POST /v1/charges", 201, id]
      ])
      assert.deepStrictEqual(yield* logged(`key_id=${strangerId}`, 1), [["GET /v1/charges/{id}", 404, null]])
      assert.deepStrictEqual(yield* logged(`resource_id=${id}`, 2), [
        ["GET /v1/charges/{id}", 200, id],
        ["POST /v1/charges", 201, id]
      ])
      assert.deepStrictEqual(yield* logged(`resource_id=${id}&status=201`, 1), [["POST /v1/charges", 201, id]])
    })
  )

  it.effect("OPR-12: records every change of an operator, and no refused one", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const steps: Array<readonly [string, string | undefined, string]> = []
      const step = <A extends { readonly id: string }>(action: string, method: string, path: string, body?: unknown) =>
        Effect.gen(function* () {
          const requestId = newKey()
          const answer = yield* operate<A & { key: string }>(method, `/operator/v1/${path}`, {
            body,
            headers: { "x-request-id": requestId }
          })
          assert.include([200, 201], answer.status, answer.text)
          steps.unshift([action, answer.body.id, requestId])
          return answer.body
        })
      const account = yield* step("accounts.create", "POST", "accounts", someAccount)
      yield* step("accounts.update", "PATCH", `accounts/${account.id}`, { name: "B" })
      const application = yield* step("applications.create", "POST", `accounts/${account.id}/applications`, {
        name: "A"
      })
      yield* step("applications.update", "PATCH", `applications/${application.id}`, { name: "C" })
      const key = yield* step("keys.create", "POST", `applications/${application.id}/keys`, {
        name: "k",
        scopes: allScopes
      })
      const paid = (yield* create({ key: key.key })).body.id
      const failed = (yield* create({ key: key.key })).body.id
      yield* step("simulatorCharges.pay", "POST", `simulator/charges/${paid}/pay`)
      yield* step("simulatorCharges.fail", "POST", `simulator/charges/${failed}/fail`)
      yield* step("keys.revoke", "POST", `keys/${key.id}/revoke`)

      for (const [method, path, body] of [
        ["POST", "accounts", {}],
        ["PATCH", `accounts/${account.id}`, { name: 1 }],
        ["POST", `simulator/charges/${failed}/fail`],
        ["POST", `keys/${paid}/revoke`],
        ["GET", `accounts/${account.id}`]
      ] as const) {
        yield* operate(method, `/operator/v1/${path}`, { body })
      }
      const entries = yield* newestEntries(steps.length)
      assert.deepStrictEqual<unknown>(
        entries.map(({ action, request_id, resource_id }) => [action, resource_id, request_id]),
        steps
      )
      for (const entry of entries) {
        assert.deepInclude<unknown>(entry, { object: "audit_entry", operator: "operator" })
        assert.match(entry.created_at, instant)
      }
      const { body } = yield* operate<List<AuditEntry>>("GET", "/operator/v1/audit?limit=3")
      const after = yield* operate<List<AuditEntry>>(
        "GET",
        `/operator/v1/audit?limit=1&starting_after=${body.data[1]?.id}`
      )
      assert.deepStrictEqual(after.body.data[0], body.data[2])
      const one = yield* operate<AuditEntry>("GET", `/operator/v1/audit/${body.data[1]?.id}`)
      assert.deepStrictEqual([one.status, one.body], [200, body.data[1]!])
      for (const id of [paid, "x"]) assertRefused(yield* operate("GET", `/operator/v1/audit/${id}`), "NOT_FOUND")
    })
  )

  it.effect("OPR-50: an entry says who, how, from where, and what changed", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { accountId, applicationId } = yield* makeCaller()
      const { id, token } = yield* makeOperator("admin")
      const { call } = yield* signIn(token)
      const from = "127.0.7.1"
      const path = `/operator/v1/accounts/${accountId}`
      const newest = Effect.map(newestEntries(1), ([entry]) => entry)
      const fee = { fixed: 100, basis_points: 5 }
      yield* call("PATCH", path, { body: { name: "Nova", payout_fee: fee }, from })
      assert.deepInclude<unknown>(yield* newest, {
        operator: "admin",
        operator_id: id,
        via: "session",
        address: from,
        action: "accounts.update",
        resource_id: accountId,
        before: { name: "Padaria do Zé", payout_fee: { fixed: 0, basis_points: 0 } },
        after: { name: "Nova", payout_fee: fee }
      })
      yield* operate("PATCH", path, { body: { charges_paused: true }, headers: { "x-operator-token": token }, from })
      assert.deepInclude<unknown>(yield* newest, {
        operator_id: id,
        via: "token",
        before: { charges_paused: false },
        after: { charges_paused: true }
      })
      yield* operate("PATCH", path, { body: { charges_paused: false } })
      assert.deepInclude<unknown>(yield* newest, { operator: "operator", operator_id: null, via: "installation" })

      const changed = yield* makeOperator("viewer")
      yield* operate("PATCH", `/operator/v1/operators/${changed.id}`, { body: { role: "operator" } })
      assert.deepInclude<unknown>(yield* newest, { before: { role: "viewer" }, after: { role: "operator" } })

      const payout = yield* operate<{ id: string }>("POST", `${path}/payouts`, {
        body: { amount: 500, pix_key_type: "email", pix_key: "a@example.com", webhook_secret: "a secret" }
      })
      // The balance does not cover it: a refused call leaves no entry.
      assert.strictEqual(payout.status, 400)
      assert.deepInclude<unknown>(yield* newest, { action: "operators.update" })
      const charge = {
        amount: 1000,
        webhook_secret: "a secret",
        customer: { name: "A", email: "a@b.co", document: "52998224725" }
      }
      const checkout = yield* operate("POST", `/operator/v1/applications/${applicationId}/checkout-charges`, {
        body: charge
      })
      assert.strictEqual(checkout.status, 201, checkout.text)
      const { webhook_secret: _, ...shown } = charge
      assert.deepInclude<unknown>(yield* newest, { before: null, after: shown })
      const key = yield* operate<Key>("POST", `/operator/v1/applications/${applicationId}/keys`, {
        body: { name: "k", scopes: ["charge:read"] }
      })
      assert.deepInclude<unknown>(yield* newest, { after: { name: "k", scopes: ["charge:read"] } })
      const { text } = yield* operate("GET", "/operator/v1/audit?limit=100")
      for (const secret of [key.body.key, token, changed.token, "a secret"]) assert.notInclude(text, secret)
    })
  )

  it.effect("OPR-195: lists the entries of an action, of an operator, and of both", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const sql = yield* SqlClient
      const operatorId = crypto.randomUUID()
      yield* sql`INSERT INTO audit (id, operator, action, request_id, at, operator_id)
        SELECT (lpad(to_hex(1483228800000 + n), 12, '0') || '70008000000000000000')::uuid, 'a',
          CASE n % 3 WHEN 0 THEN 'of.one' ELSE 'of.other' END, n::text, now(),
          CASE n % 5 WHEN 0 THEN ${operatorId}::uuid END FROM generate_series(1, 30) n`
      const of = (query: string) =>
        Effect.map(operate<List<AuditEntry>>("GET", `/operator/v1/audit?${query}`), ({ body, status, text }) => {
          assert.strictEqual(status, 200, text)
          return { ids: body.data.map(({ request_id }) => request_id), hasMore: body.has_more, last: body.data.at(-1) }
        })
      const first = yield* of("action=of.one&limit=6")
      assert.deepInclude(first, { ids: ["30", "27", "24", "21", "18", "15"], hasMore: true })
      const second = yield* of(`action=of.one&limit=6&starting_after=${first.last!.id}`)
      assert.deepInclude(second, { ids: ["12", "9", "6", "3"], hasMore: false })
      assert.deepInclude(yield* of("action=of.none"), { ids: [], hasMore: false })
      const own = `operator_id=${operatorId}`
      assert.deepInclude(yield* of(`${own}&limit=2`), { ids: ["30", "25"], hasMore: true })
      assert.deepInclude(yield* of(`${own}&order=asc`), { ids: ["5", "10", "15", "20", "25", "30"], hasMore: false })
      assert.deepInclude(yield* of(`${own}&action=of.one`), { ids: ["30", "15"], hasMore: false })
      assert.deepInclude(yield* of(`operator_id=${crypto.randomUUID()}`), { ids: [], hasMore: false })
      assertRefused(yield* operate("GET", `/operator/v1/audit?action=${"x".repeat(65)}`), "VALIDATION_ERROR", [
        "action"
      ])
    })
  )

  it.effect(
    "OPR-51: the audit log is exported as JSON Lines, oldest first, and a range that is too long is refused",
    () =>
      Effect.gen(function* () {
        const { operate } = yield* TestService
        const sql = yield* SqlClient
        const { call } = yield* makeOperator("operator")
        yield* sql`INSERT INTO audit (id, operator, action, request_id, at)
        SELECT (lpad(to_hex(1577836800000 + n), 12, '0') || '70008000000000000000')::uuid, 'a', 'keys.revoke', n::text,
          to_timestamp(1577836800 + n / 1000.0) FROM generate_series(1, 1200) n`
        const path = "/operator/v1/audit/export"
        const lines = (query: string) =>
          Effect.map(call("GET", `${path}?${query}`), ({ headers, status, text }) => {
            assert.strictEqual(status, 200, text)
            assert.strictEqual(headers["content-type"], "application/jsonl")
            return text
              .trim()
              .split("\n")
              .map((line): Record<string, unknown> => JSON.parse(line))
          })
        const all = yield* lines("created_after=2019-01-01T00:00:00Z&created_before=2021-01-01T00:00:00Z")
        assert.deepStrictEqual(all.pop(), { object: "audit_export", entries: 1200 })
        assert.deepStrictEqual(
          all.map((line) => line["request_id"]),
          Array.from({ length: 1200 }, (_, index) => String(index + 1))
        )
        const some = yield* lines("created_after=2020-01-01T00:00:00.100Z&created_before=2020-01-01T00:00:00.200Z")
        assert.deepStrictEqual([some[0]?.["request_id"], some.at(-1)?.["entries"]], ["101", 99])
        assertRefused(yield* call("GET", `${path}?created_after=x`), "VALIDATION_ERROR", ["created_after"])
        assertRefused(yield* (yield* makeOperator("developer")).call("GET", path), "FORBIDDEN")

        yield* sql`INSERT INTO audit (id, operator, action, request_id, at)
        SELECT (lpad(to_hex(1577836900000 + n), 12, '0') || '70008000000000000000')::uuid, 'a', 'keys.revoke', n::text, now()
        FROM generate_series(1, 100000) n`
        assertRefused(yield* operate("GET", path), "VALIDATION_ERROR", ["created_after", "created_before"])
      })
  )

  it.effect(
    "OPR-51: an export reads a page of 500 entries when the one before it was sent, and has no other in memory",
    () =>
      Effect.gen(function* () {
        const sql = yield* SqlClient
        const audit = yield* AuditLog
        yield* sql`INSERT INTO audit (id, operator, action, request_id, at)
        SELECT (lpad(to_hex(1514764800000 + n), 12, '0') || '70008000000000000000')::uuid, 'a', 'keys.revoke', n::text,
          to_timestamp(1514764800 + n / 1000.0) FROM generate_series(1, 1700) n`
        const pages: Array<number> = []
        const next = exportPieces(
          {
            ...audit,
            entriesBetween: (...range) =>
              Effect.tap(audit.entriesBetween(...range), ({ length }) => Effect.sync(() => pages.push(length)))
          },
          { from: lowestIdAt(1_514_764_800_000), before: lowestIdAt(1_514_764_900_000) }
        )
        const lines: Array<number> = []
        for (let page = 1; page <= 4; page++) {
          lines.push((yield* next)!.split("\n").length - 1)
          assert.lengthOf(pages, page)
        }
        assert.deepStrictEqual(pages, [500, 500, 500, 200])
        assert.deepStrictEqual(lines, [500, 500, 500, 201])
        assert.isUndefined(yield* next)
      })
  )
})

interface LoggedRequest {
  readonly id: string
  readonly object: string
  readonly request_id: string
  readonly key_id: string | null
  readonly resource_id: string | null
  readonly route: string
  readonly status: number
  readonly duration_ms: number
  readonly created_at: string
}

interface AuditEntry {
  readonly id: string
  readonly action: string
  readonly resource_id: string
  readonly request_id: string
  readonly created_at: string
}
