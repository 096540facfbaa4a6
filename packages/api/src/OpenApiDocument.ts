/**
 * Makes the generated OpenAPI document say what the service does.
 *
 * The generator closes every object, documents query numbers as strings with a pattern, names error bodies after
 * their encoding, and knows nothing of scopes, of the headers that every answer carries, or of the events that the
 * service sends. `honestOpenApi` mends what can be seen in the document alone; `openApiDocument` adds what only
 * the declaration knows.
 *
 * Guarantees: the document names a status and a code only where the operation can answer them; equal declarations
 * give equal bytes.
 *
 * Source: payments-api-v1.md "Versioning" (clients ignore unknown fields), "Authentication", "Delivery";
 * decisions.md "Answers"; OpenAPI 3.1.0 (webhooks, roles in security requirements).
 */
import { errorCodes } from "@pix-payments/domain/ErrorCode"
import { ChargeEvent, DisputeEvent, PaymentEvent } from "@pix-payments/domain/Event"
import type { Scope } from "@pix-payments/domain/Scope"
import * as Context from "effect/Context"
import * as HttpApi from "effect/http-api/HttpApi"
import type * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import type * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import { Authentication, RequiredScopes } from "./Security.ts"
import { MethodNotAllowed, NotFound } from "./WireErrors.ts"

type Json = { [key: string]: unknown }

/** The bodies that the service sends, by resource. */
export const webhookBodies = { charge: ChargeEvent, payment: PaymentEvent, dispute: DisputeEvent }

/** The whole document of an API, and of the events it sends. */
export const openApiDocument = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>,
  bodies: { readonly [resource: string]: Schema.Constraint } = {}
): Json => {
  const additional = [NotFound, MethodNotAllowed, ...Object.values(bodies)]
  // The transform may stand on the API already; made twice, it changes nothing more.
  const document = honestOpenApi({ ...OpenApi.fromApi(api.annotate(HttpApi.AdditionalSchemas, additional)) })
  const components = objectAt(document, "components")
  const schemas = objectAt(components, "schemas")
  const operations = operationsOf(document)

  HttpApi.reflect(api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint, group }) => {
      const operation = operations.get(`${group.identifier}.${endpoint.identifier}`)
      if (operation === undefined) return
      typeQuery(operation, endpoint)
      const usesKey = endpoint.middlewares.has(Authentication)
      const scopes = usesKey ? Context.get(endpoint.annotations, RequiredScopes) : []
      tellErrors(operation, schemas, mayAnswer(operation, endpoint, scopes))
      if (usesKey) tellScopes(operation, scopes)
    }
  })

  components["responses"] = anyAddress
  const info = objectAt(document, "info")
  info["description"] = [info["description"], aboutErrors].join("\n\n")
  const webhooks = Object.entries(bodies).map(([resource, body]) => [resource, webhook(resource, body)] as const)
  if (webhooks.length > 0) document["webhooks"] = Object.fromEntries(webhooks)
  components["schemas"] = reachable(document, schemas)
  return document
}

/** Mends what can be seen in a generated document alone. */
export const honestOpenApi = (document: Json): Json => {
  const honest = visit(document, encodedNames(document))
  const components = objectAt(honest, "components")
  components["schemas"] = renamed(objectAt(components, "schemas"), encodedNames(document))
  components["headers"] = headers
  for (const operation of operationsOf(honest).values()) describe(operation)
  return honest
}

// Shapes

const visit = (node: Json, names: ReadonlyMap<string, string>): Json => {
  const result: Json = {}
  for (const [key, value] of Object.entries(node)) {
    // Objects are open: fields may be added inside v1, and unknown ones in a request are ignored.
    if (key === "additionalProperties" && value === false) continue
    // The bounds of what JavaScript counts exactly are no rule of ours.
    if ((key === "minimum" || key === "maximum") && Math.abs(Number(value)) === Number.MAX_SAFE_INTEGER) continue
    if (key === "$ref" && typeof value === "string") result[key] = names.get(value) ?? value
    else if (Array.isArray(value)) result[key] = value.map((item) => (isObject(item) ? visit(item, names) : item))
    else result[key] = isObject(value) ? visit(value, names) : value
  }
  return flattened(result)
}

/** `{ type, allOf: [{ minLength }, { maxLength }] }` says the same as one object, which more tools understand. */
const flattened = ({ allOf, ...schema }: Json): Json => {
  if (!Array.isArray(allOf)) return allOf === undefined ? schema : { ...schema, allOf }
  const left: Array<unknown> = []
  for (const part of allOf) {
    const fits = isObject(part) && !("$ref" in schema) && Object.keys(part).every((key) => !(key in schema))
    if (fits) Object.assign(schema, part)
    else left.push(part)
  }
  // What a UUID looks like is said by its format.
  const { pattern, ...plain } = schema
  const merged = pattern === undefined || schema["format"] === "uuid" ? plain : schema
  return left.length > 0 ? { ...merged, allOf: left } : merged
}

const refTo = (name: string): string => `#/components/schemas/${name}`

/** `ValidationErrorEncoded` is called `ValidationError`, unless something else has that name. */
const encodedNames = (document: Json): ReadonlyMap<string, string> => {
  const schemas = objectAt(objectAt(document, "components"), "schemas")
  return new Map(
    Object.keys(schemas).flatMap((name) => {
      const plain = name.replace(/Encoded$/, "")
      const taken = plain in schemas && objectAt(schemas, plain)["$ref"] !== refTo(name)
      return plain === name || taken ? [] : [[refTo(name), refTo(plain)] as const]
    })
  )
}

const renamed = (schemas: Json, names: ReadonlyMap<string, string>): Json => {
  const called = (name: string) => (names.get(refTo(name)) ?? refTo(name)).slice(refTo("").length)
  // A name that only refers to its own encoding gives way to it.
  const own = Object.entries(schemas).filter(([name, schema]) => !isObject(schema) || schema["$ref"] !== refTo(name))
  return Object.fromEntries(own.map(([name, schema]) => [called(name), schema]))
}

/** The schemas that are spoken of, by name. */
const reachable = (document: Json, schemas: Json): Json => {
  const found = new Set<string>()
  const look = (node: unknown): void => {
    if (Array.isArray(node)) return node.forEach(look)
    if (!isObject(node)) return
    const ref = String(node["$ref"])
    const name = ref.startsWith(refTo("")) ? ref.slice(refTo("").length) : undefined
    if (name !== undefined && !found.has(name)) {
      found.add(name)
      look(schemas[name])
    }
    Object.values(node).forEach(look)
  }
  look({ ...document, components: { ...objectAt(document, "components"), schemas: {} } })
  return Object.fromEntries([...found].toSorted().map((name) => [name, schemas[name]]))
}

// Operations

const operationsOf = (document: Json): ReadonlyMap<string, Json> =>
  new Map(
    Object.values(objectAt(document, "paths"))
      .filter(isObject)
      .flatMap((path) => Object.values(path).filter(isObject))
      .map((operation) => [String(operation["operationId"]), operation] as const)
  )

const parametersOf = (operation: Json): ReadonlyArray<Json> =>
  Array.isArray(operation["parameters"]) ? operation["parameters"].filter(isObject) : []

const describe = (operation: Json): void => {
  for (const parameter of parametersOf(operation)) {
    if (parameter["name"] === "idempotency-key") parameter["name"] = "Idempotency-Key"
    const { description, ...schema } = objectAt(parameter, "schema")
    if (description !== undefined) Object.assign(parameter, { description, schema })
  }
  const repeatable = parametersOf(operation).some((parameter) => parameter["name"] === "Idempotency-Key")
  for (const [status, response] of Object.entries(objectAt(operation, "responses"))) {
    if (!isObject(response)) continue
    if (status === "204") response["description"] = "Removed."
    if (response["description"] === "Success") response["description"] = "A page of the list."
    response["headers"] = headersNamed([
      "X-Request-Id",
      ...(repeatable && status === "201" ? ["Idempotent-Replayed"] : []),
      ...(status === "429" || status === "503" ? ["Retry-After"] : [])
    ])
  }
}

/** Query numbers are documented as what they mean, not as the text that carries them. */
const typeQuery = (operation: Json, endpoint: HttpApiEndpoint.Top): void => {
  if (endpoint.query === undefined) return
  const { schema } = Schema.toJsonSchemaDocument(Schema.toType(endpoint.query))
  const properties = objectAt(schema, "properties")
  for (const parameter of parametersOf(operation)) {
    const declared = visit(objectAt(properties, String(parameter["name"])), new Map())
    if (parameter["in"] !== "query" || declared["type"] !== "integer") continue
    const { description, ...bounded } = declared
    Object.assign(parameter, description === undefined ? {} : { description }, { schema: bounded })
  }
}

const tellScopes = (operation: Json, scopes: ReadonlyArray<Scope>): void => {
  const told =
    scopes.length > 0 ? `Scope: ${scopes.map((scope) => `\`${scope}\``).join(", ")}.` : "Any accepted key may call."
  operation["description"] = [operation["description"], told].filter((part) => part !== undefined).join("\n\n")
  operation["security"] = [{ "x-api-key": [...scopes] }]
  operation["x-required-scopes"] = [...scopes]
}

// Errors

/**
 * Which error bodies an operation can answer. Middleware declares its errors for every operation of its group:
 * those that need a body, an input or a scope are told only where there is one.
 */
const mayAnswer = (operation: Json, endpoint: HttpApiEndpoint.Top, scopes: ReadonlyArray<Scope>) => {
  const declared = new Set([...endpoint.error].map((schema) => SchemaAST.resolveIdentifier(schema.ast)))
  const hasBody = "requestBody" in operation
  const hasInput = hasBody || parametersOf(operation).some((parameter) => parameter["in"] !== "path")
  return (name: string): boolean => {
    if (declared.has(name)) return true
    switch (name) {
      case "ValidationError":
        return hasInput
      case "PayloadTooLarge":
        return hasBody
      case "InsufficientScope":
        return scopes.length > 0
      case "NotFound":
      case "InvalidState":
        return false
      default:
        return true
    }
  }
}

const tellErrors = (operation: Json, schemas: Json, may: (name: string) => boolean): void => {
  const responses = objectAt(operation, "responses")
  for (const [status, response] of Object.entries(responses)) {
    if (Number(status) < 400 || !isObject(response)) continue
    const media = objectAt(objectAt(response, "content"), "application/json")
    const { anyOf, ...only } = objectAt(media, "schema")
    const told = (Array.isArray(anyOf) ? anyOf : [only]).flatMap((schema) => {
      const ref = isObject(schema) ? String(schema["$ref"]) : ""
      const name = ref.slice(refTo("").length)
      return may(name) ? [{ ref, code: codeOf(objectAt(schemas, name)) }] : []
    })
    if (told.length === 0) {
      delete responses[status]
      continue
    }
    response["description"] = told.map(({ code }) => `\`${code}\`: ${messageOf(code)}`).join("\n\n")
    media["schema"] =
      told.length === 1
        ? { $ref: told[0]?.ref }
        : {
            oneOf: told.map(({ ref }) => ({ $ref: ref })),
            discriminator: {
              propertyName: "code",
              mapping: Object.fromEntries(told.map(({ code, ref }) => [code, ref]))
            }
          }
  }
}

const codeOf = (schema: Json): string => {
  const codes = objectAt(objectAt(schema, "properties"), "code")["enum"]
  return Array.isArray(codes) ? String(codes[0]) : ""
}

const messageOf = (code: string): string =>
  Object.entries(errorCodes).find(([known]) => known === code)?.[1].message ?? "An error."

const headers = {
  "X-Request-Id": { description: "Names this request in the logs.", schema: { type: "string" } },
  "Idempotent-Replayed": {
    description: "`true` when the key was known: the resource is returned as it is now.",
    schema: { type: "string", enum: ["true"] }
  },
  "Retry-After": { description: "Seconds to wait.", schema: { type: "integer", minimum: 0 } },
  Allow: { description: "The verbs that the address takes.", schema: { type: "string" } }
}

const headersNamed = (names: ReadonlyArray<string>): Json =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

/** What is answered outside every operation. */
const anyAddress = {
  UnknownAddress: {
    description: `\`NOT_FOUND\`: ${errorCodes.NOT_FOUND.message}`,
    headers: headersNamed(["X-Request-Id"]),
    content: { "application/json": { schema: { $ref: refTo("NotFound") } } }
  },
  WrongVerb: {
    description: `\`METHOD_NOT_ALLOWED\`: ${errorCodes.METHOD_NOT_ALLOWED.message}`,
    headers: headersNamed(["X-Request-Id", "Allow"]),
    content: { "application/json": { schema: { $ref: refTo("MethodNotAllowed") } } }
  }
}

const aboutErrors =
  "Every error body carries `code`, which is stable and what clients branch on, `message`, and `details` where there is something to list. Any other address answers 404 `NOT_FOUND`, a known one with another verb 405 `METHOD_NOT_ALLOWED`, in the same form."

// Events

const webhook = (resource: string, body: Schema.Constraint): Json => {
  const header = (name: string, description: string, required = true) => ({
    name,
    in: "header",
    required,
    description,
    schema: { type: "string" }
  })
  return {
    post: {
      operationId: `events.${resource}`,
      summary: `An event of a ${resource}`,
      description:
        "Sent to the `webhook_url` of the resource (not for disputes) and to each registered endpoint that subscribes to the event. Deliveries may be repeated and are not ordered: drop a delivery id already seen, and an event whose `sequence` is lower than one already seen of the same resource.",
      parameters: [
        header("X-Webhook-Event", "Full event name, as `event`."),
        header("X-Webhook-Resource", "First part of the name."),
        header("X-Webhook-Method", "Second part of the name."),
        header("X-Webhook-Delivery", "Delivery id, as `id`; the same in every repeat."),
        header(
          "X-Webhook-Signature",
          "`sha256=` and the lower-case hexadecimal HMAC SHA-256 of the exact raw body, keyed with the secret. Only where there is a secret.",
          false
        )
      ],
      requestBody: {
        required: true,
        content: { "application/json": { schema: { $ref: refTo(String(SchemaAST.resolveIdentifier(body.ast))) } } }
      },
      responses: {
        "2XX": { description: "Received. Anything else, or no answer within 10 seconds, is a failure and is repeated." }
      },
      security: []
    }
  }
}

const isObject = (value: unknown): value is Json => typeof value === "object" && value !== null && !Array.isArray(value)

const objectAt = (node: Json, key: string): Json => {
  const value = node[key]
  return isObject(value) ? value : {}
}
