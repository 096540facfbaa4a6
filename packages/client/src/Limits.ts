/**
 * What a client refuses to send at all, said without the values: they may be secrets in the wrong place.
 */

/** What is wrong with the address of a service, or `undefined`. */
export const wrongUrl = (baseUrl: string | undefined): string | undefined => {
  if (!baseUrl) return "baseUrl is missing: pass it or set PAYMENTS_URL"
  if (!/^https?:/i.test(baseUrl) || !URL.canParse(baseUrl)) return "baseUrl must be an http or https URL"
  const { hash, password, pathname, search, username } = new URL(baseUrl)
  if (username || password || search || hash) return "baseUrl must have no user, password, query or fragment"
  return /\/v1\/*$/.test(pathname) ? "baseUrl must not end in /v1: the client adds it" : undefined
}

/** What is wrong with an API key, or `undefined`. */
export const wrongKey = (apiKey: unknown): string | undefined => {
  if (apiKey === undefined || apiKey === "") return "apiKey is missing: pass it or set PAYMENTS_API_KEY"
  // `fetch` would show the key in its complaint.
  return typeof apiKey === "string" && /^[!-~]+$/.test(apiKey)
    ? undefined
    : "apiKey must be visible ASCII without white space"
}

/** The address without what may stand at its end. */
export const bareUrl = (baseUrl: string): string => {
  const { origin, pathname } = new URL(baseUrl)
  return (origin + pathname).replace(/\/+$/, "")
}

/** What is wrong with how a call is to be made, or `undefined`. */
export const whatIsWrong = (call: {
  readonly timeoutMs: number
  readonly maxRetries: number
  readonly idempotencyKey?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}): string | undefined => {
  // What a timer can count; beyond, it would fire at once.
  if (!(call.timeoutMs > 0 && call.timeoutMs < 2 ** 31)) return "timeoutMs must be above 0 and below 2^31"
  if (!(Number.isSafeInteger(call.maxRetries) && call.maxRetries >= 0))
    return "maxRetries must be a whole number from 0"
  const { idempotencyKey: key } = call
  if (key !== undefined && !(typeof key === "string" && /^[!-~]{8,255}$/.test(key))) {
    return "idempotencyKey must be 8 to 255 visible ASCII characters"
  }
  let headers: Headers
  try {
    headers = new Headers(call.headers)
  } catch {
    return "a header is malformed"
  }
  // They would be overwritten in silence: a creation would not be repeatable under the key that its caller knows.
  if (headers.has("x-api-key")) return "x-api-key is not for headers: use the option apiKey"
  if (headers.has("idempotency-key")) return "idempotency-key is not for headers: use the option idempotencyKey"
  return undefined
}

/** Whether an id can stand in a path: dots would leave it, nothing at all would name the list, half a character is none. */
export const isSegment = (id: unknown): id is string =>
  typeof id === "string" && !/^\.{0,2}$/.test(id) && id.isWellFormed()
