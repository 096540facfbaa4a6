/** `/v1/webhooks`: endpoints and the events that they may subscribe to. */
import { assert, layer } from "@effect/vitest"
import { allScopes } from "@pix-payments/domain/Scope"
import * as Effect from "effect/Effect"
import { SqlClient } from "effect/sql/SqlClient"
import { assertRefused, instant, uuid7 } from "../../support/ChargeRequests.ts"
import { newKey, TestService } from "../../support/TestService.ts"
import { change, changed, endpointsOf, register, registered, remove } from "../../support/Webhooks.ts"

layer(TestService.layer(), { excludeTestServices: true })("/v1/webhooks", (it) => {
  it.effect("END-3, END-4, API-4: POST `/v1/webhooks` 201 and PATCH 200: the webhook endpoint object", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const answer = yield* register(key, {
        url: "https://1.1.1.1:8443/hooks?loja=1",
        events: ["charge.pix.paid", "payment.pix.failed"],
        description: "Pedidos ☕",
        secret: "12345678",
        unknown: "field"
      })
      assert.strictEqual(answer.status, 201, answer.text)
      const { body } = answer
      assert.match(body.id, uuid7)
      assert.match(body.created_at, instant)
      assert.match(String(answer.headers["content-type"]), /^application\/json/)
      assert.deepStrictEqual(body, {
        id: body.id,
        object: "webhook",
        url: "https://1.1.1.1:8443/hooks?loja=1",
        description: "Pedidos ☕",
        events: ["charge.pix.paid", "payment.pix.failed"],
        active: true,
        has_secret: true,
        created_at: body.created_at
      })
      const patched = yield* change(key, body.id, { active: false })
      assert.strictEqual(patched.status, 200)
      assert.deepStrictEqual(patched.body, { ...body, active: false })
    })
  )

  it.effect("API-6, END-3: `null` for an optional field is the same as absent on creation", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      for (const fields of [{}, { description: null, secret: null }]) {
        const { description, has_secret } = yield* registered(key, fields)
        assert.deepStrictEqual({ description, has_secret }, { description: null, has_secret: false })
      }
    })
  )

  it.effect("END-1, LIST-8: Each application sees only its own endpoints, newest first, with `has_more: false`", () =>
    Effect.gen(function* () {
      const { makeApplication, makeCaller, makeKey } = yield* TestService
      const mine = yield* makeCaller()
      const sibling = yield* makeKey(yield* makeApplication(mine.accountId))
      const stranger = yield* makeCaller()
      const rotated = yield* makeKey(mine.applicationId)
      assert.deepStrictEqual(yield* endpointsOf(mine.key), { object: "list", data: [], has_more: false })

      const made = []
      for (let index = 0; index < 100; index++) made.push(yield* registered(mine.key, { description: String(index) }))
      // "An application has at most 100 registered endpoints": all of them in one answer.
      assertRefused(yield* register(mine.key), "VALIDATION_ERROR")
      const ofSibling = yield* registered(sibling.key)
      const ofStranger = yield* registered(stranger.key)

      const newestFirst = { object: "list", data: made.toReversed(), has_more: false }
      assert.deepStrictEqual<unknown>(yield* endpointsOf(mine.key), newestFirst)
      assert.deepStrictEqual<unknown>(yield* endpointsOf(rotated.key), newestFirst)
      assert.deepStrictEqual((yield* endpointsOf(sibling.key)).data, [ofSibling])
      assert.deepStrictEqual((yield* endpointsOf(stranger.key)).data, [ofStranger])
    })
  )

  it.effect("END-1: An unknown id, or an id of another account or application, gives 404 `WEBHOOK_NOT_FOUND`", () =>
    Effect.gen(function* () {
      const { makeApplication, makeCaller, makeKey } = yield* TestService
      const { accountId, key } = yield* makeCaller()
      const sibling = yield* makeKey(yield* makeApplication(accountId))
      const stranger = yield* makeCaller()
      const endpoint = yield* registered(key)
      const unknown = ["00000000-0000-7000-8000-000000000000", "not-a-uuid", "1", `${endpoint.id}0`, "%00"]
      for (const id of unknown) {
        assertRefused(yield* change(key, id, { active: false }), "WEBHOOK_NOT_FOUND")
        assertRefused(yield* remove(key, id), "WEBHOOK_NOT_FOUND")
      }
      for (const other of [sibling.key, stranger.key]) {
        assertRefused(yield* change(other, endpoint.id, { active: false }), "WEBHOOK_NOT_FOUND")
        assertRefused(yield* remove(other, endpoint.id), "WEBHOOK_NOT_FOUND")
      }
      assert.deepStrictEqual((yield* endpointsOf(key)).data, [endpoint])
    })
  )

  it.effect("END-8: 404 before 400 on PATCH", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const other = yield* registered((yield* makeCaller()).key)
      for (const id of ["00000000-0000-7000-8000-000000000000", "nothing", other.id]) {
        assertRefused(yield* change(key, id, { active: "no" }), "WEBHOOK_NOT_FOUND")
        assertRefused(yield* change(key, id, "{"), "WEBHOOK_NOT_FOUND")
        assertRefused(yield* change(key, id, { url: "http://127.0.0.1/" }), "WEBHOOK_NOT_FOUND")
      }
    })
  )

  it.effect("END-4: Response 204, no body; after that the endpoint is unknown", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const kept = yield* registered(key)
      const { id } = yield* registered(key)
      const answer = yield* remove(key, id)
      assert.strictEqual(answer.status, 204)
      assert.strictEqual(answer.text, "")
      assert.notProperty(answer.headers, "content-type")
      assertRefused(yield* remove(key, id), "WEBHOOK_NOT_FOUND")
      assertRefused(yield* change(key, id, { active: true }), "WEBHOOK_NOT_FOUND")
      assert.deepStrictEqual((yield* endpointsOf(key)).data, [kept])
      const again = yield* Effect.all(
        Array.from({ length: 8 }, () => remove(key, kept.id)),
        { concurrency: 8 }
      )
      assert.deepStrictEqual(again.map(({ status }) => status).toSorted(), [204, 404, 404, 404, 404, 404, 404, 404])
    })
  )

  it.effect("END-2: endpoint `events` 1–64 names (repeats are folded)", () =>
    Effect.gen(function* () {
      const { makeCaller, operate } = yield* TestService
      const { key } = yield* makeCaller()
      const hundred = Array.from({ length: 100 }, () => "charge.pix.paid")
      const { id, events } = yield* registered(key, { events: hundred })
      assert.deepStrictEqual(events, ["charge.pix.paid"])
      const all = catalog.map(([name]) => name)
      assert.deepStrictEqual((yield* registered(key, { events: [...all, ...all] })).events, all)
      const twice = ["dispute.pix.won", "charge.pix.paid", "dispute.pix.won"]
      assert.deepStrictEqual((yield* changed(key, id, { events: twice })).events, [
        "dispute.pix.won",
        "charge.pix.paid"
      ])
      assert.deepStrictEqual((yield* changed(key, id, { events: hundred })).events, ["charge.pix.paid"])

      const tooMany = Array.from({ length: 65 }, (_, index) => `charge.pix.${index}`)
      for (const events of [[], tooMany, null, "charge.pix.paid", {}, 1]) {
        assertRefused(yield* register(key, { events }), "VALIDATION_ERROR", ["events"])
        assertRefused(yield* change(key, id, { events }), "VALIDATION_ERROR", ["events"])
      }
      assertRefused(yield* register(key, { events: undefined }), "VALIDATION_ERROR", ["events"])
      // Lengths come before elements, and the answer is small whatever the body is.
      const { applicationId } = yield* makeCaller()
      const many = Array.from({ length: 130_900 }, (_, index) => index % 10)
      for (const answer of [
        yield* register(key, { events: many }),
        yield* change(key, id, { events: many }),
        yield* change(key, id, { events: Array.from({ length: 14_000 }, () => "charge.pix.paid") })
      ]) {
        assertRefused(answer, "VALIDATION_ERROR", ["events"])
        assert.isBelow(answer.text.length, 200)
      }
      const keyOf = yield* operate("POST", `/operator/v1/applications/${applicationId}/keys`, {
        body: { name: "k", scopes: many }
      })
      assertRefused(keyOf, "VALIDATION_ERROR", ["scopes"])
      const unknown = Array.from({ length: 64 }, (_, index) => `${index}`.padEnd(4000, "x"))
      const answer = yield* register(key, { events: unknown })
      assert.strictEqual(answer.status, 422)
      assert.isBelow(answer.text.length, 64 * 300)
      const wrong = ["charge.pix.paid", 1, null, ["charge.pix.paid"]]
      assertRefused(yield* register(key, { events: wrong }), "VALIDATION_ERROR", ["events.1", "events.2", "events.3"])
    })
  )

  it.effect("END-2: event name outside the catalog: 422 `INVALID_WEBHOOK_EVENT`, `details` lists the names", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const unknown = [
        "charge.paid",
        "charge.card.emitted",
        "payout.pix.created",
        "charge.pix.paid ",
        "CHARGE.PIX.PAID",
        "charge.*",
        "*",
        ""
      ]
      const events = ["charge.pix.paid", ...unknown, ...unknown]
      assertRefused(yield* register(key, { events }), "INVALID_WEBHOOK_EVENT", unknown)
      // It comes before INVALID_WEBHOOK_URL, and after VALIDATION_ERROR.
      for (const url of ["http://127.0.0.1/", "ftp://1.1.1.1/", "no url"]) {
        assertRefused(yield* register(key, { events, url }), "INVALID_WEBHOOK_EVENT", unknown)
      }
      assertRefused(yield* register(key, { events, url: 1, secret: "short" }), "VALIDATION_ERROR", ["url", "secret"])

      const endpoint = yield* registered(key)
      assertRefused(yield* change(key, endpoint.id, { events, active: false }), "INVALID_WEBHOOK_EVENT", unknown)
      assert.deepStrictEqual((yield* endpointsOf(key)).data, [endpoint])
    })
  )
  it.effect("ERR-5: malformed JSON, or a body that is not an object: 400 `VALIDATION_ERROR` without `details`", () =>
    Effect.gen(function* () {
      const { call, makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const { id } = yield* registered(key)
      for (const body of ["", "{", "[]", "null", '"url"', "1", '{"url":"https://1.1.1.1/"}}', Buffer.from([0xff])]) {
        assertRefused(yield* call("POST", "/v1/webhooks", { key, body }), "VALIDATION_ERROR")
        assertRefused(yield* change(key, id, body), "VALIDATION_ERROR")
      }
      assertRefused(yield* call("POST", "/v1/webhooks", { key }), "VALIDATION_ERROR")
      assertRefused(yield* register(key, { description: "x".repeat(300_000) }), "PAYLOAD_TOO_LARGE")
    })
  )

  it.effect("END-9: Accepts `url`, `events`, `description`, `secret`, `active`: each alone changes nothing else", () =>
    Effect.gen(function* () {
      const { makeCaller } = yield* TestService
      const { key } = yield* makeCaller()
      const other = yield* registered(key)
      const endpoint = yield* registered(key, { description: "first", secret: "a secret" })
      const steps: ReadonlyArray<readonly [object, object]> = [
        [{}, {}],
        [{ unknown: 1, has_secret: false, id: other.id, created_at: "2020-01-01T00:00:00Z", object: "x" }, {}],
        [{ url: "http://1.0.0.1/new" }, { url: "http://1.0.0.1/new" }],
        [{ events: ["dispute.pix.lost"] }, { events: ["dispute.pix.lost"] }],
        [{ description: "second" }, { description: "second" }],
        [{ description: null }, { description: null }],
        [{ secret: null }, { has_secret: false }],
        [{ secret: "another secret" }, { has_secret: true }],
        [{ active: false }, { active: false }],
        [{ description: "while paused" }, { description: "while paused" }],
        [{ active: true }, { active: true }],
        [{ active: true }, { active: true }]
      ]
      for (const [body, expected] of steps) {
        const answer = yield* changed(key, endpoint.id, { ...body })
        Object.assign(endpoint, expected)
        assert.deepStrictEqual(answer, endpoint)
        assert.deepStrictEqual((yield* endpointsOf(key)).data, [endpoint, other])
      }
      for (const active of [null, "false", 0, []]) {
        assertRefused(yield* change(key, endpoint.id, { active }), "VALIDATION_ERROR", ["active"])
      }
      for (const field of ["url", "events"]) {
        assertRefused(yield* change(key, endpoint.id, { [field]: null }), "VALIDATION_ERROR", [field])
      }
    })
  )

  it.effect("END-3: The secret is never returned, nor stored in clear", () =>
    Effect.gen(function* () {
      const { call, makeCaller, operate } = yield* TestService
      const { applicationId, key } = yield* makeCaller()
      const secret = `the-secret-${newKey()}`
      const rotated = `the-secret-${newKey()}`
      const made = yield* register(key, { secret })
      const patched = yield* change(key, made.body.id, { secret: rotated })
      const refused = yield* register(key, { secret, url: "ftp://1.1.1.1/" })
      const texts = [
        made.text,
        patched.text,
        refused.text,
        (yield* call("GET", "/v1/webhooks", { key })).text,
        (yield* operate("GET", `/operator/v1/applications/${applicationId}/webhooks`)).text,
        (yield* operate("GET", "/operator/v1/audit")).text,
        (yield* operate("GET", "/operator/v1/requests")).text
      ]
      for (const text of texts) assert.notInclude(text, "the-secret-")
      const sql = yield* SqlClient
      const tables = yield* sql<{ name: string }>`
        SELECT table_name AS name FROM information_schema.tables WHERE table_schema = 'public'`
      assert.isAbove(tables.length, 10)
      for (const { name } of tables) {
        const found = yield* sql.unsafe(`SELECT 1 FROM ${name} t WHERE t::text LIKE '%the-secret-%'`)
        assert.deepStrictEqual(found, [], name)
      }
    })
  )

  it.effect(
    "EVT-2, KEY-7, LIST-8: `GET /v1/webhooks/events` needs no scope, but a key: every event that the platform knows",
    () =>
      Effect.gen(function* () {
        const { call, makeCaller } = yield* TestService
        const { key } = yield* makeCaller({ scopes: ["balance:read"] })
        assertRefused(yield* call("GET", "/v1/webhooks/events"), "UNAUTHORIZED")
        assertRefused(yield* call("GET", "/v1/webhooks/events", { key: "pix_no" }), "UNAUTHORIZED")
        const { body, status } = yield* call("GET", "/v1/webhooks/events", { key })
        assert.strictEqual(status, 200)
        assert.strictEqual(catalog.length, 37)
        assert.deepStrictEqual(body, {
          object: "list",
          data: catalog.map(([event, dispatched, description]) => {
            const [resource, method, action] = event.split(".")
            return { event, resource, method, action, description, dispatched: dispatched === "yes" }
          }),
          has_more: false
        })
      })
  )

  it.effect(
    "KEY-6: `webhook:read` lists; `webhook:write` creates, edits and removes; each alone and no other scope",
    () =>
      Effect.gen(function* () {
        const { call, makeCaller, makeKey } = yield* TestService
        const { applicationId, key } = yield* makeCaller()
        const { id } = yield* registered(key)
        const keyWith = (scopes: ReadonlyArray<string>) =>
          Effect.map(makeKey(applicationId, { scopes }), (made) => made.key)
        const without = yield* keyWith(allScopes.filter((scope) => !scope.startsWith("webhook:")))
        const reading = yield* keyWith(["webhook:read"])
        const writing = yield* keyWith(["webhook:write"])
        for (const poor of [without, writing]) {
          assertRefused(yield* call("GET", "/v1/webhooks", { key: poor }), "INSUFFICIENT_SCOPE", ["webhook:read"])
        }
        for (const poor of [without, reading]) {
          // The scope comes before the body and before the id.
          assertRefused(yield* register(poor, { url: 1 }), "INSUFFICIENT_SCOPE", ["webhook:write"])
          assertRefused(yield* change(poor, "unknown", { url: 1 }), "INSUFFICIENT_SCOPE", ["webhook:write"])
          assertRefused(yield* remove(poor, id), "INSUFFICIENT_SCOPE", ["webhook:write"])
        }
        assert.strictEqual((yield* endpointsOf(reading)).data.length, 1)
        const made = yield* registered(writing)
        yield* changed(writing, made.id, { active: false })
        assert.strictEqual((yield* remove(writing, made.id)).status, 204)
      })
  )
})

// EVT-13.
const catalog: ReadonlyArray<readonly [event: string, dispatched: "yes" | "no", description: string]> = [
  ["charge.pix.created", "yes", "Pix charge registered."],
  ["charge.pix.emitted", "yes", "QR code and copy-and-paste available to the payer."],
  ["charge.pix.paid", "yes", "Pix settled; the event that settles the order."],
  ["charge.pix.expired", "no", "QR code expired unpaid."],
  ["charge.pix.failed", "yes", "Settlement attempted and refused by the provider."],
  ["charge.pix.canceled", "yes", "Canceled before payment."],
  ["charge.pix.refunded", "yes", "Value returned to the payer."],
  ["charge.pix.infraction", "yes", "MED infraction opened; outcome pending."],
  ["charge.pix.charged_back", "yes", "Return ordered by the MED."],
  ["charge.boleto.created", "yes", "Boleto charge registered."],
  ["charge.boleto.emitted", "yes", "Boleto issued."],
  ["charge.boleto.paid", "yes", "Boleto cleared."],
  ["charge.boleto.expired", "no", "Boleto expired."],
  ["charge.boleto.failed", "yes", "Bank refused registration or clearing."],
  ["charge.boleto.canceled", "yes", "Boleto withdrawn before payment."],
  ["charge.boleto.refunded", "yes", "Value returned."],
  ["charge.card.created", "yes", "Card charge registered."],
  ["charge.card.authorized", "no", "Issuer authorized, no capture yet."],
  ["charge.card.paid", "yes", "Value captured."],
  ["charge.card.failed", "yes", "Refused by issuer or anti-fraud."],
  ["charge.card.canceled", "yes", "Authorization canceled before capture."],
  ["charge.card.refunded", "yes", "Refund granted."],
  ["charge.card.charged_back", "yes", "Purchase contested with the issuer."],
  ["payment.pix.created", "yes", "Payment requested and queued."],
  ["payment.pix.processing", "yes", "Sent to the provider."],
  ["payment.pix.completed", "no", "Money credited at the destination."],
  ["payment.pix.failed", "yes", "Refused by the provider; value returns to available balance."],
  ["payment.pix.canceled", "yes", "Canceled before processing."],
  ["payment.ted.created", "yes", "Payment requested and queued."],
  ["payment.ted.processing", "yes", "Sent to the bank."],
  ["payment.ted.completed", "no", "Money credited at the destination."],
  ["payment.ted.failed", "yes", "Refused by the bank; value returns to available balance."],
  ["payment.ted.canceled", "yes", "Canceled before processing."],
  ["dispute.pix.opened", "yes", "Dispute opened; value blocked awaiting defense."],
  ["dispute.pix.message", "yes", "The platform replied in the dispute chat; text in `data.message`."],
  ["dispute.pix.won", "yes", "MED denied; blocked value returned to balance."],
  ["dispute.pix.lost", "yes", "MED accepted; value returned to the payer."]
]
