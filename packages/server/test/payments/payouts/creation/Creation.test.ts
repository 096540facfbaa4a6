/** `POST /v1/payouts`: the answer, each field, and the order of checks. */
import { assert, layer } from "@effect/vitest"
import { MAX_CENTS, payoutFee } from "@pix-payments/domain/Cents"
import * as Effect from "effect/Effect"
import { assertRefused, instant, uuid7 } from "../../../support/ChargeRequests.ts"
import {
  availableOf,
  funded,
  holding,
  ledgerBalancesOf,
  listedPayouts,
  operated,
  paidCharge,
  paidOut,
  payOut,
  simulated
} from "../../../support/Money.ts"
import { loopback, receiver } from "../../../support/Receiver.ts"
import { type Fields, newKey, TestService } from "../../../support/TestService.ts"

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

  it.effect(
    'PAY-11, PAY-13: A key without the shape of its type is `VALIDATION_ERROR` with `details: ["pix_key"]`; wrong check digits `INVALID_DOCUMENT`',
    () =>
      Effect.gen(function* () {
        const { makeCaller } = yield* TestService
        // Without funds: a wrong request is refused before the balance is read.
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
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 2 * MAX_CENTS, payouts_in_transit: 0 })
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
})
