/** Charges that operators create: Pix, boleto and card. */
import { assert, layer } from "@effect/vitest"
import type { Charge } from "@pix-payments/domain/Charge"
import * as Effect from "effect/Effect"
import { assertRefused, created, listed, retrieve, someCharge } from "../../support/ChargeRequests.ts"
import {
  assertLedgerHolds,
  availableOf,
  deliveredOf,
  ledgerBalancesOf,
  operated,
  simulated,
  eventStatusesOf
} from "../../support/Money.ts"
import { loopback, receiver } from "../../support/Receiver.ts"
import { type Fields, newKey, TestService } from "../../support/TestService.ts"
import { disputesOf } from "../../support/Disputes.ts"

const settings = { acquirerTimeoutMs: 300, simulatorSettleMs: 0, webhookAllowedNetworks: loopback }

layer(TestService.layer({ settings }), { excludeTestServices: true })("Charges of the checkout", (it) => {
  it.effect.each([
    { method: "pix", first: ["created", "emitted"] },
    { method: "boleto", first: ["created", "emitted"] },
    // There is no `charge.card.emitted`.
    { method: "card", first: ["created"] }
  ])(
    "CHG-2, CHG-19, EVT-8, OPR-22: $method: invisible under /v1, with events to registered endpoints, on the same balance",
    ({ first, method }) =>
      Effect.gen(function* () {
        const { call, makeCaller } = yield* TestService
        const { accountId, applicationId, key } = yield* makeCaller()
        const { url } = yield* receiver()
        const events = [...first, "paid", "refunded"].map((action) => `charge.${method}.${action}`)
        const endpoint = yield* call("POST", "/v1/webhooks", { key, body: { url, events } })
        assert.strictEqual(endpoint.status, 201, endpoint.text)
        const charge = yield* operated<Charge & Fields>(
          "POST",
          `/applications/${applicationId}/checkout-charges`,
          { ...someCharge, amount: 1000, method },
          201
        )
        assert.deepInclude<unknown>(charge, {
          object: "charge",
          status: "pending",
          method,
          origin: "checkout",
          account_id: accountId,
          application_id: applicationId
        })
        assert.strictEqual(charge.pix.br_code === null, method !== "pix")
        assertRefused(yield* retrieve(key, charge.id), "CHARGE_NOT_FOUND")
        assert.deepStrictEqual((yield* listed(key)).data, [])
        assert.deepStrictEqual((yield* listed(key, `?method=${method}`)).data, [])
        assertRefused(yield* call("GET", `/v1/charges?starting_after=${charge.id}`, { key }), "VALIDATION_ERROR", [
          "starting_after"
        ])
        yield* simulated(`/charges/${charge.id}/pay`)
        assert.strictEqual(yield* availableOf(key), 1000)
        yield* operated("POST", `/charges/${charge.id}/refund`)
        assert.strictEqual(yield* availableOf(key), 0)
        assert.deepStrictEqual(yield* eventStatusesOf(charge.id), [
          ...first.map((action) => `charge.${method}.${action} pending`),
          `charge.${method}.paid paid`,
          `charge.${method}.refunded refunded`
        ])
        assert.deepStrictEqual(yield* deliveredOf(charge.id), events.map((event) => `${event} endpoint`).toSorted())
        yield* assertLedgerHolds
      })
  )

  it.effect("DSP-1: a MED is opened against a Pix charge, and against no other", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { accountId, applicationId, key } = yield* makeCaller()
      for (const method of ["boleto", "card"]) {
        const { id } = yield* operated<Charge>(
          "POST",
          `/applications/${applicationId}/checkout-charges`,
          { ...someCharge, method },
          201
        )
        yield* simulated(`/charges/${id}/pay`)
        const path = `/operator/v1/simulator/charges/${id}/infraction`
        assertRefused(yield* operate("POST", path, { body: { reason: "x" } }), "INVALID_STATE")
        // A card is contested with the issuer: the charge says so, and there is no dispute of Pix.
        yield* simulated(`/charges/${id}/return`, { as: "charged_back" })
        assert.deepStrictEqual(yield* disputesOf(id), [])
        const events = yield* eventStatusesOf(id)
        assert.strictEqual(events.includes("charge.card.charged_back charged_back"), method === "card")
        assert.isEmpty(events.filter((event) => event.startsWith("dispute")))
      }
      assert.deepInclude(yield* ledgerBalancesOf(accountId), { available: 0, blocked: 0 })
      assert.strictEqual(yield* availableOf(key), 0)
      yield* assertLedgerHolds
    })
  )

  it.effect("IDEM-10, OPR-22: take an optional `Idempotency-Key`, of their own scope", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { applicationId, key } = yield* makeCaller()
      const ask = (idempotencyKey?: string) =>
        operate<Charge>("POST", `/operator/v1/applications/${applicationId}/checkout-charges`, {
          idempotencyKey,
          body: someCharge
        })
      const idempotencyKey = newKey()
      const first = yield* ask(idempotencyKey)
      const again = yield* ask(idempotencyKey)
      assert.strictEqual(again.body.id, first.body.id)
      assert.strictEqual(again.headers["idempotent-replayed"], "true")
      const api = yield* created(key, {}, idempotencyKey)
      assert.strictEqual(new Set([first.body.id, api.id, (yield* ask()).body.id, (yield* ask()).body.id]).size, 4)
    })
  )
})
