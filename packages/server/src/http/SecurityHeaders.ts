/**
 * The headers that every answer of both listeners carries, prepared once.
 */

/** Of every answer, as node writes them. */
export const securityHeaders: ReadonlyArray<string> = [
  "x-content-type-options",
  "nosniff",
  "referrer-policy",
  "no-referrer"
]

/** Of an answer of the API as well: it is somebody's, and no cache keeps it. */
export const apiHeaders: ReadonlyArray<string> = [...securityHeaders, "cache-control", "no-store"]
