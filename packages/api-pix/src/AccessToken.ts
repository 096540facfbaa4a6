/**
 * The OAuth 2 access token of a connection, by client credentials.
 *
 * Guarantees
 * - It is cached until shortly before its end, for a day at most. One request is in flight at a time; everybody who waits shares its
 *   result.
 * - A caller that is interrupted does not end the request of the others.
 * - Once the scope is closed, everybody who waits gets `NotSent`.
 * - After 429 no token is requested until `Retry-After` has passed.
 */
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import type { Credentials } from "./Credentials.ts"
import {
  type Answer,
  CertificateRejected,
  CredentialsRejected,
  type NotExecuted,
  NotSent,
  RateLimited,
  retryAfterMs,
  ScopeMissing
} from "./Outcome.ts"
import { problemOf } from "./Problem.ts"
import type { Profile } from "./Profile.ts"
import type { Transport, TransportFailure, TransportRequest } from "./Transport.ts"
import { isWaiting, type Wait, waitFrom } from "./Wait.ts"

export interface AccessToken {
  readonly value: Redacted.Redacted<string>
  /** Undefined if the provider does not say. */
  readonly scopes: ReadonlySet<string> | undefined
  /** When it is replaced. */
  readonly staleAtMs: number
}

export interface AccessTokens {
  readonly get: Effect.Effect<AccessToken, NotExecuted>
  /** A newer token than one that the provider rejected. */
  readonly renew: (rejected: AccessToken) => Effect.Effect<AccessToken, NotExecuted>
  readonly cached: () => AccessToken | undefined
}

export const makeAccessTokens = Effect.fnUntraced(function* (options: {
  readonly profile: Profile
  readonly credentials: Credentials
  readonly tokenUrl: string
  readonly transport: Transport
  readonly timeoutMs: number
}) {
  const scope = yield* Scope.Scope
  let token: AccessToken | undefined
  let inFlight: Deferred.Deferred<AccessToken, NotExecuted> | undefined
  let limit: Wait | undefined

  const ask = options.transport(tokenRequest(options)).pipe(
    Effect.retry({ times: 1, while: ({ kind }) => kind === "closed-silently" || kind === "connection-cut" }),
    Effect.mapError(notConnected),
    Effect.flatMap((answer) =>
      Effect.flatMap(Clock.currentTimeMillis, (nowMs) => tokenFrom(options.profile, answer, nowMs))
    ),
    Effect.timeoutOrElse({
      duration: options.timeoutMs,
      orElse: () => Effect.fail(noToken("no answer in time"))
    })
  )

  const request = Effect.flatMap(Clock.currentTimeMillis, (nowMs) => {
    if (inFlight !== undefined) return Deferred.await(inFlight)
    if (limit !== undefined && isWaiting(limit, nowMs)) {
      return Effect.fail(new RateLimited({ operation: OPERATION, retryAfterMs: limit.untilMs - nowMs }))
    }
    const asked = (inFlight = Deferred.makeUnsafe<AccessToken, NotExecuted>())
    return ask.pipe(
      Effect.tapErrorTag("RateLimited", ({ retryAfterMs: waitMs }) =>
        Effect.map(Clock.currentTimeMillis, (limitedMs) => {
          limit = waitFrom(limitedMs, waitMs)
        })
      ),
      Effect.forkIn(scope),
      Effect.flatMap((fiber) => {
        // Not a finalizer of the request: where the scope is closed, the request does not begin.
        fiber.addObserver((exit) => {
          inFlight = undefined
          if (Exit.isSuccess(exit)) token = exit.value
          Deferred.doneUnsafe(asked, Exit.hasInterrupts(exit) ? Exit.fail(noToken("the connection is closed")) : exit)
        })
        return Deferred.await(asked)
      })
    )
  })

  return {
    get: Effect.flatMap(Clock.currentTimeMillis, (nowMs) =>
      token !== undefined && nowMs < token.staleAtMs ? Effect.succeed(token) : request
    ),
    renew: (rejected) =>
      Effect.suspend(() => (token !== undefined && token !== rejected ? Effect.succeed(token) : request)),
    cached: () => token
  } satisfies AccessTokens
})

const OPERATION = "token"
const GRANT = "client_credentials"

const tokenRequest = ({
  profile,
  credentials,
  tokenUrl
}: {
  readonly profile: Profile
  readonly credentials: Credentials
  readonly tokenUrl: string
}): TransportRequest => {
  const { tokenAuth: auth, asksScopes, scopes } = profile
  const { clientId, clientSecret } = credentials
  const secret = clientSecret === undefined ? "" : Redacted.value(clientSecret)
  const isBasic = auth === "basic-json" || auth === "basic-form"
  const fields = {
    ...(auth !== "grant-in-query" && { grant_type: GRANT }),
    ...(!isBasic && { client_id: clientId }),
    ...(!isBasic && auth !== "form-no-secret" && { client_secret: secret }),
    ...(asksScopes && { scope: scopes.join(" ") })
  }
  return {
    method: "POST",
    url: tokenUrl,
    query: auth === "grant-in-query" ? { grant_type: GRANT } : {},
    headers: isBasic ? { authorization: `Basic ${Buffer.from(`${clientId}:${secret}`).toString("base64")}` } : {},
    body:
      auth === "basic-json"
        ? { text: JSON.stringify(fields), type: "application/json" }
        : { text: new URLSearchParams(fields).toString(), type: "application/x-www-form-urlencoded" }
  }
}

const REJECTED = new Set(["invalid_client", "unauthorized_client", "access_denied"])
const DEFAULT_LIFETIME_SECONDS = 300
const LONGEST_LIFETIME_SECONDS = 86_400
const LONGEST_MARGIN_MS = 60_000

const tokenFrom = (profile: Profile, answer: Answer, nowMs: number): Effect.Effect<AccessToken, NotExecuted> => {
  const { status, body } = answer
  if (status === 429) return Effect.fail(new RateLimited({ operation: OPERATION, retryAfterMs: retryAfterMs(answer) }))
  if (status >= 200 && status < 300) {
    const { access_token: value, expires_in: seconds, scope } = (body ?? {}) as Readonly<Record<string, unknown>>
    // It becomes a header.
    if (typeof value !== "string" || !/^[!-~]{1,16384}$/.test(value))
      return Effect.fail(noToken(`status ${status} without an access_token`))
    const lifetimeMs =
      Math.min(Number(seconds) > 0 ? Number(seconds) : DEFAULT_LIFETIME_SECONDS, LONGEST_LIFETIME_SECONDS) * 1000
    return Effect.succeed({
      value: Redacted.make(value, { label: "access token" }),
      scopes: typeof scope === "string" && scope !== "" ? new Set(scope.split(/\s+/)) : undefined,
      staleAtMs: nowMs + lifetimeMs - Math.min(LONGEST_MARGIN_MS, lifetimeMs / 10)
    })
  }
  const code = status < 500 ? problemOf(body, status)?.code : undefined
  if (code === "invalid_scope") return Effect.fail(new ScopeMissing({ operation: OPERATION, missing: profile.scopes }))
  if (status === 401 || (code !== undefined && REJECTED.has(code))) {
    return Effect.fail(new CredentialsRejected({ operation: OPERATION, code: code ?? `status ${status}` }))
  }
  return Effect.fail(noToken(`status ${status}${code === undefined ? "" : ` ${code}`}`))
}

const noToken = (detail: string) => new NotSent({ operation: OPERATION, reason: "no-access-token", detail })

const notConnected = ({ kind, code }: TransportFailure): NotExecuted => {
  switch (kind) {
    case "our-certificate":
      return new CertificateRejected({ operation: OPERATION, whose: "ours", evidence: "alert", code })
    // Some servers check the certificate after the handshake, and close without an alert. It has happened twice.
    case "closed-silently":
      return new CertificateRejected({ operation: OPERATION, whose: "ours", evidence: "closed-twice", code })
    case "their-certificate":
      return new CertificateRejected({ operation: OPERATION, whose: "theirs", evidence: "verification", code })
    default:
      return noToken(`${kind}: ${code}`)
  }
}
