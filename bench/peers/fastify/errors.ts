/**
 * Error responses of the contract, and the code that a failed validation is answered with.
 */
import { type ErrorCode, errorCodes, requestCodes } from "@pix-payments/domain/ErrorCode"
import type { FastifyReply } from "fastify"

/** A validation error of AJV. */
export interface FieldError {
  readonly instancePath: string
  readonly keyword: string
  readonly params: Readonly<Record<string, unknown>>
}

export const sendError = (reply: FastifyReply, code: ErrorCode, details?: ReadonlyArray<string>) => {
  const { message, status } = errorCodes[code]
  return reply.code(status).send(details === undefined ? { code, message } : { code, message, details })
}

/** The error code with the highest precedence, and its fields. */
export const errorOf = (errors: ReadonlyArray<FieldError>): { code: ErrorCode; details?: ReadonlyArray<string> } => {
  // A body that is not an object has no fields to list.
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
