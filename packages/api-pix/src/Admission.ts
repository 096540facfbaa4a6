/**
 * Which calls to a provider are made: those that it may answer.
 *
 * Guarantees
 * - At most `maxInFlight` calls are in flight. A call beyond them fails at once, so a slow provider fills no memory.
 * - After `failuresToOpen` failures in a row none is sent for `openMs`.
 * - After 429 no call of the same operation is sent until `Retry-After` has passed.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Semaphore from "effect/Semaphore"
import { type CircuitSettings, type CircuitState, makeCircuitBreaker } from "./CircuitBreaker.ts"
import { type Failure, NotSent, RateLimited } from "./Outcome.ts"
import { isWaiting, type Wait, waitFrom } from "./Wait.ts"

export interface AdmissionStatus {
  readonly circuit: CircuitState
  readonly inFlight: number
  /** Operations that wait for `Retry-After`, and until when. */
  readonly limitedUntilMs: ReadonlyMap<string, number>
}

export interface Admission {
  /** Makes a call of an operation where it may be made, and learns from its outcome. */
  readonly admitted: <A>(operation: string, call: Effect.Effect<A, Failure>) => Effect.Effect<A, Failure>
  readonly status: (nowMs: number) => AdmissionStatus
}

export const makeAdmission = (
  provider: string,
  limits: CircuitSettings & { readonly maxInFlight: number }
): Admission => {
  const permits = Semaphore.makeUnsafe(limits.maxInFlight)
  const breaker = makeCircuitBreaker(limits)
  const rateLimits = new Map<string, Wait>()
  let inFlight = 0

  const limit = (operation: string, nowMs: number): Wait | undefined => {
    const wait = rateLimits.get(operation)
    if (wait === undefined || isWaiting(wait, nowMs)) return wait
    rateLimits.delete(operation)
    return undefined
  }

  const record = (exit: Exit.Exit<unknown, Failure>, nowMs: number) => {
    const failure = Exit.isSuccess(exit) ? undefined : Option.getOrUndefined(Exit.findErrorOption(exit))
    breaker.record(Exit.isSuccess(exit) ? "success" : signalOf(failure), nowMs)
    if (failure?._tag === "RateLimited") rateLimits.set(failure.operation, waitFrom(nowMs, failure.retryAfterMs))
  }

  const admitted = <A>(operation: string, call: Effect.Effect<A, Failure>): Effect.Effect<A, Failure> =>
    Effect.flatMap(Clock.currentTimeMillis, (nowMs) => {
      const wait = limit(operation, nowMs)
      if (wait !== undefined) return Effect.fail(new RateLimited({ operation, retryAfterMs: wait.untilMs - nowMs }))
      const sent = Effect.suspend(() => {
        if (!breaker.admit(nowMs)) return notSent(operation, "circuit-open")
        inFlight += 1
        return Effect.onExit(call, (exit) =>
          Effect.map(Clock.currentTimeMillis, (endedMs) => {
            inFlight -= 1
            record(exit, endedMs)
          })
        )
      })
      return Effect.flatMap(
        permits.withPermitsIfAvailable(1)(sent),
        Option.match({ onNone: () => notSent(operation, "saturated"), onSome: Effect.succeed })
      )
    }).pipe(
      Effect.tapError(({ _tag }) => Effect.annotateCurrentSpan("pix.outcome", _tag)),
      Effect.withSpan("api-pix", { attributes: { "pix.provider": provider, "pix.operation": operation } })
    )

  return {
    admitted,
    status: (nowMs) => ({
      circuit: breaker.state(nowMs),
      inFlight,
      limitedUntilMs: new Map(
        [...rateLimits].flatMap(([operation, wait]) => (isWaiting(wait, nowMs) ? [[operation, wait.untilMs]] : []))
      )
    })
  }
}

const notSent = (operation: string, reason: NotSent["reason"]) =>
  Effect.fail(new NotSent({ operation, reason, detail: undefined }))

/** What a failure says about the provider's health. */
const signalOf = (failure: Failure | undefined): "success" | "failure" | "none" => {
  switch (failure?._tag) {
    case undefined:
    case "RateLimited":
    case "CredentialsRejected":
    case "ScopeMissing":
      return "none"
    case "CertificateRejected":
      return failure.evidence === "closed-twice" ? "failure" : "none"
    case "NotSent":
      return "failure"
    case "Unclear":
      return failure.kind === "unknown-answer" ? "success" : "failure"
    default:
      return "success"
  }
}
