/** `GET /v1/account`. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { instant } from "../../support/ChargeRequests.ts"
import { operated } from "../../support/Money.ts"
import { type Fields, TestService } from "../../support/TestService.ts"

layer(TestService.layer({}), { excludeTestServices: true })("GET /v1/account", (it) => {
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
