/** Events and lists of disputes. */
import { assert, layer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { assertRefused, instant } from "../../support/ChargeRequests.ts"
import { deliveredOf, eventsOf, operated, paidCharge, simulated, eventStatusesOf } from "../../support/Money.ts"
import { loopback, receiver } from "../../support/Receiver.ts"
import { TestService } from "../../support/TestService.ts"
import { type Dispute, med, disputeOf, shown } from "../../support/Disputes.ts"

const settings = { acquirerTimeoutMs: 300, simulatorSettleMs: 0, webhookAllowedNetworks: loopback }

layer(TestService.layer({ settings }), { excludeTestServices: true })("Events of disputes", (it) => {
  it.effect(
    "DSP-8, DSP-11, OPR-26: `dispute.pix.message` goes out when the platform replies; its text is `data.message`",
    () =>
      Effect.gen(function* () {
        const { makeCaller, operate } = yield* TestService
        const { key } = yield* makeCaller()
        const { id: chargeId } = yield* paidCharge(key)
        const { id } = yield* med(chargeId)
        const written = yield* operated<Dispute>("POST", `/disputes/${id}/messages`, { text: "qual o prazo?" }, 201)
        assert.deepStrictEqual(
          written.messages.map(({ author }) => author),
          ["operator"]
        )
        assert.deepStrictEqual(yield* eventStatusesOf(id), ["dispute.pix.opened open"])
        yield* simulated(`/disputes/${id}/message`, { text: "sete dias\n😀" })
        yield* operated("POST", `/disputes/${id}/defense`, { text: "defesa" })
        yield* simulated(`/disputes/${id}/message`, { text: "recebida" })
        const { messages, status } = yield* disputeOf(id)
        assert.strictEqual(status, "under_review")
        assert.deepStrictEqual(
          messages.map(({ author, text }) => `${author}: ${text}`),
          ["operator: qual o prazo?", "platform: sete dias\n😀", "operator: defesa", "platform: recebida"]
        )
        for (const { at } of messages) assert.match(at, instant)
        const events = yield* eventsOf(id)
        assert.deepStrictEqual(
          events.map(({ data, event }) => [event, data["status"], data["message"]]),
          [
            ["dispute.pix.opened", "open", undefined],
            ["dispute.pix.message", "open", "sete dias\n😀"],
            ["dispute.pix.message", "under_review", "recebida"]
          ]
        )
        assert.deepStrictEqual<unknown>(events[2]?.data, { ...shown(yield* disputeOf(id)), message: "recebida" })
        for (const path of [`/disputes/${id}/messages`, `/simulator/disputes/${id}/message`]) {
          assertRefused(yield* operate("POST", `/operator/v1${path}`, { body: {} }), "VALIDATION_ERROR", ["text"])
        }
      })
  )

  it.effect("DSP-9: its events go to registered endpoints, not to the charge's `webhook_url`", () =>
    Effect.gen(function* () {
      const { call, makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const own = yield* receiver()
      const registered = yield* receiver()
      const events = ["opened", "message", "won", "lost"].map((action) => `dispute.pix.${action}`)
      const endpoint = yield* call("POST", "/v1/webhooks", { key, body: { url: registered.url, events } })
      assert.strictEqual(endpoint.status, 201, endpoint.text)
      const { id: chargeId } = yield* paidCharge(key, 1000, { webhook_url: own.url })
      const { id } = yield* med(chargeId)
      yield* simulated(`/disputes/${id}/message`, { text: "oi" })
      yield* simulated(`/disputes/${id}/win`)
      yield* simulated(`/disputes/${id}/lose`)
      assert.deepStrictEqual(yield* deliveredOf(id), events.map((event) => `${event} endpoint`).toSorted())
      assert.deepStrictEqual(
        yield* deliveredOf(chargeId),
        ["charged_back", "created", "emitted", "infraction", "paid"].map((action) => `charge.pix.${action} webhook_url`)
      )
    })
  )

  it.effect("unknown disputes are NOT_FOUND; the list filters by charge and status, newest first", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { key } = yield* makeCaller()
      const unknown = "0198c0de-0000-7000-8000-000000000000"
      for (const id of [unknown, "x"]) {
        assertRefused(yield* operate("GET", `/operator/v1/disputes/${id}`), "NOT_FOUND")
        for (const path of [
          `/disputes/${id}/defense`,
          `/disputes/${id}/messages`,
          `/simulator/disputes/${id}/message`
        ]) {
          assertRefused(yield* operate("POST", `/operator/v1${path}`, { body: { text: "x" } }), "NOT_FOUND")
        }
        for (const action of ["win", "lose"]) {
          assertRefused(yield* operate("POST", `/operator/v1/simulator/disputes/${id}/${action}`), "NOT_FOUND")
        }
      }
      const { id: chargeId } = yield* paidCharge(key)
      const first = yield* med(chargeId)
      yield* simulated(`/disputes/${first.id}/win`)
      const second = yield* med(chargeId)
      const idsOf = (query: string) =>
        Effect.map(
          operated<{ data: ReadonlyArray<Dispute> }>("GET", `/disputes?charge_id=${chargeId}${query}`),
          ({ data }) => data.map(({ id }) => id)
        )
      assert.deepStrictEqual(yield* idsOf(""), [second.id, first.id])
      assert.deepStrictEqual(yield* idsOf("&status=won"), [first.id])
      assert.deepStrictEqual(yield* idsOf("&status=lost"), [])
      assert.deepStrictEqual(yield* idsOf(`&starting_after=${second.id}`), [first.id])
      assertRefused(yield* operate("GET", "/operator/v1/disputes?status=x"), "VALIDATION_ERROR", ["status"])
    })
  )
})
