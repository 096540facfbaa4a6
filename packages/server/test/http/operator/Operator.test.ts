/** The operator surface: what it answers, what it refuses, what it writes down, and what it never shows. */
import type { Charge } from "@pix-payments/domain/Charge"
import { allScopes } from "@pix-payments/domain/Scope"
import * as PgClient from "@effect/sql-pg/PgClient"
import { assert, layer } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import { SqlClient } from "effect/sql/SqlClient"
import { create, settled } from "../../support/ChargeDeliveries.ts"
import { assertRefused, type ErrorBody, instant, uuid7 } from "../../support/ChargeRequests.ts"
import { createDatabase, temporaryFolder } from "../../support/Postgres.ts"
import { startProcess } from "../../support/Process.ts"
import { eventually, loopback, receiver } from "../../support/Receiver.ts"
import { type Fields, newKey, TestService } from "../../support/TestService.ts"

const settings = { webhookAllowedNetworks: loopback, webhookRetryDelaysMs: [20], acquirerTimeoutMs: 300 }

layer(TestService.layer({ settings }), { excludeTestServices: true })("Operator", (it) => {
  it.effect("ACC-3, OPR-13: opens an account with the stated defaults, and with what is told", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const plain = yield* operate<Account>("POST", "/operator/v1/accounts", { body: someAccount })
      assert.strictEqual(plain.status, 201)
      assert.deepStrictEqual<unknown>(plain.body, {
        id: plain.body.id,
        object: "account",
        name: "Padaria",
        legal_name: "Padaria do Zé Ltda",
        document: "11222333000181",
        document_type: "cnpj",
        phone: "+5511999998888",
        status: "active",
        onboarding_status: "completed",
        auto_payout_enabled: true,
        created_at: plain.body.created_at,
        payout_fee: { fixed: 0, basis_points: 0 },
        default_expires_in: 86_400,
        release_delay: 0,
        payout_duplicate_window: 0,
        payouts_paused: false,
        charges_paused: false,
        balance: { object: "balance", currency: "BRL", available: 0, pending: 0, total: 0 }
      })
      assert.match(plain.body.id, uuid7)
      assert.match(plain.body.created_at, instant)

      const told = {
        status: "inactive",
        onboarding_status: "in_review",
        auto_payout_enabled: false,
        payout_fee: { fixed: 150, basis_points: 99 },
        default_expires_in: 3600,
        release_delay: 60
      }
      const other = yield* operate<Account>("POST", "/operator/v1/accounts", {
        body: { ...someAccount, document: "529.982.247-25", unknown_field: 1, ...told }
      })
      assert.strictEqual(other.status, 201)
      assert.deepInclude<unknown>(other.body, { ...told, document: "52998224725", document_type: "cpf" })
      assert.notProperty(other.body, "unknown_field")
      const nulls = yield* operate<Account>("POST", "/operator/v1/accounts", {
        body: { ...someAccount, status: null, onboarding_status: null, payout_fee: null, release_delay: null }
      })
      assert.deepInclude<unknown>(nulls.body, { status: "active", onboarding_status: "completed", release_delay: 0 })
      for (const { body } of [plain, other]) {
        const read = yield* operate("GET", `/operator/v1/accounts/${body.id}`)
        assert.strictEqual(read.status, 200)
        assert.deepStrictEqual<unknown>(read.body, body)
      }
    })
  )

  it.effect("KEY-10, OPR-9: refuses accounts, applications and keys that break a rule, and names every bad field", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { accountId, applicationId } = yield* makeCaller()
      const accounts = "/operator/v1/accounts"
      const account = `${accounts}/${accountId}`
      const applications = `${account}/applications`
      const application = `/operator/v1/applications/${applicationId}`
      const keys = `${application}/keys`
      const aKey = { name: "k", scopes: ["charge:read"] }
      const cases: ReadonlyArray<readonly [string, string, unknown, ReadonlyArray<string> | undefined]> = [
        ["POST", accounts, {}, ["name", "legal_name", "document", "phone"]],
        ["POST", accounts, { ...someAccount, name: "", phone: 5 }, ["name", "phone"]],
        ["POST", accounts, { ...someAccount, name: "x".repeat(201) }, ["name"]],
        ["POST", accounts, { ...someAccount, name: "a\u0000b" }, ["name"]],
        ["POST", accounts, { ...someAccount, status: "closed" }, ["status"]],
        ["POST", accounts, { ...someAccount, onboarding_status: "done" }, ["onboarding_status"]],
        ["POST", accounts, { ...someAccount, default_expires_in: 59 }, ["default_expires_in"]],
        ["POST", accounts, { ...someAccount, default_expires_in: 604_801 }, ["default_expires_in"]],
        ["POST", accounts, { ...someAccount, release_delay: -1 }, ["release_delay"]],
        [
          "POST",
          accounts,
          { ...someAccount, payout_fee: { fixed: -1, basis_points: 1.5 } },
          ["payout_fee.fixed", "payout_fee.basis_points"]
        ],
        ["POST", accounts, "[]", undefined],
        ["POST", accounts, "{", undefined],
        ["PATCH", account, { name: "", auto_payout_enabled: "yes" }, ["name", "auto_payout_enabled"]],
        ["PATCH", account, "", undefined],
        ["POST", applications, {}, ["name"]],
        ["POST", applications, { name: "x".repeat(201) }, ["name"]],
        ["PATCH", application, { active: "no" }, ["active"]],
        ["POST", keys, {}, ["name", "scopes"]],
        ["POST", keys, { ...aKey, scopes: [] }, ["scopes"]],
        ["POST", keys, { ...aKey, scopes: ["charge:read", "charge:erase"] }, ["scopes.1"]],
        ["POST", keys, { ...aKey, scopes: "charge:read" }, ["scopes"]],
        ["POST", keys, { ...aKey, expires_at: "2020-01-01T00:00:00Z" }, ["expires_at"]],
        ["POST", keys, { ...aKey, expires_at: "tomorrow" }, ["expires_at"]],
        ["POST", keys, { ...aKey, expires_at: "2999-01-01T00:00:00" }, ["expires_at"]]
      ]
      for (const [method, path, body, details] of cases) {
        assertRefused(yield* operate(method, path, { body }), "VALIDATION_ERROR", details)
      }
      assertRefused(
        yield* operate("POST", accounts, { body: { ...someAccount, document: "11.222.333/0001-82" } }),
        "INVALID_DOCUMENT",
        ["document"]
      )
      assertRefused(yield* operate("POST", accounts, { body: "x".repeat(300_000) }), "PAYLOAD_TOO_LARGE")
      // Nothing of it was done.
      const { body } = yield* operate("GET", account)
      assert.deepInclude<unknown>(body, { name: "Padaria do Zé", status: "active" })
      const list = yield* operate<List<Fields>>("GET", keys)
      assert.strictEqual(list.body.data.length, 1)
    })
  )

  it.effect("OPR-14: changes what it is told of an account, and nothing else", () =>
    Effect.gen(function* () {
      const { call, makeCaller, operate } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const path = `/operator/v1/accounts/${accountId}`
      const { body: before } = yield* operate("GET", path)
      const changes = {
        name: "Nova",
        status: "inactive",
        payout_fee: { fixed: 7, basis_points: 3 },
        document: "52998224725"
      }
      const changed = yield* operate("PATCH", path, { body: changes })
      assert.strictEqual(changed.status, 200)
      assert.deepStrictEqual<unknown>(changed.body, { ...before, ...changes, document: before["document"] })
      assert.deepStrictEqual((yield* operate("PATCH", path, { body: {} })).body, changed.body)
      assertRefused(yield* create({ key }), "ACCOUNT_INACTIVE")
      assert.deepInclude<unknown>((yield* call("GET", "/v1/account", { key })).body, {
        name: "Nova",
        status: "inactive"
      })
    })
  )

  it.effect("OPR-10: answers an unknown id, and one that is none, with NOT_FOUND", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      for (const id of [
        "0198c0de-0000-7000-8000-000000000000",
        "nonsense",
        "%00",
        "1' OR '1'='1".replaceAll(" ", "%20")
      ]) {
        const calls: ReadonlyArray<readonly [string, string, unknown?]> = [
          ["GET", `accounts/${id}`],
          ["PATCH", `accounts/${id}`, {}],
          ["POST", `accounts/${id}/applications`, { name: "x" }],
          ["GET", `accounts/${id}/applications`],
          ["PATCH", `applications/${id}`, {}],
          ["POST", `applications/${id}/keys`, { name: "x", scopes: ["charge:read"] }],
          ["GET", `applications/${id}/keys`],
          ["POST", `keys/${id}/revoke`],
          ["GET", `charges/${id}`],
          ["GET", `deliveries/${id}`],
          ["POST", `simulator/charges/${id}/pay`],
          ["POST", `simulator/charges/${id}/fail`]
        ]
        for (const [method, path, body] of calls) {
          assertRefused(yield* operate(method, `/operator/v1/${path}`, { body }), "NOT_FOUND")
        }
      }
      assertRefused(yield* operate("GET", "/operator/v1/nothing"), "NOT_FOUND")
      const wrongVerb = yield* operate("DELETE", "/operator/v1/accounts")
      assertRefused(wrongVerb, "METHOD_NOT_ALLOWED")
      assert.sameMembers(String(wrongVerb.headers.allow).split(", "), ["GET", "POST"])
    })
  )

  it.effect("OPR-2: lets nobody in without the token", () =>
    Effect.gen(function* () {
      const { makeCaller, operate, operatorToken } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      for (const token of [undefined, "", "wrong", `${operatorToken}x`, operatorToken.slice(1), key]) {
        for (const [method, path, body] of [
          ["GET", "/operator/v1/accounts"],
          ["POST", "/operator/v1/accounts", { not: "looked at" }],
          ["PATCH", `/operator/v1/accounts/${accountId}`, { name: "taken over" }],
          ["GET", "/operator/v1/audit"],
          ["GET", "/operator/v1/requests"],
          ["GET", "/operator/v1/deliveries?limit=x"],
          ["POST", "/operator/v1/keys/nonsense/revoke"]
        ] as const) {
          const headers = { "x-operator-token": token, "x-api-key": key }
          assertRefused(yield* operate(method, path, { body, headers }), "UNAUTHORIZED")
        }
      }
      assert.deepInclude<unknown>((yield* operate("GET", `/operator/v1/accounts/${accountId}`)).body, {
        name: "Padaria do Zé"
      })
    })
  )

  it.effect(
    "KEY-3, OPR-15, OPR-16: shows a key once, and lets it in until it is revoked, expired or its application is deactivated",
    () =>
      Effect.gen(function* () {
        const { call, makeCaller, operate } = yield* TestService
        const { accountId } = yield* makeCaller()
        const added = yield* operate<Fields & { id: string }>(
          "POST",
          `/operator/v1/accounts/${accountId}/applications`,
          {
            body: { name: "Loja" }
          }
        )
        assert.strictEqual(added.status, 201)
        assert.match(String(added.body["created_at"]), instant)
        assert.deepStrictEqual<unknown>(added.body, {
          id: added.body.id,
          object: "application",
          account_id: accountId,
          name: "Loja",
          active: true,
          created_at: added.body["created_at"]
        })
        const keys = `/operator/v1/applications/${added.body.id}/keys`
        const made = yield* operate<Key>("POST", keys, {
          body: {
            name: "caixa",
            scopes: ["account:read", "charge:read", "account:read"],
            expires_at: "2999-12-31T23:59:59-03:00"
          }
        })
        assert.strictEqual(made.status, 201)
        const { key, ...shown } = made.body
        assert.deepStrictEqual<unknown>(shown, {
          id: shown.id,
          object: "api_key",
          application_id: added.body.id,
          name: "caixa",
          prefix: key.slice(0, shown.prefix.length),
          scopes: ["account:read", "charge:read"],
          expires_at: "3000-01-01T02:59:59.000Z",
          revoked_at: null,
          last_used_at: null,
          created_at: shown.created_at
        })
        assert.isAtLeast(key.length - shown.prefix.length, 32)
        const listed = yield* operate<List<Key>>("GET", keys)
        assert.deepStrictEqual<unknown>(listed.body, { object: "list", data: [shown], has_more: false })
        assert.notInclude(listed.text, key)

        const account = call("GET", "/v1/account", { key })
        assert.strictEqual((yield* account).status, 200)
        const application = `/operator/v1/applications/${added.body.id}`
        const off = yield* operate("PATCH", application, { body: { active: false } })
        assert.deepStrictEqual<unknown>(off.body, { ...added.body, active: false })
        assertRefused(yield* account, "UNAUTHORIZED")
        const on = yield* operate("PATCH", application, { body: { active: true, name: "Loja 2" } })
        assert.deepStrictEqual<unknown>(on.body, { ...added.body, name: "Loja 2" })
        assert.strictEqual((yield* account).status, 200)

        const revoke = operate<Key>("POST", `/operator/v1/keys/${shown.id}/revoke`)
        const revoked = yield* revoke
        assert.strictEqual(revoked.status, 200)
        assert.match(String(revoked.body.revoked_at), instant)
        assert.notProperty(revoked.body, "key")
        assertRefused(yield* account, "UNAUTHORIZED")
        const again = yield* revoke
        assert.strictEqual(again.status, 200)
        assert.strictEqual(again.body.revoked_at, revoked.body.revoked_at)

        const sql = yield* SqlClient
        const brief = yield* operate<Key>("POST", keys, {
          body: { name: "b", scopes: allScopes, expires_at: "2999-01-01T00:00:00Z" }
        })
        assert.strictEqual((yield* call("GET", "/v1/account", { key: brief.body.key })).status, 200)
        yield* sql`UPDATE api_keys SET expires_at = now() WHERE id = ${brief.body.id}::uuid`
        assertRefused(yield* call("GET", "/v1/account", { key: brief.body.key }), "UNAUTHORIZED")
      })
  )

  it.effect("OPR-9: pages and filters its lists", () =>
    Effect.gen(function* () {
      const { makeCaller, makeKey, operate } = yield* TestService
      const { received, url } = yield* receiver()
      const { accountId, applicationId, key, keyId } = yield* makeCaller()
      const stranger = yield* makeCaller()
      for (let i = 0; i < 4; i++) yield* makeKey(applicationId)
      const charges: Array<string> = []
      for (let i = 0; i < 5; i++) {
        const { body } = yield* create({ key, reference: `ref-${i % 2}`, webhook_url: i === 0 ? url : null })
        charges.unshift(body.id)
      }
      yield* create({ key: stranger.key, reference: "ref-0" })
      const paged = (path: string) =>
        Effect.gen(function* () {
          const separator = path.includes("?") ? "&" : "?"
          const ids: Array<string> = []
          let after = ""
          while (true) {
            const page = yield* operate<List<{ id: string }>>("GET", `/operator/v1/${path}${separator}limit=2${after}`)
            assert.strictEqual(page.status, 200, page.text)
            assert.strictEqual(page.body.object, "list")
            assert.isAtMost(page.body.data.length, 2)
            ids.push(...page.body.data.map(({ id }) => id))
            if (!page.body.has_more) return ids
            after = `&starting_after=${ids.at(-1)}`
          }
        })
      assert.deepStrictEqual(yield* paged(`charges?account_id=${accountId}`), charges)
      assert.deepStrictEqual(yield* paged(`charges?account_id=${accountId}&reference=ref-1`), [charges[1], charges[3]])
      assert.deepStrictEqual(yield* paged(`charges?account_id=${accountId}&origin=checkout`), [])
      assert.include(yield* paged("charges?reference=ref-0&origin=api"), charges[0])
      const keys = yield* paged(`applications/${applicationId}/keys`)
      assert.strictEqual(keys.length, 5)
      assert.deepStrictEqual(keys, keys.toSorted().toReversed())
      assert.strictEqual(keys.at(-1), keyId)
      assert.deepStrictEqual(yield* paged(`accounts/${accountId}/applications`), [applicationId])
      const accounts = yield* paged("accounts")
      assert.deepStrictEqual(accounts, accounts.toSorted().toReversed())
      assert.includeMembers(accounts, [accountId, stranger.accountId])

      yield* settled(charges.at(-1)!, 2)
      assert.strictEqual(received.length, 2)
      const deliveries = yield* paged(`deliveries?resource_id=${charges.at(-1)}`)
      assert.strictEqual(deliveries.length, 2)
      assert.strictEqual((yield* paged(`deliveries?resource_id=${charges.at(-1)}&event=charge.pix.emitted`)).length, 1)
      assert.strictEqual((yield* paged(`deliveries?resource_id=${charges.at(-1)}&status=delivered`)).length, 2)
      assert.deepStrictEqual(yield* paged(`deliveries?resource_id=${charges.at(-1)}&status=failed`), [])
      assert.deepStrictEqual(yield* paged(`deliveries?endpoint_id=${accountId}`), [])

      for (const [query, detail] of [
        ["charges?limit=0", "limit"],
        ["charges?limit=101", "limit"],
        ["charges?limit=x", "limit"],
        ["charges?starting_after=nonsense", "starting_after"],
        ["charges?starting_after=0198c0de-0000-7000-8000-000000000000", "starting_after"],
        ["charges?account_id=nonsense", "account_id"],
        ["charges?origin=dashboard", "origin"],
        [`charges?account_id=${stranger.accountId}&starting_after=${charges[0]}`, "starting_after"],
        ["deliveries?status=lost", "status"],
        ["deliveries?event=charge.paid", "event"],
        ["deliveries?resource_id=x", "resource_id"],
        ["requests?status=99", "status"],
        ["requests?key_id=x", "key_id"],
        [`accounts?starting_after=${applicationId}`, "starting_after"],
        [`applications/${stranger.applicationId}/keys?starting_after=${keyId}`, "starting_after"],
        [`accounts/${stranger.accountId}/applications?starting_after=${applicationId}`, "starting_after"],
        ["audit?limit=-1", "limit"]
      ] as const) {
        const answer = yield* operate("GET", `/operator/v1/${query}`)
        assert.strictEqual(answer.status, 400, query)
        assertRefused(answer, "VALIDATION_ERROR", [detail])
      }
    })
  )

  it.effect("OPR-19: shows a charge with its history and its deliveries, and a delivery with its attempts", () =>
    Effect.gen(function* () {
      const { call, makeCaller, operate } = yield* TestService
      const { received, url } = yield* receiver(({ body }, response) => {
        response.statusCode = body.event.endsWith("paid") ? 500 : 200
        response.end("answer")
      })
      const { accountId, applicationId, key } = yield* makeCaller()
      const { body: created } = yield* create({ key, webhook_url: url, webhook_secret: "s3cr3t-of-this-charge" })
      const end_to_end_id = "E99999010202611210900AbCdEfGhIjK"
      const paid = yield* operate<Charge>("POST", `/operator/v1/simulator/charges/${created.id}/pay`, {
        body: { end_to_end_id }
      })
      assert.strictEqual(paid.status, 200)
      const deliveries = yield* settled(created.id, 3)
      const { body: charge } = yield* call<Charge>("GET", `/v1/charges/${created.id}`, { key })
      assert.strictEqual(charge.pix.end_to_end_id, end_to_end_id)
      const seen = { ...charge, account_id: accountId, application_id: applicationId, origin: "api" }
      assert.deepStrictEqual<unknown>(paid.body, seen)
      const shown = yield* operate<
        Fields & { history: ReadonlyArray<{ at: string; status: string; event: string | null }> }
      >("GET", `/operator/v1/charges/${created.id.toUpperCase()}`)
      const { deliveries: told, history, ...rest } = shown.body
      assert.deepStrictEqual<unknown>(rest, seen)
      assert.notInclude(shown.text, "s3cr3t")
      assert.deepStrictEqual(
        history.map(({ event, status }) => ({ event, status })),
        [
          { event: null, status: "processing" },
          { event: "charge.pix.created", status: "pending" },
          { event: "charge.pix.emitted", status: "pending" },
          { event: "charge.pix.paid", status: "paid" }
        ]
      )
      assert.strictEqual(history[0]?.at, charge.created_at)
      for (const { at } of history) assert.match(at, instant)
      assert.deepStrictEqual<unknown>(told, deliveries.map(withoutAttempts))

      const failed = deliveries.find(({ event }) => event === "charge.pix.paid")
      assert.deepStrictEqual<unknown>(failed, {
        id: received.find(({ body }) => body.event === "charge.pix.paid")?.body.id,
        object: "delivery",
        status: "failed",
        event: "charge.pix.paid",
        resource_id: created.id,
        endpoint_id: null,
        url,
        attempts_made: 2,
        next_attempt_at: null,
        reason: null,
        created_at: received.find(({ body }) => body.event === "charge.pix.paid")?.body.created_at,
        attempts: failed?.attempts.map(({ at, duration_ms }) => ({
          at,
          duration_ms,
          address: "127.0.0.1",
          status_code: 500,
          error: "status 500",
          response_body: "answer"
        }))
      })
      assert.deepStrictEqual(
        (yield* operate<List<{ id: string }>>(
          "GET",
          `/operator/v1/charges?end_to_end_id=${end_to_end_id}`
        )).body.data.map(({ id }) => id),
        [created.id]
      )
    })
  )

  it.effect("OPR-11, OPR-32: lets the simulator pay or fail where the state allows it", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { key } = yield* makeCaller()
      const notify = (id: string, what: string, body?: unknown) =>
        operate<Charge>("POST", `/operator/v1/simulator/charges/${id}/${what}`, { body })
      const paid = (yield* create({ key })).body.id
      assertRefused(yield* notify(paid, "pay", { end_to_end_id: "not one" }), "VALIDATION_ERROR", ["end_to_end_id"])
      assertRefused(yield* notify(paid, "pay", "[]"), "VALIDATION_ERROR")
      assert.strictEqual((yield* notify(paid, "pay", { end_to_end_id: null })).body.status, "paid")
      assertRefused(yield* notify(paid, "pay"), "INVALID_STATE")
      assertRefused(yield* notify(paid, "fail"), "INVALID_STATE")

      const failed = (yield* create({ key })).body.id
      const failure = yield* notify(failed, "fail")
      assert.deepInclude<unknown>(failure.body, {
        status: "failed",
        failure_reason: "refused by the provider",
        paid_at: null
      })
      assertRefused(yield* notify(failed, "pay"), "INVALID_STATE")

      const refused = (yield* create({ key, customer: { email: "refuse@simulator.test" } }))
        .body as unknown as ErrorBody
      assertRefused(yield* notify(refused.charge_id!, "pay"), "INVALID_STATE")
    })
  )

  it.effect("ERR-12, OPR-31: keeps every request of /v1, and when a key was used last", () =>
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

  it.effect("OPR-12: writes every change of an operator down, and none that was refused", () =>
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
        ["POST", `simulator/charges/${paid}/pay`],
        ["POST", `keys/${paid}/revoke`],
        ["GET", `accounts/${account.id}`]
      ] as const) {
        yield* operate(method, `/operator/v1/${path}`, { body })
      }
      const { body } = yield* operate<List<AuditEntry>>("GET", `/operator/v1/audit?limit=${steps.length}`)
      assert.deepStrictEqual<unknown>(
        body.data.map(({ action, request_id, resource_id }) => [action, resource_id, request_id]),
        steps
      )
      for (const entry of body.data) {
        assert.deepInclude<unknown>(entry, { object: "audit_entry", operator: "operator" })
        assert.match(entry.created_at, instant)
      }
      const after = yield* operate<List<AuditEntry>>(
        "GET",
        `/operator/v1/audit?limit=1&starting_after=${body.data[1]?.id}`
      )
      assert.deepStrictEqual(after.body.data[0], body.data[2])
    })
  )

  it.effect("OPR-8: tells of its health and its numbers without a token", () =>
    Effect.gen(function* () {
      const { call, makeCaller, operate } = yield* TestService
      const { key } = yield* makeCaller()
      const { url } = yield* receiver(({ path }, response) => {
        response.statusCode = path === "/bad" ? 500 : 200
        response.end()
      })
      for (const path of ["/good", "/bad"])
        yield* settled((yield* create({ key, webhook_url: `${url}${path}` })).body.id, 2)
      const headers = { "x-operator-token": undefined }
      const live = yield* operate("GET", "/health/live", { headers })
      assert.strictEqual(live.status, 200)
      assert.deepStrictEqual<unknown>(live.body, { status: "ok" })
      const ready = yield* operate("GET", "/health/ready", { headers })
      assert.strictEqual(ready.status, 200)
      assert.deepStrictEqual<unknown>(ready.body, { status: "ok", database: "ok", migrations: true })
      const { headers: told, status, text } = yield* operate("GET", "/metrics", { headers })
      assert.strictEqual(status, 200)
      assert.match(String(told["content-type"]), /^text\/plain/)
      const count = (pattern: RegExp) => Number(pattern.exec(text)?.[1])
      assert.isAtLeast(count(/^pix_payments_http_requests_total\{route="\/v1\/charges",status="201"\} (\d+)$/m), 2)
      assert.isAtLeast(count(/^pix_payments_webhook_attempts_total\{outcome="delivered"\} (\d+)$/m), 2)
      assert.isAtLeast(count(/^pix_payments_webhook_attempts_total\{outcome="failed"\} (\d+)$/m), 4)
      assert.isAtLeast(count(/^pix_payments_webhook_attempt_duration_ms_count (\d+)$/m), 6)
      // They are not for the public.
      for (const path of ["/metrics", "/health/live", "/health/ready", "/operator/v1/accounts"]) {
        assertRefused(yield* call("GET", path, { key }), "NOT_FOUND")
      }
    })
  )

  it.effect("keeps no secret in clear", () =>
    Effect.gen(function* () {
      const { databaseUrl, makeCaller, operatorToken } = yield* TestService
      const { key } = yield* makeCaller()
      const { received, url } = yield* receiver()
      const secret = "webhook-secret-in-clear-é"
      const { body } = yield* create({ key, webhook_url: url, webhook_secret: secret })
      yield* create({ key, webhook_url: url, webhook_secret: secret })
      yield* settled(body.id, 2)
      assert.property(received[0]?.headers, "x-webhook-signature")
      const sql = yield* SqlClient
      const tables = yield* sql<{ name: string }>`SELECT table_name AS name FROM information_schema.tables
        WHERE table_schema = 'public' AND table_type = 'BASE TABLE'`
      assert.isAtLeast(tables.length, 12)
      const needles = [key, secret, operatorToken, Redacted.value(databaseUrl)].flatMap((text) => [
        text,
        Buffer.from(text).toString("base64").replace(/=+$/, ""),
        Buffer.from(text).toString("hex")
      ])
      for (const { name } of tables) {
        const [{ dump } = { dump: "" }] = yield* sql.unsafe<{ dump: string }>(
          `SELECT coalesce(string_agg(t::text, E'\\n'), '') AS dump FROM "${name}" t`
        )
        for (const needle of needles) assert.notInclude(dump, needle, name)
      }
      // The same secret is sealed in another way each time.
      const sealed = yield* sql<{ webhook_secret: string }>`SELECT DISTINCT webhook_secret FROM charges
        WHERE webhook_secret IS NOT NULL`
      assert.isAtLeast(sealed.length, 2)
    })
  )
})

layer(TestService.layer({ settings: { rateLimitPerMinute: Option.some(5) } }), { excludeTestServices: true })(
  "A rate limit",
  (it) => {
    it.effect("ERR-10: is each key's own, and says when to come back", () =>
      Effect.gen(function* () {
        const { call, makeCaller, makeKey, operate } = yield* TestService
        const { applicationId, key } = yield* makeCaller()
        const { key: other } = yield* makeKey(applicationId)
        const answers = yield* Effect.forEach(Array.from({ length: 8 }), () => call("GET", "/v1/account", { key }))
        assert.deepStrictEqual(
          answers.map(({ status }) => status),
          [200, 200, 200, 200, 200, 429, 429, 429]
        )
        assertRefused(answers[7]!, "RATE_LIMITED")
        const seconds = Number(answers[7]!.headers["retry-after"])
        assert.isTrue(Number.isInteger(seconds) && seconds >= 1 && seconds <= 60)
        // A limit does not tell a known key from an unknown one.
        assertRefused(yield* call("GET", "/v1/account", { key: "unknown" }), "UNAUTHORIZED")
        assert.strictEqual((yield* call("GET", "/v1/account", { key: other })).status, 200)
        assert.strictEqual((yield* operate("GET", "/operator/v1/accounts")).status, 200)
      })
    )
  }
)

layer(Layer.empty, { excludeTestServices: true })("The log", (it) => {
  it.effect("of a process tells no key, no secret and nothing of a payer", () =>
    Effect.gen(function* () {
      const databaseUrl = yield* createDatabase()
      const operatorToken = "the-token-of-this-operator"
      const service = yield* startProcess({
        DATABASE_URL: Redacted.value(databaseUrl),
        DATA_DIR: yield* temporaryFolder,
        OPERATOR_TOKEN: operatorToken,
        LOG_LEVEL: "debug",
        WEBHOOK_RETRY_DELAYS: "10ms",
        WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8"
      })
      const send = (url: string, headers: Record<string, string>, body?: unknown) =>
        Effect.promise(async () => {
          const response = await fetch(url, {
            method: body === undefined ? "GET" : "POST",
            headers: { "content-type": "application/json", ...headers },
            ...(body === undefined ? {} : { body: JSON.stringify(body) })
          })
          return { status: response.status, body: (await response.json()) as { id: string; key: string } }
        })
      const operate = (path: string, body?: unknown) =>
        send(`${service.operatorUrl}/operator/v1${path}`, { "x-operator-token": operatorToken }, body)
      const account = yield* operate("/accounts", someAccount)
      const application = yield* operate(`/accounts/${account.body.id}/applications`, { name: "A" })
      const made = yield* operate(`/applications/${application.body.id}/keys`, { name: "k", scopes: allScopes })
      const { received, url } = yield* receiver((_, response) => {
        response.statusCode = 500
        response.end()
      })
      const charge = {
        amount: 1990,
        customer: {
          name: "Ana Segredo",
          email: "ana.segredo@example.com",
          document: "52998224725",
          phone: "+5511912345678"
        },
        webhook_url: url,
        webhook_secret: "secret-of-this-webhook"
      }
      const create = (headers: Record<string, string>, body: unknown) =>
        send(`${service.publicUrl}/v1/charges`, { "idempotency-key": newKey(), ...headers }, body)
      const created = yield* create({ "x-api-key": made.body.key }, charge)
      assert.strictEqual(created.status, 201)
      yield* create({ "x-api-key": `${made.body.key}x` }, charge)
      yield* create({ "x-api-key": made.body.key }, { ...charge, amount: "x" })
      // What is logged when the service itself is at fault.
      const sql = Context.get(yield* Layer.build(PgClient.layer({ url: databaseUrl })), SqlClient)
      yield* sql.unsafe("ALTER TABLE charges RENAME TO charges_away")
      assert.strictEqual((yield* create({ "x-api-key": made.body.key }, charge)).status, 500)
      yield* sql.unsafe("ALTER TABLE charges_away RENAME TO charges")
      yield* eventually(
        Effect.sync(() => received.length),
        (count) => count >= 4
      )
      service.signal("SIGTERM")
      assert.strictEqual(yield* service.ended, 0)
      const log = service.written()
      assert.include(log, "a request failed unexpectedly")
      for (const needle of [
        made.body.key,
        operatorToken,
        "secret-of-this-webhook",
        "52998224725",
        "529.982.247-25",
        "ana.segredo",
        "Ana Segredo",
        "912345678",
        new URL(Redacted.value(databaseUrl)).password
      ]) {
        assert.notInclude(log, needle)
      }
    }).pipe(Effect.scoped)
  )
})

interface Account {
  readonly id: string
  readonly created_at: string
}

interface Key {
  readonly id: string
  readonly key: string
  readonly prefix: string
  readonly created_at: string
  readonly revoked_at: string | null
  readonly last_used_at: string | null
}

interface LoggedRequest {
  readonly id: string
  readonly object: string
  readonly request_id: string
  readonly key_id: string | null
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

interface List<A> {
  readonly object: string
  readonly data: ReadonlyArray<A>
  readonly has_more: boolean
}

/** A delivery as lists show it. */
const withoutAttempts = (delivery: object): Fields =>
  Object.fromEntries(Object.entries(delivery).filter(([name]) => name !== "attempts"))

const someAccount = {
  name: "Padaria",
  legal_name: "Padaria do Zé Ltda",
  document: "11.222.333/0001-81",
  phone: "+5511999998888"
}
