/**
 * Translates JSON Schema to TypeScript, as far as the OpenAPI document of `/v1` uses it. Throws on anything else.
 *
 * Guarantees:
 * - Fields are `readonly` and enumerations are open. Optional fields of requests may also be `undefined`.
 * - Descriptions, units and limits become comments.
 */
import { fieldDescriptions } from "./FieldDescriptions.ts"
import { documentOf } from "./SourceText.ts"

export type Json = { readonly [key: string]: unknown }

/** Whether the client sends values of a type, or receives them. */
export type Direction = "request" | "response"

export class Types {
  /** The declarations of named enumerations, in the order in which they were found. */
  readonly aliases: Array<string> = []
  readonly #known: ReadonlyMap<string, string>

  /** `known` has the names of enumerations that are declared elsewhere, by their values as JSON. */
  constructor(known: ReadonlyMap<string, string> = new Map()) {
    this.#known = known
  }

  /** `export interface Name { … }`, or a type alias if the schema is not an object. */
  declaration(name: string, schema: Json, direction: Direction): string {
    const comment = documentOf([this.#description(schema) ?? defaultDescription(name, direction)])
    return schema["type"] === "object"
      ? `${comment}export interface ${name} ${this.#fields(name, schema, direction)}\n`
      : `${comment}export type ${name} = ${this.#type(name, schema, direction)}\n`
  }

  /** Declares a union of literals under a name. */
  alias(name: string, values: ReadonlyArray<unknown>, description: string): string {
    this.aliases.push(
      `${documentOf([description])}export type ${name} = ${values.map((value) => JSON.stringify(value)).join(" | ")}\n`
    )
    return name
  }

  #fields(name: string, schema: Json, direction: Direction): string {
    const required = new Set(list(schema["required"]))
    const fields = Object.entries(object(schema["properties"])).map(([field, declared]) => {
      const property = object(declared)
      const description = this.#fieldDescription(name, field, property)
      const type = this.#type(name + pascal(field), property, direction)
      const isRequired = required.has(field)
      const mark = isRequired ? "" : "?"
      const absent = !isRequired && direction === "request" ? " | undefined" : ""
      return `${documentOf([description])}readonly ${field}${mark}: ${type}${absent}`
    })
    return `{\n${fields.join("\n")}\n}`
  }

  #fieldDescription(type: string, field: string, schema: Json): string {
    const { description, limits } = this.#parts(schema)
    const text = description ?? fieldDescriptions[`${type}.${field}`] ?? fieldDescriptions[field]
    if (text === undefined) throw new Error(`${type}.${field} has no description: add it to FieldDescriptions.ts`)
    return [text, ...limits].join(" ")
  }

  #type(name: string, schema: Json, direction: Direction): string {
    if (typeof schema["typescript"] === "string") return schema["typescript"]
    if (typeof schema["$ref"] === "string") return schema["$ref"].slice("#/components/schemas/".length)
    const anyOf = list(schema["anyOf"]).map(object)
    if (anyOf.length > 0) return this.#union(name, anyOf, direction)
    const values = schema["enum"]
    if (Array.isArray(values)) {
      const known = this.#known.get(JSON.stringify(values))
      if (known !== undefined) return direction === "request" ? `Open<${known}>` : known
      const literals = values.map((value) => JSON.stringify(value)).join(" | ")
      // `object` is a closed discriminator. Every other enumeration may grow, and a received value can be sent.
      return name.endsWith("Object") ? literals : `Open<${literals}>`
    }
    switch (schema["type"]) {
      case "string":
      case "boolean":
      case "null":
        return String(schema["type"])
      case "integer":
      case "number":
        return "number"
      case "array":
        return `ReadonlyArray<${this.#type(name, object(schema["items"]), direction)}>`
      case "object":
        return this.#fields(name, schema, direction)
      default:
        throw new Error(`${name}: unsupported schema ${JSON.stringify(schema)}`)
    }
  }

  #union(name: string, members: ReadonlyArray<Json>, direction: Direction): string {
    const closed = members.find((member) => Array.isArray(member["enum"]))
    const isOpen = members.some((member) => member["type"] === "string" && member["enum"] === undefined)
    if (closed !== undefined && isOpen) {
      const known = this.alias(
        `Known${name}`,
        list(closed["enum"]),
        `The values of \`${name}\` that this release knows.`
      )
      this.aliases.push(`/** Later releases may add values. */\nexport type ${name} = Open<${known}>\n`)
      return name
    }
    return members.map((member) => this.#type(name, member, direction)).join(" | ")
  }

  /** The schema's description with its formats and limits. */
  #description(schema: Json): string | undefined {
    const { description, limits } = this.#parts(schema)
    const all = [...(description === undefined ? [] : [description]), ...limits]
    return all.length === 0 ? undefined : all.join(" ")
  }

  #parts(schema: Json): { readonly description: string | undefined; readonly limits: ReadonlyArray<string> } {
    const parts = [schema, ...list(schema["anyOf"]).map(object)]
    const description = parts.map((part) => part["description"]).find((text) => typeof text === "string")
    const limits = parts.flatMap((part) => [
      ...(part["format"] === "uuid" ? ["UUID."] : []),
      ...(part["minLength"] !== undefined || part["maxLength"] !== undefined
        ? [`${range(part["minLength"], part["maxLength"])} characters.`]
        : []),
      ...(part["type"] === "integer" && part["minimum"] !== undefined && !/[0-9]/.test(String(description))
        ? [`${range(part["minimum"], part["maximum"])}.`]
        : [])
    ])
    return { description: typeof description === "string" ? description : undefined, limits }
  }
}

export const object = (value: unknown): Json =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Json) : {}

export const list = (value: unknown): ReadonlyArray<unknown> => (Array.isArray(value) ? value : [])

const range = (minimum: unknown, maximum: unknown): string =>
  minimum === undefined
    ? `At most ${maximum}`
    : maximum === undefined
      ? `At least ${minimum}`
      : `${minimum} to ${maximum}`

const defaultDescription = (name: string, direction: Direction): string => {
  const words = name.replace(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase()
  return direction === "request"
    ? `Params to ${words.replace(" ", " a ")}.`
    : `${pascal(words)}, as the API returns it.`
}

const pascal = (text: string): string => text.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())
