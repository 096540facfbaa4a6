/** `GET /v1/account`, and what the status of an account means for its charges. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertRefused, created, listed, retrieve, someCharge } from "../../support/ChargeRequests.ts"
import { newKey, TestService } from "../../support/TestService.ts"
import { instant } from "../../support/ChargeRequests.ts"
import { operated } from "../../support/Money.ts"
import { type Fields } from "../../support/TestService.ts"

layer(TestService.layer({}), { excludeTestServices: true })("GET /v1/account", (it) => {
  const caller = Effect.flatMap(TestService, ({ makeCaller }) => makeCaller())

  it.effect("ACC-1, ACC-2: Response 200 with an `account` object for the account that owns the key", () =>
    Effect.gen(function* () {
      const { call, makeCaller } = yield* TestService
      const { accountId, key } = yield* makeCaller({
        account: {
          name: "Loja",
          legal_name: "Loja Comércio S.A.",
          document: "12.abc.345/01de-35",
          phone: "+551130001000",
          onboarding_status: "in_review",
          auto_payout_enabled: false
        }
      })
      const { body, headers, status } = yield* call("GET", "/v1/account", { key })
      assert.strictEqual(status, 200)
      assert.match(String(headers["content-type"]), /^application\/json/)
      const { created_at, ...rest } = body
      assert.match(String(created_at), /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/)
      assert.deepStrictEqual(rest, {
        id: accountId,
        object: "account",
        name: "Loja",
        legal_name: "Loja Comércio S.A.",
        document: "12ABC34501DE35",
        document_type: "cnpj",
        phone: "+551130001000",
        status: "active",
        onboarding_status: "in_review",
        auto_payout_enabled: false
      })
    })
  )

  it.effect(
    "ACC-2, ACC-3: Defaults of a new account: `active`, onboarding `completed`, `auto_payout_enabled` true; a CPF's type",
    () =>
      Effect.gen(function* () {
        const { call, makeCaller } = yield* TestService
        const { key } = yield* makeCaller({ account: { document: "529.982.247-25" } })
        const { body } = yield* call("GET", "/v1/account", { key })
        assert.deepStrictEqual(
          [body.status, body.onboarding_status, body.auto_payout_enabled, body.document, body.document_type],
          ["active", "completed", true, "52998224725", "cpf"]
        )
      })
  )

  it.effect("CHG-15: An inactive account does not process charges: 400 `ACCOUNT_INACTIVE`; it reads as before", () =>
    Effect.gen(function* () {
      const { call, operate } = yield* TestService
      const { accountId, key } = yield* caller
      const charge = yield* created(key)
      const become = (status: string) => operate("PATCH", `/operator/v1/accounts/${accountId}`, { body: { status } })
      yield* become("inactive")
      const idempotencyKey = newKey()
      const ask = call("POST", "/v1/charges", { key, idempotencyKey, body: someCharge })
      assertRefused(yield* ask, "ACCOUNT_INACTIVE")
      assert.strictEqual((yield* call("GET", "/v1/account", { key })).body.status, "inactive")
      assert.deepStrictEqual((yield* listed(key)).data, [charge])
      assert.deepStrictEqual((yield* retrieve(key, charge.id)).body, charge)
      yield* become("active")
      assert.strictEqual((yield* ask).status, 201, "the refused call left nothing")
    })
  )

  it.effect("CHG-15: charges are allowed to an account whose onboarding is not `completed`", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      for (const onboarding_status of ["pending", "in_review", "rejected"]) {
        const { key } = yield* makeCaller({ account: { onboarding_status } })
        yield* created(key)
      }
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
})
