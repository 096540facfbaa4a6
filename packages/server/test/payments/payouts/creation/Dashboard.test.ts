/** Payouts that operators create, by Pix and by TED. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertRefused } from "../../../support/ChargeRequests.ts"
import {
  availableOf,
  deliveredOf,
  eventsOf,
  funded,
  listedPayouts,
  operated,
  type OperatorPayout,
  paidOut,
  retrievePayout,
  simulated,
  someAccount,
  somePayout,
  eventStatusesOf
} from "../../../support/Money.ts"
import { loopback, receiver } from "../../../support/Receiver.ts"
import { type Fields, TestService } from "../../../support/TestService.ts"

const settings = { acquirerTimeoutMs: 300, simulatorSettleMs: 0, webhookAllowedNetworks: loopback }

// A TED has no Pix key that makes the simulator wait.
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
        assert.deepStrictEqual(yield* eventStatusesOf(ted.id), [
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

        // `pix` when absent. The payout list includes both, and `method` filters them.
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

  it.effect(
    "a TED of the same amount to the same bank account is a duplicate, one to another bank account is not",
    () =>
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
      assert.deepStrictEqual(yield* eventStatusesOf(body.id), [
        "payment.ted.created pending",
        "payment.ted.canceled canceled"
      ])
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
})
