/**
 * Documents that are the same for everybody: made once, compressed once, and sent as they are kept.
 *
 * Guarantees:
 * - A page is sent without a copy, as Brotli, gzip or plain, as the caller accepts.
 * - It has an `ETag`; a caller that has it already is answered 304.
 * - Its content security policy lets it ask no other host.
 * - Pages take places of their own, apart from the API's, and send a bounded number of bytes within a time: readers who
 *   read nothing hold no more than that, be it here or in the kernel's buffers.
 */
import { createHash } from "node:crypto"
import type { IncomingHttpHeaders } from "node:http"
import { promisify } from "node:util"
import { brotliCompress, constants, gzip } from "node:zlib"
import { securityHeaders } from "./SecurityHeaders.ts"

export interface Page {
  readonly method: string
  readonly template: string
  readonly segments: ReadonlyArray<string>
  /** `search` is the query of the request. */
  readonly page: (search: string) => Promise<PageBody>
}

/** A page, in each of its encodings. */
export interface PageBody {
  readonly etag: string
  readonly encodings: Readonly<Record<"br" | "gzip" | "identity", PageAnswer>>
  /** Where the caller has it already. */
  readonly unchanged: PageAnswer
}

export interface PageAnswer {
  readonly status: number
  /** Names and values, as node writes them. */
  readonly headers: ReadonlyArray<string>
  readonly body: Buffer | undefined
}

export interface PageContent {
  readonly contentType: string
  readonly text: string
  /** A page that is asked for by its hash is kept for good; without it, or with another one, it is asked for again. */
  readonly isVersioned: boolean
  readonly contentSecurityPolicy: string
}

/** The content security policy of a document that is no page of a browser. */
export const nothingPolicy = "default-src 'none'; frame-ancestors 'none'"

/** A page at this path, made when it is first asked for. */
export const page = (path: string, content: () => Promise<PageContent>): Page => {
  let made: Promise<{ readonly version: string | undefined; readonly kept: PageBody; readonly current: PageBody }>
  let isMade = false
  const make = async () => {
    const { isVersioned, ...rest } = await content()
    const compressed = await compress(rest)
    const current = bodyOf(rest, compressed, "no-cache")
    if (!isVersioned) return { version: undefined, kept: current, current }
    return { version: `v=${hashOf(rest.text)}`, kept: bodyOf(rest, compressed, FOR_GOOD), current }
  }
  return {
    method: "GET",
    template: path,
    segments: path.split("/").slice(1),
    page: async (search) => {
      if (!isMade) {
        isMade = true
        made = make()
        made.catch(() => {
          isMade = false
        })
      }
      const { current, kept, version } = await made
      return search === version ? kept : current
    }
  }
}

const FOR_GOOD = "public, max-age=31536000, immutable"

/** What a caller with these headers is sent. */
export const negotiated = (body: PageBody, headers: IncomingHttpHeaders): PageAnswer => {
  const known = headers["if-none-match"]
  if (known !== undefined && (known.trim() === "*" || known.split(",").some((tag) => isSame(tag, body.etag)))) {
    return body.unchanged
  }
  const accepted = encodingsOf(headers["accept-encoding"])
  if (accepted.has("br")) return body.encodings.br
  return accepted.has("gzip") ? body.encodings.gzip : body.encodings.identity
}

/** The places and bytes of pages. */
export const makeRoom = (mostAtOnce: number) => {
  let inFlight = 0
  let sent = 0
  let since = -Infinity
  return {
    inFlight: () => inFlight,
    /** Takes a place for an answer of this size at this moment; false where there is none. */
    take: (bytes: number, nowMs: number): boolean => {
      if (nowMs - since >= BYTES_WINDOW_MS) {
        since = nowMs
        sent = 0
      }
      if (inFlight >= mostAtOnce || sent + bytes > MOST_BYTES) return false
      inFlight++
      sent += bytes
      return true
    },
    release: (): void => {
      inFlight--
    }
  }
}

/** Some eighty times the script of the reference, compressed. Browsers keep it, so that few ask twice. */
const MOST_BYTES = 64 * 1024 * 1024
const BYTES_WINDOW_MS = 30_000

/** The hash that a page's address and `ETag` carry. */
export const hashOf = (text: string): string => createHash("sha256").update(text).digest("base64url").slice(0, 22)

type Text = Omit<PageContent, "isVersioned">

const compress = async ({ text }: Text) => {
  const plain = Buffer.from(text)
  const [br, gz] = await Promise.all([
    promisify(brotliCompress)(plain, {
      params: { [constants.BROTLI_PARAM_QUALITY]: BROTLI_QUALITY, [constants.BROTLI_PARAM_SIZE_HINT]: plain.length }
    }),
    promisify(gzip)(plain)
  ])
  return { br, gzip: gz, identity: plain }
}

const bodyOf = (
  { contentSecurityPolicy, contentType, text }: Text,
  { br, gzip: gz, identity }: Awaited<ReturnType<typeof compress>>,
  cacheControl: string
): PageBody => {
  // Weak: the same for all encodings.
  const etag = `W/"${hashOf(text)}"`
  const common = [
    ...securityHeaders,
    "cache-control",
    cacheControl,
    "content-security-policy",
    contentSecurityPolicy,
    "etag",
    etag,
    "vary",
    "accept-encoding"
  ]
  const encoded = (body: Buffer, encoding?: string): PageAnswer => ({
    status: 200,
    headers: [
      ...common,
      "content-type",
      contentType,
      "content-length",
      String(body.length),
      ...(encoding === undefined ? [] : ["content-encoding", encoding])
    ],
    body
  })
  return {
    etag,
    encodings: { br: encoded(br, "br"), gzip: encoded(gz, "gzip"), identity: encoded(identity) },
    unchanged: { status: 304, headers: common, body: undefined }
  }
}

// Three megabytes in a fifth of a second, once (11 takes six seconds for a seventh less).
const BROTLI_QUALITY = 6

const isSame = (tag: string, etag: string): boolean => `W/${tag.trim().replace(/^W\//, "")}` === etag

/** The encodings that `Accept-Encoding` names and does not refuse. */
const encodingsOf = (header: string | ReadonlyArray<string> | undefined): ReadonlySet<string> => {
  const text = typeof header === "string" ? header : ""
  const accepted = text
    .toLowerCase()
    .split(",")
    .map((part) => part.trim().split(/\s*;\s*/))
    .filter(([, weight]) => weight === undefined || !/^q=0(\.0*)?$/.test(weight))
  return new Set(accepted.map(([name]) => name ?? ""))
}
