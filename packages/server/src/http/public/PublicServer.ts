/**
 * The public listener: `/v1`, its OpenAPI document and its reference page, on node:http.
 *
 * Guarantees: every answer carries `X-Request-Id` (the caller's, when it sent a sane one), and every 503
 * `Retry-After`; an unknown route is `NOT_FOUND`, a known one with another verb `METHOD_NOT_ALLOWED` with `Allow`; what
 * nobody expected is logged with the request id and answered `INTERNAL_ERROR`, and no stack or SQL reaches a caller;
 * every request is in the request log, but for those that are shed: beyond `MAX_REQUESTS_IN_FLIGHT`, or its account's
 * share of it (`InFlight`), a request is answered 503 at once, and costs the database nothing. A request counts from when
 * it is there whole, so that slow senders take no place, until its answer has left. What a caller asked for is done
 * whether or not it waits for the answer.
 *
 * One fiber for a request, and nothing between it and node but the prepared routes.
 *
 * Source: decisions.md "Answers"; payments-api-v1.md "Limits".
 */
import { describeCause } from "../../observability/SafeCause.ts"
import { Metrics, type ShedReason } from "../../observability/Metrics.ts"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { hasProperty } from "effect/Predicate"
import * as Schema from "effect/Schema"
import { once } from "node:events"
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { ApiKeys } from "../../accounts/ApiKeys.ts"
import { Settings } from "../../Settings.ts"
import { Unavailable } from "../../sql/Unavailable.ts"
import { accountHandlers, balanceHandlers } from "./AccountHandlers.ts"
import * as ChargeHandlers from "./ChargeHandlers.ts"
import { makeBodies } from "../RequestBody.ts"
import * as InFlight from "../InFlight.ts"
import { KeyRateLimit } from "./KeyRateLimit.ts"
import { hostOf, makeServer } from "../Listener.ts"
import { ListenAddresses } from "../ListenAddresses.ts"
import { refuse } from "../LowLevelRefusals.ts"
import { makeRoom, negotiated, type Page } from "./Pages.ts"
import * as PayoutHandlers from "./PayoutHandlers.ts"
import {
  type Answer,
  codeAnswer,
  errorAnswer,
  prepare,
  type ReadRequest,
  type Route,
  type WireError
} from "../CompiledApi.ts"
import { pages } from "./ReferencePage.ts"
import { type RequestInfo, requestIdOf } from "../../observability/RequestContext.ts"
import { RequestLog } from "../../operations/RequestLog.ts"
import { findRoute, makeTable } from "../Router.ts"
import { apiHeaders } from "../SecurityHeaders.ts"
import type { BoundedResponse } from "../SocketBounds.ts"
import * as WebhookHandlers from "./WebhookEndpointHandlers.ts"

export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const settings = yield* Settings
    const keys = yield* ApiKeys
    const limit = yield* KeyRateLimit
    const log = yield* RequestLog
    const metrics = yield* Metrics
    const runFork = Effect.runForkWith(yield* Effect.context())
    const routes = prepare(
      {
        charges: yield* ChargeHandlers.handlers,
        payouts: yield* PayoutHandlers.handlers,
        balance: yield* balanceHandlers,
        account: yield* accountHandlers,
        webhooks: yield* WebhookHandlers.handlers
      },
      { authenticate: keys.authenticate, take: limit.take }
    )
    const table = makeTable<Route | Page>([...routes, ...pages])

    const inFlight = InFlight.make(settings.maxRequestsInFlight)
    const bodies = makeBodies()
    const pageRoom = makeRoom(Math.max(1, Math.floor(settings.maxRequestsInFlight / PAGES_SHARE)))
    metrics.requestsInFlight(() => inFlight.count() + pageRoom.inFlight())

    const serve = (request: IncomingMessage, response: BoundedResponse) => {
      const startedAt = performance.now()
      const info: RequestInfo = {
        requestId: requestIdOf(request.headers["x-request-id"]),
        route: "unknown",
        keyId: null,
        accountId: null
      }
      const method = request.method ?? "GET"
      const logged = (status: number) => {
        const seen = response.destroyed && !response.writableEnded ? CLIENT_CLOSED : status
        log.write(info, method, seen, performance.now() - startedAt)
      }
      const finish = (answer: Answer) => {
        logged(answer.status)
        send(response, answer, info.requestId)
      }
      const shed = (reason: ShedReason) => {
        metrics.request(info.route, 503, performance.now() - startedAt)
        metrics.requestShed(reason)
        if (!response.destroyed) {
          response.writeHead(503, [...shedHeaders, "x-request-id", info.requestId]).end(shedBody, "latin1")
        }
      }

      if (request.headers.host === undefined && request.httpVersion === "1.1") {
        logged(400)
        return refuse(response, 400, "VALIDATION_ERROR", info.requestId, ["Host"])
      }
      const url = targetOf(request.url ?? "/")
      const mark = url.indexOf("?")
      const found = findRoute(table, method, mark < 0 ? url : url.slice(0, mark))
      if (found._tag === "Missing") return finish(codeAnswer("NOT_FOUND"))
      if (found._tag === "OtherVerbs")
        return finish(codeAnswer("METHOD_NOT_ALLOWED", { allow: found.verbs.join(", ") }))
      info.route = found.route.template

      if ("page" in found.route) {
        return void found.route.page(mark < 0 ? "" : url.slice(mark + 1)).then(
          (page) => {
            const { body, headers, status } = negotiated(page, request.headers)
            if (!pageRoom.take(method === "HEAD" ? 0 : (body?.length ?? 0), startedAt)) return shed("pages")
            logged(status)
            if (!response.destroyed) {
              response.writeHead(status, [...headers, "x-request-id", info.requestId]).end(body)
            }
            response.whenLeft(pageRoom.release)
          },
          (error: unknown) => {
            fail(Cause.die(error), info)
            finish(codeAnswer("INTERNAL_ERROR"))
          }
        )
      }
      const { answer, takesBody } = found.route

      // What is left of the body is node's to skip.
      if (inFlight.isFull()) return shed("all")

      const run = (body: string | undefined) => {
        const key = headerOf(request, "x-api-key")
        const remembered = key === undefined ? undefined : keys.recall(key)
        const place = inFlight.take(remembered?.account.id)
        if (place === undefined) return shed(inFlight.isFull() ? "all" : "account")
        const read: ReadRequest = {
          key,
          remembered,
          idempotencyKey: headerOf(request, "idempotency-key"),
          params: found.params,
          search: mark < 0 ? "" : url.slice(mark + 1),
          body
        }
        const answering = answer(read, (caller) => {
          info.keyId = caller?.keyId ?? null
          info.accountId = caller?.account.id ?? null
          if (caller === undefined || inFlight.belongsTo(place, caller.account.id)) return true
          metrics.requestShed("account")
          return false
        })
        runFork(answering).addObserver((exit) => {
          if (Exit.isSuccess(exit)) finish(exit.value)
          else {
            const answer = wireErrorOf(exit.cause)
            if (answer === undefined) fail(exit.cause, info)
            finish(answer ?? codeAnswer("INTERNAL_ERROR"))
          }
          response.whenLeft(() => inFlight.release(place))
        })
      }
      if (!takesBody) return run("")
      bodies.read(request, {
        done: run,
        gone: () => logged(CLIENT_CLOSED),
        givenUp: () => {
          response.shouldKeepAlive = false
          shed("bodies")
        }
      })
    }

    /** Logs what nobody expected. */
    const fail = (cause: Cause.Cause<unknown>, info: RequestInfo) => {
      runFork(
        Effect.annotateLogs(Effect.logError("a request failed unexpectedly", describeCause(cause)), {
          request_id: info.requestId,
          route: info.route
        })
      )
    }

    const server = yield* makeServer("public")
    server.on("request", serve)
    const port = yield* Effect.acquireRelease(listen(server, settings), () => close(server))
    const listening = yield* ListenAddresses
    listening.public = `http://${hostOf(settings.host)}:${port}`
  })
).pipe(Layer.provide([KeyRateLimit.layer, RequestLog.layer]))

/** The answer that a failure of the expected kinds has, or `undefined` for a defect. */
const wireErrorOf = (cause: Cause.Cause<WireError | Unavailable>): Answer | undefined => {
  const error = Cause.findErrorOption(cause)
  if (error._tag === "None") return undefined
  return error.value instanceof Unavailable ? codeAnswer("SERVICE_UNAVAILABLE") : errorAnswer(error.value)
}

// Made once: shedding must cost less than what it makes room for.
const shedBody = JSON.stringify(codeAnswer("SERVICE_UNAVAILABLE").body)
const shedHeaders: ReadonlyArray<string> = [
  ...apiHeaders,
  "content-type",
  "application/json",
  "content-length",
  String(Buffer.byteLength(shedBody)),
  "retry-after",
  "1"
]

const send = (response: ServerResponse, answer: Answer, requestId: string): void => {
  if (response.destroyed) return
  const headers = [...apiHeaders, "x-request-id", requestId]
  for (const name in answer.headers) headers.push(name, answer.headers[name] ?? "")
  if (answer.status === 503) headers.push("retry-after", "1")
  // What is left of a body that is too large is not waited for.
  if (answer.status === 413) response.shouldKeepAlive = false
  if (answer.body === undefined) {
    response.writeHead(answer.status, headers).end()
    return
  }
  const text = JSON.stringify(answer.body)
  const length = Buffer.byteLength(text)
  headers.push("content-type", "application/json", "content-length", String(length))
  // ASCII, as most answers are, is copied as it is (measured: a tenth of what sending a page of a list takes).
  response.writeHead(answer.status, headers).end(text, length === text.length ? "latin1" : "utf8")
}

/** The path and query of a request target; proxies may write the host before it. */
const targetOf = (url: string): string => (url.startsWith("/") ? url : url.replace(/^https?:\/\/[^/?#]*/i, ""))

const headerOf = (request: IncomingMessage, name: string): string | undefined => {
  const value = request.headers[name]
  return Array.isArray(value) ? value.join(", ") : value
}

const listen = (server: Server, { host, port }: { readonly host: string; readonly port: number }) =>
  Effect.tryPromise({
    try: async () => {
      server.listen({ host, port })
      await once(server, "listening")
      const address = server.address()
      return typeof address === "object" && address !== null ? address.port : port
    },
    catch: (cause) => {
      const why = hasProperty(cause, "code") ? ` (${String(cause.code)})` : ""
      return new CannotListen({
        message: `${hostOf(host)}:${port} cannot be listened on${why}. Set PORT or HOST to another address.`
      })
    }
  })

/** The address is taken, or is not this machine's. */
export class CannotListen extends Schema.TaggedError<CannotListen>()("CannotListen", { message: Schema.String }) {}

const close = (server: Server) =>
  Effect.callback<void>((resume) => {
    server.close(() => resume(Effect.void))
  })

/** Pages may take this part of the places for requests, in places of their own. */
const PAGES_SHARE = 16

// nginx's status for a caller that went away before the answer.
const CLIENT_CLOSED = 499
