/** `openapi.json` states the contract of `/v1`: scopes, errors, limits and formats, and the webhooks that are sent. */
import { errorCodes } from "@pix-payments/domain/ErrorCode"
import { assert, describe, it } from "@effect/vitest"
import {
  at,
  bodyOf,
  codeOf,
  entries,
  errorsOf,
  failures,
  nameOf,
  operation,
  operations,
  operator,
  payments
} from "./support/OpenApi.ts"

const anywhere = ["401 UNAUTHORIZED", "429 RATE_LIMITED", "500 INTERNAL_ERROR", "503 SERVICE_UNAVAILABLE"]
const scoped = [...anywhere, "403 INSUFFICIENT_SCOPE"]
const withBody = [...scoped, "400 VALIDATION_ERROR", "413 PAYLOAD_TOO_LARGE"]
const creation = [
  ...withBody,
  "400 IDEMPOTENCY_KEY_REQUIRED",
  "400 METHOD_NOT_SUPPORTED",
  "400 AMOUNT_BELOW_MINIMUM",
  "400 INVALID_DOCUMENT",
  "400 ACCOUNT_INACTIVE",
  "422 INVALID_WEBHOOK_URL"
]
const webhookBody = [...withBody, "422 INVALID_WEBHOOK_EVENT", "422 INVALID_WEBHOOK_URL"]

/** What each operation of `/v1` needs, and everything that it may fail with. */
const contract: Record<string, { readonly scopes: ReadonlyArray<string>; readonly failures: ReadonlyArray<string> }> = {
  "charges.create": { scopes: ["charge:write"], failures: [...creation, "422 ACQUIRER_REJECTED"] },
  "charges.retrieve": { scopes: ["charge:read"], failures: [...scoped, "404 CHARGE_NOT_FOUND"] },
  "charges.list": { scopes: ["charge:read"], failures: [...scoped, "400 VALIDATION_ERROR"] },
  "payouts.create": {
    scopes: ["payout:write"],
    failures: [...creation, "400 ACCOUNT_RESTRICTED", "400 INSUFFICIENT_BALANCE"]
  },
  "payouts.retrieve": { scopes: ["payout:read"], failures: [...scoped, "404 PAYOUT_NOT_FOUND"] },
  "payouts.list": { scopes: ["payout:read"], failures: [...scoped, "400 VALIDATION_ERROR"] },
  "balance.retrieve": { scopes: ["balance:read"], failures: scoped },
  "account.retrieve": { scopes: ["account:read"], failures: scoped },
  "webhooks.list": { scopes: ["webhook:read"], failures: scoped },
  "webhooks.create": { scopes: ["webhook:write"], failures: webhookBody },
  "webhooks.update": { scopes: ["webhook:write"], failures: [...webhookBody, "404 WEBHOOK_NOT_FOUND"] },
  "webhooks.delete": { scopes: ["webhook:write"], failures: [...scoped, "404 WEBHOOK_NOT_FOUND"] },
  "webhooks.events": { scopes: [], failures: anywhere }
}

describe("openapi.json of /v1", () => {
  const schema = (...path: ReadonlyArray<string | number>) => at(payments, "components", "schemas", ...path)

  it("states the scopes and the errors of each operation", () => {
    assert.sameMembers(
      operations(payments).map(({ operationId }) => String(operationId)),
      Object.keys(contract)
    )
    for (const [id, expected] of Object.entries(contract)) {
      const one = operation(payments, id)
      assert.sameMembers([...failures(payments, one)], [...expected.failures], id)
      assert.deepStrictEqual(one["x-required-scopes"], expected.scopes, id)
      assert.deepStrictEqual(one["security"], [{ "x-api-key": expected.scopes }], id)
      const sentence =
        expected.scopes.length === 0 ? "Any accepted key may call." : `Scope: \`${expected.scopes.join("")}\`.`
      assert.include(one["description"], sentence, id)
    }
    const scheme = at(payments, "components", "securitySchemes", "x-api-key")
    assert.deepStrictEqual(scheme, { type: "apiKey", name: "x-api-key", in: "header" })
  })

  it("lists every code of `/v1`", () => {
    const inOperations = operations(payments).flatMap((one) => failures(payments, one))
    const elsewhere = entries(at(payments, "components", "responses")).flatMap(([, response]) =>
      errorsOf(response).map((name) => String(codeOf(payments, name)))
    )
    assert.sameMembers(elsewhere, ["NOT_FOUND", "METHOD_NOT_ALLOWED"])
    const met = new Set([...inOperations.map((failure) => failure.slice(4)), ...elsewhere])
    const operatorsOnly = new Set([
      "INVALID_STATE",
      "MISDIRECTED_REQUEST",
      "FORBIDDEN",
      "CURSOR_EXPIRED",
      "IDEMPOTENCY_KEY_REUSED"
    ])
    const all = Object.keys(errorCodes).filter((code) => !operatorsOnly.has(code))
    assert.sameMembers([...met], all)
  })

  it("IDEM-1: requires an idempotency key for charges and payouts only", () => {
    const keyed = operations(payments).filter(({ parameters }) =>
      entries(parameters).some(([, parameter]) => at(parameter, "name") === "Idempotency-Key")
    )
    assert.sameMembers(
      keyed.map(({ operationId }) => operationId),
      ["charges.create", "payouts.create"]
    )
    for (const { parameters, responses } of keyed) {
      assert.isTrue(at(parameters, 0, "required"))
      assert.property(at(responses, "201", "headers"), "Idempotent-Replayed")
    }
    assert.strictEqual(schema("IdempotencyKey", "pattern"), "^[!-~]{8,255}$")
  })

  it("states the limits and formats of requests", () => {
    const charge = (...path: ReadonlyArray<string | number>) => schema("CreateCharge", "properties", ...path)
    const payout = (...path: ReadonlyArray<string | number>) => schema("CreatePayout", "properties", ...path)
    assert.deepStrictEqual(schema("CreateCharge", "required"), ["amount", "customer"])
    assert.include(charge("amount"), { type: "integer", minimum: 100, maximum: 999_999_999_999 })
    assert.include(payout("amount"), { type: "integer", minimum: 500, maximum: 999_999_999_999 })
    assert.deepStrictEqual(charge("method", "anyOf", 0, "enum"), ["pix"])
    assert.deepStrictEqual(payout("method", "anyOf", 0, "enum"), ["pix"])
    assert.include(charge("customer", "properties", "email"), { format: "email", maxLength: 254 })
    assert.include(charge("customer", "properties", "name"), { minLength: 1, maxLength: 200 })
    assert.include(charge("description", "anyOf", 0), { maxLength: 140 })
    assert.include(charge("expires_in", "anyOf", 0), { type: "integer", minimum: 60, maximum: 604_800 })
    assert.include(charge("webhook_url", "anyOf", 0), { format: "uri", maxLength: 2048 })
    assert.deepStrictEqual(payout("pix_key_type", "enum"), ["cpf", "cnpj", "email", "phone", "random"])
    assert.include(schema("CreateWebhookEndpoint", "properties", "secret", "anyOf", 0), {
      minLength: 8,
      maxLength: 255
    })
    assert.include(schema("CreateWebhookEndpoint", "properties", "events"), {
      type: "array",
      minItems: 1
    })
    assert.include(schema("Charge", "properties", "id"), { type: "string", format: "uuid" })
    assert.include(schema("Instant"), { type: "string", format: "date-time" })
    assert.deepStrictEqual(schema("Charge", "properties", "created_at"), { $ref: "#/components/schemas/Instant" })
    const after = entries(operation(payments, "charges.list")["parameters"]).find(
      ([, parameter]) => at(parameter, "name") === "created_after"
    )
    assert.deepStrictEqual(at(after, 1, "schema"), { type: "string", format: "date-time" })
  })

  it("API-12: opens enumerations in responses", () => {
    const status = schema("Charge", "properties", "status", "anyOf")
    assert.deepStrictEqual(at(status, 1), { type: "string" })
    assert.include(at(status, 0, "enum"), "infraction")
  })

  it("describes the webhooks", () => {
    const sent = entries(payments["webhooks"])
    assert.deepStrictEqual(
      sent.map(([resource]) => resource),
      ["charge", "payment", "dispute"]
    )
    for (const [resource, item] of sent) {
      const headers = entries(at(item, "post", "parameters")).map(([, header]) => header)
      assert.deepStrictEqual(
        headers.map((header) => at(header, "name")),
        [
          "X-Webhook-Event",
          "X-Webhook-Resource",
          "X-Webhook-Method",
          "X-Webhook-Delivery",
          "X-Webhook-Signature",
          "webhook-id",
          "webhook-timestamp",
          "webhook-signature"
        ]
      )
      assert.deepStrictEqual(
        headers.map((header) => at(header, "required")),
        [true, true, true, true, false, false, false, false]
      )
      const envelope = nameOf(at(bodyOf(at(item, "post", "requestBody")), "$ref"))
      const fields = ["id", "object", "event", "resource", "method", "action", "created_at", "data"]
      assert.includeMembers([...Object(schema(envelope, "required"))], fields)
      const data = nameOf(schema(envelope, "properties", "data", "$ref"))
      assert.deepStrictEqual(schema(data, "properties", "object", "enum"), [resource])
    }
    assert.isUndefined(operator["webhooks"])
  })
})
