/**
 * Both OpenAPI documents are what the declarations generate: objects are open, and names and errors have one form. What that of
 * `/v1` says of its operations: `PaymentsOpenApi.test.ts`.
 */
import { errorCodes } from "@pix-payments/domain/ErrorCode"
import { assert, describe, it } from "@effect/vitest"
import * as fs from "node:fs"
import { documents, firstDifference } from "../scripts/openapi.ts"
import { normalizeOpenApi, openApiDocument } from "../src/OpenApiDocument.ts"
import { OperatorApi } from "../src/OperatorApi.ts"
import { paymentsDocument } from "../src/PaymentsDocument.ts"
import {
  at,
  bodyOf,
  codeOf,
  entries,
  errorsOf,
  type Json,
  nameOf,
  nodes,
  operations,
  operator,
  payments
} from "./support/OpenApi.ts"

const both = [
  ["openapi.json", payments],
  ["operator-openapi.json", operator]
] as const

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
