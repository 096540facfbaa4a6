/**
 * What a client refuses to send at all, said without the values: they may be secrets in the wrong place.
 */

/** What is wrong with the address or the key of a service, or `undefined`. */
export const wrongConnection = (baseUrl: string, apiKey: string): string | undefined => {
  const url = URL.canParse(baseUrl) ? new URL(baseUrl) : undefined
  if (!/^https?:$/.test(url?.protocol ?? "")) return "baseUrl must be an http or https URL"
  if (url?.username || url?.password || url?.search || url?.hash) {
    return "baseUrl must have no user, password, query or fragment"
  }
  // `fetch` would say the key in its complaint.
  if (typeof apiKey !== "string" || !/^[!-~]+$/.test(apiKey)) return "apiKey must be visible ASCII without white space"
  return undefined
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
  const headers = headersOf(call.headers)
  if (!headers) return "a header is malformed"
  // They would be sent over, in silence: a creation would not be repeatable under the key that its caller knows.
  for (const [name, option] of OWN_HEADERS) {
    if (headers.has(name)) return `${name} is not for headers: use the option ${option}`
  }
  return undefined
}

/** Whether an id can stand in a path: dots would leave it, nothing at all would name the list, half a character is none. */
export const isSegment = (id: unknown): id is string =>
  typeof id === "string" && !/^\.{0,2}$/.test(id) && id.isWellFormed()

const OWN_HEADERS = [
  ["x-api-key", "apiKey"],
  ["idempotency-key", "idempotencyKey"]
] as const

const headersOf = (headers: Readonly<Record<string, string>> | undefined): Headers | undefined => {
  try {
    return new Headers(headers)
  } catch {
    return undefined
  }
}
