/** Accounts, applications and keys for operators. */
import { allScopes } from "@pix-payments/domain/Scope"
import { assert, layer } from "@effect/vitest"
import { noLimits } from "@pix-payments/domain/Limits"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { create } from "../../../support/ChargeDeliveries.ts"
import { assertRefused, instant, uuid7 } from "../../../support/ChargeRequests.ts"
import { loopback } from "../../../support/Receiver.ts"
import { type Fields, TestService } from "../../../support/TestService.ts"
import { type Account, type Key, type List, someAccount } from "../../../support/Operator.ts"

const settings = { webhookAllowedNetworks: loopback, webhookRetryDelaysMs: [20], acquirerTimeoutMs: 300 }

layer(TestService.layer({ settings }), { excludeTestServices: true })("Accounts", (it) => {
  it.effect("ACC-3, OPR-13: opens an account with the stated defaults, and with the given fields", () =>
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
        approval_limit: null,
        connection_id: null,
        moved_to: null,
        statement_account: null,
        limits: noLimits,
        balance: { object: "balance", currency: "BRL", available: 0, pending: 0, total: 0 }
      })
      assert.match(plain.body.id, uuid7)
      assert.match(plain.body.created_at, instant)

      const details = {
        status: "inactive",
        onboarding_status: "in_review",
        auto_payout_enabled: false,
        payout_fee: { fixed: 150, basis_points: 99 },
        default_expires_in: 3600,
        release_delay: 60
      }
      const other = yield* operate<Account>("POST", "/operator/v1/accounts", {
        body: { ...someAccount, document: "529.982.247-25", unknown_field: 1, ...details }
      })
      assert.strictEqual(other.status, 201)
      assert.deepInclude<unknown>(other.body, { ...details, document: "52998224725", document_type: "cpf" })
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
      // Nothing was created.
      const { body } = yield* operate("GET", account)
      assert.deepInclude<unknown>(body, { name: "Padaria do Zé", status: "active" })
      const list = yield* operate<List<Fields>>("GET", keys)
      assert.strictEqual(list.body.data.length, 1)
    })
  )

  it.effect("OPR-14: changes the given fields of an account, and nothing else", () =>
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

  it.effect("OPR-10: answers unknown and malformed ids with NOT_FOUND", () =>
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
          ["GET", `keys/${id}`],
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
          limits: noLimits,
          created_at: shown.created_at
        })
        assert.isAtLeast(key.length - shown.prefix.length, 32)
        const listed = yield* operate<List<Key>>("GET", keys)
        assert.deepStrictEqual<unknown>(listed.body, { object: "list", data: [shown], has_more: false })
        assert.notInclude(listed.text, key)
        const one = yield* operate<Key>("GET", `/operator/v1/keys/${shown.id}`)
        assert.deepStrictEqual<unknown>([one.status, one.body], [200, shown])

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
})
