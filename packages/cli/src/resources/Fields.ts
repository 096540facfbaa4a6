/** The fields of a request, from its schema: each becomes a flag. CLI-16. */
import * as Schema from "effect/Schema"

export interface Field {
  /** As the service calls it. */
  readonly name: string
  /** Its objects, from the outside, and its name. */
  readonly path: ReadonlyArray<string>
  readonly flag: string
  readonly kind: "text" | "integer" | "boolean" | "choice"
  readonly choices: ReadonlyArray<string>
  readonly isRepeated: boolean
  readonly isRequired: boolean
  readonly description: string | undefined
}

type Json = Readonly<Record<string, unknown>>

/**
 * Fields by their group, of which only `--data` takes a value, because other users can see arguments (CLI-6). The target of an
 * alert channel is one whatever its kind: the URL of Slack is a secret (OPR-315), and a webhook's may have one in it.
 */
const secret = /^(?:\w+\.(?:credentials|content|token|(?:.*_)?secret)|alertChannels\.target)$/

/** Flags that mean something for every command. */
const taken: Readonly<Record<string, string>> = { profile: "provider-profile", version: "api-version" }

const flagOf = (path: ReadonlyArray<string>, format: unknown): string => {
  const name = path.join("-").replaceAll("_", "-")
  const flag = format === "uuid" ? name.replace(/-id$/, "") : name
  return taken[flag] ?? flag
}

/** A schema without references, `null` and `allOf`. */
const plain = (schema: Json, definitions: Json): Json => {
  const { $ref, allOf, anyOf, ...rest } = schema
  if (typeof $ref === "string") {
    const target = definitions[$ref.split("/").at(-1)!.replaceAll("~1", "/").replaceAll("~0", "~")]
    return { ...plain(Object(target), definitions), ...rest }
  }
  const merged = Array.isArray(allOf)
    ? Object.assign({}, ...allOf.map((each) => plain(Object(each), definitions)))
    : ({} as Json)
  const alternatives = Array.isArray(anyOf) ? anyOf.filter((each) => Object(each).type !== "null") : []
  const [only] = alternatives.length === 1 ? alternatives : []
  return { ...(only === undefined ? {} : plain(Object(only), definitions)), ...rest, ...merged }
}

/** An integer in a query is text that looks like a number. */
const isNumber = (schema: Json): boolean =>
  schema["type"] === "integer" ||
  schema["type"] === "number" ||
  (typeof schema["pattern"] === "string" && schema["pattern"].startsWith("^[+-]?"))

const kindOf = (schema: Json): Pick<Field, "kind" | "choices"> => {
  const values = schema["enum"]
  if (schema["type"] === "boolean" || (Array.isArray(values) && values.join() === "true,false")) {
    return { kind: "boolean", choices: [] }
  }
  if (Array.isArray(values)) return { kind: "choice", choices: values.map(String) }
  return { kind: isNumber(schema) ? "integer" : "text", choices: [] }
}

const walk = (
  group: string,
  schema: Json,
  definitions: Json,
  path: ReadonlyArray<string>,
  isNeeded: boolean
): ReadonlyArray<Field> => {
  const required = new Set(Array.isArray(schema["required"]) ? schema["required"] : [])
  return Object.entries(Object(schema["properties"]) as Json).flatMap(([name, declared]) => {
    if (secret.test(`${group}.${name}`)) return []
    const here = [...path, name]
    const isRequired = isNeeded && required.has(name)
    const own = plain(Object(declared), definitions)
    if (own["type"] === "object") return walk(group, own, definitions, here, isRequired)
    const isRepeated = own["type"] === "array"
    const item = isRepeated ? plain(Object(own["items"]), definitions) : own
    // A list of objects, or of anything: only --data can say that.
    if (item["type"] === "object" || item["type"] === undefined) return []
    const description = own["description"] ?? item["description"]
    return [
      {
        name,
        path: here,
        flag: flagOf(here, item["format"]),
        ...kindOf(item),
        isRepeated,
        isRequired,
        description: typeof description === "string" ? description : undefined
      }
    ]
  })
}

/** The fields of a schema of a group of operations, in the order of its declaration. */
export const fieldsOf = (group: string, schema: Schema.Top): ReadonlyArray<Field> => {
  const { definitions, schema: root } = Schema.toJsonSchemaDocument(schema)
  return walk(group, plain(root as Json, definitions as Json), definitions as Json, [], true)
}
