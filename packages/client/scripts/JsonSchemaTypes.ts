/**
 * TypeScript of JSON Schema, as far as the OpenAPI document of `/v1` uses it. What it does not know it refuses.
 *
 * Guarantees: fields are `readonly` and enumerations open; optional fields that are sent may also be `undefined`.
 * Descriptions, units and limits become documentation.
 */

import { fieldNotes } from "./FieldNotes.ts"

export type Json = { readonly [key: string]: unknown }

/** Whether the caller sends values of a type, or reads them. */
export type Direction = "sent" | "read"

export class Types {
  /** The named enumerations met so far, as declarations. */
  readonly aliases: Array<string> = []
  readonly #known: ReadonlyMap<string, string>

  /** `known` names enumerations that have a name already, by their values as JSON. */
  constructor(known: ReadonlyMap<string, string> = new Map()) {
    this.#known = known
  }

  /** `export interface Name { … }`, or an alias where the schema is no object. */
  declaration(name: string, schema: Json, direction: Direction): string {
    const about = documentOf([this.#about(schema) ?? titleOf(name, direction)])
    return schema["type"] === "object"
      ? `${about}export interface ${name} ${this.#fields(name, schema, direction)}\n`
      : `${about}export type ${name} = ${this.#type(name, schema, direction)}\n`
  }

  /** Names a union of literals once. */
  alias(name: string, values: ReadonlyArray<unknown>, about: string): string {
    this.aliases.push(
      `${documentOf([about])}export type ${name} = ${values.map((value) => JSON.stringify(value)).join(" | ")}\n`
    )
    return name
  }

  #fields(name: string, schema: Json, direction: Direction): string {
    const required = new Set(list(schema["required"]))
    const fields = Object.entries(object(schema["properties"])).map(([field, declared]) => {
      const property = object(declared)
      const note = this.#note(name, field, property)
      const type = this.#type(name + pascal(field), property, direction)
      const isRequired = required.has(field)
      const mark = isRequired ? "" : "?"
      const absent = !isRequired && direction === "sent" ? " | undefined" : ""
      return `${documentOf([note])}readonly ${field}${mark}: ${type}${absent}`
    })
    return `{\n${fields.join("\n")}\n}`
  }

  #note(type: string, field: string, schema: Json): string {
    const { description, limits } = this.#parts(schema)
    const note = description ?? fieldNotes[`${type}.${field}`] ?? fieldNotes[field]
    if (note === undefined) throw new Error(`nothing is said of ${type}.${field}: add it to FieldNotes.ts`)
    return [note, ...limits].join(" ")
  }

  #type(name: string, schema: Json, direction: Direction): string {
    if (typeof schema["typescript"] === "string") return schema["typescript"]
    if (typeof schema["$ref"] === "string") return schema["$ref"].slice("#/components/schemas/".length)
    const anyOf = list(schema["anyOf"]).map(object)
    if (anyOf.length > 0) return this.#union(name, anyOf, direction)
    const values = schema["enum"]
    if (Array.isArray(values)) {
      const known = this.#known.get(JSON.stringify(values))
      if (known !== undefined) return direction === "sent" ? `Open<${known}>` : known
      const literals = values.map((value) => JSON.stringify(value)).join(" | ")
      // A single value that is read says what kind of thing this is; every other enumeration may grow, and what was read
      // can be sent.
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
        throw new Error(`${name}: no TypeScript for ${JSON.stringify(schema)}`)
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
      this.aliases.push(`/** Another value may be added at any time. */\nexport type ${name} = Open<${known}>\n`)
      return name
    }
    return members.map((member) => this.#type(name, member, direction)).join(" | ")
  }

  /** The description, with what the schema says of formats and limits. */
  #about(schema: Json): string | undefined {
    const { description, limits } = this.#parts(schema)
    const all = [...(description === undefined ? [] : [description]), ...limits]
    return all.length === 0 ? undefined : all.join(" ")
  }

  #parts(schema: Json): { readonly description: string | undefined; readonly limits: ReadonlyArray<string> } {
    const parts = [schema, ...list(schema["anyOf"]).map(object)]
    const description = parts.map((part) => part["description"]).find((text) => typeof text === "string")
    const limits = parts.flatMap((part) => [
      ...(part["format"] === "uuid" ? ["UUID."] : []),
      ...(part["format"] === "uri" ? ["URL."] : []),
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

/** A documentation comment of these paragraphs. */
export const documentOf = (paragraphs: ReadonlyArray<string>): string => {
  const lines = paragraphs.join("\n\n").replaceAll("*/", "* /").split("\n")
  return lines.length === 1
    ? `/** ${lines[0]} */\n`
    : `/**\n${lines.map((line) => (line === "" ? " *" : ` * ${line}`)).join("\n")}\n */\n`
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

const titleOf = (name: string, direction: Direction): string => {
  const words = name.replace(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase()
  return direction === "sent" ? `What is sent to ${words}.` : `${pascal(words)}, as the API shows it.`
}

const pascal = (text: string): string => text.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())
