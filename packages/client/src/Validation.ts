/**
 * Checks of options before anything is sent. Each returns what is wrong, or `undefined`.
 *
 * Guarantees: messages say what to do and never contain the value, which may be a secret in the wrong place.
 */

/** Checks the service's URL. */
export const baseUrlProblem = (baseUrl: string | undefined): string | undefined => {
  if (!baseUrl) return "baseUrl is missing: pass it or set PAYMENTS_URL"
  if (!/^https?:/i.test(baseUrl) || !URL.canParse(baseUrl)) return "baseUrl must be an http or https URL"
  const { hash, password, pathname, search, username } = new URL(baseUrl)
  if (username || password || search || hash) return "baseUrl must have no user, password, query or fragment"
  return /\/v1\/*$/.test(pathname) ? "baseUrl must not end in /v1: the client adds it" : undefined
}

/** Checks an API key. */
export const apiKeyProblem = (apiKey: unknown): string | undefined => {
  if (apiKey === undefined || apiKey === "") return "apiKey is missing: pass it or set PAYMENTS_API_KEY"
  // `fetch` would print the key in its error message.
  return typeof apiKey === "string" && /^[!-~]+$/.test(apiKey)
    ? undefined
    : "apiKey must be visible ASCII without white space: trim it"
}

/** The URL without trailing slashes. */
export const normalizeBaseUrl = (baseUrl: string): string => {
  const { origin, pathname } = new URL(baseUrl)
  return (origin + pathname).replace(/\/+$/, "")
}

/** Checks the options of a call. */
export const optionsProblem = (options: {
  readonly timeoutMs: number
  readonly maxRetries: number
  readonly idempotencyKey?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
}): string | undefined => {
  // A longer timer fires at once.
  if (!(options.timeoutMs > 0 && options.timeoutMs < 2 ** 31)) return "timeoutMs must be above 0 and below 2^31"
  if (!(Number.isSafeInteger(options.maxRetries) && options.maxRetries >= 0))
    return "maxRetries must be a whole number, 0 or more"
  const { idempotencyKey: key } = options
  if (key !== undefined && !(typeof key === "string" && /^[!-~]{8,255}$/.test(key))) {
    return "idempotencyKey must be 8 to 255 visible ASCII characters"
  }
  let headers: Headers
  try {
    headers = new Headers(options.headers)
  } catch {
    return "headers has an invalid name or value"
  }
  // The client sets these headers. A key that it overwrote silently could not be used to repeat the creation.
  if (headers.has("x-api-key")) return "x-api-key is not allowed in headers: use the option apiKey"
  if (headers.has("idempotency-key")) return "idempotency-key is not allowed in headers: use the option idempotencyKey"
  return undefined
}

/** Whether an id can be a path segment. An empty one or dots would change the path; a lone surrogate cannot be encoded. */
export const isPathSegment = (id: unknown): id is string =>
  typeof id === "string" && !/^\.{0,2}$/.test(id) && id.isWellFormed()
