/**
 * Headers of all answers of both listeners.
 */

/** For every answer: names and values in turn, as `writeHead` takes them. */
export const securityHeaders: ReadonlyArray<string> = [
  "x-content-type-options",
  "nosniff",
  "referrer-policy",
  "no-referrer"
]

/** For answers of the API, which no cache may store. */
export const apiHeaders: ReadonlyArray<string> = [...securityHeaders, "cache-control", "no-store"]
