/** The spans of deliveries, in the traces of their charges and payouts: of the fan-out, and of each attempt. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import { inTrace, spanNamedBy, traceparentOf } from "../../base/observability/Tracing.ts"
import type { Attempt, ClaimedDelivery } from "../deliveries/Delivery.ts"

/** Gives each traced change of a round its span, below which its deliveries are sent. */
export const belowFanOut = (
  leased: ReadonlyArray<ClaimedDelivery>,
  startTime: bigint
): Effect.Effect<ReadonlyArray<ClaimedDelivery>> =>
  Effect.withFiber((fiber) => {
    const { tracer } = fiber.cache
    if (tracer === undefined || leased.every(({ trace }) => trace === null)) return Effect.succeed(leased)
    return Effect.map(Clock.currentTimeNanos, (endTime) => {
      const traces = new Map<string, string>()
      return leased.map((delivery) => {
        const parent = spanNamedBy(delivery.trace)
        if (parent === undefined) return delivery
        const changeId = delivery.unstored!.changeId
        const known = traces.get(changeId)
        if (known !== undefined) return { ...delivery, trace: known }
        const span = tracer.span({
          name: "fan-out",
          parent: Option.some(parent),
          annotations: Context.empty(),
          links: [],
          startTime,
          kind: "internal",
          root: false,
          sampled: parent.sampled
        })
        span.attribute("pix.change_id", changeId)
        span.attribute("pix.resource_id", delivery.resourceId)
        span.end(endTime, Exit.void)
        traces.set(changeId, traceparentOf(span))
        return { ...delivery, trace: traceparentOf(span) }
      })
    })
  })

/** Makes an attempt in a span. It has no path of the receiver's URL, which may contain secrets. */
export const inDeliverySpan = (delivery: ClaimedDelivery, attempt: Effect.Effect<Attempt>): Effect.Effect<Attempt> => {
  if (delivery.trace === null) return attempt
  const { hostname, port, protocol } = URL.parse(delivery.url) ?? { hostname: "", port: "", protocol: "" }
  const attributes = {
    "http.request.method": "POST",
    "server.address": hostname,
    "server.port": Number(port || (protocol === "http:" ? 80 : 443)),
    "pix.event": delivery.event,
    "pix.resource_id": delivery.resourceId,
    "pix.delivery_id": delivery.id,
    ...(delivery.attemptsMade > 0 && { "http.request.resend_count": delivery.attemptsMade })
  }
  return attempt.pipe(
    Effect.tap(({ error, statusCode }) =>
      Effect.annotateCurrentSpan({
        ...(statusCode !== null && { "http.response.status_code": statusCode }),
        ...(error !== null && { "error.type": statusCode === null ? error : String(statusCode) })
      })
    ),
    inTrace(delivery.trace, "POST", { kind: "client", attributes })
  )
}
