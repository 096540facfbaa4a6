/**
 * Generates `Resources.ts`: the types of resources, requests, events and errors of `/v1`.
 *
 * Guarantees: enumerations are open, so unknown values are part of the type, in requests too (API-12).
 */
import { webhookBodies } from "@pix-payments/api/OpenApiDocument"
import { errorCodes } from "@pix-payments/domain/ErrorCode"
import { eventNames } from "@pix-payments/domain/EventCatalog"
import { errorCodeOf, type Operation, pascal, queryName } from "./ApiOperation.ts"
import { type Json, object, Types } from "./JsonSchemaTypes.ts"
import { documentOf, generatedHeader } from "./SourceText.ts"

/** The source of `Resources.ts`. */
export const resourcesSource = (schemas: Json, operations: ReadonlyArray<Operation>): string => {
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
    else parts.push(types.declaration(name, schema, requests.has(name) ? "request" : "response"))
  }
  for (const operation of operations) {
    if (operation.query.length === 0) continue
    parts.push(
      types.declaration(
        queryName(operation),
        {
          type: "object",
          description: `The filters and pagination of \`${operation.group}.${operation.name}\`.`,
          properties: Object.fromEntries(
            operation.query.map((parameter) => [
              String(parameter["name"]),
              { ...object(parameter["schema"]), description: parameter["description"] }
            ])
          )
        },
        "request"
      )
    )
  }
  return [
    generatedHeader("The resources, requests, errors and events of `/v1`, as plain types."),
    openType,
    ...types.aliases,
    ...parts,
    events([...envelopes.keys()], schemas),
    errorTypes(schemas, errors)
  ].join("\n")
}

const openType = `/** An open enumeration: one of \`Known\`, or a value that a later release adds. A \`switch\` over it needs a \`default\`. */
export type Open<Known extends string> = Known | (string & Record<never, never>)

/**
 * A name that this release does not know. The suffix exists only in the type: it lets a comparison with a known name narrow
 * the union. Values have no suffix.
 */
export type Unrecognized = \`\${string}~unrecognized\`

/** A page of a list, newest first. */
export interface Page<Item> {
  /** The kind of resource. */
  readonly object: "list"
  /** The items, newest first. */
  readonly data: ReadonlyArray<Item>
  /** Whether more items exist after this page. */
  readonly has_more: boolean
}
`

const envelope = (types: Types, name: string, schema: Json, resource: string): string => {
  const names = eventNames.filter((event) => event.startsWith(`${resource}.`))
  const { event, resource: _, ...properties } = object(schema["properties"])
  const known = types.alias(`${name}Name`, names, `The names of ${resource} events that this release knows.`)
  return types.declaration(
    name,
    {
      ...schema,
      description: `An event of a ${resource}. \`data\` is its state after the change.`,
      properties: {
        ...properties,
        event: {
          ...object(event),
          typescript: `${known} | \`${resource}.\${string}.\${string}\``,
          description: "Event name. Later releases may add names."
        },
        resource: { typescript: JSON.stringify(resource), description: "First part of the event name." }
      }
    },
    "response"
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
      description: "An event of a resource that this release does not know: answer 2xx and ignore it.",
      properties: {
        ...common,
        event: { typescript: "Unrecognized", description: "Event name." },
        resource: { typescript: "Unrecognized", description: "First part of the event name." },
        data: {
          typescript: "{ readonly object: string; readonly [field: string]: unknown }",
          description: "The resource after the change."
        }
      },
      required: [...Object.keys(common), "event", "resource", "data"]
    },
    "response"
  )
  return `${unknown}
/** The event names that this release knows. */
export type EventName = ${envelopes.map((name) => `${name}Name`).join(" | ")}

/** The body of a delivery. Narrow it by \`event\` or \`resource\`. */
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
  return `/** The error codes that this release knows. Later releases may add codes. */
export type ErrorCode = keyof ErrorFields

/** The fields of an error body beside \`code\`, \`message\` and \`details\`, by code. */
export interface ErrorFields {
${bodies.join("\n")}
}
`
}
