/** What callers of `/v1` may rely on: the fields and codes of the first release, in `fixtures/v1.txt`. */
import { errorCodes } from "@pix-payments/domain/ErrorCode"
import { assert, describe, it } from "@effect/vitest"
import * as fs from "node:fs"
import { openApiDocument, webhookBodies } from "../src/OpenApiDocument.ts"
import { PaymentsApi } from "../src/PaymentsApi.ts"

interface Schema {
  readonly $ref?: string
  readonly type?: string
  readonly format?: string
  readonly anyOf?: ReadonlyArray<Schema>
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
}

/** `string`, `integer or null`, `Customer or null`: a type as a caller sees it. */
const typeOf = (schema: Schema): string => {
  if (schema.$ref !== undefined) return schema.$ref.replace(/.*\//, "")
  if (schema.anyOf !== undefined) return [...new Set(schema.anyOf.map(typeOf))].join(" or ")
  if (schema.items !== undefined) return `list of ${typeOf(schema.items)}`
  return schema.format === undefined ? String(schema.type) : `${schema.type} (${schema.format})`
}

const fieldsOf = (name: string, { properties = {} }: Schema): ReadonlyArray<string> =>
  Object.entries(properties).flatMap(([field, schema]) => [
    `${name}.${field}: ${typeOf(schema)}`,
    ...fieldsOf(`${name}.${field}`, schema)
  ])

describe("/v1", () => {
  it("API-8: has every field of the first release with its type, and every error code with its status", () => {
    const document = openApiDocument(PaymentsApi, webhookBodies)
    const { schemas } = document["components"] as { readonly schemas: Readonly<Record<string, Schema>> }
    const today = new Set([
      ...Object.entries(schemas).flatMap(([name, schema]) => fieldsOf(name, schema)),
      ...Object.entries(errorCodes).map(([code, { status }]) => `${code}: ${status}`)
    ])
    const first = fs
      .readFileSync(new URL("fixtures/v1.txt", import.meta.url), "utf8")
      .trim()
      .split("\n")
    assert.isAbove(first.length, 100)
    assert.deepStrictEqual(
      first.filter((line) => !today.has(line)),
      []
    )
  })
})
