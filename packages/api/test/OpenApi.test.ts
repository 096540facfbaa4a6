import { errorCodes } from "@pix-payments/domain/ErrorCode"
import { assert, describe, it } from "@effect/vitest"
import * as fs from "node:fs"
import { documents, firstDifference } from "../scripts/openapi.ts"
import { normalizeOpenApi, openApiDocument } from "../src/OpenApiDocument.ts"
import { OperatorApi } from "../src/OperatorApi.ts"
import { paymentsDocument } from "../src/PaymentsDocument.ts"

type Json = { readonly [key: string]: unknown }

const payments = paymentsDocument()
const operator = openApiDocument(OperatorApi)
const both = [
  ["openapi.json", payments],
  ["operator-openapi.json", operator]
] as const

/** The value at a path from the root, or `undefined`. */
const at = (root: unknown, ...path: ReadonlyArray<string | number>): unknown =>
  path.reduce<unknown>((node, key) => (isContainer(node) ? Reflect.get(node, key) : undefined), root)

const entries = (node: unknown): ReadonlyArray<readonly [string, unknown]> =>
  isContainer(node) ? Object.entries(node) : []

const isContainer = (node: unknown): node is object => typeof node === "object" && node !== null

/** Every object in a document, with the path to it. */
const nodes = (node: unknown, path = "#"): ReadonlyArray<readonly [string, Json]> =>
  isContainer(node)
    ? [[path, { ...node }] as const, ...Object.entries(node).flatMap(([key, value]) => nodes(value, `${path}/${key}`))]
    : []

const operations = (document: unknown): ReadonlyArray<Json & { readonly verb: string; readonly path: string }> =>
  entries(at(document, "paths")).flatMap(([path, verbs]) =>
    entries(verbs).map(([verb, operation]) => Object.assign({ verb, path }, operation))
  )

const operation = (document: unknown, id: string): Json => {
  const found = operations(document).find(({ operationId }) => operationId === id)
  assert.isDefined(found, id)
  return found ?? {}
}

const nameOf = (ref: unknown): string => String(ref).replace("#/components/schemas/", "")

const bodyOf = (response: unknown): unknown => at(response, "content", "application/json", "schema")

/** The error bodies of an answer, by name. */
const errorsOf = (response: unknown): ReadonlyArray<string> => {
  const schema = bodyOf(response)
  const oneOf = at(schema, "oneOf")
  return (Array.isArray(oneOf) ? oneOf : [schema]).map((one: unknown) => nameOf(at(one, "$ref")))
}

const codeOf = (document: unknown, name: string): unknown =>
  at(document, "components", "schemas", name, "properties", "code", "enum", 0)

/** `400 VALIDATION_ERROR` and so on: everything that an operation may fail with. */
const failures = (document: unknown, one: Json): ReadonlyArray<string> =>
  entries(one["responses"])
    .filter(([status]) => Number(status) >= 400)
    .flatMap(([status, response]) => errorsOf(response).map((name) => `${status} ${String(codeOf(document, name))}`))

describe("the committed documents", () => {
  it("equal what the declarations generate", () => {
    for (const { file, text } of documents) {
      assert.isTrue(fs.readFileSync(file, "utf8") === text, `${file.pathname}: pnpm run openapi`)
    }
  })

  it("are generated deterministically", () => {
    assert.strictEqual(JSON.stringify(paymentsDocument()), JSON.stringify(payments))
    assert.strictEqual(JSON.stringify(openApiDocument(OperatorApi)), JSON.stringify(operator))
  })

  it("are compared down to the first difference", () => {
    assert.isUndefined(firstDifference({ a: [1, { b: null }] }, { a: [1, { b: null }] }))
    assert.strictEqual(firstDifference({ a: [1, { b: null }] }, { a: [1, { b: 0 }] }), "#/a/1/b")
    assert.strictEqual(firstDifference({ "/v1/x": 1 }, {}), "#/~1v1~1x")
    assert.strictEqual(firstDifference({}, { a: undefined }), "#/a")
    assert.strictEqual(firstDifference([], {}), "#")
    assert.strictEqual(firstDifference([1], [1, 2]), "#/1")
  })
})

describe.each(both)("%s", (_, document) => {
  it("API-12: leaves every object open", () => {
    const closed = nodes(document).filter(([, node]) => node["additionalProperties"] === false)
    assert.deepStrictEqual(
      closed.map(([path]) => path),
      []
    )
  })

  it("defines exactly the schemas that it refers to", () => {
    const refs = new Set(
      nodes(document).flatMap(([, node]) => (typeof node["$ref"] === "string" ? [node["$ref"]] : []))
    )
    assert.isAbove(refs.size, 20)
    for (const ref of refs) assert.isDefined(at(document, ...ref.slice(2).split("/")), ref)
    for (const [name] of entries(at(document, "components", "schemas"))) {
      assert.isTrue(refs.has(`#/components/schemas/${name}`), name)
    }
  })

  it("names schemas after resources and errors, in order", () => {
    const names = entries(at(document, "components", "schemas")).map(([name]) => name)
    assert.deepStrictEqual(names, names.toSorted())
    assert.deepStrictEqual(
      names.filter((name) => /Encoded|_\d*$|\d$/.test(name)),
      []
    )
  })

  it("has no safe-integer bounds, no strings for numbers and no split limits", () => {
    for (const [path, node] of nodes(document)) {
      assert.notStrictEqual(Math.abs(Number(node["maximum"])), Number.MAX_SAFE_INTEGER, path)
      assert.notStrictEqual(Math.abs(Number(node["minimum"])), Number.MAX_SAFE_INTEGER, path)
      assert.notProperty(node, "allOf", path)
    }
    for (const { parameters, path } of operations(document)) {
      for (const [, parameter] of entries(parameters)) {
        if (at(parameter, "name") !== "limit") continue
        const schema = { type: "integer", minimum: 1, maximum: 100, default: 20 }
        assert.deepStrictEqual(at(parameter, "schema"), schema, path)
      }
    }
  })

  it("titles every group, and every operation has the title of its group", () => {
    const titles = entries(document["tags"]).map(([, tag]) => String(at(tag, "name")))
    assert.strictEqual(new Set(titles).size, titles.length)
    for (const title of titles) assert.match(title, /^[A-Z][a-z]+(?: [a-z]+)*$/)
    const used = operations(document).map(({ tags }) => at(tags, 0))
    assert.sameMembers([...new Set(used)], titles)
    // The section of the webhooks that are sent has this name.
    assert.notInclude(titles, "Webhooks")
  })

  it("gives every operation a unique name, a summary and the parameters of its path", () => {
    const ids = operations(document).map(({ operationId }) => operationId)
    assert.strictEqual(new Set(ids).size, ids.length)
    for (const { parameters, path, summary } of operations(document)) {
      assert.isString(summary, path)
      const declared = entries(parameters).map(([, parameter]) => parameter)
      const inPath = declared.filter((parameter) => at(parameter, "in") === "path")
      assert.deepStrictEqual(
        inPath.map((parameter) => `{${String(at(parameter, "name"))}}`),
        path.match(/\{\w+\}/g) ?? [],
        path
      )
      for (const parameter of inPath) {
        const isId = at(parameter, "name") === "id"
        assert.deepStrictEqual(
          at(parameter, "schema"),
          isId ? { type: "string", format: "uuid" } : { type: "string" },
          path
        )
        assert.isTrue(at(parameter, "required"), path)
      }
    }
  })

  it("lists each error under its status, with its code and optional details", () => {
    let listed = 0
    for (const one of operations(document)) {
      for (const [status, response] of entries(one["responses"])) {
        assert.property(at(response, "headers"), "X-Request-Id", `${one.path} ${status}`)
        if (Number(status) < 400) continue
        for (const name of errorsOf(response)) {
          listed += 1
          const schema = at(document, "components", "schemas", name)
          const code = String(codeOf(document, name))
          const where = `${one.verb} ${one.path} ${status} ${name}`
          assert.strictEqual(at(errorCodes, code, "status"), Number(status), where)
          assert.include(at(response, "description"), `\`${code}\`: `, where)
          const extra = name === "AcquirerRejected" ? ["charge_id"] : []
          assert.deepStrictEqual(at(schema, "required"), ["code", "message", ...extra], where)
          assert.deepStrictEqual(
            at(schema, "properties", "details"),
            { type: "array", items: { type: "string" } },
            where
          )
          assert.sameMembers(
            Object.keys(Object(at(schema, "properties"))),
            ["code", "message", "details", ...extra],
            where
          )
        }
      }
    }
    assert.isAbove(listed, 50)
  })

  it("discriminates the errors of one status by their code", () => {
    let several = 0
    for (const one of operations(document)) {
      for (const [, response] of entries(one["responses"])) {
        const schema = bodyOf(response)
        const oneOf = at(schema, "oneOf")
        if (!Array.isArray(oneOf)) continue
        several += 1
        const mapping = entries(at(schema, "discriminator", "mapping"))
        assert.strictEqual(mapping.length, oneOf.length)
        for (const [code, ref] of mapping) assert.strictEqual(codeOf(document, nameOf(ref)), code)
      }
    }
    assert.isAbove(several, 0)
  })

  it("requires the body of an operation that has one", () => {
    for (const { operationId, requestBody } of operations(document)) {
      if (requestBody === undefined) continue
      assert.strictEqual(at(requestBody, "required"), !withoutBody.has(String(operationId)), String(operationId))
    }
  })

  it("has `Retry-After` with 429 and 503", () => {
    for (const { path, responses } of operations(document)) {
      assert.property(at(responses, "503", "headers"), "Retry-After", path)
      if (at(responses, "429") !== undefined) assert.property(at(responses, "429", "headers"), "Retry-After", path)
    }
  })
})

/** Operations without required fields. */
const withoutBody = new Set([
  "approvalActions.approve",
  "chargeActions.refund",
  "simulatorRefunds.complete",
  "simulatorCharges.pay",
  "simulatorCharges.fail",
  "simulatorReturns.refund",
  "simulatorDisputes.win",
  "simulatorDisputes.lose",
  "simulatorPayouts.complete"
])

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

describe("operator-openapi.json", () => {
  it("lists 409 and 404 where they may occur, and 403 everywhere", () => {
    const conflicts = operations(operator).filter(({ responses }) => at(responses, "409") !== undefined)
    assert.deepStrictEqual(
      conflicts.flatMap(({ operationId, verb }) => (verb === "post" ? [] : [operationId])),
      [
        "installation.update",
        "accounts.update",
        "connectionActions.update",
        "receipts.charge",
        "receipts.payout",
        "receipts.refund"
      ]
    )
    assert.includeMembers(
      conflicts.map(({ operationId }) => operationId),
      ["chargeActions.cancel", "chargeActions.refund", "payoutActions.approve", "deliveryActions.resend"]
    )
    for (const { path, responses } of operations(operator)) {
      const mayBeMissing = /\{\w+\}/.test(path) || path.startsWith("/operator/v1/session/oidc")
      assert.strictEqual(at(responses, "404") !== undefined, mayBeMissing, path)
      assert.isDefined(at(responses, "403"), path)
    }
  })

  it("shows the complete key in the creation's response only", () => {
    const shown = entries(at(operator, "components", "schemas")).filter(
      ([, one]) => at(one, "properties", "key") !== undefined
    )
    assert.deepStrictEqual(
      shown.map(([name]) => name),
      ["CreatedApiKey"]
    )
    const used = operations(operator).filter(({ responses }) => JSON.stringify(responses).includes("CreatedApiKey"))
    assert.deepStrictEqual(
      used.map(({ operationId }) => operationId),
      ["keys.create"]
    )
  })
})

describe("normalizeOpenApi", () => {
  const mended = (schemas: Json) =>
    at(normalizeOpenApi({ paths: {}, components: { schemas } }), "components", "schemas")

  it("opens objects, and keeps the value types of maps", () => {
    const map = { type: "object", additionalProperties: { type: "integer" } }
    assert.deepStrictEqual(mended({ A: { type: "object", additionalProperties: false }, M: map }), {
      A: { type: "object" },
      M: map
    })
  })

  it("drops `Encoded` from a name unless another schema has what remains", () => {
    const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })
    assert.deepStrictEqual(mended({ AEncoded: { type: "string" }, B: { items: ref("AEncoded") } }), {
      A: { type: "string" },
      B: { items: ref("A") }
    })
    const taken = { A: { type: "number" }, AEncoded: { type: "string" }, B: { items: ref("AEncoded") } }
    assert.deepStrictEqual(mended(taken), taken)
    assert.deepStrictEqual(mended({ A: ref("AEncoded"), AEncoded: { type: "string" } }), { A: { type: "string" } })
  })

  it("merges limits into one schema unless they contradict", () => {
    assert.deepStrictEqual(mended({ A: { type: "string", allOf: [{ minLength: 1 }, { maxLength: 2 }] } }), {
      A: { type: "string", minLength: 1, maxLength: 2 }
    })
    const contradicting = { A: { pattern: "a", allOf: [{ pattern: "b" }] } }
    assert.deepStrictEqual(mended(contradicting), contradicting)
  })

  it("drops safe-integer bounds, and keeps those of the contract", () => {
    const machine = { minimum: -Number.MAX_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER }
    assert.deepStrictEqual(mended({ A: { type: "integer", ...machine }, B: { minimum: 0, maximum: 5 } }), {
      A: { type: "integer" },
      B: { minimum: 0, maximum: 5 }
    })
  })

  it("is idempotent", () => {
    const { webhooks: _, ...document } = payments
    assert.deepStrictEqual(normalizeOpenApi(normalizeOpenApi(document)), normalizeOpenApi(document))
  })
})
