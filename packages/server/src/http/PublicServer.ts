/**
 * The public listener: `/v1`, its OpenAPI document and its reference page, on node:http.
 *
 * Guarantees: every answer carries `X-Request-Id` (the caller's, when it sent a sane one), and every 503
 * `Retry-After`; an unknown route is `NOT_FOUND`, a known one with another verb `METHOD_NOT_ALLOWED` with `Allow`; what
 * nobody expected is logged with the request id and answered `INTERNAL_ERROR`, and no stack or SQL reaches a caller;
 * every request is in the request log, but for those that are turned away: beyond `MAX_REQUESTS_IN_FLIGHT` a request is
 * answered 503 at once, and costs the database nothing. A request counts from when it is there whole, so that slow
 * senders take no place. What a caller asked for is done whether or not it waits for the answer.
 *
 * One fiber for a request, and nothing between it and node but the prepared routes.
 *
 * Source: decisions.md "Answers"; payments-api-v1.md "Limits".
 */
import { describeCause } from "../operations/Defects.ts"
import { Metrics } from "../operations/Metrics.ts"
import { openApiDocument, webhookBodies } from "@pix-payments/api/OpenApiDocument"
import { PaymentsApi } from "@pix-payments/api/PaymentsApi"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as HttpApiScalar from "effect/http-api/HttpApiScalar"
import * as OpenApi from "effect/http-api/OpenApi"
import * as HttpRouter from "effect/http/HttpRouter"
import * as Layer from "effect/Layer"
import { hasProperty } from "effect/Predicate"
import * as Schema from "effect/Schema"
import { once } from "node:events"
import type { IncomingMessage, Server, ServerResponse } from "node:http"
import { ApiKeys } from "../accounts/ApiKeys.ts"
import { Settings } from "../Settings.ts"
import { Unavailable } from "../sql/Unavailable.ts"
import { accountHandlers, balanceHandlers } from "./AccountHandlers.ts"
import * as ChargeHandlers from "./ChargeHandlers.ts"
import { readBody } from "./RequestBody.ts"
import { KeyRateLimit } from "./KeyRateLimit.ts"
import { hostOf, makeServer } from "./Listener.ts"
import { Listening } from "./Listening.ts"
import * as PayoutHandlers from "./PayoutHandlers.ts"
import {
  type Answer,
  codeAnswer,
  errorAnswer,
  prepare,
  type ReadRequest,
  type Route,
  type WireError
} from "./PreparedApi.ts"
import { type RequestInfo, requestIdOf } from "./RequestInfo.ts"
import { RequestLog } from "./RequestLog.ts"
import { findRoute, makeTable } from "./RouteTable.ts"
import * as WebhookHandlers from "./WebhookHandlers.ts"

export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const settings = yield* Settings
    const keys = yield* ApiKeys
    const limit = yield* KeyRateLimit
    const log = yield* RequestLog
    const metrics = yield* Metrics
    let inFlight = 0
    const runFork = Effect.runForkWith(yield* Effect.context())
    const routes = prepare(
      {
        charges: yield* ChargeHandlers.handlers,
        payouts: yield* PayoutHandlers.handlers,
        balance: yield* balanceHandlers,
        account: yield* accountHandlers,
        webhooks: yield* WebhookHandlers.handlers
      },
      { authenticate: keys.authenticate, recall: keys.recall, take: limit.take }
    )
    const table = makeTable<Route | Page>([...routes, ...pages])

    const serve = (request: IncomingMessage, response: ServerResponse) => {
      const startedAt = performance.now()
      const info: RequestInfo = {
        requestId: requestIdOf(request.headers["x-request-id"]),
        route: "unknown",
        keyId: null,
        accountId: null
      }
      const method = request.method ?? "GET"
      const finish = (answer: Answer) => {
        const status = response.destroyed && !response.writableEnded ? CLIENT_CLOSED : answer.status
        log.write(info, method, status, performance.now() - startedAt)
        send(response, answer, info.requestId)
      }

      const url = targetOf(request.url ?? "/")
      const mark = url.indexOf("?")
      const found = findRoute(table, method, mark < 0 ? url : url.slice(0, mark))
      if (found._tag === "Missing") return finish(codeAnswer("NOT_FOUND"))
      if (found._tag === "OtherVerbs")
        return finish(codeAnswer("METHOD_NOT_ALLOWED", { allow: found.verbs.join(", ") }))
      info.route = found.route.template
      if ("page" in found.route) return void found.route.page().then((page) => sendPage(response, page, info.requestId))
      const { answer, takesBody } = found.route

      const turnAway = () => {
        metrics.request(info.route, 503, performance.now() - startedAt)
        if (!response.destroyed) {
          response.writeHead(503, [...turnedAwayHeaders, "x-request-id", info.requestId]).end(turnedAway, "latin1")
        }
      }
      // What is left of the body is node's to skip.
      if (inFlight >= settings.maxRequestsInFlight) return turnAway()

      const run = (body: string | undefined) => {
        if (inFlight >= settings.maxRequestsInFlight) return turnAway()
        inFlight++
        const read: ReadRequest = {
          key: headerOf(request, "x-api-key"),
          idempotencyKey: headerOf(request, "idempotency-key"),
          params: found.params,
          search: mark < 0 ? "" : url.slice(mark + 1),
          body
        }
        const answering = answer(read, (caller) => {
          info.keyId = caller?.keyId ?? null
          info.accountId = caller?.account.id ?? null
        })
        runFork(answering).addObserver((exit) => {
          inFlight--
          if (Exit.isSuccess(exit)) return finish(exit.value)
          const told = toldBy(exit.cause)
          if (told !== undefined) return finish(told)
          runFork(
            Effect.annotateLogs(Effect.logError("a request failed unexpectedly", describeCause(exit.cause)), {
              request_id: info.requestId,
              route: info.route
            })
          )
          finish(codeAnswer("INTERNAL_ERROR"))
        })
      }
      if (takesBody) readBody(request, run, () => log.write(info, method, CLIENT_CLOSED, performance.now() - startedAt))
      else run("")
    }

    const server = makeServer()
    server.on("request", serve)
    const port = yield* Effect.acquireRelease(listen(server, settings), () => close(server))
    const listening = yield* Listening
    listening.public = `http://${hostOf(settings.host)}:${port}`
  })
).pipe(Layer.provide([KeyRateLimit.layer, RequestLog.layer]))

interface Page {
  readonly method: string
  readonly template: string
  readonly segments: ReadonlyArray<string>
  readonly page: () => Promise<{ readonly contentType: string; readonly body: string }>
}

const document = openApiDocument(PaymentsApi, webhookBodies)

const documentJson = JSON.stringify(document)

/** The reference page, which shows the same document as `/openapi.json`; made when it is first asked for. */
const referencePage = (() => {
  let made: Promise<string> | undefined
  const make = async () => {
    const documented = PaymentsApi.annotate(OpenApi.Transform, () => document)
    const page = HttpRouter.toWebHandler(
      HttpApiScalar.layer(documented, { path: "/docs", scalar: { withDefaultFonts: false } }),
      { disableLogger: true }
    )
    const response = await page.handler(new Request("http://localhost/docs"))
    const html = await response.text()
    await page.dispose()
    return html
  }
  return () => (made ??= make())
})()

const pages: ReadonlyArray<Page> = [
  {
    method: "GET",
    template: "/openapi.json",
    segments: ["openapi.json"],
    page: async () => ({ contentType: "application/json", body: documentJson })
  },
  {
    method: "GET",
    template: "/docs",
    segments: ["docs"],
    page: async () => ({ contentType: "text/html; charset=utf-8", body: await referencePage() })
  }
]

/** The answer that a failure of the expected kinds has, or `undefined` for a defect. */
const toldBy = (cause: Cause.Cause<WireError | Unavailable>): Answer | undefined => {
  const error = Cause.findErrorOption(cause)
  if (error._tag === "None") return undefined
  return error.value instanceof Unavailable ? codeAnswer("SERVICE_UNAVAILABLE") : errorAnswer(error.value)
}

// Made once: turning away must cost less than what it makes room for.
const turnedAway = JSON.stringify(codeAnswer("SERVICE_UNAVAILABLE").body)
const turnedAwayHeaders = [
  "content-type",
  "application/json",
  "content-length",
  String(Buffer.byteLength(turnedAway)),
  "retry-after",
  "1"
]

const send = (response: ServerResponse, answer: Answer, requestId: string): void => {
  if (response.destroyed) return
  const headers: Record<string, string | number> = { ...answer.headers, "x-request-id": requestId }
  if (answer.status === 503) headers["retry-after"] = "1"
  // What is left of a body that is too large is not waited for.
  if (answer.status === 413) headers["connection"] = "close"
  if (answer.body === undefined) {
    response.writeHead(answer.status, headers).end()
    return
  }
  const text = JSON.stringify(answer.body)
  const length = Buffer.byteLength(text)
  headers["content-type"] = "application/json"
  headers["content-length"] = length
  // ASCII, as most answers are, is copied as it is (measured: a tenth of what sending a page of a list takes).
  response.writeHead(answer.status, headers).end(text, length === text.length ? "latin1" : "utf8")
}

const sendPage = (
  response: ServerResponse,
  page: { readonly contentType: string; readonly body: string },
  requestId: string
): void => {
  response
    .writeHead(200, {
      "content-type": page.contentType,
      "content-length": Buffer.byteLength(page.body),
      "x-request-id": requestId
    })
    .end(page.body)
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

// nginx's status for a caller that went away before the answer.
const CLIENT_CLOSED = 499
