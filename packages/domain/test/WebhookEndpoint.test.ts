import { assert, describe, it } from "@effect/vitest"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { eventNames } from "../src/EventCatalog.ts"
import type { Refusal } from "../src/Request.ts"
import {
  CreateWebhookEndpoint,
  decodeCreateWebhookEndpoint,
  decodeUpdateWebhookEndpoint,
  WebhookEndpoint
} from "../src/WebhookEndpoint.ts"

const url = "https://shop.example/hooks"
const events = ["charge.pix.paid"]

/** The code and the details of a refusal. */
const refused = (decoded: Result.Result<unknown, Refusal>) =>
  Result.isSuccess(decoded) ? "accepted" : [decoded.failure.code, decoded.failure.details]

const created = (more: object) => refused(decodeCreateWebhookEndpoint({ url, events, ...more }))
const changed = (body: object) => refused(decodeUpdateWebhookEndpoint(body))

describe("The creation of an endpoint", () => {
  it("needs `url` and `events`", () => {
    assert.strictEqual(created({}), "accepted")
    assert.deepStrictEqual(refused(decodeCreateWebhookEndpoint({})), ["VALIDATION_ERROR", ["url", "events"]])
  })

  it("END-2: `events` has 1 to 64 names of the catalog", () => {
    assert.strictEqual(created({ events: eventNames }), "accepted")
    assert.strictEqual(created({ events: [...eventNames, ...eventNames] }), "accepted")
    for (const wrong of [[], null, "charge.pix.paid", Array.from({ length: 65 }, (_, at) => `charge.pix.x${at}`)]) {
      assert.deepStrictEqual(created({ events: wrong }), ["VALIDATION_ERROR", ["events"]])
    }
  })

  it("END-2: a name outside the catalog is listed", () => {
    const wrong = ["charge.pix", "payout.pix.paid", "CHARGE.PIX.PAID", "charge.pix.paid ", "*"]
    assert.deepStrictEqual(created({ events: [...events, ...wrong] }), ["INVALID_WEBHOOK_EVENT", wrong])
  })

  it("END-3: `secret` has 8 to 255 characters, `description` at most 255", () => {
    for (const secret of ["12345678", "🍕".repeat(255), null]) assert.strictEqual(created({ secret }), "accepted")
    for (const secret of ["", "1234567", "x".repeat(256), "1234567\u0000"]) {
      assert.deepStrictEqual(created({ secret }), ["VALIDATION_ERROR", ["secret"]])
    }
    for (const description of ["", "x".repeat(255), null]) assert.strictEqual(created({ description }), "accepted")
    assert.deepStrictEqual(created({ description: "x".repeat(256) }), ["VALIDATION_ERROR", ["description"]])
  })

  it("END-2: the document of the interface lists the events that are accepted", () => {
    const { definitions } = Schema.toJsonSchemaDocument(CreateWebhookEndpoint)
    const fields = definitions["CreateWebhookEndpoint"]?.["properties"] as {
      readonly events: { readonly items: { readonly allOf: ReadonlyArray<{ readonly enum: ReadonlyArray<string> }> } }
    }
    const listed = fields.events.items.allOf.flatMap((each) => each.enum)
    assert.include(listed, "charge.pix.paid")
    for (const name of listed) assert.strictEqual(created({ events: [name] }), "accepted", name)
  })
})

describe("The change of an endpoint", () => {
  it("END-9: takes its fields alone or together", () => {
    const all = { url, events, description: "Shop", secret: "12345678", active: false }
    assert.strictEqual(changed({}), "accepted")
    assert.strictEqual(changed(all), "accepted")
    for (const [name, value] of Object.entries(all)) {
      assert.deepStrictEqual(decodeUpdateWebhookEndpoint({ [name]: value }), Result.succeed({ [name]: value }))
    }
  })

  it("API-6: `secret` and `description` may be null, and nothing else", () => {
    const cleared = { secret: null, description: null }
    assert.deepStrictEqual(decodeUpdateWebhookEndpoint(cleared), Result.succeed(cleared))
    for (const name of ["url", "events", "active"]) {
      assert.deepStrictEqual(changed({ [name]: null }), ["VALIDATION_ERROR", [name]])
    }
  })

  it("has the rules of the creation", () => {
    assert.deepStrictEqual(changed({ events: [] }), ["VALIDATION_ERROR", ["events"]])
    assert.deepStrictEqual(changed({ events: ["paid"] }), ["INVALID_WEBHOOK_EVENT", ["paid"]])
    assert.deepStrictEqual(changed({ secret: "short" }), ["VALIDATION_ERROR", ["secret"]])
    assert.deepStrictEqual(changed({ active: "true" }), ["VALIDATION_ERROR", ["active"]])
  })
})

it("API-12: an endpoint may be shown with an event of a later release", () => {
  const shown = {
    id: "0199a1b2-0000-7000-8000-000000000001",
    object: "webhook",
    url,
    description: null,
    events: ["charge.pix.later"],
    active: true,
    has_secret: false,
    created_at: "2026-11-21T12:00:00.000Z"
  }
  assert.isTrue(Schema.is(WebhookEndpoint)(shown))
  assert.isFalse(Schema.is(WebhookEndpoint)({ ...shown, object: "endpoint" }))
})
