/**
 * What of the client is derived from the declaration of `/v1`: plain types of its resources, requests, errors and
 * events, the table of its routes, and the signatures of both clients. The files are committed, so that neither
 * `effect` nor the declaration is needed to read them.
 *
 * Guarantees: equal declarations give equal text; enumerations are open (unknown values are part of the type), in
 * what a caller sends too; every operation names its scope and its error codes.
 *
 * Source: `PaymentsApi` and the OpenAPI document made of it; payments-api-v1.md "Versioning".
 */
import { openApiDocument, webhookBodies } from "@pix-payments/api/OpenApiDocument"
import { PaymentsApi } from "@pix-payments/api/PaymentsApi"
import { chargeStatusAt, chargeTransitions, ChargeStatus } from "@pix-payments/domain/Charge"
import { errorCodes } from "@pix-payments/domain/ErrorCode"
import { eventNames } from "@pix-payments/domain/EventCatalog"
import { payoutTransitions, PayoutStatus } from "@pix-payments/domain/Payout"
import { documentOf, type Json, list, object, Types } from "./JsonSchemaTypes.ts"

/** Every generated file: its path below `packages`, and its text before formatting. */
export const generate = (version: string): ReadonlyMap<string, string> => {
  const document = openApiDocument(PaymentsApi, webhookBodies) as Json
  const schemas = object(object(document["components"])["schemas"])
  const operations = operationsOf(document)
  return new Map([
    ["client/src/generated/Resources.ts", resources(schemas, operations)],
    ["client/src/generated/Routes.ts", routes(operations, version)],
    ["client/src/generated/Operations.ts", promiseOperations(operations)],
    ["client-effect/src/generated/Operations.ts", effectOperations(operations)]
  ])
}

interface Operation {
  readonly group: string
  readonly name: string
  readonly method: string
  /** As the declaration has it, parameters in braces. */
  readonly path: string
  readonly description: string
  readonly hasId: boolean
  readonly isKeyed: boolean
  /** Name of the request body's type. */
  readonly body: string | undefined
  readonly query: ReadonlyArray<Json>
  /** Name of the answer's type, or of the items' where the answer is a list; `void` where there is none. */
  readonly result: string
  readonly isList: boolean
}

const header = (about: string): string => `/**
 * ${about}
 *
 * Generated from \`PaymentsApi\` by \`pnpm run client:generate\`. Do not edit.
 */
`

// Types

const resources = (schemas: Json, operations: ReadonlyArray<Operation>): string => {
  const types = new Types(new Map([[JSON.stringify(eventNames), "EventName"]]))
  const requests = new Set(operations.flatMap(({ body }) => (body === undefined ? [] : [body])))
  const errors = new Map(
    Object.entries(schemas).flatMap(([name, schema]) => {
      const code = errorCodeOf(object(schema))
      return code === undefined ? [] : [[name, code] as const]
    })
  )
  const envelopes = new Map<string, string>(
    Object.keys(webhookBodies).map((resource) => [`${pascal(resource)}Event`, resource] as const)
  )
  const parts: Array<string> = []
  for (const [name, declared] of Object.entries(schemas)) {
    const schema = object(declared)
    if (errors.has(name) || name === "IdempotencyKey") continue
    const resource = envelopes.get(name)
    if (resource !== undefined) parts.push(envelope(types, name, schema, resource))
    else parts.push(types.declaration(name, schema, requests.has(name) ? "sent" : "read"))
  }
  for (const operation of operations) {
    if (operation.query.length === 0) continue
    parts.push(
      types.declaration(
        queryName(operation),
        {
          type: "object",
          description: `The filters and the page of \`${operation.group}.${operation.name}\`.`,
          properties: Object.fromEntries(
            operation.query.map((parameter) => [
              String(parameter["name"]),
              { ...object(parameter["schema"]), description: parameter["description"] }
            ])
          )
        },
        "sent"
      )
    )
  }
  return [
    header("The resources, requests, errors and events of `/v1`, as plain types."),
    openType,
    ...types.aliases,
    ...parts,
    events([...envelopes.keys()], schemas),
    errorTypes(schemas, errors)
  ].join("\n")
}

const openType = `/**
 * A value of an enumeration that may grow: one of \`Known\`, or a later one. A \`switch\` over it needs its \`default\`.
 */
export type Open<Known extends string> = Known | (string & Record<never, never>)

/**
 * A string that is none of those that this release knows: what is left of an event's name in a \`default\`. The ending
 * is the type's alone, so that comparing with a known name tells the cases apart; the value has none.
 */
export type Unrecognized = \`\${string}~unrecognized\`

/** A page of a list, newest first. */
export interface Page<Item> {
  /** The kind of thing this is. */
  readonly object: "list"
  /** The items, newest first. */
  readonly data: ReadonlyArray<Item>
  /** True while more items exist after this page. */
  readonly has_more: boolean
}
`

const envelope = (types: Types, name: string, schema: Json, resource: string): string => {
  const names = eventNames.filter((event) => event.startsWith(`${resource}.`))
  const { event, resource: _, ...properties } = object(schema["properties"])
  const known = types.alias(`${name}Name`, names, `The events of a ${resource} that this release knows.`)
  return types.declaration(
    name,
    {
      ...schema,
      description: `An event of a ${resource}, as \`data\` shows it after the change.`,
      properties: {
        ...properties,
        event: {
          ...object(event),
          typescript: `${known} | \`${resource}.\${string}.\${string}\``,
          description: "Full name. Names that this release does not know are possible."
        },
        resource: { typescript: JSON.stringify(resource), description: "First part of the name." }
      }
    },
    "read"
  )
}

const events = (envelopes: ReadonlyArray<string>, schemas: Json): string => {
  const {
    data: _data,
    event: _event,
    resource: _resource,
    ...common
  } = object(object(schemas[envelopes[0] ?? ""])["properties"])
  const unknown = new Types().declaration(
    "UnknownEvent",
    {
      type: "object",
      description: "An event of a resource that this release does not know: answer 2xx and leave it alone.",
      properties: {
        ...common,
        event: { typescript: "Unrecognized", description: "Full name." },
        resource: { typescript: "Unrecognized", description: "First part of the name." },
        data: {
          typescript: "{ readonly object: string; readonly [field: string]: unknown }",
          description: "The resource after the change."
        }
      },
      required: [...Object.keys(common), "event", "resource", "data"]
    },
    "read"
  )
  return `${unknown}
/** The events that this release knows. */
export type EventName = ${envelopes.map((name) => `${name}Name`).join(" | ")}

/** The body of a delivery. \`resource\` and \`event\` tell the cases apart. */
export type WebhookEvent = ${[...envelopes, "UnknownEvent"].join(" | ")}
`
}

const errorTypes = (schemas: Json, errors: ReadonlyMap<string, string>): string => {
  const all = Object.entries(errorCodes).filter(([code]) => [...errors.values()].includes(code))
  const byCode = new Map([...errors].map(([name, code]) => [code, object(schemas[name])]))
  const bodies = all.map(([code, { message, status }]) => {
    const { code: _, details: _details, message: _message, ...own } = object(byCode.get(code)?.["properties"])
    const fields = Object.keys(own).map((field) => `readonly ${field}: string`)
    const type = fields.length === 0 ? "Record<never, never>" : `{ ${fields.join("; ")} }`
    return `${documentOf([`${status}: ${message}`])}readonly ${code}: ${type}`
  })
  return `/** The error codes that this release knows. The service may answer with others. */
export type ErrorCode = keyof ErrorFields

/** What an error body carries beside \`code\`, \`message\` and \`details\`, by code. */
export interface ErrorFields {
${bodies.join("\n")}
}
`
}

// Routes

const routes = (operations: ReadonlyArray<Operation>, version: string): string => {
  const groups = Map.groupBy(operations, ({ group }) => group)
  const table = [...groups].map(
    ([group, members]) => `${group}: {\n${members.map((member) => `${member.name}: ${route(member)}`).join(",\n")}\n}`
  )
  return `${header("Where each operation of `/v1` is found, and what it takes.")}
/** One operation. */
export interface Route {
  readonly method: string
  readonly path: string
  /** Its first argument is the id in the path. */
  readonly id?: true
  readonly body?: true
  readonly query?: true
  /** It takes an \`Idempotency-Key\`. */
  readonly keyed?: true
  /** It answers with a list. */
  readonly list?: true
}

export const routes = { ${table.join(",\n")} } as const satisfies Record<string, Record<string, Route>>

/** The statuses of a kind of resource, and for each one those that may follow, at once or by and by, by their places. */
export interface Statuses {
  readonly all: ReadonlyArray<string>
  readonly later: ReadonlyArray<string>
}

export const statuses: Readonly<Record<"charge" | "payout", Statuses>> = {
charge: ${places(ChargeStatus.literals, laterCharges)},
payout: ${places(PayoutStatus.literals, laterPayouts)}
}

/** The release of this package. */
export const version = ${JSON.stringify(version)}
`
}

const places = <Status extends string>(
  all: ReadonlyArray<Status>,
  laterOf: (status: Status) => ReadonlyArray<Status>
): string => {
  // One digit names a status.
  if (all.length > 10) throw new Error("more statuses than digits")
  const later = all.map((status) =>
    laterOf(status)
      .map((one) => all.indexOf(one))
      .join("")
  )
  return JSON.stringify({ all, later })
}

/** Every status that the steps reach from this one. */
const reached = <Status extends string>(
  status: Status,
  all: ReadonlyArray<Status>,
  next: (from: Status) => ReadonlyArray<Status>
): ReadonlyArray<Status> => {
  const later = new Set<Status>()
  const follow = (from: Status) => {
    for (const to of next(from)) {
      if (to === from || later.has(to)) continue
      later.add(to)
      follow(to)
    }
  }
  follow(status)
  return all.filter((one) => later.has(one))
}

const laterCharges = (status: ChargeStatus): ReadonlyArray<ChargeStatus> =>
  reached(status, ChargeStatus.literals, (from) => [
    ...chargeTransitions.filter((transition) => transition.from.includes(from)).map(({ to }) => to),
    chargeStatusAt(from, 0, 0)
  ])

const laterPayouts = (status: PayoutStatus): ReadonlyArray<PayoutStatus> =>
  reached(status, PayoutStatus.literals, (from) =>
    payoutTransitions.filter((transition) => transition.from.includes(from)).map(({ to }) => to)
  )

const route = (operation: Operation): string => {
  const fields = [
    `method: ${JSON.stringify(operation.method)}`,
    `path: ${JSON.stringify(operation.path)}`,
    ...(operation.hasId ? ["id: true"] : []),
    ...(operation.body === undefined ? [] : ["body: true"]),
    ...(operation.query.length === 0 ? [] : ["query: true"]),
    ...(operation.isKeyed ? ["keyed: true"] : []),
    ...(operation.isList ? ["list: true"] : [])
  ]
  return `{ ${fields.join(", ")} }`
}

// Signatures

const promiseOperations = (operations: ReadonlyArray<Operation>): string =>
  [
    header("The operations of the Promise client, by group."),
    'import type { Call, CreateOptions, RequestOptions } from "../Call.ts"',
    'import type { PageCall } from "../PageCall.ts"',
    imports(operations, "./Resources.ts"),
    interfaces(operations, "Operations", ({ isList, result }) => (isList ? `PageCall<${result}>` : `Call<${result}>`))
  ].join("\n")

const effectOperations = (operations: ReadonlyArray<Operation>): string =>
  [
    header("The operations of the Effect client, by group."),
    'import type * as Effect from "effect/Effect"',
    'import type * as Stream from "effect/Stream"',
    'import type { CreateOptions, RequestOptions } from "../Options.ts"',
    'import type { PaymentsError } from "../PaymentsError.ts"',
    imports(operations, "@pix-payments/client/internal/generated/Resources"),
    interfaces(operations, "Service", ({ isList, result }) =>
      isList ? `Stream.Stream<${result}, PaymentsError>` : `Effect.Effect<${result}, PaymentsError>`
    )
  ].join("\n")

const imports = (operations: ReadonlyArray<Operation>, from: string): string => {
  const names = operations.flatMap((operation) => [
    ...(operation.body === undefined ? [] : [operation.body]),
    ...(operation.query.length === 0 ? [] : [queryName(operation)]),
    ...(operation.result === "void" ? [] : [operation.result])
  ])
  return `import type { ${[...new Set(names)].toSorted().join(", ")} } from ${JSON.stringify(from)}\n`
}

const interfaces = (
  operations: ReadonlyArray<Operation>,
  suffix: string,
  answer: (operation: Operation) => string
): string => {
  const groups = [...Map.groupBy(operations, ({ group }) => group)]
  const each = groups.map(
    ([group, members]) => `/** The operations under \`${group}\`. */
export interface ${pascal(group)}${suffix} {
${members
  .map((operation) => {
    const parameters = [
      ...(operation.hasId ? ["id: string"] : []),
      ...(operation.body === undefined ? [] : [`params: ${operation.body}`]),
      ...(operation.query.length === 0 ? [] : [`query?: ${queryName(operation)}`]),
      `options?: ${operation.isKeyed ? "CreateOptions" : "RequestOptions"}`
    ]
    return `${documentOf([operation.description])}readonly ${operation.name}: (${parameters.join(", ")}) => ${answer(operation)}`
  })
  .join("\n\n")}
}
`
  )
  const all = groups
    .map(([group]) => `/** The operations under \`${group}\`. */\nreadonly ${group}: ${pascal(group)}${suffix}`)
    .join("\n")
  return `${each.join("\n")}
/** Every operation of \`/v1\`, by group and name. */
export interface ${suffix === "Service" ? "PaymentsService" : suffix} {
${all}
}
`
}

// The document

const operationsOf = (document: Json): ReadonlyArray<Operation> => {
  const schemas = object(object(document["components"])["schemas"])
  return Object.entries(object(document["paths"])).flatMap(([path, verbs]) =>
    Object.entries(object(verbs)).map(([verb, declared]) => {
      const operation = object(declared)
      const [group = "", name = ""] = String(operation["operationId"]).split(".")
      const parameters = list(operation["parameters"]).map(object)
      const success = Object.entries(object(operation["responses"])).find(([status]) => status.startsWith("2"))
      const answer = bodyOf(object(success?.[1]))
      const items = answer === undefined ? undefined : object(object(answer["properties"])["data"])["items"]
      const result = items === undefined ? answer : object(items)
      return {
        group,
        name,
        method: verb.toUpperCase(),
        path,
        description: describe(operation, schemas),
        hasId: parameters.some((parameter) => parameter["in"] === "path"),
        isKeyed: parameters.some((parameter) => parameter["name"] === "Idempotency-Key"),
        body: nameOf(bodyOf(object(operation["requestBody"]))),
        query: parameters.filter((parameter) => parameter["in"] === "query"),
        result: nameOf(result) ?? "void",
        isList: items !== undefined
      }
    })
  )
}

const describe = (operation: Json, schemas: Json): string => {
  const codes = Object.values(object(operation["responses"])).flatMap((response) => {
    const schema = bodyOf(object(response))
    const refs = schema === undefined ? [] : [schema, ...list(schema["oneOf"]).map(object)]
    return refs.flatMap((ref) => {
      const code = errorCodeOf(object(schemas[nameOf(ref) ?? ""]))
      return code === undefined ? [] : [`\`${code}\``]
    })
  })
  return [
    `${String(operation["summary"])}.`,
    ...(operation["description"] === undefined ? [] : [String(operation["description"])]),
    `Errors: ${codes.join(", ")}.`
  ].join("\n\n")
}

const bodyOf = (part: Json): Json | undefined => {
  const schema = object(object(part["content"])["application/json"])["schema"]
  return schema === undefined ? undefined : object(schema)
}

const nameOf = (schema: Json | undefined): string | undefined =>
  typeof schema?.["$ref"] === "string" ? schema["$ref"].slice("#/components/schemas/".length) : undefined

const errorCodeOf = (schema: Json): string | undefined => {
  const code = list(object(object(schema["properties"])["code"])["enum"])[0]
  return typeof code === "string" && Object.hasOwn(errorCodes, code) ? code : undefined
}

const queryName = ({ group, name }: Operation): string => `${pascal(name)}${pascal(group)}Query`

const pascal = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1)
