/**
 * What every request of the operator listener goes through, whatever route it finds or misses.
 *
 * Guarantees: every answer carries `X-Request-Id` (the caller's, when it sent a sane one), and every 503
 * `Retry-After`; an unknown route is `NOT_FOUND`, a known one with another verb `METHOD_NOT_ALLOWED` with `Allow`;
 * what nobody expected is logged with the request id and answered `INTERNAL_ERROR`, and no stack or SQL reaches a
 * caller; a request for a host that is not in `OPERATOR_HOSTS` is `MISDIRECTED_REQUEST`, but for health checks.
 *
 * Source: decisions.md "Answers"; payments-api-v1.md "Limits".
 */
import { describeCause } from "../observability/SafeCause.ts"
import { type ErrorCode, errorCodes } from "@pix-payments/domain/ErrorCode"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as HttpApi from "effect/http-api/HttpApi"
import type * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpRouter from "effect/http/HttpRouter"
import { HttpServerError } from "effect/http/HttpServerError"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { Settings } from "../Settings.ts"
import { hostnameOf } from "../AllowedHosts.ts"
import { hostOf } from "./Listener.ts"
import { apiHeaderFields } from "./SecurityHeaders.ts"
import { CurrentRequest, type RequestInfo, requestIdOf } from "../observability/RequestContext.ts"

/** The error body of a code, where no handler is there to fail with it. */
export const errorResponse = (
  code: ErrorCode,
  options: { readonly details?: ReadonlyArray<string>; readonly headers?: Record<string, string> } = {}
): HttpServerResponse.HttpServerResponse => {
  const { message, status } = errorCodes[code]
  const body = options.details === undefined ? { code, message } : { code, message, details: options.details }
  return HttpServerResponse.text(JSON.stringify(body), {
    status,
    contentType: "application/json",
    headers: options.headers
  })
}

/** A verb and a path that a listener knows. */
export interface KnownPath {
  readonly method: string
  readonly matches: RegExp
}

/** Every path of an API. */
export const pathsOf = <Id extends string, Groups extends HttpApiGroup.Constraint>(
  api: HttpApi.HttpApi<Id, Groups>
): ReadonlyArray<KnownPath> => {
  const paths: Array<KnownPath> = []
  HttpApi.reflect(api, {
    onGroup: () => {},
    onEndpoint: ({ endpoint }) => paths.push({ method: endpoint.method, matches: matcher(endpoint.path) })
  })
  return paths
}

/** A page that is no part of an API. */
export const page = (path: string): KnownPath => ({ method: "GET", matches: matcher(path) })

/** The middleware of a listener that serves these paths. */
export const layer = (known: ReadonlyArray<KnownPath>) =>
  HttpRouter.middleware(
    Effect.gen(function* () {
      const { operatorHost, operatorHosts } = yield* Settings
      const hosts = new Set([...operatorHosts, hostOf(operatorHost).toLowerCase()])
      return (app: Effect.Effect<HttpServerResponse.HttpServerResponse, unknown>) =>
        Effect.withFiber<HttpServerResponse.HttpServerResponse, unknown>((fiber) => {
          const request = Context.getUnsafe(fiber.context, HttpServerRequest)
          const info: RequestInfo = {
            requestId: requestIdOf(request.headers["x-request-id"]),
            route: "unknown",
            keyId: null,
            accountId: null
          }
          const finish = (response: HttpServerResponse.HttpServerResponse) => {
            const answer = HttpServerResponse.setHeaders(response, {
              ...apiHeaderFields,
              ...response.headers,
              "x-request-id": info.requestId
            })
            return answer.status === 503 ? HttpServerResponse.setHeader(answer, "retry-after", "1") : answer
          }
          const refused = refusalOf(hosts, request)
          if (refused !== undefined) return Effect.succeed(finish(refused))
          return Effect.matchCauseEffect(Effect.provideService(app, CurrentRequest, info), {
            onSuccess: (response) => Effect.succeed(finish(response)),
            onFailure: (cause) => {
              if (Cause.hasInterruptsOnly(cause)) return Effect.failCause(cause)
              if (isRouteNotFound(cause)) return Effect.succeed(finish(missing(known, request)))
              return Effect.as(
                Effect.annotateLogs(Effect.logError("a request failed unexpectedly", describeCause(cause)), {
                  request_id: info.requestId,
                  route: info.route
                }),
                finish(errorResponse("INTERNAL_ERROR"))
              )
            }
          })
        })
    }),
    { global: true }
  )

/**
 * The answer to a request for another host, which a page of a stranger may have led a browser to (DNS rebinding). Health
 * checks come by address, or with no host at all.
 */
const refusalOf = (hosts: ReadonlySet<string>, { headers, url }: HttpServerRequest) => {
  const path = url.split("?", 1)[0]
  if (path === "/health/live" || path === "/health/ready") return undefined
  const { host } = headers
  if (host === undefined || host === "") return errorResponse("VALIDATION_ERROR", { details: ["Host"] })
  const name = hostnameOf(host)
  return name !== undefined && hosts.has(name) ? undefined : errorResponse("MISDIRECTED_REQUEST")
}

const matcher = (path: string): RegExp => {
  const pattern = path
    .replace(/\/$/, "")
    .replace(/[.]/g, "\\.")
    .replace(/:[A-Za-z]+/g, "[^/]+")
  return new RegExp(`^${pattern}/?$`)
}

const missing = (known: ReadonlyArray<KnownPath>, request: HttpServerRequest) => {
  const path = request.url.split("?", 1)[0] ?? ""
  const verbs = new Set(known.filter(({ matches }) => matches.test(path)).map(({ method }) => method))
  if (verbs.size === 0) return errorResponse("NOT_FOUND")
  return errorResponse("METHOD_NOT_ALLOWED", { headers: { allow: [...verbs].join(", ") } })
}

const isRouteNotFound = (cause: Cause.Cause<unknown>): boolean => {
  const error = Cause.squash(cause)
  return error instanceof HttpServerError && error.reason._tag === "RouteNotFound"
}
