/** The two OpenAPI documents, as the declarations generate them, and ways to find something in one. */
import { assert } from "@effect/vitest"
import { openApiDocument } from "../../src/OpenApiDocument.ts"
import { OperatorApi } from "../../src/OperatorApi.ts"
import { paymentsDocument } from "../../src/PaymentsDocument.ts"

export type Json = { readonly [key: string]: unknown }

export const payments = paymentsDocument()
export const operator = openApiDocument(OperatorApi)

/** The value at a path from the root, or `undefined`. */
export const at = (root: unknown, ...path: ReadonlyArray<string | number>): unknown =>
  path.reduce<unknown>((node, key) => (isContainer(node) ? Reflect.get(node, key) : undefined), root)

export const entries = (node: unknown): ReadonlyArray<readonly [string, unknown]> =>
  isContainer(node) ? Object.entries(node) : []

const isContainer = (node: unknown): node is object => typeof node === "object" && node !== null

/** Every object in a document, with the path to it. */
export const nodes = (node: unknown, path = "#"): ReadonlyArray<readonly [string, Json]> =>
  isContainer(node)
    ? [[path, { ...node }] as const, ...Object.entries(node).flatMap(([key, value]) => nodes(value, `${path}/${key}`))]
    : []

export const operations = (document: unknown): ReadonlyArray<Json & { readonly verb: string; readonly path: string }> =>
  entries(at(document, "paths")).flatMap(([path, verbs]) =>
    entries(verbs).map(([verb, operation]) => Object.assign({ verb, path }, operation))
  )

export const operation = (document: unknown, id: string): Json => {
  const found = operations(document).find(({ operationId }) => operationId === id)
  assert.isDefined(found, id)
  return found ?? {}
}

export const nameOf = (ref: unknown): string => String(ref).replace("#/components/schemas/", "")

export const bodyOf = (response: unknown): unknown => at(response, "content", "application/json", "schema")

/** The error bodies of an answer, by name. */
export const errorsOf = (response: unknown): ReadonlyArray<string> => {
  const schema = bodyOf(response)
  const oneOf = at(schema, "oneOf")
  return (Array.isArray(oneOf) ? oneOf : [schema]).map((one: unknown) => nameOf(at(one, "$ref")))
}

export const codeOf = (document: unknown, name: string): unknown =>
  at(document, "components", "schemas", name, "properties", "code", "enum", 0)

/** `400 VALIDATION_ERROR` and so on: everything that an operation may fail with. */
export const failures = (document: unknown, one: Json): ReadonlyArray<string> =>
  entries(one["responses"])
    .filter(([status]) => Number(status) >= 400)
    .flatMap(([status, response]) => errorsOf(response).map((name) => `${status} ${String(codeOf(document, name))}`))
