import { assert, describe, it } from "@effect/vitest"
import { makeContract } from "../src/http/Contract.ts"
import { bacen as profile } from "../src/http/Profiles.ts"
import { bacenDocument, CORRECTIONS, documentOf, type Node } from "../src/http/Document.ts"

const served = /^\/(cob|pix|webhook)(\/|$)/
const bacen = documentOf(profile)
const contract = makeContract(bacen)

/** Examples name one another: `{ $ref }`, or `allOf` of one. */
const resolve = (node: Node): Node => {
  if (typeof node !== "object" || node === null) return node
  if (Array.isArray(node)) return node.map(resolve)
  const reference: string | undefined = node.$ref ?? node.allOf?.[0]?.$ref
  if (reference === undefined) return Object.fromEntries(Object.entries(node).map(([name, of]) => [name, resolve(of)]))
  return resolve(
    reference
      .slice(2)
      .split("/")
      .reduce((parent, part) => parent[part], bacen)
  )
}

/** Every example of an answer of the paths that the double serves. */
const examples = Object.entries<Node>(bacenDocument([]).paths)
  .filter(([path]) => served.test(path))
  .flatMap(([path, methods]) =>
    Object.entries<Node>(methods).flatMap(([method, operation]) =>
      Object.entries<Node>(operation.responses ?? {}).flatMap(([status, response]) =>
        Object.entries<Node>(response.content ?? {}).flatMap(([media, { examples: named }]) =>
          Object.values<Node>(named ?? {}).map(({ $ref }) => ({
            path: `/api/v2${path.replaceAll(/\{[^}]*\}/g, "x")}`,
            method,
            status: Number(status),
            media,
            name: $ref.split("/").at(-1),
            body: resolve(bacen.components.examples[$ref.split("/").at(-1)].value)
          }))
        )
      )
    )
  )

describe("the central bank's document", () => {
  it("its own examples pass, corrected, but for nine that break its own rules", () => {
    assert.isAbove(examples.length, 15)
    const failures = new Map<string, string>()
    for (const { path, method, status, media, name, body } of examples) {
      for (const failure of contract.match(method, path)!.operation.checkAnswer(status, media, body)) {
        failures.set(name, failure)
      }
    }
    const withdrawal = "body/valor/retirada: must match exactly one schema in oneOf"
    const length = 'body/endToEndId: must match pattern "^(?:[a-zA-Z0-9]{32})$"'
    assert.deepStrictEqual(Object.fromEntries(failures), {
      cobResponse5: withdrawal,
      cobResponse6: withdrawal,
      cobResponse7: withdrawal,
      pixResponse2: length,
      pixResponse3: length,
      getCobs1: withdrawal.replace("body", "body/cobs/4"),
      getPix1: length.replace("body", "body/pix/2"),
      getWebhook1: "body/webhooks/0: must have required property 'criacao'",
      webhookResponse1: "body: must have required property 'cnpj'"
    })
  })

  it("a status that is not declared, another media type and an unexpected body are failures; general errors are not", () => {
    const { operation } = contract.match("PUT", `/api/v2/cob/${"a".repeat(26)}`)!
    const problem = { type: "https://pix.bcb.gov.br/api/v2/error/X", title: "X", status: 500 }
    const media = "application/problem+json"
    assert.deepStrictEqual(operation.checkAnswer(500, media, problem), [])
    assert.deepStrictEqual(operation.checkAnswer(500, media, {}).length, 3)
    assert.match(operation.checkAnswer(409, media, problem)[0]!, /^409 is not an answer/)
    assert.match(operation.checkAnswer(201, "text/html", undefined)[0]!, /^text\/html is not a type/)
    const { operation: deletion } = contract.match("DELETE", "/api/v2/webhook/key")!
    assert.deepStrictEqual(deletion.checkAnswer(204, undefined, undefined), [])
    assert.deepStrictEqual(deletion.checkAnswer(204, "application/json", {}), ["body: there is none"])
  })

  it.each(CORRECTIONS.map(({ at }, i) => [at, i] as const))("the correction at %s still applies", (_, i) => {
    const { at } = CORRECTIONS[i]!
    assert.throws(() => bacenDocument([CORRECTIONS[i]!, CORRECTIONS[i]!]), at)
  })
})
