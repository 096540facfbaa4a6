/**
 * Reads answers of the service, or of a proxy before it: what a refusal says, and whether a success is whole.
 */
import type { ApiErrorFields } from "./Errors.ts"
import type { Route } from "./generated/Routes.ts"

/** Reads a body of which nothing is certain; `waitMs` is what `Retry-After` asks for. */
export const refusalOf = (
  status: number,
  body: unknown,
  waitMs: number | undefined,
  operation: string,
  requestId: string
): ApiErrorFields & { readonly message: string } => {
  const { charge_id, code, details, message } = Object(body)
  const name = typeof code === "string" ? code : "UNKNOWN"
  const listed: ReadonlyArray<string> = Array.isArray(details) ? details : []
  const why =
    listed.filter((one) => typeof one === "string").join(", ") || (typeof message === "string" ? message : operation)
  return {
    status,
    code: name,
    message: `${name}: ${why} (${status}, request ${requestId})`,
    details: listed,
    ...(typeof charge_id === "string" ? { charge_id } : {}),
    ...(waitMs === undefined ? {} : { retryAfterMs: waitMs }),
    body
  }
}

/** Whether a success is whole: JSON of the service, a list where one was asked for, or the nothing that a 204 has. */
export const isWhole = (route: Route, status: number, text: string | undefined, parsed: unknown): boolean =>
  route.list ? Array.isArray(Object(parsed).data) : text === "" ? status === 204 : Object(parsed) === parsed
