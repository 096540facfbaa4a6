/**
 * The cookie of a session.
 *
 * Guarantees:
 * - It is `HttpOnly` and `SameSite=Strict`; over TLS also `Secure`, with the prefix `__Host-`, which no other host and no
 *   page without TLS can set.
 * - A request with a cookie counts only if the browser says that it comes from the same origin.
 *
 * Rules: OPR-44, OPR-46.
 */
import { SESSION_COOKIE } from "@pix-payments/api/Security"
import * as Context from "effect/Context"
import type { IncomingMessage } from "node:http"
import { headerOf } from "../HttpServer.ts"

/** What the connection of a request says about its caller. */
export interface Connection {
  readonly address: string
  readonly userAgent: string | undefined
  /** The URL that the caller used, up to the path. */
  readonly origin: string
  readonly isTls: boolean
}

/** The connection of the current request. */
export const CurrentConnection = Context.Reference<Connection>("@pix-payments/server/CurrentConnection", {
  defaultValue: () => ({ address: "unknown", userAgent: undefined, origin: "", isTls: false })
})

export const connectionOf = (request: IncomingMessage): Connection => {
  // TLS ends at a proxy. A browser names its origin itself.
  const isTls =
    headerOf(request, "x-forwarded-proto") === "https" || (request.headers.origin?.startsWith("https://") ?? false)
  return {
    address: request.socket.remoteAddress ?? "unknown",
    userAgent: request.headers["user-agent"],
    origin: `${isTls ? "https" : "http"}://${request.headers.host ?? ""}`,
    isTls
  }
}

/** The secret in a request's cookies. That of TLS comes first. */
export const sessionSecretOf = ({ headers }: IncomingMessage): string | undefined => {
  const cookies = (headers.cookie ?? "").split(";").map((pair) => pair.trim())
  for (const name of [SECURE_COOKIE, SESSION_COOKIE]) {
    const found = cookies.find((pair) => pair.startsWith(`${name}=`))
    if (found !== undefined) return found.slice(name.length + 1)
  }
  return undefined
}

/** The value of `Set-Cookie` that starts a session, or ends it where `secret` is undefined. */
export const setCookie = ({ isTls }: Connection, secret: string | undefined): string =>
  [
    `${isTls ? SECURE_COOKIE : SESSION_COOKIE}=${secret ?? ""}`,
    "Path=/",
    "HttpOnly",
    "SameSite=Strict",
    ...(isTls ? ["Secure"] : []),
    ...(secret === undefined ? ["Max-Age=0"] : [])
  ].join("; ")

/** True where the browser says that a page of this origin sent the request. */
export const isSameOrigin = (request: IncomingMessage): boolean => headerOf(request, "sec-fetch-site") === "same-origin"

/** True where a body is declared as JSON, which a form of another page cannot do. */
export const isJson = ({ headers }: IncomingMessage): boolean =>
  /^application\/json\s*(;|$)/i.test(headers["content-type"] ?? "")

const SECURE_COOKIE = `__Host-${SESSION_COOKIE}`
