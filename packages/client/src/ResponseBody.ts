/**
 * Reads response bodies of the service, or of a proxy in front of it.
 */
import type { ResponseHeaders } from "./Call.ts"
import type { ApiErrorFields } from "./Errors.ts"
import type { Route } from "./generated/Routes.ts"

/** A response, as far as errors describe it. */
export interface Described {
  readonly status: number
  readonly headers: Pick<ResponseHeaders, "get">
  /** The text of its body; `undefined` if it is incomplete. */
  readonly text?: string | undefined
}

/** The fields of an error response. The body may be anything. `retryAfterMs` is the parsed `Retry-After`. */
export const apiErrorFields = (
  response: Described,
  body: unknown,
  retryAfterMs: number | undefined,
  operation: string,
  requestId: string
): ApiErrorFields & { readonly message: string } => {
  const { status } = response
  const { charge_id, code, details, message } = Object(body)
  const name = typeof code === "string" ? code : "UNKNOWN"
  const listed: ReadonlyArray<string> = Array.isArray(details) ? details : []
  const said =
    typeof message === "string" ? message : `${operation} got ${excerptOf(response)}: check baseUrl and proxies`
  // The service's reasons name the fields; scopes and events are in `details` alone.
  const unsaid = listed.filter((detail) => typeof detail === "string" && !said.includes(detail))
  const hint = name === "NOT_FOUND" ? " Check baseUrl." : ""
  const explanation = said + hint + (unsaid.length ? ` (${unsaid.join(", ")})` : "")
  return {
    status,
    code: name,
    message: `${name}: ${explanation} (${status}, request ${requestId})`,
    details: listed,
    ...(typeof charge_id === "string" && { charge_id }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
    body
  }
}

/** Whether the body of a 2xx response is complete: a JSON object, a list where one is expected, or nothing after a 204 that has none. */
export const isComplete = (route: Route, status: number, text: string | undefined, parsed: unknown): boolean =>
  route.list
    ? Array.isArray(Object(parsed).data)
    : text === ""
      ? route.empty === true && status === 204
      : Object(parsed) === parsed

/** What a response that is not the service's was: its status, type and target, and its first characters. */
export const excerptOf = ({ headers, status, text = "" }: Described): string => {
  const [type, location] = [headers.get("content-type"), headers.get("location")]
  return (
    [status, type?.split(";")[0]].filter(Boolean).join(" ") +
    // Without its query, which may have secrets.
    (location ? `, a redirect to ${location.split("?")[0]}` : "") +
    (text && ` ${JSON.stringify(text.slice(0, 60))}`)
  )
}
