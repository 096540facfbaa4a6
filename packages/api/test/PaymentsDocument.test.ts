/** The examples of the document of `/v1`. That the service answers them: `Examples.test.ts` of the server. */
import { assert, describe, it } from "@effect/vitest"
import { Ajv2020 } from "ajv/dist/2020.js"
import addFormats from "ajv-formats"
import examples from "../examples.json" with { type: "json" }
import { codesOf, type Examples, operationsOf, paymentsDocument } from "../src/PaymentsDocument.ts"

type Json = { readonly [key: string]: unknown }

const document = paymentsDocument()

const components = document["components"] as {
  readonly schemas: { [key: string]: unknown }
  readonly examples: Readonly<Record<string, { readonly value: unknown }>>
  readonly responses: Readonly<Record<string, Json>>
}

interface Shown {
  readonly where: string
  readonly media: Json
}

/** Everything of a document that has a body, with its place. */
const bodiesOf = (from: { readonly [key: string]: unknown }): ReadonlyArray<Shown> => {
  const webhooks = Object.values(from["webhooks"] as Json).map((path) => (path as Json)["post"] as Json)
  const operations = [...operationsOf(from["paths"]), ...webhooks].flatMap((operation) => {
    const id = String(operation["operationId"])
    const responses = Object.entries(operation["responses"] as Json)
    return [[`${id} is sent`, operation["requestBody"]], ...responses.map(([status, one]) => [`${id} ${status}`, one])]
  })
  const unrouted = Object.entries((from["components"] as typeof components).responses)
  return [...operations, ...unrouted].flatMap(([where, holder]) => {
    const media = ((holder as Json | undefined)?.["content"] as Json | undefined)?.["application/json"]
    return media === undefined ? [] : [{ where: String(where), media: media as Json }]
  })
}

const valuesOf = (media: Json, shared: typeof components.examples): ReadonlyArray<readonly [string, unknown]> =>
  Object.entries((media["examples"] ?? {}) as Readonly<Record<string, Json>>).map(([name, { $ref, value }]) => [
    name,
    $ref === undefined ? value : shared[String($ref).replace(/.*\//, "")]?.value
  ])

/** The examples of a document that its schemas refuse, and the bodies and codes without one. */
const faultsOf = (from: ReturnType<typeof paymentsDocument>): ReadonlyArray<string> => {
  const ajv = new Ajv2020({ strict: false })
  addFormats.default(ajv)
  ajv.addSchema({ $id: "document", ...from })
  return bodiesOf(from).flatMap(({ media, where }) => {
    const values = valuesOf(media, (from["components"] as typeof components).examples)
    const codes = codesOf(media, components.schemas)
    const missing =
      codes.length === 0 ? values.length === 0 : codes.some((code) => !values.some(([name]) => name === code))
    const validate = ajv.compile(within(media["schema"]) as object)
    return [
      ...(missing ? [`${where}: an example is missing`] : []),
      ...values.flatMap(([name, value]) =>
        validate(value) ? [] : [`${where} ${name}: ${ajv.errorsText(validate.errors)}`]
      ),
      ...values.flatMap(([name, value]) =>
        codes.length === 0 || (value as Json | undefined)?.["code"] === name
          ? []
          : [`${where} ${name}: has another code`]
      )
    ]
  })
}

/** A schema whose references are of the whole document. */
const within = (schema: unknown): unknown =>
  JSON.parse(JSON.stringify(schema).replaceAll('"#/components/', '"document#/components/'))

const changed = (change: (copy: { -readonly [Part in keyof Examples]: Record<string, never> }) => void): Examples => {
  const copy = structuredClone(examples)
  change(copy as never)
  return copy
}

describe("openapi.json", () => {
  it("ADD-3: has an example of every body, answer, error and event, which its schema accepts", () => {
    assert.isAbove(bodiesOf(document).length, 100)
    assert.deepStrictEqual(faultsOf(document), [])
  })

  it("finds an example that its schema refuses, one that is missing, and one of another code", () => {
    const faults = (change: Parameters<typeof changed>[0]) => faultsOf(paymentsDocument(changed(change)))
    assert.deepStrictEqual(
      faults((copy) => Object.assign(copy.requests["charges.create"]!, { amount: 19.9 })),
      ["charges.create is sent example: data/amount must be integer"]
    )
    assert.deepStrictEqual(
      faults((copy) => Object.assign(copy.events["charge"]!, { id: 1 })),
      ["events.charge is sent example: data/id must be string"]
    )
    assert.deepStrictEqual(
      faults((copy) => delete copy.answers["balance.retrieve"]),
      ["balance.retrieve 200: an example is missing"]
    )
    assert.deepStrictEqual(
      faults((copy) => delete copy.errors["balance.retrieve"]),
      ["balance.retrieve 403: an example is missing"]
    )
    assert.deepStrictEqual(
      faults((copy) => Object.assign(copy.commonErrors["NOT_FOUND"]!, { message: 1 })),
      ["UnknownAddress NOT_FOUND: data/message must be string"]
    )
    assert.deepStrictEqual(
      faults((copy) =>
        Object.assign(copy.errors["charges.create"]!["INVALID_DOCUMENT"]!, { code: "ACCOUNT_INACTIVE" })
      ),
      ["charges.create 400 INVALID_DOCUMENT: has another code"]
    )
  })

  it("ADD-3: says what the simulated bank does with values of a request", () => {
    const { description } = document["info"] as { readonly description: string }
    for (const value of ["refuse", "slow", "timeout", "pay", "fail", "hold"]) {
      assert.include(description, `| \`${value}@simulator.test\` |`)
    }
  })
})
