/**
 * Traces: which requests begin one, and how what happens later to a charge or payout continues it.
 *
 * Guarantees:
 * - Only a request begins a trace. What a loop does has spans only inside the trace of a charge or payout (`isExported`).
 * - A charge or payout has the `traceparent` of the request that created it, where that request is sampled. What another process
 *   does later, and the deliveries of its events, are in that trace.
 * - A request that changes a resource of another trace has a link to what it did there, and that has one back.
 * - Without a tracer, or of a trace that is not sampled, nothing is made.
 *
 * Why a column of the charge and the payout: a trace id that is derived from their id would need none, but whether it is sampled
 * could not follow the request. One of each change would miss what waits for its first change, such as the answer of a provider.
 */
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Headers from "effect/http/Headers"
import * as HttpTraceContext from "effect/http/HttpTraceContext"
import * as Option from "effect/Option"
import type * as Tracer from "effect/Tracer"

/** Whether a request is sampled, given the span of its caller. `id` is that of the request, for those without a caller's trace. */
export type Sampler = (caller: Tracer.ExternalSpan | undefined, id: string) => boolean

/** As OpenTelemetry names them. */
export const samplers = [
  "always_on",
  "always_off",
  "traceidratio",
  "parentbased_always_on",
  "parentbased_always_off",
  "parentbased_traceidratio"
] as const

export type SamplerName = (typeof samplers)[number]

/** `ratio` is from 0 to 1. The same trace is sampled in every process. */
export const samplerOf = (name: SamplerName, ratio: number): Sampler => {
  const isParentBased = name.startsWith("parentbased_")
  const share = name.endsWith("always_on") ? 1 : name.endsWith("always_off") ? 0 : ratio
  return (caller, id) =>
    isParentBased && caller !== undefined ? caller.sampled : randomnessOf(caller?.traceId ?? id) < share
}

/** The last 12 digits of a trace id, and of a UUIDv7, are random. */
const randomnessOf = (id: string): number => parseInt(id.slice(-12), 16) / 16 ** 12

/** What the tracer exports: the spans of sampled requests, and what is below them. */
export const isExported = ({
  kind,
  parent,
  sampled
}: Pick<Parameters<Tracer.Tracer["span"]>[0], "kind" | "parent" | "sampled">): boolean =>
  sampled && (kind === "server" || Option.isSome(parent))

/** The span that a `traceparent` names. */
export const spanNamedBy = (traceparent: string | null | undefined): Tracer.ExternalSpan | undefined =>
  traceparent === null || traceparent === undefined
    ? undefined
    : Option.getOrUndefined(HttpTraceContext.w3c(Headers.fromRecordUnsafe({ traceparent })))

/** The `traceparent` of a sampled span. */
export const traceparentOf = ({ spanId, traceId }: Tracer.AnySpan): string => `00-${traceId}-${spanId}-01`

/** The span of a fiber, where it is exported. */
export const exportedSpan = ({ cache }: Fiber.Fiber<unknown, unknown>): Tracer.Span | undefined =>
  // Without a tracer of ours, spans are made and exported nowhere.
  cache.tracer !== undefined && cache.span?._tag === "Span" && cache.span.sampled ? cache.span : undefined

/** The `traceparent` of what is done now, which a new charge or payout keeps. */
export const currentTrace: Effect.Effect<string | null> = Effect.withFiberSucceed((fiber) => {
  const span = exportedSpan(fiber)
  return span === undefined ? null : traceparentOf(span)
})

/** Does something in a span of this trace, with links to and from the span in which it is done; without one, in that span. */
export const inTrace =
  (trace: string | null, name: string, options?: Tracer.SpanOptionsNoTrace) =>
  <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
    trace === null
      ? effect
      : Effect.withFiber((fiber) => {
          const cause = exportedSpan(fiber)
          const parent = fiber.cache.tracer === undefined ? undefined : spanNamedBy(trace)
          if (parent === undefined || parent.traceId === cause?.traceId) return effect
          return Effect.useSpan(name, { ...options, parent, links: linksTo(cause) }, (span) => {
            cause?.addLinks(linksTo(span))
            return Effect.withParentSpan(effect, span, UNTRACKED)
          })
        })

export const linksTo = (span: Tracer.Span | undefined): Array<Tracer.SpanLink> =>
  span === undefined ? [] : [{ span, attributes: {} }]

/** No stack trace for each span. */
export const UNTRACKED: Tracer.TraceOptions = { captureStackTrace: false }
