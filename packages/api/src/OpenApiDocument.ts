/**
 * Generates the OpenAPI 3.1 documents from the declarations.
 *
 * Guarantees
 * - An operation lists a status and a code only if it can answer them.
 * - Equal declarations give equal bytes.
 *
 * Why the generated document is changed: Effect's generator closes every object, documents query numbers as strings
 * with a pattern, names error bodies after their encoding, and omits scopes, response headers and webhooks.
 * `normalizeOpenApi` corrects what the document alone shows; `openApiDocument` adds what only the declaration has.
 */
import { errorCodes } from "@pix-payments/domain/ErrorCode"
import { ChargeEvent, DisputeEvent, PaymentEvent } from "@pix-payments/domain/Event"
import { includesRole, OperatorRole } from "@pix-payments/domain/Operator"
import type { Scope } from "@pix-payments/domain/Scope"
import * as Context from "effect/Context"
import * as HttpApi from "effect/http-api/HttpApi"
import type * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import type * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import { Access, defaultAccess } from "./operator/Access.ts"
import { Authentication, OperatorAuthentication, RequiredScopes } from "./Security.ts"
import { MethodNotAllowed, NotFound } from "./WireErrors.ts"

type Json = { [key: string]: unknown }

/** The webhook bodies, by resource. */
export const webhookBodies = { charge: ChargeEvent, payment: PaymentEvent, dispute: DisputeEvent }

/** The document of an API, with the webhooks that it sends. */
export const openApiDocument = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>,
  bodies: { readonly [resource: string]: Schema.Constraint } = {}
): Json => {
  const additional = [NotFound, MethodNotAllowed, ...Object.values(bodies)]
  // The API may have the transform as an annotation; applying it twice is harmless.
  const document = normalizeOpenApi({ ...OpenApi.fromApi(api.annotate(HttpApi.AdditionalSchemas, additional)) })
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
      listErrors(operation, schemas, mayAnswer(operation, endpoint, scopes))
      if (usesKey) listScopes(operation, scopes)
      if (endpoint.middlewares.has(OperatorAuthentication)) listRoles(operation, endpoint)
    }
  })

  components["responses"] = structuredClone(unroutedResponses)
  const info = objectAt(document, "info")
  info["description"] = [info["description"], aboutErrors].join("\n\n")
  info["license"] = { name: "MIT", identifier: "MIT" }
  info["contact"] = { name: "Issues", url: "https://github.com/pix-payments/pix-payments/issues" }
  document["servers"] = [{ url: "/", description: "The installation that serves this document." }]
  const webhooks = Object.entries(bodies).map(([resource, body]) => [resource, webhook(resource, body)] as const)
  if (webhooks.length > 0) document["webhooks"] = Object.fromEntries(webhooks)
  components["schemas"] = reachable(document, schemas)
  return document
}

/** Corrects a generated document. Idempotent. */
export const normalizeOpenApi = (document: Json): Json => {
  const normalized = visit(document, encodedNames(document))
  const components = objectAt(normalized, "components")
  components["schemas"] = renamed(objectAt(components, "schemas"), encodedNames(document))
  components["headers"] = headers
  if (Array.isArray(normalized["tags"])) normalized["tags"] = normalized["tags"].map(titled)
  for (const operation of operationsOf(normalized).values()) describe(operation)
  return normalized
}

// Shapes

const visit = (node: Json, names: ReadonlyMap<string, string>): Json => {
  const result: Json = {}
  for (const [key, value] of Object.entries(node)) {
    // Objects are open: API-5, API-8.
    if (key === "additionalProperties" && value === false) continue
    // Effect's own description of a stream, and how its client would be informed of a failure, which this server never does.
    if (key === "x-effect-stream") continue
    // JavaScript's safe integers are no bounds of the contract.
    if ((key === "minimum" || key === "maximum") && Math.abs(Number(value)) === Number.MAX_SAFE_INTEGER) continue
    if (key === "$ref" && typeof value === "string") result[key] = names.get(value) ?? value
    else if (Array.isArray(value)) result[key] = value.map((item) => (isObject(item) ? visit(item, names) : item))
    else result[key] = isObject(value) ? visit(value, names) : value
  }
  return flattened(result)
}

/** Merges `{ type, allOf: [{ minLength }, { maxLength }] }` into one object, which more tools understand. */
const flattened = ({ allOf, ...schema }: Json): Json => {
  if (!Array.isArray(allOf)) return allOf === undefined ? schema : { ...schema, allOf }
  const left: Array<unknown> = []
  for (const part of allOf) {
    const fits = isObject(part) && !("$ref" in schema) && Object.keys(part).every((key) => !(key in schema))
    if (fits) Object.assign(schema, part)
    else left.push(part)
  }
  // The format of a UUID makes its pattern redundant.
  const { pattern, ...plain } = schema
  const merged = pattern === undefined || schema["format"] === "uuid" ? plain : schema
  return left.length > 0 ? { ...merged, allOf: left } : merged
}

const refTo = (name: string): string => `#/components/schemas/${name}`

/** `ValidationErrorEncoded` becomes `ValidationError`, unless that name is taken. */
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
  // A schema that only refers to its encoding is replaced by it.
  const own = Object.entries(schemas).filter(([name, schema]) => !isObject(schema) || schema["$ref"] !== refTo(name))
  return Object.fromEntries(own.map(([name, schema]) => [called(name), schema]))
}

/** The schemas that the document refers to, by name. */
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

/** A group without a title has its name in words: `chargeActions` becomes `Charge actions`. */
const titled = (tag: Json): Json => ({ ...tag, name: titleOf(String(tag["name"])) })

const titleOf = (name: string): string =>
  /^[a-z]+(?:[A-Z][a-z]*)*$/.test(name)
    ? name
        .replace(/^[a-z]/, (first) => first.toUpperCase())
        .replace(/[A-Z]/g, (capital, at) => (at === 0 ? capital : ` ${capital.toLowerCase()}`))
    : name

const describe = (operation: Json): void => {
  if (Array.isArray(operation["tags"])) operation["tags"] = operation["tags"].map(String).map(titleOf)
  for (const parameter of parametersOf(operation)) {
    if (parameter["name"] === "idempotency-key") parameter["name"] = "Idempotency-Key"
    if (parameter["name"] === "last-event-id") parameter["name"] = "Last-Event-ID"
    const { description, ...schema } = objectAt(parameter, "schema")
    if (description !== undefined) Object.assign(parameter, { description, schema })
  }
  const repeatable = parametersOf(operation).some((parameter) => parameter["name"] === "Idempotency-Key")
  for (const [status, response] of Object.entries(objectAt(operation, "responses"))) {
    if (!isObject(response)) continue
    if (status === "204") response["description"] = "Deleted."
    if (response["description"] === "Success") {
      response["description"] =
        "text/event-stream" in objectAt(response, "content") ? "The events." : "A page of the list."
    }
    response["headers"] = headersNamed([
      "X-Request-Id",
      ...(repeatable && status === "201" ? ["Idempotent-Replayed"] : []),
      ...(status === "429" || status === "503" ? ["Retry-After"] : [])
    ])
  }
}

/** Documents query numbers as numbers, not as strings with a pattern. */
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

const listScopes = (operation: Json, scopes: ReadonlyArray<Scope>): void => {
  const sentence =
    scopes.length > 0 ? `Scope: ${scopes.map((scope) => `\`${scope}\``).join(", ")}.` : "Any accepted key may call."
  operation["description"] = [operation["description"], sentence].filter((part) => part !== undefined).join("\n\n")
  operation["security"] = [{ "x-api-key": [...scopes] }]
  operation["x-required-scopes"] = [...scopes]
}

const listRoles = (operation: Json, endpoint: HttpApiEndpoint.Top): void => {
  const { accounts, roles } = Context.get(endpoint.annotations, Access) ?? defaultAccess
  const allowed = OperatorRole.literals.filter((role) => includesRole(role, roles))
  const sentences = [
    `Roles: ${allowed.map((role) => `\`${role}\``).join(", ")}.`,
    ...(accounts === "installation" ? ["Not for operators who are limited to accounts."] : [])
  ]
  operation["description"] = [operation["description"], sentences.join(" ")]
    .filter((part) => part !== undefined)
    .join("\n\n")
  operation["x-roles"] = allowed
}

// Errors

/**
 * Which error bodies an operation can answer. Middleware declares its errors for every operation of a group; those about
 * a body, an input or a scope are listed only if the operation has one. Operator routes refuse unknown query parameters.
 */
const mayAnswer = (operation: Json, endpoint: HttpApiEndpoint.Top, scopes: ReadonlyArray<Scope>) => {
  const declared = new Set([...endpoint.error].map((schema) => SchemaAST.resolveIdentifier(schema.ast)))
  const hasBody = "requestBody" in operation
  const hasInput = hasBody || parametersOf(operation).some((parameter) => parameter["in"] !== "path")
  return (name: string): boolean => {
    if (declared.has(name)) return true
    switch (name) {
      case "ValidationError":
        return hasInput || endpoint.path.startsWith("/operator/")
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

const listErrors = (operation: Json, schemas: Json, may: (name: string) => boolean): void => {
  const responses = objectAt(operation, "responses")
  for (const [status, response] of Object.entries(responses)) {
    if (Number(status) < 400 || !isObject(response)) continue
    const media = objectAt(objectAt(response, "content"), "application/json")
    const { anyOf, ...only } = objectAt(media, "schema")
    const possible = (Array.isArray(anyOf) ? anyOf : [only]).flatMap((schema) => {
      const ref = isObject(schema) ? String(schema["$ref"]) : ""
      const name = ref.slice(refTo("").length)
      return may(name) ? [{ ref, code: codeOf(objectAt(schemas, name)) }] : []
    })
    if (possible.length === 0) {
      delete responses[status]
      continue
    }
    response["description"] = possible.map(({ code }) => `\`${code}\`: ${messageOf(code)}`).join("\n\n")
    media["schema"] =
      possible.length === 1
        ? { $ref: possible[0]?.ref }
        : {
            oneOf: possible.map(({ ref }) => ({ $ref: ref })),
            discriminator: {
              propertyName: "code",
              mapping: Object.fromEntries(possible.map(({ code, ref }) => [code, ref]))
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
  "X-Request-Id": {
    description: "Identifies the request in the logs.",
    schema: { type: "string" },
    example: "01a21796-3e53-7716-a39a-982a6ea59f16"
  },
  "Idempotent-Replayed": {
    description: "`true` if the key was used before: the resource is returned as it is now. Otherwise absent.",
    // Not a string: mock servers would send it with every creation.
    schema: { type: "boolean" }
  },
  "Retry-After": { description: "Seconds to wait.", schema: { type: "integer", minimum: 0 }, example: 2 },
  Allow: { description: "The verbs that the path supports.", schema: { type: "string" }, example: "GET, POST" }
}

const headersNamed = (names: ReadonlyArray<string>): Json =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))

/** The responses outside every operation: ERR-7. */
const unroutedResponses = {
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
  "Every error body has `code`, which is stable and which clients branch on, `message`, and `details` if there is something to list. An unknown path is 404 `NOT_FOUND`, a known path with another verb 405 `METHOD_NOT_ALLOWED`, both with the same body."

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
        "Sent to the `webhook_url` of the resource (not for disputes) and to each registered endpoint that subscribes to the event. Deliveries may be repeated and are not ordered. Skip an `id` that you have handled. Act on every other event, also on a late one: a late `charge.pix.paid` still says that the order is paid. Only what you store of the resource's state stays as it is where you have a higher `sequence` of it.",
      parameters: [
        header("X-Webhook-Event", "Full event name, as `event`."),
        header("X-Webhook-Resource", "First part of the name."),
        header("X-Webhook-Method", "Second part of the name."),
        header("X-Webhook-Delivery", "Delivery id, as `id`. Every attempt has the same."),
        header(
          "X-Webhook-Signature",
          "`sha256=` and the lower-case hexadecimal HMAC-SHA-256 of the exact raw body, keyed with the secret. Absent without a secret.",
          false
        ),
        header("webhook-id", "As `X-Webhook-Delivery`. Absent without a secret, as the next two.", false),
        header(
          "webhook-timestamp",
          "When this attempt was sent, in seconds. Refuse what is older than 5 minutes.",
          false
        ),
        header(
          "webhook-signature",
          "`v1,` and the base64 of the HMAC-SHA-256 of `webhook-id`, a dot, `webhook-timestamp`, a dot and the raw body. A secret `whsec_` and base64 is keyed with the decoded bytes, any other with its UTF-8 bytes. Several are separated by spaces.",
          false
        )
      ],
      requestBody: {
        required: true,
        content: { "application/json": { schema: { $ref: refTo(String(SchemaAST.resolveIdentifier(body.ast))) } } }
      },
      responses: {
        "2XX": {
          description:
            "Received. Any other status, or no response within 10 seconds, is a failure; the delivery is retried."
        }
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
