/**
 * What the committed OpenAPI documents allow as an answer, route by route and status by status.
 */
import { errorCodes } from "@pix-payments/domain/ErrorCode"
import { Ajv2020 } from "ajv/dist/2020.js"
import { hasProperty } from "effect/Predicate"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import type { DeclaredRoute } from "../../support/Declared.ts"
import type { RawAnswer } from "./Wire.ts"

/** Why the contract does not allow an answer; `undefined` where it does. */
export type Judge = (answer: RawAnswer, route: DeclaredRoute | undefined, isHttp: boolean) => string | undefined

/** Reads `openapi.json` or `operator-openapi.json` of `packages/api`. */
export const judgeBy = (document: string): Judge => {
  const text = readFileSync(join(import.meta.dirname, "../../../../api", document), "utf8")
  const { components, paths } = JSON.parse(text) as {
    readonly components: unknown
    readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly responses: Responses }>>>>
  }
  const ajv = new Ajv2020({ strict: false, validateFormats: false })
  const validators = new Map<unknown, ReturnType<typeof ajv.compile>>()
  const isValid = (schema: object, body: unknown): string | undefined => {
    const known = validators.get(schema)
    const validate = known ?? ajv.compile({ ...schema, components })
    validators.set(schema, validate)
    return validate(body) ? undefined : `the body does not fit the document: ${ajv.errorsText(validate.errors)}`
  }

  return (answer, route, isHttp) => {
    if (answer.status >= 500) return `status ${answer.status}`
    if (!answer.headers.has("x-request-id")) return "no X-Request-Id"
    if (inside.test(answer.body)) return "the inside shows"
    if (answer.status === 204) return answer.body === "" ? undefined : "204 with a body"
    const documented =
      route === undefined ? undefined : paths[route.template]?.[route.method.toLowerCase()]?.responses[answer.status]
    const type = answer.headers.get("content-type") ?? ""
    const declared = Object.keys(documented?.content ?? { "application/json": undefined })
    // A file.
    if (answer.status < 300 && !declared.includes("application/json")) {
      return declared.some((each) => each === "application/octet-stream" || type.startsWith(each))
        ? undefined
        : `${type} is not ${declared.join(" or ")}`
    }
    if (!type.startsWith("application/json")) return "not application/json"
    let body: unknown
    try {
      body = JSON.parse(answer.body)
    } catch {
      return "the body is no JSON"
    }
    if (answer.status >= 400) {
      const complaint = complaintOfError(answer.status, body)
      if (complaint !== undefined) return complaint
    }
    if (documented === undefined) {
      // Malformed HTTP and unknown paths have no operation in the document.
      return (route === undefined || !isHttp) && [400, 404, 405, ...lowLevel].includes(answer.status)
        ? undefined
        : `${route?.method} ${route?.template} does not declare ${answer.status}`
    }
    // Malformed HTTP is refused before routing.
    if (!isHttp && answer.status === 400 && hasProperty(body, "code") && body.code === "VALIDATION_ERROR")
      return undefined
    const schema = documented.content?.["application/json"]?.schema
    return schema === undefined ? "the document has no body" : isValid(schema, body)
  }
}

interface Responses {
  readonly [status: string]: {
    readonly content?: Readonly<Record<string, { readonly schema?: object } | undefined>>
  }
}

const inside = /SqlError|node_modules|\/src\/|\.ts:\d|SchemaError|relation "|invalid input syntax|\bat Object\./

/** Refused before it is a request: docs/errors.md. */
const lowLevel = [408, 417, 431]

const complaintOfError = (status: number, body: unknown): string | undefined => {
  if (!hasProperty(body, "code") || typeof body.code !== "string") return "an error without a code"
  if (!hasProperty(body, "message") || typeof body.message !== "string" || body.message === "")
    return "an error without a message"
  const known = Object.entries(errorCodes).find(([code]) => code === body.code)
  const isLowLevel = body.code === "VALIDATION_ERROR" && lowLevel.includes(status)
  if (known?.[1].status !== status && !isLowLevel) return `code ${body.code} with status ${status}`
  const more = Object.keys(body).filter((name) => !["code", "message", "details", "charge_id"].includes(name))
  return more.length > 0 ? `an error with ${more.join(", ")}` : undefined
}
