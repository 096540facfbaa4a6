/**
 * The cookie of a session, and that of a sign-in at the identity provider.
 *
 * Guarantees:
 * - A session's is `HttpOnly` and `SameSite=Strict`; over TLS also `Secure`, with the prefix `__Host-`, which no other host and no
 *   page without TLS can set. Over TLS no other cookie counts.
 * - A request with a cookie counts only if the browser says that it comes from the same origin.
 * - The address behind a proxy of `OPERATOR_TRUSTED_PROXY` is the one that it names.
 *
 * Rules: OPR-44, OPR-46.
 */
import { SESSION_COOKIE } from "@pix-payments/api/Security"
import * as Context from "effect/Context"
import type { IncomingMessage } from "node:http"
import type { BlockList } from "node:net"
import { contains, forwardedFor } from "../../../base/network/Networks.ts"
import { headerOf } from "../../pipeline/HttpServer.ts"

/** What a request says about its caller, beside its credential. */
export interface Connection {
  readonly address: string
  readonly userAgent: string | undefined
  /** The URL that the caller used, up to the path. */
  readonly origin: string
  readonly isTls: boolean
  /** The cookie of a sign-in at the identity provider. */
  readonly signInCookie: string | undefined
  /** Undefined where the browser does not say, or where there is no browser. */
  readonly fetchSite: string | undefined
}

/** The connection of the current request. */
export const CurrentConnection = Context.Reference<Connection>("@pix-payments/server/CurrentConnection", {
  defaultValue: () => ({
    address: "unknown",
    userAgent: undefined,
    origin: "",
    isTls: false,
    signInCookie: undefined,
    fetchSite: undefined
  })
})

export const connectionOf = (request: IncomingMessage, proxies: BlockList): Connection => {
  const isTls = isOverTls(request)
  const peer = request.socket.remoteAddress ?? "unknown"
  return {
    address: (contains(proxies, peer) ? forwardedFor(request) : undefined) ?? peer,
    userAgent: request.headers["user-agent"],
    origin: `${isTls ? "https" : "http"}://${request.headers.host ?? ""}`,
    isTls,
    signInCookie: cookieOf(request, SIGN_IN_COOKIE),
    fetchSite: headerOf(request, "sec-fetch-site")
  }
}

/**
 * Whether the browser came over TLS, which ends at a proxy. A browser names its origin where it sends a body, and sends
 * `Sec-Fetch-Site` over TLS and to this machine only.
 */
const isOverTls = (request: IncomingMessage): boolean => {
  const { host, origin } = request.headers
  if (headerOf(request, "x-forwarded-proto") === "https" || (origin?.startsWith("https://") ?? false)) return true
  const name = URL.parse(`http://${host ?? ""}`)?.hostname ?? ""
  return headerOf(request, "sec-fetch-site") !== undefined && !/^(localhost|127(\.\d+){3}|\[::1\])$/.test(name)
}

/** The secret in a request's cookies. */
export const sessionSecretOf = (request: IncomingMessage): string | undefined => cookieOf(request, SESSION_COOKIE)

/** A cookie of this name. That of TLS comes first, and over TLS it is the only one. */
const cookieOf = (request: IncomingMessage, plain: string): string | undefined => {
  const cookies = (request.headers.cookie ?? "").split(";").map((pair) => pair.trim())
  for (const name of [`${HOST_PREFIX}${plain}`, ...(isOverTls(request) ? [] : [plain])]) {
    const found = cookies.find((pair) => pair.startsWith(`${name}=`))
    if (found !== undefined) return found.slice(name.length + 1)
  }
  return undefined
}

/** The value of `Set-Cookie` that starts a session, or ends it where `secret` is undefined. */
export const setCookie = (connection: Connection, secret: string | undefined): string =>
  cookieWith(connection, SESSION_COOKIE, "Strict", secret)

/**
 * The value of `Set-Cookie` for a sign-in at the identity provider; it is removed where `sealed` is undefined. The browser
 * sends it when it comes back from there, which it would not with `SameSite=Strict`.
 */
export const setSignInCookie = (connection: Connection, sealed: string | undefined): string =>
  cookieWith(connection, SIGN_IN_COOKIE, "Lax", sealed)

const cookieWith = (
  { isTls }: Connection,
  name: string,
  sameSite: "Strict" | "Lax",
  content: string | undefined
): string =>
  [
    `${isTls ? HOST_PREFIX : ""}${name}=${content ?? ""}`,
    "Path=/",
    "HttpOnly",
    `SameSite=${sameSite}`,
    ...(isTls ? ["Secure"] : []),
    ...(content === undefined ? ["Max-Age=0"] : [])
  ].join("; ")

/** True where the browser says that a page of this origin sent the request. */
export const isSameOrigin = (request: IncomingMessage): boolean => headerOf(request, "sec-fetch-site") === "same-origin"

/** True where a body is declared as JSON, which a form of another page cannot do. */
export const isJson = ({ headers }: IncomingMessage): boolean =>
  /^application\/json\s*(;|$)/i.test(headers["content-type"] ?? "")

const SIGN_IN_COOKIE = "pix_sign_in"

const HOST_PREFIX = "__Host-"
