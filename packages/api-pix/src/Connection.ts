/**
 * A connection to a provider: token, time limit, budget, circuit breaker, bounded calls in flight.
 *
 * Guarantees
 * - A call ends within its time limit, in an answer of 2xx or in a `Failure`. From `SendUntilMs` on it sends nothing.
 * - A call is sent where it is admitted (`Admission.ts`).
 * - A token that is rejected is renewed once. A call whose scope was not granted is not sent.
 * - Spans carry provider, operation and outcome, nothing of the request.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import { type AccessToken, makeAccessTokens } from "./AccessToken.ts"
import { type AdmissionStatus, makeAdmission } from "./Admission.ts"
import type { Credentials } from "./Credentials.ts"
import {
  type Answer,
  CertificateRejected,
  type Failure,
  failureOf,
  NotSent,
  type Operation,
  ScopeMissing,
  Unclear
} from "./Outcome.ts"
import type { CallValue, Profile, Resource } from "./Profile.ts"
import { makeTransport, type Transport, type TransportFailure, type TransportRequest } from "./Transport.ts"

/**
 * A call sends no request from this moment on, by our clock, whatever it has waited for: also in a process that was stopped
 * meanwhile, whose timers come too late.
 */
export const SendUntilMs = Context.Reference<number>("@pix-payments/api-pix/SendUntilMs", {
  defaultValue: () => Infinity
})

export interface Limits {
  /** Of one call, its token included. */
  readonly timeoutMs: number
  /** Of the call that reads a page. */
  readonly pageTimeoutMs: number
  readonly tokenTimeoutMs: number
  readonly maxInFlight: number
  /** Payouts that wait for the one that is being sent, where a provider takes one at a time. */
  readonly maxWaitingPayouts: number
  /** Failures in a row that open the circuit. */
  readonly failuresToOpen: number
  readonly openMs: number
  /** How often a look-up is repeated, and the first delay. */
  readonly lookupRetries: number
  readonly retryDelayMs: number
}

export const DEFAULT_LIMITS: Limits = {
  timeoutMs: 10_000,
  pageTimeoutMs: 25_000,
  tokenTimeoutMs: 5000,
  maxInFlight: 64,
  maxWaitingPayouts: 16,
  failuresToOpen: 5,
  openMs: 10_000,
  lookupRetries: 2,
  retryDelayMs: 200
}

export interface ConnectionOptions {
  readonly profile: Profile
  readonly credentials: Credentials
  /** Instead of the profile's, for homologation and tests. */
  readonly baseUrl?: string
  readonly tokenUrl?: string
  /** What the profile's headers and query parameters name. */
  readonly settings?: Readonly<Record<string, Redacted.Redacted<string>>>
  readonly limits?: Partial<Limits>
  /** Instead of HTTPS with the credentials' certificate. */
  readonly transport?: Transport
}

export interface Call {
  readonly method: TransportRequest["method"]
  /** A path below the base URL, or below its origin. */
  readonly path: string
  readonly below: Resource | "origin"
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  /** Instead of the connection's time limit. */
  readonly timeoutMs?: number
}

export interface ConnectionStatus extends AdmissionStatus {
  /** Undefined without a token; empty if the provider does not name scopes. */
  readonly missingScopes: ReadonlyArray<string> | undefined
  readonly tokenStaleAtMs: number | undefined
  readonly certificateEndsAtMs: number
  /** Our clock less the provider's, to the second; undefined if no answer named it. */
  readonly clockDifferenceMs: number | undefined
}

export interface Connection {
  readonly profile: Profile
  readonly limits: Limits
  readonly call: (operation: Operation, call: Call) => Effect.Effect<Answer, Failure>
  /** Gets a token, to check certificate, credentials and scopes. */
  readonly authenticate: Effect.Effect<void, Failure>
  readonly status: Effect.Effect<ConnectionStatus>
}

/** The connection lacks a setting that its profile names. */
export class MissingSetting extends Data.TaggedError("MissingSetting")<{ readonly setting: string }> {
  override get message() {
    return `the connection has no ${this.setting}`
  }
}

export const makeConnection = (options: ConnectionOptions): Effect.Effect<Connection, MissingSetting, Scope.Scope> =>
  Effect.gen(function* () {
    const { profile, credentials, settings = {} } = options
    const limits = { ...DEFAULT_LIMITS, ...options.limits }
    const baseUrl = options.baseUrl ?? profile.baseUrl
    const tokenUrl = options.tokenUrl ?? profile.tokenUrl
    if (baseUrl === null) return yield* new MissingSetting({ setting: "base URL" })
    if (tokenUrl === null) return yield* new MissingSetting({ setting: "token URL" })
    if (profile.tokenAuth !== "form-no-secret" && credentials.clientSecret === undefined) {
      return yield* new MissingSetting({ setting: "client secret" })
    }
    for (const value of [...Object.values(profile.headers), ...Object.values(profile.query)]) {
      if (typeof value === "object" && settings[value.setting] === undefined) return yield* new MissingSetting(value)
    }

    const carry = options.transport ?? (yield* makeTransport(credentials, limits.maxInFlight))
    let clockDifferenceMs: number | undefined
    const transport: Transport = (request) =>
      Effect.tap(carry(request), ({ dateMs }) =>
        Effect.map(Clock.currentTimeMillis, (nowMs) => {
          if (dateMs !== undefined) clockDifferenceMs = Math.trunc((nowMs - dateMs) / 1000) * 1000
        })
      )
    const tokens = yield* makeAccessTokens({
      profile,
      credentials,
      tokenUrl,
      transport,
      timeoutMs: limits.tokenTimeoutMs
    })
    const admission = makeAdmission(profile.name, limits)

    const valueOf = (value: CallValue, correlationId: string): string => {
      if (value === "client-id") return credentials.clientId
      return value === "correlation-id" ? correlationId : Redacted.value(settings[value.setting]!)
    }
    const valuesOf = (values: Readonly<Record<string, CallValue>>, correlationId: string) =>
      Object.fromEntries(Object.entries(values).map(([name, value]) => [name, valueOf(value, correlationId)]))

    const requestOf = (
      { method, path, below, query, headers, body }: Call,
      token: AccessToken,
      correlationId: string
    ): TransportRequest => ({
      method,
      url: `${placeOf(profile, baseUrl, below)}${path}`,
      query: { ...query, ...valuesOf(profile.query, correlationId) },
      headers: {
        ...headers,
        ...valuesOf(profile.headers, correlationId),
        authorization: `Bearer ${Redacted.value(token.value)}`
      },
      ...(body !== undefined && { body: { text: JSON.stringify(body), type: "application/json" } })
    })

    const send = (operation: Operation, call: Call, token: AccessToken) =>
      token.scopes !== undefined && !token.scopes.has(operation.scope)
        ? Effect.fail(new ScopeMissing({ operation: operation.name, missing: [operation.scope] }))
        : Effect.map(newUuid, (correlationId) => requestOf(call, token, correlationId)).pipe(
            Effect.flatMap(transport),
            Effect.mapError((failure) => failureFrom(operation.name, failure)),
            Effect.flatMap((answer) => {
              const failure = failureOf(profile, operation, answer)
              return failure === undefined ? Effect.succeed(answer) : Effect.fail(failure)
            })
          )

    /** Ends within the time limit. Until the request is sent, the end of time means "not sent". */
    const exchange = Effect.fnUntraced(function* (operation: Operation, call: Call) {
      let isSent = false
      const { timeoutMs = limits.timeoutMs } = call
      const tooLate = () =>
        Effect.fail(
          isSent
            ? new Unclear({ operation: operation.name, kind: "timeout", reason: `no answer in ${timeoutMs} ms` })
            : new NotSent({ operation: operation.name, reason: "no-access-token", detail: "no token in time" })
        )
      const withToken = Effect.fnUntraced(function* (token: AccessToken) {
        if ((yield* Clock.currentTimeMillis) >= (yield* SendUntilMs)) return yield* tooLate()
        isSent = true
        return yield* send(operation, call, token)
      })
      return yield* tokens.get.pipe(
        Effect.flatMap((token) =>
          withToken(token).pipe(
            Effect.catchTag("CredentialsRejected", () => Effect.flatMap(tokens.renew(token), withToken))
          )
        ),
        Effect.timeoutOrElse({ duration: timeoutMs, orElse: tooLate })
      )
    })

    return {
      profile,
      limits,
      call: (operation, call) => admission.admitted(operation.name, exchange(operation, call)),
      authenticate: admission.admitted(
        "token",
        Effect.flatMap(tokens.get, ({ scopes }) => {
          const missing = profile.scopes.filter((scope) => scopes?.has(scope) === false)
          return missing.length === 0 ? Effect.void : Effect.fail(new ScopeMissing({ operation: "token", missing }))
        })
      ),
      status: Effect.map(Clock.currentTimeMillis, (nowMs) => ({
        ...admission.status(nowMs),
        missingScopes: missingScopes(profile, tokens.cached()),
        tokenStaleAtMs: tokens.cached()?.staleAtMs,
        certificateEndsAtMs: credentials.validToMs,
        clockDifferenceMs
      }))
    }
  })

const HEX_48 = Effect.map(Random.nextIntBetween(0, 2 ** 48, { halfOpen: true }), (number) =>
  number.toString(16).padStart(12, "0")
)

/** From Effect's `Random`, so that a simulation repeats it. It is no secret. */
const newUuid: Effect.Effect<string> = Effect.map(Effect.all([HEX_48, HEX_48, HEX_48]), (parts) => {
  const hex = parts.join("")
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
})

const missingScopes = ({ scopes: needed }: Profile, token: AccessToken | undefined) =>
  token === undefined ? undefined : needed.filter((scope) => token.scopes?.has(scope) === false)

const placeOf = ({ pathVersions }: Profile, baseUrl: string, below: Resource | "origin"): string =>
  below === "origin" ? new URL(baseUrl).origin : baseUrl.replace("{version}", pathVersions?.[below] ?? "")

const failureFrom = (operation: string, { kind, code }: TransportFailure): Failure => {
  switch (kind) {
    case "our-certificate":
      return new CertificateRejected({ operation, whose: "ours", evidence: "alert", code })
    case "their-certificate":
      return new CertificateRejected({ operation, whose: "theirs", evidence: "verification", code })
    case "no-connection":
      return new NotSent({ operation, reason: "no-connection", detail: code })
    case "closed-silently":
    case "connection-cut":
      return new Unclear({ operation, kind: "connection-cut", reason: code })
  }
}
