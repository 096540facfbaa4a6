/** Money out: `POST /v1/payouts`, what becomes of a payout, and the balance that it leaves. */
import { assert, layer } from "@effect/vitest"
import { MAX_CENTS, payoutFee } from "@pix-payments/domain/Cents"
import type { Payout } from "@pix-payments/domain/Payout"
import { lowestIdAt } from "@pix-payments/domain/Uuid"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import { SqlClient } from "effect/sql/SqlClient"
import { assertRefused, created, instant, uuid7 } from "../support/ChargeRequests.ts"
import {
  assertLedgerHolds,
  availableOf,
  balanceOf,
  deliveredOf,
  eventsOf,
  failing,
  funded,
  handedOver,
  holding,
  keptOf,
  listedPayouts,
  operated,
  type OperatorPayout,
  paidCharge,
  paidOut,
  payOut,
  payoutReaching,
  retrievePayout,
  simulated,
  someAccount,
  somePayout,
  timingOut,
  toldOf
} from "../support/Money.ts"
import { eventually, loopback, receiver } from "../support/Receiver.ts"
import { type Fields, newKey, TestService } from "../support/TestService.ts"

const settings = { acquirerTimeoutMs: 300, simulatorSettleMs: 0, webhookAllowedNetworks: loopback }

layer(TestService.layer({ settings }), { excludeTestServices: true })("POST /v1/payouts", (it) => {
  it.effect("API-4, PAY-18: Response 201 with a `payout` object", () =>
    Effect.gen(function* () {
      const { key } = yield* funded(10_000, { payout_fee: { fixed: 100, basis_points: 50 } })
      const { url } = yield* receiver()
      const { body, headers, status } = yield* payOut(key, {
        amount: 5000,
        pix_key_type: "cpf",
        pix_key: "529.982.247-25",
        method: "pix",
        recipient_name: "Ana Souza",
        recipient_document: "12.abc.345/01de-35",
        description: "Repasse",
        reference: "saida-1",
        webhook_url: url,
        webhook_secret: "a secret",
        unknown_field: true
      })
      assert.strictEqual(status, 201)
      assert.isUndefined(headers["idempotent-replayed"])
      assert.match(body.id, uuid7)
      assert.match(body.created_at, instant)
      assert.deepStrictEqual<unknown>(body, {
        id: body.id,
        object: "payout",
        status: "processing",
        method: "pix",
        amount: 5000,
        fee: 125,
        currency: "BRL",
        description: "Repasse",
        reference: "saida-1",
        recipient: { name: "Ana Souza", document: "12ABC34501DE35", pix_key_type: "cpf", pix_key: "52998224725" },
        end_to_end_id: null,
        failure_reason: null,
        webhook_url: url,
        processed_at: null,
        created_at: body.created_at,
        sequence: 1
      })
    })
  )

  it.effect(
    "API-6, PAY-10, PAY-12, PAY-17: `null` for an optional field is the same as absent; only amount, pix_key_type and pix_key are required",
    () =>
      Effect.gen(function* () {
        const { key } = yield* funded(10_000)
        const optional = [
          "method",
          "recipient_name",
          "recipient_document",
          "description",
          "reference",
          "webhook_url",
          "webhook_secret"
        ]
        const absent = yield* paidOut(key, holding)
        const nulls = yield* paidOut(key, { ...holding, ...Object.fromEntries(optional.map((name) => [name, null])) })
        for (const body of [absent, nulls]) {
          assert.deepInclude<unknown>(body, {
            method: "pix",
            fee: 0,
            description: null,
            reference: null,
            recipient: { name: null, document: null, pix_key_type: "email", pix_key: "hold@simulator.test" },
            webhook_url: null
          })
        }
        const { call } = yield* TestService
        const empty = yield* call("POST", "/v1/payouts", { key, idempotencyKey: newKey(), body: {} })
        assertRefused(empty, "VALIDATION_ERROR", ["amount", "pix_key_type", "pix_key"])
      })
  )

  const longest = `${"a".repeat(63)}@${"b".repeat(13)}`
  it.effect.each([
    { type: "cpf", sent: "529.982.247-25", kept: "52998224725" },
    { type: "cpf", sent: "52998224725", kept: "52998224725" },
    { type: "cnpj", sent: "11.222.333/0001-81", kept: "11222333000181" },
    { type: "cnpj", sent: "12.abc.345/01de-35", kept: "12ABC34501DE35" },
    { type: "email", sent: "Ana.Souza+pix@Example.COM", kept: "ana.souza+pix@example.com" },
    { type: "email", sent: longest, kept: longest },
    { type: "phone", sent: "+5511999998888", kept: "+5511999998888" },
    { type: "phone", sent: "+551133334444", kept: "+551133334444" },
    {
      type: "random",
      sent: "123E4567-E12B-12D1-A456-426655440000",
      kept: "123e4567-e12b-12d1-a456-426655440000"
    }
  ])("PAY-10: Pix keys: $type $sent", ({ kept, sent, type }) =>
    Effect.gen(function* () {
      const { key } = yield* funded(500)
      const { recipient } = yield* paidOut(key, { pix_key_type: type, pix_key: sent })
      assert.deepStrictEqual<unknown>(recipient, { name: null, document: null, pix_key_type: type, pix_key: kept })
    })
  )

  it.effect("a repeat does not wait for whoever is changing its payout", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { call } = yield* TestService
      const { key } = yield* funded(10_000)
      const idempotencyKey = newKey()
      const create = call("POST", "/v1/payouts", { key, idempotencyKey, body: somePayout })
      const { body } = yield* create
      yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`UPDATE payouts SET description = 'changing' WHERE id = ${String(body["id"])}::uuid`
          const repeated = yield* create
          assert.deepStrictEqual([repeated.status, repeated.body["id"]], [201, body["id"]])
        })
      )
    })
  )

  it.effect("PAY-9: what a payout is granted on holds when it is stored: fee, mode, guard, state, and who asks", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const sql = yield* SqlClient
      // Each account has been paid out of before, so that a process knows its terms.
      const known = Effect.gen(function* () {
        const caller = yield* funded(100_000, { auto_payout_enabled: true })
        assert.deepInclude<unknown>(yield* paidOut(caller.key, holding), { fee: 0, status: "processing" })
        const change = (body: Fields) => operated("PATCH", `/accounts/${caller.accountId}`, body)
        const ask = () => payOut(caller.key, holding)
        const count = Effect.map(
          sql<{ count: number }>`SELECT count(*)::integer AS count FROM payouts
            WHERE account_id = ${caller.accountId}::uuid`,
          ([row]) => row?.count
        )
        return { ...caller, change, ask, count }
      })

      const dearer = yield* known
      yield* dearer.change({ payout_fee: { fixed: 35, basis_points: 0 } })
      assert.deepInclude<unknown>((yield* dearer.ask()).body, { fee: 35 })
      yield* dearer.change({ payout_fee: { fixed: 35, basis_points: 1000 } })
      assert.deepInclude<unknown>((yield* dearer.ask()).body, { fee: 85 })
      assert.strictEqual(yield* availableOf(dearer.key), 100_000 - 3 * 500 - 35 - 85)

      const slower = yield* known
      yield* slower.change({ auto_payout_enabled: false })
      assert.deepInclude<unknown>((yield* slower.ask()).body, { status: "pending" })

      const guarded = yield* known
      yield* guarded.change({ payout_duplicate_window: 60 })
      const twin = (yield* guarded.ask()).body
      assert.deepInclude<unknown>(twin, { status: "pending" })
      assert.isNotNull((yield* operated<OperatorPayout>("GET", `/payouts/${twin.id}`)).duplicate_of)

      const ended = yield* known
      yield* ended.change({ status: "inactive" })
      const forIt = { body: { ...somePayout, ...holding } }
      const byOperator = yield* operate<Fields>("POST", `/operator/v1/accounts/${ended.accountId}/payouts`, forIt)
      assertRefused(byOperator, "ACCOUNT_INACTIVE")
      assert.strictEqual(yield* ended.count, 1)

      const ends = [
        ({ keyId }: { keyId: string }) => operated("POST", `/keys/${keyId}/revoke`),
        ({ applicationId }: { applicationId: string }) =>
          operated("PATCH", `/applications/${applicationId}`, { active: false }),
        ({ keyId }: { keyId: string }) => sql`UPDATE api_keys SET expires_at = now() WHERE id = ${keyId}::uuid`
      ]
      for (const end of ends) {
        const revoked = yield* known
        yield* end(revoked)
        assertRefused(yield* revoked.ask(), "UNAUTHORIZED")
        assert.strictEqual(yield* revoked.count, 1)
      }
    })
  )

  it.effect("an account whose balance is locked holds up no payout of another one", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { key } = yield* funded(10_000)
      const { accountId, key: locked } = yield* funded(100)
      const refused = yield* sql.withTransaction(
        Effect.gen(function* () {
          yield* sql`SELECT balance FROM ledger_accounts WHERE owner_id = ${accountId}::uuid FOR UPDATE`
          const waiting = yield* Effect.forkChild(payOut(locked), { startImmediately: true })
          const answers = yield* Effect.all([payOut(key), payOut(key), payOut(key)], { concurrency: 3 })
          assert.deepStrictEqual(
            answers.map(({ status }) => status),
            [201, 201, 201]
          )
          return waiting
        })
      )
      assertRefused(yield* Fiber.join(refused), "INSUFFICIENT_BALANCE")
    })
  )

  it.effect(
    'PAY-11, PAY-13: A key without the shape of its type is `VALIDATION_ERROR` with `details: ["pix_key"]`; wrong check digits `INVALID_DOCUMENT`',
    () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        // Without money: what is wrong with a request is told before the balance is looked at.
        const { key } = yield* makeCaller()
        const malformed: ReadonlyArray<readonly [string, unknown]> = [
          ["cpf", "529.982.247-2X"],
          ["cpf", ""],
          ["cpf", "..."],
          ["cpf", "123"],
          ["cpf", "5299822472"],
          ["cpf", "11222333000181"],
          ["cpf", "ana@example.com"],
          ["cnpj", "52998224725"],
          ["cnpj", "ana@example.com"],
          ["cnpj", "11_222_333/0001-81"],
          ["email", "ana"],
          ["email", "ana@"],
          ["email", "@example.com"],
          ["email", "ana souza@example.com"],
          ["email", "ana@exa mple.com"],
          ["email", `${longest}b`],
          ["email", "\u212aelvin@example.com"],
          ["phone", "11999998888"],
          ["phone", "+5511 99999-8888"],
          ["phone", "+55119999"],
          ["phone", "+55119999988889"],
          ["phone", "+14155552671"],
          ["random", "123e4567e12b12d1a456426655440000"],
          ["random", "123e4567-e12b-12d1-a456-42665544000"],
          ["random", "hold@simulator.test"],
          ["random", "\u0000"],
          ["email", 5],
          ["email", null],
          ["email", "x".repeat(256)]
        ]
        for (const [pix_key_type, pix_key] of malformed) {
          assertRefused(yield* payOut(key, { pix_key_type, pix_key }), "VALIDATION_ERROR", ["pix_key"])
        }
        const invalid: ReadonlyArray<readonly [string, string]> = [
          ["cpf", "529.982.247-26"],
          ["cpf", "111.111.111-11"],
          ["cnpj", "11.222.333/0001-82"],
          ["cnpj", "00.000.000/0000-00"],
          ["cnpj", "12ABC34501DE36"]
        ]
        for (const [pix_key_type, pix_key] of invalid) {
          assertRefused(yield* payOut(key, { pix_key_type, pix_key }), "INVALID_DOCUMENT", ["pix_key"])
        }
        for (const pix_key_type of ["evp", "CPF", "", 5, null, undefined]) {
          assertRefused(yield* payOut(key, { pix_key_type }), "VALIDATION_ERROR", ["pix_key_type"])
        }
        const both = { pix_key_type: "cpf", pix_key: "52998224726", recipient_document: "1" }
        assertRefused(yield* payOut(key, both), "INVALID_DOCUMENT", ["pix_key", "recipient_document"])
      })
  )

  it.effect("PAY-12, PAY-13, ERR-3: every field's type and length: `VALIDATION_ERROR`, all bad fields at once", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const cases: ReadonlyArray<readonly [Fields, ReadonlyArray<string>]> = [
        [{ amount: undefined }, ["amount"]],
        [{ amount: null }, ["amount"]],
        [{ amount: "500" }, ["amount"]],
        [{ amount: 500.5 }, ["amount"]],
        [{ amount: MAX_CENTS + 1 }, ["amount"]],
        [{ amount: 1e300 }, ["amount"]],
        [{ method: 5 }, ["method"]],
        [{ recipient_name: "" }, ["recipient_name"]],
        [{ recipient_name: "x".repeat(201) }, ["recipient_name"]],
        [{ recipient_document: 52998224725 }, ["recipient_document"]],
        [{ description: "x".repeat(141) }, ["description"]],
        [{ description: "a\u0007b" }, ["description"]],
        [{ reference: "x".repeat(256) }, ["reference"]],
        [{ reference: ["x"] }, ["reference"]],
        [{ webhook_url: 5 }, ["webhook_url"]],
        [{ webhook_secret: "x".repeat(256) }, ["webhook_secret"]],
        [
          { amount: "1", pix_key: "x", recipient_name: "", description: 1, reference: {}, webhook_secret: [] },
          ["amount", "pix_key", "recipient_name", "description", "reference", "webhook_secret"]
        ]
      ]
      for (const [fields, details] of cases) {
        assertRefused(yield* payOut(key, fields), "VALIDATION_ERROR", details)
      }
      const { call } = yield* TestService
      for (const body of ["{", "[]", '"x"', "null", "", "5"]) {
        assertRefused(yield* call("POST", "/v1/payouts", { key, idempotencyKey: newKey(), body }), "VALIDATION_ERROR")
      }
    })
  )

  it.effect("API-10, PAY-12: the longest of every field is accepted, counted in code points", () =>
    Effect.gen(function* () {
      const { key } = yield* funded(1000)
      const fields = {
        recipient_name: "😀".repeat(200),
        description: "é".repeat(140),
        reference: "r".repeat(255),
        webhook_secret: "s".repeat(255)
      }
      const { description, recipient, reference } = yield* paidOut(key, fields)
      assert.deepStrictEqual(
        [recipient.name, description, reference],
        [fields.recipient_name, fields.description, fields.reference]
      )
      const { description: none, reference: nothing } = yield* paidOut(key, { description: "", reference: "" })
      assert.deepStrictEqual([none, nothing], ["", ""])
    })
  )

  it.effect(
    "ERR-2, PAY-13, PAY-14: order of checks: validation, method, amount, document, webhook_url, account rules, balance",
    () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        const { key } = yield* makeCaller({ account: { status: "inactive", onboarding_status: "pending" } })
        const { accountId, key: restricted } = yield* makeCaller({ account: { onboarding_status: "in_review" } })
        const bad = {
          amount: 499,
          method: "ted",
          recipient_document: "1",
          webhook_url: "http://10.0.0.1/hook",
          description: "x".repeat(141)
        }
        assertRefused(yield* payOut(key, bad), "VALIDATION_ERROR", ["description"])
        const noLonger = { ...bad, description: "" }
        assertRefused(yield* payOut(key, noLonger), "METHOD_NOT_SUPPORTED", ["method"])
        assertRefused(yield* payOut(key, { ...noLonger, method: "pix" }), "AMOUNT_BELOW_MINIMUM", ["amount"])
        const enough = { ...noLonger, method: "pix", amount: 500 }
        assertRefused(yield* payOut(key, enough), "INVALID_DOCUMENT", ["recipient_document"])
        const documented = { ...enough, recipient_document: "529.982.247-25" }
        assertRefused(yield* payOut(key, documented), "INVALID_WEBHOOK_URL", ["webhook_url"])
        // ACCOUNT_INACTIVE before ACCOUNT_RESTRICTED, both before the balance.
        assertRefused(yield* payOut(key), "ACCOUNT_INACTIVE")
        assertRefused(yield* payOut(restricted), "ACCOUNT_RESTRICTED")
        for (const onboarding_status of ["pending", "rejected"]) {
          yield* operated("PATCH", `/accounts/${accountId}`, { onboarding_status })
          assertRefused(yield* payOut(restricted), "ACCOUNT_RESTRICTED")
        }
        yield* operated("PATCH", `/accounts/${accountId}`, { onboarding_status: "completed" })
        assertRefused(yield* payOut(restricted), "INSUFFICIENT_BALANCE")
        yield* operated("PATCH", `/accounts/${accountId}`, { status: "inactive" })
        assertRefused(yield* payOut(restricted), "ACCOUNT_INACTIVE")
        assert.deepStrictEqual((yield* listedPayouts(restricted)).data, [])
      })
  )

  it.effect("PAY-14: charges are allowed on an account whose onboarding is not completed, payouts are not", () =>
    Effect.gen(function* () {
      const { key } = yield* funded(5000, { onboarding_status: "pending" })
      assertRefused(yield* payOut(key), "ACCOUNT_RESTRICTED")
      assert.strictEqual(yield* availableOf(key), 5000)
    })
  )

  it.effect("URL-5: `webhook_url`: public http(s) URL, up to 2048 characters", () =>
    Effect.gen(function* () {
      const { key } = yield* funded(500)
      for (const webhook_url of ["http://10.0.0.1/", "ftp://example.com/", "no url", "", "https://user@example.com/"]) {
        assertRefused(yield* payOut(key, { webhook_url }), "INVALID_WEBHOOK_URL", ["webhook_url"])
      }
      const { url } = yield* receiver()
      const tooLong = `${url}/${"x".repeat(2048 - url.length)}`
      assertRefused(yield* payOut(key, { webhook_url: tooLong }), "VALIDATION_ERROR", ["webhook_url"])
      const fits = tooLong.slice(0, 2048)
      assert.strictEqual((yield* paidOut(key, { webhook_url: fits })).webhook_url, fits)
    })
  )

  it.effect("PAY-17: `method` any string but `pix` on creation: METHOD_NOT_SUPPORTED", () =>
    Effect.gen(function* () {
      const { key } = yield* funded(500)
      for (const method of ["ted", "boleto", "card", "PIX", ""]) {
        assertRefused(yield* payOut(key, { method }), "METHOD_NOT_SUPPORTED", ["method"])
      }
    })
  )

  it.effect("PAY-8: An amount below 500 gives 400 `AMOUNT_BELOW_MINIMUM`", () =>
    Effect.gen(function* () {
      const { key } = yield* funded(500)
      for (const amount of [499, 1, 0, -1, -500, Number.MIN_SAFE_INTEGER]) {
        assertRefused(yield* payOut(key, { amount }), "AMOUNT_BELOW_MINIMUM", ["amount"])
      }
      assert.strictEqual((yield* paidOut(key, { amount: 500 })).amount, 500)
    })
  )

  it.effect("PAY-8: largest amount: 999999999999 cents, and its fee is exact", () =>
    Effect.gen(function* () {
      const payout_fee = { fixed: 1, basis_points: 9999 }
      const { accountId, key } = yield* funded(MAX_CENTS, { payout_fee })
      yield* paidCharge(key, MAX_CENTS)
      const { amount, fee, id } = yield* paidOut(key, { amount: MAX_CENTS, ...holding })
      // 999999999999 * 9999 / 10000 = 999899999999.0001 and the fixed cent
      assert.deepStrictEqual([amount, fee], [MAX_CENTS, 999_900_000_000])
      assert.strictEqual(yield* availableOf(key), MAX_CENTS - 999_900_000_000)
      yield* simulated(`/payouts/${id}/fail`, { reason: "no such account" })
      assert.deepInclude(yield* keptOf(accountId), { available: 2 * MAX_CENTS, payouts_in_transit: 0 })
    })
  )

  it.effect.each([
    { fixed: 0, basis_points: 0, amount: 12_345, fee: 0 },
    { fixed: 250, basis_points: 0, amount: 500, fee: 250 },
    // 500 * 9 = 4500, under half a cent; 556 * 9 = 5004, over it; 5000 is the half, and goes up.
    { fixed: 0, basis_points: 9, amount: 555, fee: 0 },
    { fixed: 0, basis_points: 9, amount: 556, fee: 1 },
    { fixed: 0, basis_points: 10, amount: 500, fee: 1 },
    { fixed: 7, basis_points: 99, amount: 1550, fee: 22 },
    { fixed: 1, basis_points: 10_000, amount: 700, fee: 701 }
  ])(
    "PAY-9: payout fee: $fixed + round_half_up($amount * $basis_points / 10000)",
    ({ amount, basis_points, fee, fixed }) =>
      Effect.gen(function* () {
        const { key } = yield* funded(20_000, { payout_fee: { fixed, basis_points } })
        assert.strictEqual((yield* paidOut(key, { amount })).fee, fee)
        assert.strictEqual(payoutFee(amount, { fixed, basis_points }), fee)
        assert.strictEqual(yield* availableOf(key), 20_000 - amount - fee)
      })
  )

  it.effect("PAY-2: When available is lower than amount plus fee, the answer is 400 `INSUFFICIENT_BALANCE`", () =>
    Effect.gen(function* () {
      const { accountId, key } = yield* funded(10_000, { payout_fee: { fixed: 30, basis_points: 100 } })
      // 9872 + 30 + 99 = 10001; 9871 + 30 + 99 = 10000
      const idempotencyKey = newKey()
      assertRefused(yield* payOut(key, { amount: 9872 }, idempotencyKey), "INSUFFICIENT_BALANCE")
      assert.deepStrictEqual((yield* listedPayouts(key)).data, [])
      assert.strictEqual(yield* availableOf(key), 10_000)
      // Nothing was created under the key: it is free still.
      const { fee } = yield* paidOut(key, { amount: 9871, ...holding }, idempotencyKey)
      assert.strictEqual(fee, 129)
      assert.deepInclude(yield* keptOf(accountId), { available: 0, payouts_in_transit: 10_000 })
      assertRefused(yield* payOut(key), "INSUFFICIENT_BALANCE")
    })
  )

  it.effect("BAL-1: money that is received but not yet released cannot be spent", () =>
    Effect.gen(function* () {
      const { key } = yield* funded(10_000, { release_delay: 3600 })
      assertRefused(yield* payOut(key), "INSUFFICIENT_BALANCE")
      assert.deepInclude(yield* balanceOf(key), { available: 0, pending: 10_000 })
    })
  )

  it.effect(
    "IDEM-1, IDEM-2, ERR-2: 401 key, 403 scope, 400 IDEMPOTENCY_KEY_REQUIRED, and 8 to 255 visible ASCII characters",
    () =>
      Effect.gen(function* () {
        const { call, makeKey } = yield* TestService
        const { applicationId, key } = yield* funded(5000)
        const { key: reader } = yield* makeKey(applicationId, { scopes: ["payout:read"] })
        const { key: writer } = yield* makeKey(applicationId, { scopes: ["payout:write"] })
        const { key: stranger } = yield* makeKey(applicationId, { scopes: ["charge:read", "charge:write"] })
        const body = somePayout
        assertRefused(yield* call("POST", "/v1/payouts", { body }), "UNAUTHORIZED")
        assertRefused(yield* call("POST", "/v1/payouts", { key: reader, body }), "INSUFFICIENT_SCOPE", ["payout:write"])
        assertRefused(yield* call("POST", "/v1/payouts", { key: writer, body: "{" }), "IDEMPOTENCY_KEY_REQUIRED")
        assertRefused(yield* payOut(writer, {}, ""), "IDEMPOTENCY_KEY_REQUIRED")
        for (const bad of ["1234567", "x".repeat(256), "1234 5678"]) {
          assertRefused(yield* payOut(writer, { amount: 1 }, bad), "VALIDATION_ERROR", ["Idempotency-Key"])
        }
        const { id } = yield* paidOut(writer, {}, "12345678")
        assert.notStrictEqual((yield* paidOut(writer, {}, "x".repeat(255))).id, id)
        assertRefused(yield* call("GET", `/v1/payouts/${id}`, { key: writer }), "INSUFFICIENT_SCOPE", ["payout:read"])
        assertRefused(yield* call("GET", "/v1/payouts", { key: writer }), "INSUFFICIENT_SCOPE", ["payout:read"])
        assertRefused(yield* call("GET", "/v1/balance", { key: stranger }), "INSUFFICIENT_SCOPE", ["balance:read"])
        assertRefused(yield* call("GET", "/v1/account", { key: stranger }), "INSUFFICIENT_SCOPE", ["account:read"])
        assert.strictEqual((yield* retrievePayout(reader, id)).status, 200)
        assert.strictEqual((yield* retrievePayout(key, id)).status, 200)
      })
  )

  it.effect(
    "IDEM-4: Repeating a call with the same key returns the resource as it is now, 201, `Idempotent-Replayed: true`",
    () =>
      Effect.gen(function* () {
        const { call } = yield* TestService
        const { accountId, key } = yield* funded(500)
        const idempotencyKey = newKey()
        const { id } = yield* paidOut(key, {}, idempotencyKey)
        const completed = yield* payoutReaching(key, id, "completed")
        // Whatever the body says, with nothing left to spend, and on an account that may do nothing any more.
        yield* operated("PATCH", `/accounts/${accountId}`, { status: "inactive", onboarding_status: "rejected" })
        const bodies: ReadonlyArray<unknown> = [
          somePayout,
          { ...somePayout, amount: 800 },
          { ...somePayout, amount: 1 },
          { ...somePayout, method: "ted" },
          { ...somePayout, pix_key_type: "cpf", pix_key: "1" },
          { ...somePayout, webhook_url: "http://10.0.0.1/" },
          { ...somePayout, webhook_url: "no url" },
          {},
          [],
          "{",
          "",
          "\u0000"
        ]
        for (const body of bodies) {
          const again = yield* call<Payout>("POST", "/v1/payouts", { key, idempotencyKey, body })
          assert.deepStrictEqual(
            [again.status, again.headers["idempotent-replayed"], again.body],
            [201, "true", completed]
          )
        }
        assert.strictEqual((yield* listedPayouts(key)).data.length, 1)
        assert.strictEqual(yield* availableOf(key), 0)
      })
  )

  it.effect(
    "IDEM-3: Its scope is (application, kind of resource): the same value on a charge and on a payout are two operations",
    () =>
      Effect.gen(function* () {
        const { makeApplication, makeKey } = yield* TestService
        const { accountId, key } = yield* funded(5000)
        const { key: other } = yield* makeKey(yield* makeApplication(accountId))
        const { key: stranger } = yield* funded(5000)
        const idempotencyKey = newKey()
        const charge = yield* created(key, {}, idempotencyKey)
        const first = yield* paidOut(key, {}, idempotencyKey)
        assert.strictEqual(first.object, "payout")
        assert.strictEqual((yield* created(key, {}, idempotencyKey)).id, charge.id)
        const second = yield* paidOut(other, {}, idempotencyKey)
        const third = yield* paidOut(stranger, {}, idempotencyKey)
        const fourth = yield* operated<OperatorPayout>("POST", `/accounts/${accountId}/payouts`, somePayout, 201)
        assert.strictEqual(new Set([charge.id, first.id, second.id, third.id, fourth.id]).size, 5)
        assert.strictEqual((yield* paidOut(other, {}, idempotencyKey)).id, second.id)
        assert.strictEqual(yield* availableOf(key), 3500)
      })
  )

  it.effect(
    "IDEM-5: two calls with one new key at the same time: one resource, the loser gets the winner's as a replay",
    () =>
      Effect.gen(function* () {
        const { key } = yield* funded(100_000)
        const idempotencyKey = newKey()
        const answers = yield* Effect.forEach(
          Array.from({ length: 50 }, (_, index) => index),
          (index) => payOut(key, { amount: 500 + index, ...holding }, idempotencyKey),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(new Set(answers.map(({ status }) => status)), new Set([201]))
        assert.strictEqual(new Set(answers.map(({ body }) => body.id)).size, 1)
        assert.strictEqual(answers.filter(({ headers }) => headers["idempotent-replayed"] === undefined).length, 1)
        const { data } = yield* listedPayouts(key)
        assert.strictEqual(data.length, 1)
        assert.strictEqual(yield* availableOf(key), 100_000 - data[0]!.amount)
      })
  )

  it.effect("an answer that is refused claims no key", () =>
    Effect.gen(function* () {
      const { key } = yield* funded(500)
      const idempotencyKey = newKey()
      const refused = yield* Effect.forEach([{ amount: 499 }, { amount: 501 }, { pix_key: "" }], (fields) =>
        payOut(key, fields, idempotencyKey)
      )
      assert.deepStrictEqual(
        refused.map(({ status }) => status),
        [400, 400, 400]
      )
      assert.strictEqual((yield* payOut(key, {}, idempotencyKey)).headers["idempotent-replayed"], undefined)
    })
  )
})

layer(TestService.layer({ settings }), { excludeTestServices: true })("Payout `status`", (it) => {
  it.effect(
    "PAY-3, EVT-12: `auto_payout_enabled` true: `processing`; payment.pix.created and payment.pix.processing; completed is not dispatched",
    () =>
      Effect.gen(function* () {
        const { url } = yield* receiver()
        const { accountId, key } = yield* funded(10_000, { payout_fee: { fixed: 100, basis_points: 0 } })
        const payout = yield* paidOut(key, { webhook_url: url, reference: "r-1", ...holding })
        assert.strictEqual(payout.status, "processing")
        assert.strictEqual(yield* availableOf(key), 9400)
        const events = yield* eventsOf(payout.id)
        assert.deepStrictEqual(
          events.map(({ event, sequence }) => `${event} ${sequence}`),
          ["payment.pix.created 1", "payment.pix.processing 1"]
        )
        for (const { created_at, data } of events) {
          assert.match(created_at, instant)
          // Everything else in `data` is as in GET.
          assert.deepStrictEqual<unknown>(data, { ...payout, object: "payment" })
        }
        yield* simulated(`/payouts/${payout.id}/complete`)
        const completed = yield* payoutReaching(key, payout.id, "completed")
        assert.strictEqual(completed.sequence, 2)
        assert.deepStrictEqual(yield* toldOf(payout.id), [
          "payment.pix.created processing",
          "payment.pix.processing processing",
          "payment.pix.completed completed"
        ])
        assert.deepStrictEqual(yield* deliveredOf(payout.id), [
          "payment.pix.created webhook_url",
          "payment.pix.processing webhook_url"
        ])
        assert.deepInclude(yield* keptOf(accountId), { available: 9400, payouts_in_transit: 0 })
      })
  )

  it.effect("PAY-3: `auto_payout_enabled` false: `pending`, until someone releases it", () =>
    Effect.gen(function* () {
      const { url } = yield* receiver()
      const { key } = yield* funded(10_000, { auto_payout_enabled: false, payout_fee: { fixed: 100, basis_points: 0 } })
      const payout = yield* paidOut(key, { webhook_url: url })
      assert.deepInclude(payout, { status: "pending", processed_at: null, sequence: 1 })
      // Amount plus fee leave the available balance when the payout is created, in both modes.
      assert.strictEqual(yield* availableOf(key), 9400)
      assert.deepStrictEqual(yield* toldOf(payout.id), ["payment.pix.created pending"])

      const approved = yield* operated<OperatorPayout>("POST", `/payouts/${payout.id}/approve`)
      assert.deepInclude(approved, { status: "processing", sequence: 2, origin: "api", duplicate_of: null })
      const completed = yield* payoutReaching(key, payout.id, "completed")
      assert.strictEqual(completed.sequence, 3)
      assert.deepStrictEqual(yield* toldOf(payout.id), [
        "payment.pix.created pending",
        "payment.pix.processing processing",
        "payment.pix.completed completed"
      ])
      assert.deepStrictEqual(yield* deliveredOf(payout.id), [
        "payment.pix.created webhook_url",
        "payment.pix.processing webhook_url"
      ])
      assert.strictEqual(yield* availableOf(key), 9400)
    })
  )

  it.effect("OPR-34: an outcome of a payout that was not handed over is 409 INVALID_STATE", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { accountId, key } = yield* funded(10_000, { auto_payout_enabled: false })
      const { id } = yield* paidOut(key)
      for (const outcome of ["complete", "fail"]) {
        const answer = yield* operate("POST", `/operator/v1/simulator/payouts/${id}/${outcome}`, {
          body: { reason: "x" }
        })
        assertRefused(answer, "INVALID_STATE")
      }
      assert.strictEqual((yield* retrievePayout(key, id)).body.status, "pending")
      assert.deepInclude(yield* keptOf(accountId), { available: 9500, payouts_in_transit: 500 })
    })
  )

  it.effect("PAY-3: a payout that is not released is not handed to the acquirer", () =>
    Effect.gen(function* () {
      const { key } = yield* funded(10_000, { auto_payout_enabled: false })
      const sql = yield* SqlClient
      const waiting = yield* paidOut(key)
      // Another one, made and handed over after it.
      const other = yield* paidOut(key)
      yield* operated("POST", `/payouts/${other.id}/approve`)
      yield* payoutReaching(key, other.id, "completed")
      assert.deepStrictEqual((yield* retrievePayout(key, waiting.id)).body, waiting)
      assert.deepStrictEqual(
        yield* sql`SELECT payout_id FROM simulator_payouts WHERE payout_id = ${waiting.id}::uuid`,
        []
      )
    })
  )

  it.effect(
    "PAY-5, PAY-7: `completed`: money delivered, `end_to_end_id` is filled, `processed_at` is when it left",
    () =>
      Effect.gen(function* () {
        const { key } = yield* funded(10_000)
        const byItself = yield* paidOut(key)
        const told = yield* paidOut(key, holding)
        const taken = yield* handedOver(key, told.id)
        assert.deepInclude(taken, { status: "processing", end_to_end_id: null, sequence: 1 })
        yield* simulated(`/payouts/${told.id}/complete`)
        for (const { created_at, id } of [byItself, told]) {
          const { end_to_end_id, failure_reason, processed_at } = yield* payoutReaching(key, id, "completed")
          assert.match(String(end_to_end_id), /^E00000000\d{12}[A-Za-z0-9]{11}$/)
          assert.match(String(processed_at), instant)
          assert.isTrue(processed_at! >= created_at)
          assert.isNull(failure_reason)
        }
        assert.strictEqual((yield* retrievePayout(key, told.id)).body.processed_at, taken.processed_at)
        const all = yield* listedPayouts(key)
        assert.strictEqual(new Set(all.data.map(({ end_to_end_id }) => end_to_end_id)).size, 2)
      })
  )

  it.effect("PAY-5: `failed`: amount and fee go back to the balance; `failure_reason` is filled", () =>
    Effect.gen(function* () {
      const { url } = yield* receiver()
      const { accountId, key } = yield* funded(10_000, { payout_fee: { fixed: 0, basis_points: 1000 } })
      const byItself = yield* paidOut(key, { amount: 3000, webhook_url: url, ...failing })
      const told = yield* paidOut(key, { amount: 2000, webhook_url: url, ...holding })
      const first = yield* payoutReaching(key, byItself.id, "failed")
      assert.strictEqual(yield* availableOf(key), 10_000 - 2200)
      const second = yield* simulated<OperatorPayout>(`/payouts/${told.id}/fail`, { reason: "conta encerrada" })
      assert.deepInclude(second, { status: "failed", failure_reason: "conta encerrada", end_to_end_id: null })
      assert.isString(first.failure_reason)
      assert.match(String(first.processed_at), instant)
      assert.match(String(second.processed_at), instant)
      assert.deepInclude(yield* keptOf(accountId), { available: 10_000, payouts_in_transit: 0 })
      for (const { failure_reason, id } of [first, second]) {
        assert.deepStrictEqual(yield* toldOf(id), [
          "payment.pix.created processing",
          "payment.pix.processing processing",
          "payment.pix.failed failed"
        ])
        assert.deepStrictEqual(yield* deliveredOf(id), [
          "payment.pix.created webhook_url",
          "payment.pix.failed webhook_url",
          "payment.pix.processing webhook_url"
        ])
        const { body } = yield* retrievePayout(key, id)
        const [, , failed] = yield* eventsOf(id)
        assert.deepStrictEqual<unknown>(failed?.data, { ...body, object: "payment" })
        assert.strictEqual(body.failure_reason, failure_reason)
      }
    })
  )

  it.effect("PAY-5: `canceled` means canceled before sending; amount and fee return to the balance", () =>
    Effect.gen(function* () {
      const { url } = yield* receiver()
      const account = { auto_payout_enabled: false, payout_fee: { fixed: 77, basis_points: 0 } }
      const { accountId, key } = yield* funded(10_000, account)
      const { id } = yield* paidOut(key, { webhook_url: url })
      assert.deepInclude(yield* keptOf(accountId), { available: 9423, payouts_in_transit: 577 })
      const canceled = yield* operated<OperatorPayout>("POST", `/payouts/${id}/cancel`)
      assert.deepInclude(canceled, { status: "canceled", processed_at: null, failure_reason: null, sequence: 2 })
      assert.deepInclude(yield* keptOf(accountId), { available: 10_000, payouts_in_transit: 0 })
      assert.deepStrictEqual(yield* toldOf(id), ["payment.pix.created pending", "payment.pix.canceled canceled"])
      assert.deepStrictEqual(yield* deliveredOf(id), [
        "payment.pix.canceled webhook_url",
        "payment.pix.created webhook_url"
      ])
    })
  )

  it.effect("PAY-4, OPR-24: approve and cancel: `pending` only, else 409 INVALID_STATE; unknown: NOT_FOUND", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { accountId, key } = yield* funded(10_000, { auto_payout_enabled: false })
      const act = (id: string, action: string) => operate("POST", `/operator/v1/payouts/${id}/${action}`)
      const canceled = yield* paidOut(key)
      const processing = yield* paidOut(key, holding)
      const failed = yield* paidOut(key, failing)
      const completed = yield* paidOut(key)
      yield* operated("POST", `/payouts/${canceled.id}/cancel`)
      for (const { id } of [processing, failed, completed]) yield* operated("POST", `/payouts/${id}/approve`)
      yield* payoutReaching(key, failed.id, "failed")
      yield* payoutReaching(key, completed.id, "completed")
      const before = yield* keptOf(accountId)
      for (const { id } of [canceled, processing, failed, completed]) {
        for (const action of ["approve", "cancel"]) assertRefused(yield* act(id, action), "INVALID_STATE")
      }
      for (const id of ["0198c0de-0000-7000-8000-000000000000", "no-id"]) {
        for (const action of ["approve", "cancel"]) assertRefused(yield* act(id, action), "NOT_FOUND")
      }
      assert.deepStrictEqual(yield* keptOf(accountId), before)
    })
  )

  it.effect("OPR-12: an approval whose caller goes away is written down all the same", () =>
    Effect.gen(function* () {
      const { operatorToken, operatorUrl } = yield* TestService
      const sql = yield* SqlClient
      const { key } = yield* funded(10_000, { auto_payout_enabled: false })
      const { id } = yield* paidOut(key)
      // It is done, and cannot be written down yet.
      yield* Effect.gen(function* () {
        yield* sql`LOCK TABLE audit IN SHARE MODE`
        const asked = yield* Effect.forkChild(
          Effect.promise((signal) =>
            fetch(`${operatorUrl}/operator/v1/payouts/${id}/approve`, {
              method: "POST",
              headers: { "x-operator-token": operatorToken },
              signal
            })
          )
        )
        yield* payoutReaching(key, id, "completed")
        yield* Fiber.interrupt(asked)
        // The server has seen it.
        for (let n = 0; n < 5; n++) yield* operated("GET", `/payouts/${id}`)
      }).pipe(sql.withTransaction)
      yield* eventually(
        sql`SELECT 1 FROM audit WHERE resource_id = ${id}::uuid AND action = 'payoutActions.approve'`,
        ({ length }) => length === 1,
        5000
      )
    })
  )

  it.effect("OPR-24: approve and cancel at the same moment: one wins, the other is 409 INVALID_STATE", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { accountId, key } = yield* funded(20_000, { auto_payout_enabled: false })
      const made = yield* Effect.forEach(Array.from({ length: 20 }), () => paidOut(key, holding), { concurrency: 10 })
      const outcomes = yield* Effect.forEach(
        made,
        ({ id }) =>
          Effect.forEach(
            ["approve", "cancel", "cancel", "approve"],
            (action) => operate<OperatorPayout>("POST", `/operator/v1/payouts/${id}/${action}`),
            { concurrency: "unbounded" }
          ),
        { concurrency: "unbounded" }
      )
      let canceled = 0
      for (const [index, answers] of outcomes.entries()) {
        const won = answers.filter(({ status }) => status === 200)
        assert.strictEqual(won.length, 1)
        for (const answer of answers) if (answer.status !== 200) assertRefused(answer, "INVALID_STATE")
        const { body } = yield* retrievePayout(key, made[index]!.id)
        assert.strictEqual(body.status, won[0]!.body.status)
        if (body.status === "canceled") canceled++
        assert.strictEqual((yield* toldOf(body.id)).length, 2)
      }
      assert.deepInclude(yield* keptOf(accountId), {
        available: 20_000 - (20 - canceled) * 500,
        payouts_in_transit: (20 - canceled) * 500
      })
    })
  )

  it.effect("PAY-4: a repeated or out-of-order report changes nothing", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { accountId, key } = yield* funded(10_000, { auto_payout_enabled: false })
      const [pending, canceled, completed, failed] = yield* Effect.forEach(
        [holding, holding, holding, holding],
        (fields) => paidOut(key, fields)
      )
      yield* operated("POST", `/payouts/${canceled!.id}/cancel`)
      for (const { id } of [completed!, failed!]) yield* operated("POST", `/payouts/${id}/approve`)
      yield* simulated(`/payouts/${completed!.id}/complete`)
      yield* simulated(`/payouts/${failed!.id}/fail`, { reason: "x" })
      const before = yield* Effect.forEach([canceled!, completed!, failed!], ({ id }) => retrievePayout(key, id))
      const kept = yield* keptOf(accountId)
      for (const { id } of [pending!, canceled!, completed!, failed!]) {
        assertRefused(yield* operate("POST", `/operator/v1/simulator/payouts/${id}/complete`), "INVALID_STATE")
        const refused = yield* operate("POST", `/operator/v1/simulator/payouts/${id}/fail`, { body: { reason: "y" } })
        assertRefused(refused, "INVALID_STATE")
      }
      assert.deepStrictEqual(yield* keptOf(accountId), kept)
      for (const { body } of before) assert.deepStrictEqual((yield* retrievePayout(key, body.id)).body, body)
    })
  )

  it.effect("PAY-5: many equal reports at once move the money once", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { accountId, key } = yield* funded(10_000, { payout_fee: { fixed: 10, basis_points: 0 } })
      const { id } = yield* paidOut(key, holding)
      yield* handedOver(key, id)
      const path = `/operator/v1/simulator/payouts/${id}`
      const answers = yield* Effect.forEach(
        Array.from({ length: 20 }, (_, index) => index % 2 === 0),
        (completes) =>
          completes ? operate("POST", `${path}/complete`) : operate("POST", `${path}/fail`, { body: { reason: "x" } }),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(answers.map(({ status }) => status).toSorted(), [
        200,
        ...Array.from({ length: 19 }, () => 409)
      ])
      const { body } = yield* retrievePayout(key, id)
      assert.deepInclude(yield* keptOf(accountId), {
        available: body.status === "failed" ? 10_000 : 9490,
        payouts_in_transit: 0
      })
    })
  )

  it.effect(
    "PAY-6: an unclear answer is never taken for a refusal: the outcome is asked for until known, and one Pix is sent",
    () =>
      Effect.gen(function* () {
        const { accountId, key } = yield* funded(10_000)
        const sql = yield* SqlClient
        const made = yield* Effect.forEach(Array.from({ length: 10 }), () => paidOut(key, timingOut), {
          concurrency: 10
        })
        for (const { id, status } of made) {
          assert.strictEqual(status, "processing")
          const completed = yield* payoutReaching(key, id, "completed")
          assert.match(String(completed.end_to_end_id), /^E00000000/)
          const [row] = yield* sql<{ hand_overs: number }>`SELECT hand_overs FROM payouts WHERE id = ${id}::uuid`
          assert.isAtLeast(row!.hand_overs, 1, "its first answer was unclear")
          const taken = yield* sql<{
            amount: bigint
          }>`SELECT amount FROM simulator_payouts WHERE payout_id = ${id}::uuid`
          assert.deepStrictEqual(taken, [{ amount: 500n }])
          assert.deepStrictEqual(yield* toldOf(id), [
            "payment.pix.created processing",
            "payment.pix.processing processing",
            "payment.pix.completed completed"
          ])
        }
        assert.deepInclude(yield* keptOf(accountId), { available: 5000, payouts_in_transit: 0 })
        yield* assertLedgerHolds
      })
  )

  it.effect("one payout that cannot be settled holds up no other", () =>
    Effect.gen(function* () {
      const { key } = yield* funded(100_000, { auto_payout_enabled: false })
      const sql = yield* SqlClient
      const { id: poisoned } = yield* paidOut(key)
      // Their first answer is not there yet when the poisoned one breaks.
      const slow = yield* Effect.forEach(Array.from({ length: 12 }), () => paidOut(key, timingOut), { concurrency: 12 })
      const others = slow.map(({ id }) => id)
      yield* sql.unsafe(`CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          IF NEW.id = '${poisoned}' AND NEW.status = 'completed' THEN RAISE EXCEPTION 'poisoned'; END IF;
          RETURN NEW;
        END $$`)
      yield* sql`CREATE TRIGGER poison BEFORE UPDATE ON payouts FOR EACH ROW EXECUTE FUNCTION poison()`
      // Approved by SQL, so that one round finds them all.
      yield* sql`UPDATE payouts SET status = 'processing', sequence = 2, hand_over_at = now()
        WHERE id IN ${sql.in([poisoned, ...others])}`
      for (const id of others) {
        yield* payoutReaching(key, id, "completed")
        const [row] = yield* sql<{ hand_overs: number }>`SELECT hand_overs FROM payouts WHERE id = ${id}::uuid`
        assert.isAtLeast(row!.hand_overs, 1, "its first answer was waited for")
      }
      assert.strictEqual((yield* retrievePayout(key, poisoned)).body.status, "processing")
      yield* sql`DROP TRIGGER poison ON payouts`
      yield* sql`UPDATE payouts SET hand_over_at = now() WHERE id = ${poisoned}::uuid`
      yield* payoutReaching(key, poisoned, "completed")
    })
  )

  it.effect("what is told of a payout with its outcome already known to the acquirer is not believed twice", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { key } = yield* funded(10_000)
      const { id } = yield* paidOut(key)
      const { end_to_end_id } = yield* payoutReaching(key, id, "completed")
      assertRefused(
        yield* operate("POST", `/operator/v1/simulator/payouts/${id}/fail`, { body: { reason: "late" } }),
        "INVALID_STATE"
      )
      assert.deepInclude((yield* retrievePayout(key, id)).body, { status: "completed", end_to_end_id })
    })
  )
})

// A TED has no key by which the simulator could hold it.
const unsettled = { ...settings, simulatorSettleMs: 3_600_000 }

layer(TestService.layer({ settings: unsettled }), { excludeTestServices: true })("TED payouts", (it) => {
  it.effect(
    "PAY-15, PAY-21, OPR-23: may have method `ted`, use the same balance, pay the fee and emit `payment.ted.*`",
    () =>
      Effect.gen(function* () {
        const { call } = yield* TestService
        const { url } = yield* receiver()
        const { accountId, key } = yield* funded(10_000, { payout_fee: { fixed: 100, basis_points: 0 } })
        const endpoint = yield* call("POST", "/v1/webhooks", {
          key,
          body: {
            url,
            events: ["payment.ted.created", "payment.ted.processing", "payment.ted.completed", "payment.ted.failed"]
          }
        })
        assert.strictEqual(endpoint.status, 201, endpoint.text)
        const path = `/accounts/${accountId}/payouts`
        const ted = yield* operated<OperatorPayout>("POST", path, { ...somePayout, method: "ted", ...someAccount }, 201)
        assert.deepInclude<unknown>(ted, {
          object: "payout",
          method: "ted",
          status: "processing",
          fee: 100,
          origin: "dashboard",
          account_id: accountId,
          application_id: null,
          recipient: { name: null, document: null, pix_key_type: null, pix_key: null, ...someAccount }
        })
        assert.strictEqual(yield* availableOf(key), 9400)
        yield* simulated(`/payouts/${ted.id}/fail`, { reason: "x" })
        assert.strictEqual(yield* availableOf(key), 10_000)
        assert.deepStrictEqual(yield* toldOf(ted.id), [
          "payment.ted.created processing",
          "payment.ted.processing processing",
          "payment.ted.failed failed"
        ])
        assert.deepStrictEqual(yield* deliveredOf(ted.id), [
          "payment.ted.created endpoint",
          "payment.ted.failed endpoint",
          "payment.ted.processing endpoint"
        ])
        const [event] = yield* eventsOf(ted.id)
        assert.strictEqual(event?.event, "payment.ted.created")
        assert.deepInclude(event!.data, { object: "payment", id: ted.id, method: "ted" })

        // `pix` when absent. The payout list includes them, and `method` parts them.
        const pix = yield* operated<OperatorPayout>("POST", path, somePayout, 201)
        const api = yield* paidOut(key)
        const idsOf = (query: string) => Effect.map(listedPayouts(key, query), ({ data }) => data.map(({ id }) => id))
        assert.strictEqual(pix.method, "pix")
        assert.deepStrictEqual(yield* idsOf(""), [api.id, pix.id, ted.id])
        assert.deepStrictEqual(yield* idsOf("?method=ted"), [ted.id])
        assert.deepStrictEqual(yield* idsOf("?method=pix"), [api.id, pix.id])
        const { body } = yield* retrievePayout(key, ted.id)
        for (const field of ["origin", "account_id", "application_id", "duplicate_of"]) assert.notProperty(body, field)
        // The bank account is a field of the operator surface only, and no event carries it.
        const recipient = { name: null, document: null, pix_key_type: null, pix_key: null }
        assert.deepStrictEqual<unknown>(body.recipient, recipient)
        assert.deepStrictEqual<unknown>(event!.data["recipient"], recipient)
      })
  )

  it.effect("a TED to the same account and of the same amount is a twin, one to another account is none", () =>
    Effect.gen(function* () {
      const { accountId } = yield* funded(10_000, { payout_duplicate_window: 3600 })
      const ask = (fields: Fields = {}) =>
        operated<OperatorPayout>(
          "POST",
          `/accounts/${accountId}/payouts`,
          { amount: 500, method: "ted", ...someAccount, ...fields },
          201
        )
      const first = yield* ask()
      assert.deepInclude(yield* ask(), { duplicate_of: first.id, status: "pending" })
      assert.deepInclude(yield* ask({ account: "99999-9" }), { duplicate_of: null, status: "processing" })
    })
  )
})

layer(TestService.layer({ settings }), { excludeTestServices: true })("Payouts from the dashboard", (it) => {
  it.effect("PAY-20, OPR-23: obey `auto_payout_enabled`, the balance and the account's rules", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { accountId, key } = yield* funded(1000, { auto_payout_enabled: false })
      const ask = (fields: Fields = {}) =>
        operate<OperatorPayout>("POST", `/operator/v1/accounts/${accountId}/payouts`, {
          body: { ...somePayout, ...fields }
        })
      const { body, status } = yield* ask({ method: "ted", ...someAccount })
      assert.deepStrictEqual([status, body.status], [201, "pending"])
      assertRefused(yield* ask({ amount: 501 }), "INSUFFICIENT_BALANCE")
      assertRefused(yield* ask({ amount: 499 }), "AMOUNT_BELOW_MINIMUM", ["amount"])
      assertRefused(yield* ask({ method: "boleto" }), "VALIDATION_ERROR", ["method"])
      assertRefused(yield* ask({ pix_key_type: "cpf", pix_key: "52998224726" }), "INVALID_DOCUMENT", ["pix_key"])
      yield* operated("POST", `/payouts/${body.id}/cancel`)
      assert.strictEqual(yield* availableOf(key), 1000)
      assert.deepStrictEqual(yield* toldOf(body.id), ["payment.ted.created pending", "payment.ted.canceled canceled"])
      yield* operated("PATCH", `/accounts/${accountId}`, { onboarding_status: "in_review" })
      assertRefused(yield* ask(), "ACCOUNT_RESTRICTED")
      yield* operated("PATCH", `/accounts/${accountId}`, { status: "inactive" })
      assertRefused(yield* ask(), "ACCOUNT_INACTIVE")
      const unknown = yield* operate("POST", "/operator/v1/accounts/0198c0de-0000-7000-8000-000000000000/payouts", {
        body: somePayout
      })
      assertRefused(unknown, "NOT_FOUND")
    })
  )

  it.effect("IDEM-10: take an optional `Idempotency-Key`", () =>
    Effect.gen(function* () {
      const { operate } = yield* TestService
      const { accountId, key } = yield* funded(10_000)
      const ask = (idempotencyKey?: string, fields: Fields = {}) =>
        operate<OperatorPayout>("POST", `/operator/v1/accounts/${accountId}/payouts`, {
          idempotencyKey,
          body: { ...somePayout, ...fields }
        })
      const idempotencyKey = newKey()
      const first = yield* ask(idempotencyKey)
      const again = yield* ask(idempotencyKey, { amount: 700 })
      assert.deepStrictEqual([again.status, again.headers["idempotent-replayed"]], [201, "true"])
      assert.strictEqual(again.body.id, first.body.id)
      const ids = [
        first.body.id,
        (yield* ask()).body.id,
        (yield* ask()).body.id,
        (yield* paidOut(key, {}, idempotencyKey)).id
      ]
      assert.strictEqual(new Set(ids).size, 4)
      assert.strictEqual(yield* availableOf(key), 8000)
    })
  )
})

layer(TestService.layer({ settings }), { excludeTestServices: true })(
  "GET /v1/payouts, /v1/balance, /v1/account",
  (it) => {
    it.effect("API-9, PAY-19: Unknown id or id of another account gives 404 `PAYOUT_NOT_FOUND`", () =>
      Effect.gen(function* () {
        const { makeApplication, makeCaller, makeKey } = yield* TestService
        const { accountId, key } = yield* funded(5000)
        const { key: sameAccount } = yield* makeKey(yield* makeApplication(accountId))
        const { key: stranger } = yield* makeCaller()
        const { id } = yield* paidOut(key, holding)
        assert.strictEqual((yield* retrievePayout(sameAccount, id)).body.id, id)
        assert.strictEqual((yield* retrievePayout(key, id.toUpperCase())).body.id, id)
        assertRefused(yield* retrievePayout(stranger, id), "PAYOUT_NOT_FOUND")
        assertRefused(yield* retrievePayout(key, "0198c0de-0000-7000-8000-000000000000"), "PAYOUT_NOT_FOUND")
        const charge = yield* created(key)
        assertRefused(yield* retrievePayout(key, charge.id), "PAYOUT_NOT_FOUND")
        for (const odd of ["x", "%00", "..%2f", "%f0%9f%98%80"]) {
          assertRefused(yield* retrievePayout(key, odd), "PAYOUT_NOT_FOUND")
        }
      })
    )

    it.effect(
      "LIST-1, LIST-2, PAY-15: a list envelope of payouts, newest first; the cursor is the id of the last item of the previous page",
      () =>
        Effect.gen(function* () {
          const { makeCaller } = yield* TestService
          const { key } = yield* funded(50_000)
          const { key: stranger } = yield* makeCaller()
          assert.deepStrictEqual<unknown>(yield* listedPayouts(stranger), { object: "list", data: [], has_more: false })
          const made = yield* Effect.forEach(Array.from({ length: 25 }), () => paidOut(key, holding), {
            concurrency: 5
          })
          const expected = made
            .map(({ id }) => id)
            .toSorted()
            .toReversed()
          const first = yield* listedPayouts(key)
          assert.strictEqual(first.data.length, 20)
          assert.isTrue(first.has_more)
          assert.deepStrictEqual(Object.keys(first).toSorted(), ["data", "has_more", "object"])
          for (const limit of [1, 7, 25, 100]) {
            const seen: Array<string> = []
            let cursor = ""
            while (true) {
              const page = yield* listedPayouts(key, `?limit=${limit}${cursor}`)
              seen.push(...page.data.map(({ id }) => id))
              if (!page.has_more) break
              assert.strictEqual(page.data.length, limit)
              cursor = `&starting_after=${seen.at(-1)!}`
            }
            assert.deepStrictEqual(seen, expected)
          }
          const times = (yield* listedPayouts(key, "?limit=100")).data.map(({ created_at }) => created_at)
          assert.deepStrictEqual(times, times.toSorted().toReversed())
          // A list item is the whole object.
          const { data } = yield* listedPayouts(key, "?limit=1")
          assert.deepStrictEqual(data[0], (yield* retrievePayout(key, data[0]!.id)).body)
        })
    )

    it.effect(
      "LIST-4, LIST-6, PAY-15: filters: status, method, created_after, created_before; the cursor's scope is the list, filters aside",
      () =>
        Effect.gen(function* () {
          const { key } = yield* funded(50_000, { auto_payout_enabled: false })
          const [pending, canceled, processing, failed, completed] = yield* Effect.forEach(
            [holding, holding, holding, failing, {}],
            (fields) => Effect.andThen(Effect.sleep("2 millis"), paidOut(key, fields))
          )
          yield* operated("POST", `/payouts/${canceled!.id}/cancel`)
          for (const { id } of [processing!, failed!, completed!]) yield* operated("POST", `/payouts/${id}/approve`)
          yield* payoutReaching(key, failed!.id, "failed")
          yield* payoutReaching(key, completed!.id, "completed")
          const idsOf = (query: string) => Effect.map(listedPayouts(key, query), ({ data }) => data.map(({ id }) => id))
          for (const [status, payout] of Object.entries({ pending, canceled, processing, failed, completed })) {
            assert.deepStrictEqual(yield* idsOf(`?status=${status}`), [payout!.id])
          }
          assert.deepStrictEqual(yield* idsOf(`?created_after=${processing!.created_at}`), [completed!.id, failed!.id])
          assert.deepStrictEqual(yield* idsOf(`?created_before=${processing!.created_at}`), [canceled!.id, pending!.id])
          assert.deepStrictEqual(yield* idsOf(`?status=pending&starting_after=${completed!.id}`), [pending!.id])
          assert.deepStrictEqual(yield* idsOf(`?status=completed&starting_after=${completed!.id}`), [])
          assert.deepStrictEqual(yield* idsOf("?method=ted"), [])
        })
    )

    it.effect(
      "LIST-7: malformed query values, an unknown `status` or `method` filter, a cursor of another list: VALIDATION_ERROR",
      () =>
        Effect.gen(function* () {
          const { call } = yield* TestService
          const { key } = yield* funded(5000)
          const { key: stranger } = yield* funded(5000)
          const foreign = yield* paidOut(stranger, holding)
          const charge = yield* created(key)
          for (const query of [
            "limit=0",
            "limit=101",
            "limit=x",
            "status=expired",
            "status=",
            "method=boleto",
            "method=card",
            "created_after=yesterday",
            "created_before=2026-01-01",
            `starting_after=${foreign.id}`,
            `starting_after=${charge.id}`,
            "starting_after=x"
          ]) {
            assertRefused(yield* call("GET", `/v1/payouts?${query}`, { key }), "VALIDATION_ERROR", [
              query.split("=")[0]!
            ])
          }
          assert.strictEqual((yield* call("GET", "/v1/payouts?unknown=1", { key })).status, 200)
        })
    )

    it.effect(
      "BAL-1: `available` is net of payouts in progress; `pending` received but not yet released; `total` both",
      () =>
        Effect.gen(function* () {
          const { makeCaller } = yield* TestService
          const { accountId, key } = yield* makeCaller()
          const zero = { object: "balance", currency: "BRL", available: 0, pending: 0, total: 0 }
          assert.deepStrictEqual<unknown>(yield* balanceOf(key), zero)
          yield* paidCharge(key, 3000)
          assert.deepStrictEqual<unknown>(yield* balanceOf(key), { ...zero, available: 3000, total: 3000 })
          yield* operated("PATCH", `/accounts/${accountId}`, { release_delay: 3600 })
          yield* paidCharge(key, 700)
          const both = { ...zero, available: 3000, pending: 700, total: 3700 }
          assert.deepStrictEqual<unknown>(yield* balanceOf(key), both)
          yield* paidOut(key, { amount: 1000, ...holding })
          const left = { ...zero, available: 2000, pending: 700, total: 2700 }
          assert.deepStrictEqual<unknown>(yield* balanceOf(key), left)
          const account = yield* operated<{ balance: unknown }>("GET", `/accounts/${accountId}`)
          assert.deepStrictEqual<unknown>(account.balance, left)
        })
    )

    it.effect("ACC-1: Response 200 with an `account` object for the account that owns the key", () =>
      Effect.gen(function* () {
        const { call, makeCaller } = yield* TestService
        const { accountId, key } = yield* makeCaller({
          account: { auto_payout_enabled: false, document: "52998224725" }
        })
        const { body, status } = yield* call<Fields>("GET", "/v1/account", { key })
        assert.strictEqual(status, 200)
        assert.match(String(body["created_at"]), instant)
        assert.deepStrictEqual<unknown>(body, {
          id: accountId,
          object: "account",
          name: "Padaria do Zé",
          legal_name: "Padaria do Zé Ltda",
          document: "52998224725",
          document_type: "cpf",
          phone: "+5511999998888",
          status: "active",
          onboarding_status: "completed",
          auto_payout_enabled: false,
          created_at: body["created_at"]
        })
        yield* operated("PATCH", `/accounts/${accountId}`, { status: "inactive", auto_payout_enabled: true })
        const changed = yield* call<Fields>("GET", "/v1/account", { key })
        assert.deepInclude<unknown>(changed.body, { status: "inactive", auto_payout_enabled: true })
      })
    )
  }
)

layer(TestService.layer({ settings }), { excludeTestServices: true })("A payout that seems to repeat another", (it) => {
  /** An account with the guard on, and what it asks for. */
  const guarded = (account: Fields = {}, window = 60) =>
    Effect.gen(function* () {
      const caller = yield* funded(100_000, account)
      yield* operated("PATCH", `/accounts/${caller.accountId}`, { payout_duplicate_window: window })
      return caller
    })
  const seen = (id: string) => operated<OperatorPayout>("GET", `/payouts/${id}`)

  it.effect("is none by default: off", () =>
    Effect.gen(function* () {
      const { accountId, key } = yield* funded(10_000)
      const made = yield* Effect.forEach([1, 2, 3], () => paidOut(key, holding))
      for (const { id } of made) assert.deepInclude(yield* seen(id), { status: "processing", duplicate_of: null })
      const account = yield* operated("GET", `/accounts/${accountId}`)
      assert.strictEqual(account["payout_duplicate_window"], 0)
    })
  )

  it.effect(
    "OPR-25: waits for approval: same recipient key and amount, another idempotency key, within the window",
    () =>
      Effect.gen(function* () {
        const { key } = yield* guarded()
        const idempotencyKey = newKey()
        const first = yield* paidOut(key, holding, idempotencyKey)
        assert.strictEqual(first.status, "processing")
        const twinKey = newKey()
        const twin = yield* paidOut(key, { ...holding, pix_key: "HOLD@simulator.test", reference: "other" }, twinKey)
        assert.strictEqual(twin.status, "pending")
        assert.deepInclude(yield* seen(twin.id), { duplicate_of: first.id, status: "pending" })
        assert.deepStrictEqual(yield* toldOf(twin.id), ["payment.pix.created pending"])
        assert.strictEqual(yield* availableOf(key), 99_000)
        // The same idempotency keys replay.
        assert.strictEqual((yield* paidOut(key, holding, idempotencyKey)).id, first.id)
        assert.strictEqual((yield* paidOut(key, holding, twinKey)).id, twin.id)
        // Another amount, another key, another type of key: no twin.
        for (const fields of [
          { ...holding, amount: 501 },
          { pix_key: "other@example.com" },
          { pix_key_type: "phone", pix_key: "+5511999998888" }
        ]) {
          const other = yield* paidOut(key, fields)
          assert.strictEqual(other.status, "processing")
          assert.isNull((yield* seen(other.id)).duplicate_of)
        }
        const approved = yield* operated<OperatorPayout>("POST", `/payouts/${twin.id}/approve`)
        assert.deepInclude(approved, { status: "processing", duplicate_of: first.id })
        yield* handedOver(key, twin.id)
      })
  )

  it.effect("is one of the account's, whichever application or operator asks", () =>
    Effect.gen(function* () {
      const { makeApplication, makeKey } = yield* TestService
      const { accountId, key } = yield* guarded()
      const { key: other } = yield* makeKey(yield* makeApplication(accountId))
      const { key: stranger } = yield* guarded()
      const first = yield* paidOut(key, holding)
      const second = yield* paidOut(other, holding)
      const third = yield* operated<OperatorPayout>(
        "POST",
        `/accounts/${accountId}/payouts`,
        { ...somePayout, ...holding },
        201
      )
      assert.deepStrictEqual([second.status, third.status], ["pending", "pending"])
      assert.strictEqual((yield* seen(second.id)).duplicate_of, first.id)
      assert.isNotNull(third.duplicate_of)
      assert.strictEqual((yield* paidOut(stranger, holding)).status, "processing")
    })
  )

  it.effect("of many at the same moment one goes out", () =>
    Effect.gen(function* () {
      const { key } = yield* guarded()
      const made = yield* Effect.forEach(Array.from({ length: 30 }), () => paidOut(key, holding), {
        concurrency: "unbounded"
      })
      assert.strictEqual(made.filter(({ status }) => status === "processing").length, 1)
      assert.strictEqual(made.filter(({ status }) => status === "pending").length, 29)
      const ids = new Set<string | null>(made.map(({ id }) => id))
      for (const { id, status } of made) {
        const { duplicate_of } = yield* seen(id)
        assert.strictEqual(duplicate_of === null, status === "processing")
        if (duplicate_of !== null) assert.isTrue(ids.has(duplicate_of) && duplicate_of < id)
      }
    })
  )

  it.effect("is no twin of one that failed or was canceled", () =>
    Effect.gen(function* () {
      const { key } = yield* guarded()
      const first = yield* paidOut(key, failing)
      yield* payoutReaching(key, first.id, "failed")
      assert.isNull((yield* seen((yield* paidOut(key, failing)).id)).duplicate_of)
      const { key: manual } = yield* guarded({ auto_payout_enabled: false })
      const canceled = yield* paidOut(manual)
      yield* operated("POST", `/payouts/${canceled.id}/cancel`)
      assert.isNull((yield* seen((yield* paidOut(manual)).id)).duplicate_of)
    })
  )

  it.effect("is no twin outside the window", () =>
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { key } = yield* guarded({ auto_payout_enabled: false })
      // Ids carry the time: a payout grows older with its id.
      const aged = (id: string, ms: number) =>
        Effect.gen(function* () {
          const older = lowestIdAt((yield* Clock.currentTimeMillis) - ms)
          yield* sql`UPDATE payouts SET id = ${older}::uuid WHERE id = ${id}::uuid`
          return older
        })
      yield* aged((yield* paidOut(key)).id, 61_000)
      const second = yield* paidOut(key)
      assert.isNull((yield* seen(second.id)).duplicate_of)
      const old = yield* aged(second.id, 40_000)
      assert.strictEqual((yield* seen((yield* paidOut(key)).id)).duplicate_of, old)
    })
  )

  it.effect("becomes none again when the guard is turned off", () =>
    Effect.gen(function* () {
      const { accountId, key } = yield* guarded()
      yield* paidOut(key, holding)
      assert.strictEqual((yield* paidOut(key, holding)).status, "pending")
      yield* operated("PATCH", `/accounts/${accountId}`, { payout_duplicate_window: 0 })
      assert.strictEqual((yield* paidOut(key, holding)).status, "processing")
      const refused = yield* Effect.flatMap(TestService, ({ operate }) =>
        operate("PATCH", `/operator/v1/accounts/${accountId}`, { body: { payout_duplicate_window: -1 } })
      )
      assertRefused(refused, "VALIDATION_ERROR", ["payout_duplicate_window"])
    })
  )

  it.effect("does not spend what is not there, and says so before it waits", () =>
    Effect.gen(function* () {
      const { key } = yield* guarded()
      yield* paidOut(key, { ...holding, amount: 60_000 })
      assertRefused(yield* payOut(key, { ...holding, amount: 60_000 }), "INSUFFICIENT_BALANCE")
      yield* eventually(listedPayouts(key), ({ data }) => data.length === 1)
    })
  )
})
