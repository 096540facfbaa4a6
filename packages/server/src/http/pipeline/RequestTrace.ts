/**
 * The span of a request, below that of its caller (`traceparent`).
 *
 * Guarantees:
 * - Its name and attributes have the route and not the path, which may contain personal data.
 * - A refusal is an answer, and no error of the span.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type { IncomingMessage } from "node:http"
import type { RequestInfo } from "../../base/observability/RequestContext.ts"
import { type Sampler, spanNamedBy, UNTRACKED } from "../../base/observability/Tracing.ts"
import { Unavailable } from "../../database/Unavailable.ts"
import { type Answer, errorAnswer, type WireError } from "./Answer.ts"
import { type Answering, wireErrorOf } from "./Exchange.ts"

/** Answers in a span, where the request is sampled; its log lines have the id of the trace. */
export const traced = (
  answering: Answering,
  isSampled: Sampler,
  { headers, method = "GET" }: IncomingMessage,
  info: RequestInfo
): Answering => {
  const { traceparent } = headers
  const caller = typeof traceparent === "string" ? spanNamedBy(traceparent) : undefined
  if (!isSampled(caller, info.arrival.id)) return answering
  const options = {
    kind: "server" as const,
    parent: caller,
    sampled: true,
    attributes: { "http.request.method": method, "http.route": info.route, "pix.request_id": info.requestId }
  }
  return Effect.useSpan(`${method} ${info.route}`, options, (span) => {
    info.traceId = span.traceId
    return answering.pipe(
      Effect.catchIf(
        (error): error is WireError => !(error instanceof Unavailable),
        (error) => Effect.succeed<Answer>(errorAnswer(error))
      ),
      Effect.onExit((exit) =>
        Effect.sync(() => {
          const status = Exit.isSuccess(exit) ? exit.value.status : (wireErrorOf(exit.cause)?.status ?? 500)
          span.attribute("http.response.status_code", status)
          if (status >= 500) span.attribute("error.type", String(status))
        })
      ),
      Effect.annotateLogs({ request_id: info.requestId, trace_id: span.traceId }),
      Effect.withParentSpan(span, UNTRACKED)
    )
  })
}
