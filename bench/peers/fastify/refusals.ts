/**
 * What the peers on Fastify answer to a request that they refuse, and the pieces of their schemas.
 */
import { type ErrorCode, errorCodes, requestCodes } from "@pix-payments/domain/ErrorCode"
import type { FastifyReply } from "fastify"

/** A field that breaks a rule, as AJV tells it. */
export interface Broken {
  readonly instancePath: string
  readonly keyword: string
  readonly params: Readonly<Record<string, unknown>>
}

export const refuse = (reply: FastifyReply, code: ErrorCode, details?: ReadonlyArray<string>) => {
  const { message, status } = errorCodes[code]
  return reply.code(status).send(details === undefined ? { code, message } : { code, message, details })
}

/** The code that is answered first, with the fields that it is about. */
export const refusalOf = (errors: ReadonlyArray<Broken>): { code: ErrorCode; details?: ReadonlyArray<string> } => {
  // Of what is no object at all, no field can be named.
  if (errors.some(({ instancePath, keyword }) => instancePath === "" && keyword === "type")) {
    return { code: "VALIDATION_ERROR" }
  }
  const found = errors.flatMap(({ instancePath, keyword, params }) => {
    const path = instancePath.slice(1).replaceAll("/", ".")
    if (keyword === "required") {
      const missing = String(params["missingProperty"])
      const names = missing === "customer" ? ["customer.name", "customer.email", "customer.document"] : [missing]
      return names.map((name) => ({ code: "VALIDATION_ERROR", path: path === "" ? name : `${path}.${name}` }))
    }
    if (path === "method" && keyword === "enum") return [{ code: "METHOD_NOT_SUPPORTED", path }]
    if (path === "amount" && keyword === "minimum") return [{ code: "AMOUNT_BELOW_MINIMUM", path }]
    if (keyword === "format" && params["format"] === "document") return [{ code: "INVALID_DOCUMENT", path }]
    return [{ code: "VALIDATION_ERROR", path }]
  })
  const code = requestCodes.find((candidate) => found.some((each) => each.code === candidate)) ?? "VALIDATION_ERROR"
  return { code, details: [...new Set(found.filter((each) => each.code === code).map(({ path }) => path))] }
}

// ---- schemas ----

export const text = (minimum: number, maximum: number) => ({
  type: "string",
  minLength: minimum,
  maxLength: maximum,
  format: "printable"
})

export const optional = (schema: object) => ({ ...schema, nullable: true })

export const string = { type: "string" }

export const stringOrNull = { type: "string", nullable: true }

export const errorSchema = {
  type: "object",
  properties: {
    code: string,
    message: string,
    details: { type: "array", items: string },
    charge_id: string
  }
}
