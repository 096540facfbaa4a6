/**
 * What an answer with an error says, whoever wrote it: the service, or a proxy before it.
 */
import type { ApiErrorFields } from "./Errors.ts"

/** Reads a body of which nothing is certain; `waitMs` is what `Retry-After` asks for. */
export const refusalOf = (
  status: number,
  body: unknown,
  waitMs: number | undefined,
  operation: string
): ApiErrorFields & { readonly message: string } => {
  const { charge_id, code, details, message } = Object(body)
  return {
    status,
    code: typeof code === "string" ? code : "UNKNOWN",
    message: typeof message === "string" ? message : `${operation} was answered with status ${status}`,
    details: Array.isArray(details) ? details : [],
    ...(typeof charge_id === "string" ? { charge_id } : {}),
    ...(waitMs === undefined ? {} : { retryAfterMs: waitMs }),
    body
  }
}
