/**
 * The operations of `/v1`, read from its OpenAPI document.
 */
import { errorCodes } from "@pix-payments/domain/ErrorCode"
import { type Json, list, object } from "./JsonSchemaTypes.ts"

/** An operation of `/v1`, as the generator needs it. */
export interface Operation {
  readonly group: string
  readonly name: string
  readonly method: string
  /** With parameters in braces: `/v1/charges/{id}`. */
  readonly path: string
  readonly description: string
  /** Whether the path has an id. */
  readonly hasId: boolean
  /** Whether it accepts an `Idempotency-Key`. */
  readonly isKeyed: boolean
  /** Type name of the request body. */
  readonly body: string | undefined
  readonly query: ReadonlyArray<Json>
  /** Type name of the result, or of a list's items; `void` if there is no body. */
  readonly result: string
  readonly isList: boolean
}

/** The operations of the document, in its order. */
export const operationsOf = (document: Json): ReadonlyArray<Operation> => {
  const schemas = object(object(document["components"])["schemas"])
  return Object.entries(object(document["paths"])).flatMap(([path, verbs]) =>
    Object.entries(object(verbs)).map(([verb, declared]) => {
      const operation = object(declared)
      const [group = "", name = ""] = String(operation["operationId"]).split(".")
      const parameters = list(operation["parameters"]).map(object)
      const success = Object.entries(object(operation["responses"])).find(([status]) => status.startsWith("2"))
      const body = bodySchemaOf(object(success?.[1]))
      const items = body === undefined ? undefined : object(object(body["properties"])["data"])["items"]
      const result = items === undefined ? body : object(items)
      return {
        group,
        name,
        method: verb.toUpperCase(),
        path,
        description: descriptionOf(operation, schemas),
        hasId: parameters.some((parameter) => parameter["in"] === "path"),
        isKeyed: parameters.some((parameter) => parameter["name"] === "Idempotency-Key"),
        body: typeNameOf(bodySchemaOf(object(operation["requestBody"]))),
        query: parameters.filter((parameter) => parameter["in"] === "query"),
        result: typeNameOf(result) ?? "void",
        isList: items !== undefined
      }
    })
  )
}

/** Summary, description and error codes. */
const descriptionOf = (operation: Json, schemas: Json): string => {
  const codes = Object.values(object(operation["responses"])).flatMap((response) => {
    const schema = bodySchemaOf(object(response))
    const refs = schema === undefined ? [] : [schema, ...list(schema["oneOf"]).map(object)]
    return refs.flatMap((ref) => {
      const code = errorCodeOf(object(schemas[typeNameOf(ref) ?? ""]))
      return code === undefined ? [] : [`\`${code}\``]
    })
  })
  return [
    `${String(operation["summary"])}.`,
    ...(operation["description"] === undefined ? [] : [String(operation["description"])]),
    `Errors: ${codes.join(", ")}.`
  ].join("\n\n")
}

const bodySchemaOf = (part: Json): Json | undefined => {
  const schema = object(object(part["content"])["application/json"])["schema"]
  return schema === undefined ? undefined : object(schema)
}

const typeNameOf = (schema: Json | undefined): string | undefined =>
  typeof schema?.["$ref"] === "string" ? schema["$ref"].slice("#/components/schemas/".length) : undefined

/** The error code of an error schema; `undefined` for any other schema. */
export const errorCodeOf = (schema: Json): string | undefined => {
  const code = list(object(object(schema["properties"])["code"])["enum"])[0]
  return typeof code === "string" && Object.hasOwn(errorCodes, code) ? code : undefined
}

/** Type name of an operation's query. */
export const queryName = ({ group, name }: Operation): string => `${pascal(name)}${pascal(group)}Query`

export const pascal = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
