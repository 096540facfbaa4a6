/**
 * Validates requests, answers and hooks against an OpenAPI document, with ajv.
 *
 * Guarantees
 * - A status that an operation does not declare is a failure, except 401 (RFC 6750) and the errors that the document
 *   describes for every endpoint.
 * - Query values are coerced to their declared types and get their defaults.
 */
import { Ajv, type ValidateFunction } from "ajv"
import addFormats from "ajv-formats"
import type { Node } from "./Document.ts"
import { HOOK_PATH } from "./Document.ts"

export interface Received {
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | undefined>>
  /** Undefined where there is none. */
  readonly body: unknown
}

export interface Operation {
  /** `put /cob/{txid}`, with the whole path. */
  readonly id: string
  readonly scopes: ReadonlyArray<string>
  /** The query as numbers and booleans, with defaults, and what is wrong with the request. */
  readonly checkRequest: (received: Received) => {
    readonly query: Readonly<Record<string, unknown>>
    readonly failures: ReadonlyArray<string>
  }
  readonly checkAnswer: (status: number, contentType: string | undefined, body: unknown) => ReadonlyArray<string>
}

export interface Contract {
  readonly match: (
    method: string,
    path: string
  ) => { readonly operation: Operation; readonly params: Readonly<Record<string, string>> } | undefined
  readonly checkHook: (body: unknown) => ReadonlyArray<string>
}

/** "Gerais" of the document: any endpoint may answer them. */
const GENERAL_ERRORS = new Set([400, 401, 403, 404, 410, 500, 503, 504])

export const makeContract = (document: Node): Contract => {
  const ajv = new Ajv({ strict: false, allErrors: true, coerceTypes: false, useDefaults: false })
  const queries = new Ajv({ strict: false, allErrors: true, coerceTypes: true, useDefaults: true })
  for (const each of [ajv, queries]) {
    addFormats.default(each)
    each.addSchema({ ...document, $id: "document" }, "document", false, false)
  }

  const compiled = new Map<string, ValidateFunction>()
  const check = (at: ReadonlyArray<string>, value: unknown, what: string): ReadonlyArray<string> => {
    const pointer = at.map((part) => encodeURIComponent(part.replaceAll("~", "~0").replaceAll("/", "~1"))).join("/")
    const validate = compiled.get(pointer) ?? ajv.compile({ $ref: `document#/${pointer}` })
    compiled.set(pointer, validate)
    return validate(value) ? [] : failuresOf(validate, what)
  }

  /** Follows references to their target. */
  const resolve = (at: ReadonlyArray<string>): { readonly at: ReadonlyArray<string>; readonly node: Node } => {
    const node = at.reduce((parent, part) => parent?.[part], document)
    const reference = node?.$ref
    return typeof reference === "string" ? resolve(reference.slice(2).split("/")) : { at, node }
  }

  const operationAt = (path: string, method: string): Operation => {
    const at = ["paths", path, method]
    const { node } = resolve(at)
    const parameters: ReadonlyArray<Node> = [
      ...(document.paths[path].parameters ?? []),
      ...(node.parameters ?? [])
    ].map((parameter) => (parameter.$ref === undefined ? parameter : resolve(parameter.$ref.slice(2).split("/")).node))

    const checkParameters = (place: "path" | "query" | "header") => {
      const of = parameters.filter((parameter) => parameter.in === place)
      return queries.compile({
        type: "object",
        properties: Object.fromEntries(of.map(({ name, schema }) => [name, absolute(schema)])),
        required: of.filter(({ required }) => required === true).map(({ name }) => name)
      })
    }
    const checkPath = checkParameters("path")
    const checkQuery = checkParameters("query")
    const checkHeaders = checkParameters("header")
    const request = node.requestBody === undefined ? undefined : resolve([...at, "requestBody"])

    return {
      id: `${method} ${path}`,
      scopes: (node.security ?? []).flatMap((scheme: Record<string, ReadonlyArray<string>>) =>
        Object.values(scheme).flat()
      ),
      checkRequest: ({ params, query, headers, body }) => {
        const coerced = { ...query }
        const failures: Array<string> = []
        if (!checkPath({ ...params })) failures.push(...failuresOf(checkPath, "path"))
        if (!checkQuery(coerced)) failures.push(...failuresOf(checkQuery, "query"))
        if (!checkHeaders({ ...headers })) failures.push(...failuresOf(checkHeaders, "header"))
        if (request !== undefined && body === undefined) {
          if (request.node.required === true) failures.push("body: is required")
        } else if (request !== undefined) {
          failures.push(...check([...request.at, "content", "application/json", "schema"], body, "body"))
        }
        return { query: coerced, failures }
      },
      checkAnswer: (status, contentType, body) => {
        const declared = node.responses[`${status}`] !== undefined
        if (!declared) {
          if (!GENERAL_ERRORS.has(status)) return [`${status} is not an answer of ${method} ${path}`]
          return check(["components", "schemas", "Problema"], body, "body")
        }
        const { at: responseAt, node: response } = resolve([...at, "responses", `${status}`])
        if (response.content === undefined) return body === undefined ? [] : ["body: there is none"]
        const media = contentType?.split(";")[0] ?? ""
        if (response.content[media] === undefined) return [`${media} is not a type of ${status}`]
        return check([...responseAt, "content", media, "schema"], body, "body")
      }
    }
  }

  const routes = Object.keys(document.paths).map((path) => ({
    path,
    // Paths with fewer parameters first: `/enviados/id-envio/{idEnvio}` before `/enviados/{e2eId}`.
    rank: path.replaceAll(/\{[^}]*\}/g, "{").split("{").length,
    names: [...path.matchAll(/\{([^}]*)\}/g)].map(([, name]) => name!),
    pattern: new RegExp(`^${path.replaceAll(/\{[^}]*\}/g, "([^/]+)")}$`)
  }))
  routes.sort((a, b) => a.rank - b.rank)
  const operations = new Map<string, Operation>()

  return {
    match: (method, path) => {
      const verb = method.toLowerCase()
      for (const route of routes) {
        const found = route.pattern.exec(path)
        if (found === null || document.paths[route.path][verb] === undefined) continue
        const id = `${verb} ${route.path}`
        const operation = operations.get(id) ?? operationAt(route.path, verb)
        operations.set(id, operation)
        const values = found.slice(1).map((value) => decodeURIComponent(value))
        return { operation, params: Object.fromEntries(route.names.map((name, i) => [name, values[i]!])) }
      }
      return undefined
    },
    checkHook: (body) => {
      const { at } = resolve(["paths", HOOK_PATH, "post", "requestBody"])
      return check([...at, "content", "application/json", "schema"], body, "hook")
    }
  }
}

/** Makes the references of a parameter's schema absolute. */
const absolute = (schema: Node): Node =>
  JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"document#/'))

const failuresOf = ({ errors }: ValidateFunction, what: string): ReadonlyArray<string> =>
  (errors ?? []).map(({ instancePath, message }) => `${what}${instancePath}: ${message}`)
