/**
 * What callers of `/v1` may rely on. `fixtures/v1.txt` has it as of the first release, which is not tagged yet; each release adds its
 * lines (`WRITE_V1=1`), and none is ever removed.
 */
import { type ErrorCode, errorCodes } from "@pix-payments/domain/ErrorCode"
import { assert, describe, it } from "@effect/vitest"
import * as fs from "node:fs"
import { paymentsDocument } from "../src/PaymentsDocument.ts"

interface Schema {
  readonly $ref?: string
  readonly type?: string
  readonly format?: string
  readonly enum?: ReadonlyArray<string>
  readonly anyOf?: ReadonlyArray<Schema>
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: ReadonlyArray<string>
  readonly minimum?: number
  readonly minLength?: number
  readonly minItems?: number
  readonly maximum?: number
  readonly maxLength?: number
  readonly maxItems?: number
}

interface Body {
  readonly content?: { readonly "application/json"?: { readonly schema: Schema } }
}

interface Operation {
  readonly parameters: ReadonlyArray<{ readonly name: string; readonly required?: boolean; readonly schema: Schema }>
  readonly requestBody?: Body
  readonly responses: Readonly<Record<string, Body>>
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

/** `string`, `integer or null`, `Customer or null`: a type as a caller sees it. */
const typeOf = (schema: Schema): string => {
  if (schema.$ref !== undefined) return nameOf(schema)
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(typeOf))].join(" or ")
  if (schema.items !== undefined) return `list of ${typeOf(schema.items)}`
  return schema.format === undefined ? String(schema.type) : `${schema.type} (${schema.format})`
}

const nameOf = ({ $ref = "" }: Schema): string => $ref.replace(/.*\//, "")

const fieldsOf = (name: string, { properties = {} }: Schema): ReadonlyArray<string> =>
  Object.entries(properties).flatMap(([field, schema]) => [
    `${name}.${field}: ${typeOf(schema)}`,
    ...fieldsOf(`${name}.${field}`, schema)
  ])

/** What callers may send: that a field may be left out, the values that it takes, and its bounds. */
const freedomsOf = (name: string, { properties = {}, required = [] }: Schema): ReadonlyArray<string> =>
  Object.entries(properties).flatMap(([field, schema]) => {
    const path = `${name}.${field}`
    return [
      ...(required.includes(field) ? [] : [`${path} may be left out`]),
      ...valuesOf(path, schema),
      ...freedomsOf(path, schema)
    ]
  })

const valuesOf = (path: string, schema: Schema): ReadonlyArray<string> => {
  const least = schema.minimum ?? schema.minLength ?? schema.minItems
  const most = schema.maximum ?? schema.maxLength ?? schema.maxItems
  return [
    ...(schema.enum ?? []).map((value) => `${path} takes ${value}`),
    ...(schema.anyOf ?? []).flatMap((option) => valuesOf(path, option)),
    ...(schema.items === undefined ? [] : valuesOf(`${path}[]`, schema.items)),
    ...(least === undefined ? [] : [`${path} takes ${least} and more`]),
    ...(most === undefined ? [] : [`${path} takes ${most} and less`])
  ]
}

const schemaOf = (body: Body | undefined): Schema => body?.content?.["application/json"]?.schema ?? {}

/** Lines that stay true in every later release. */
const promisesOf = (document: Document): ReadonlyArray<string> => {
  const { paths, components } = document
  const operations = Object.entries(paths).flatMap(([path, verbs]) =>
    Object.entries(verbs).map(([verb, operation]) => ({ name: `${verb.toUpperCase()} ${path}`, operation }))
  )
  const sent = new Set(operations.map(({ operation }) => nameOf(schemaOf(operation.requestBody))))
  return [
    ...Object.entries(components.schemas).flatMap(([name, schema]) => fieldsOf(name, schema)),
    ...Object.values(components.schemas).flatMap(({ properties = {} }) =>
      (properties["code"]?.enum ?? []).map((code) => `${code}: ${errorCodes[code as ErrorCode].status}`)
    ),
    ...Object.entries(components.schemas).flatMap(([name, { properties = {}, required = [] }]) =>
      sent.has(name) || "code" in properties ? [] : required.map((field) => `${name}.${field} is always there`)
    ),
    ...Object.entries(components.schemas).flatMap(([name, schema]) => (sent.has(name) ? freedomsOf(name, schema) : [])),
    ...operations.flatMap(({ name, operation: { parameters, responses } }) => [
      ...parameters.flatMap(({ name: parameter, required, schema }) => [
        `${name} takes ${parameter}: ${typeOf(schema)}`,
        ...(required === true ? [] : [`${name} needs no ${parameter}`, ...valuesOf(`${name} ${parameter}`, schema)])
      ]),
      ...Object.keys(responses)
        .filter((status) => Number(status) < 400)
        .map((status) => `${name} answers ${status} ${nameOf(schemaOf(responses[status]))}`.trim())
    ])
  ]
}

/** The promises of a release that the next one breaks. A bound may only get wider. */
const brokenBy = (next: Document, released: ReadonlyArray<string>): ReadonlyArray<string> => {
  const promises = promisesOf(next)
  const kept = new Set(promises)
  const bounds = new Map(promises.flatMap(boundOf))
  const needed = new Set(
    Object.values(next.paths).flatMap((verbs) =>
      Object.values(verbs).flatMap(({ requestBody }) => {
        const name = nameOf(schemaOf(requestBody))
        return (next.components.schemas[name]?.required ?? []).map((field) => `${name}.${field}`)
      })
    )
  )
  return [
    ...released.filter((line) => {
      const [bound] = boundOf(line)
      if (bound === undefined) return !kept.has(line)
      const [what, number] = bound
      const today = bounds.get(what)
      // Without a bound everything is taken.
      return today !== undefined && (what.endsWith("less") ? today < number : today > number)
    }),
    // A field that is new and that callers must send.
    ...[...needed]
      .filter((field) => !released.some((line) => line.startsWith(`${field}: `)))
      .map((field) => `${field} is needed`)
  ]
}

/** `Charge.amount takes 100 and more` */
const boundOf = (line: string): ReadonlyArray<readonly [string, number]> => {
  const [, what, number, which] = /^(.*) takes (\d+) and (more|less)$/.exec(line) ?? []
  return what === undefined ? [] : [[`${what} ${which}`, Number(number)]]
}

const today = paymentsDocument() as unknown as Document
const file = new URL("fixtures/v1.txt", import.meta.url)
const first = fs.readFileSync(file, "utf8").trim().split("\n")

/** The document of a made-up next release: today's with these values at these places. `undefined` takes away what is there. */
const nextWith = (...changes: ReadonlyArray<readonly [place: string, value: unknown]>): Document => {
  const next = structuredClone(today)
  for (const [place, value] of changes) {
    const steps = place.replace(/^(\w+\.)/, "components.schemas.$1").split(place.startsWith("/") ? " " : ".")
    const last = steps.pop() ?? ""
    const holder = steps.reduce<object>(
      (node, step) => Reflect.get(node, step),
      place.startsWith("/") ? next.paths : next
    )
    if (value === undefined) Reflect.deleteProperty(holder, last)
    else Reflect.set(holder, last, value)
  }
  return next
}

describe("/v1", () => {
  it("API-8: has every promise of the first release: routes, parameters, fields, types, bounds and error codes", () => {
    if (process.env["WRITE_V1"] === "1") {
      fs.writeFileSync(file, `${[...new Set([...first, ...promisesOf(today)])].toSorted().join("\n")}\n`)
    }
    assert.isAbove(first.length, 400)
    assert.deepStrictEqual(brokenBy(today, first), [])
  })

  it("API-8: a next release may add routes, fields and values, and widen bounds", () => {
    const next = nextWith(
      ["/v1/refunds", { get: { parameters: [], responses: {} } }],
      ["Charge.properties.tip", { type: "integer" }],
      ["CreateCharge.properties.tip", { type: "integer" }],
      ["CreateCharge.properties.amount.minimum", 1],
      ["CreateCharge.properties.customer.properties.name.maxLength", undefined],
      ["CreatePayout.properties.pix_key_type.enum.5", "account"]
    )
    assert.deepStrictEqual(brokenBy(next, first), [])
  })

  it.each([
    ["POST /v1/webhooks answers 201 WebhookEndpoint", "/v1/webhooks post", undefined],
    ["GET /v1/charges takes limit: integer", "/v1/charges get parameters", []],
    ["Charge.paid_at: Instant or null", "Charge.properties.paid_at", undefined],
    ["Balance.total: integer", "Balance.properties.total.type", "string"],
    ["Charge.status is always there", "Charge.required", []],
    ["CreatePayout.pix_key_type takes phone", "CreatePayout.properties.pix_key_type.enum", ["cpf"]],
    ["CreateCharge.reference may be left out", "CreateCharge.required", ["reference"]],
    ["CreateCharge.tip is needed", "CreateCharge.required", ["tip"]],
    ["CreateCharge.amount takes 100 and more", "CreateCharge.properties.amount.minimum", 200],
    ["CreateCharge.customer.name takes 200 and less", "CreateCharge.properties.customer.properties.name.maxLength", 100]
  ])("API-8: a next release that breaks “%s” is found", (line, place, value) => {
    assert.include(brokenBy(nextWith([place, value]), first), line)
  })
})
