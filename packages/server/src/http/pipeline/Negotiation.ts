/**
 * What a caller accepts and has: `Accept-Encoding` and `If-None-Match`.
 */
import { hash } from "node:crypto"
import type { IncomingHttpHeaders } from "node:http"

/** The hash of a text, for its `ETag` and its URL. */
export const hashOf = (text: string): string => hash("sha256", text, "base64url").slice(0, 22)

/** The `ETag` of a text. Weak: the same for all encodings. */
export const tagOf = (text: string): string => `W/"${hashOf(text)}"`

/** Whether the caller has what this `ETag` names. */
export const has = (headers: IncomingHttpHeaders, etag: string): boolean => {
  const known = headers["if-none-match"]
  if (known === undefined) return false
  return known.trim() === "*" || known.split(",").some((tag) => `W/${tag.trim().replace(/^W\//, "")}` === etag)
}

/** The encodings that the caller accepts: those whose weight is not zero. */
export const encodingsOf = (headers: IncomingHttpHeaders): ReadonlySet<string> => {
  const header = headers["accept-encoding"]
  if (typeof header !== "string") return NONE
  const accepted = header
    .toLowerCase()
    .split(",")
    .map((part) => part.trim().split(/\s*;\s*/))
    .filter(([, weight]) => weight === undefined || !/^q=0(\.0*)?$/.test(weight))
  return new Set(accepted.map(([name]) => name ?? ""))
}

const NONE: ReadonlySet<string> = new Set()
