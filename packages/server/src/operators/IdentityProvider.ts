/**
 * The identity provider that operators sign in with: OpenID Connect, authorization code with PKCE, state and nonce.
 *
 * Guarantees:
 * - What a sign-in needs until the browser comes back is sealed in its cookie: no row and no memory before the provider
 *   has vouched for somebody. It is valid for ten minutes.
 * - The id token's signature, issuer, audience, expiry and nonce are checked. Whatever does not fit is refused.
 * - A request to the provider takes 5 s and 1 MiB at most. It follows no redirect.
 * - The provider's metadata is read again each hour. A log has the kind of a failure, never a token or a claim.
 *
 * Rules: OPR-133 to OPR-136.
 */
import { OperatorRole } from "@pix-payments/domain/Operator"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { hasProperty } from "effect/Predicate"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Client from "openid-client"
import { closedReason, Outward } from "../base/Outward.ts"
import { Secrets } from "../base/Secrets.ts"
import { type OidcSettings, Settings } from "../base/Settings.ts"
import type { Subject } from "./OperatorIdentities.ts"

/** The sign-in was not accepted, or the provider did not answer. `reason` is for the log. */
export class SignInFailed extends Data.TaggedError("SignInFailed")<{
  readonly isUnavailable: boolean
  readonly reason: string
}> {}

/** Somebody that the provider vouches for. */
export interface Person extends Subject {
  /** Undefined where the provider has not verified it. */
  readonly email: string | undefined
  /** The roles of the configured claim; undefined where no claim is configured. */
  readonly roles: ReadonlyArray<OperatorRole> | undefined
  readonly state: string
}

export interface CallbackParameters {
  readonly code?: string | undefined
  readonly state?: string | undefined
  readonly iss?: string | undefined
  readonly error?: string | undefined
}

export class IdentityProvider extends Context.Service<
  IdentityProvider,
  {
    readonly isConfigured: boolean
    /** Where the browser goes, and the cookie that it brings back. */
    readonly begin: (
      redirectUri: string
    ) => Effect.Effect<{ readonly url: string; readonly sealed: string }, SignInFailed>
    /** The person behind a callback. */
    readonly finish: (
      redirectUri: string,
      sealed: string,
      parameters: CallbackParameters
    ) => Effect.Effect<Person, SignInFailed>
  }
>()("@pix-payments/server/IdentityProvider") {
  static readonly layer = Layer.effect(
    IdentityProvider,
    Effect.gen(function* () {
      const { oidc } = yield* Settings
      if (Option.isNone(oidc)) return IdentityProvider.of(unconfigured)
      const outward = yield* Outward
      const provider = make(oidc.value, yield* Secrets)
      const outwardOnly = <A>(call: Effect.Effect<A, SignInFailed>) =>
        Effect.suspend(() => {
          const reason = closedReason(outward)
          return reason === undefined ? call : Effect.fail(new SignInFailed({ isUnavailable: true, reason }))
        })
      return IdentityProvider.of({
        isConfigured: true,
        begin: (redirectUri) => outwardOnly(provider.begin(redirectUri)),
        finish: (redirectUri, sealed, parameters) => outwardOnly(provider.finish(redirectUri, sealed, parameters))
      })
    })
  )
}

const refused = (reason: string) => new SignInFailed({ isUnavailable: false, reason })

const unconfigured: IdentityProvider["Service"] = {
  isConfigured: false,
  begin: () => Effect.fail(refused("not configured")),
  finish: () => Effect.fail(refused("not configured"))
}

const make = (settings: OidcSettings, secrets: Secrets["Service"]): IdentityProvider["Service"] => {
  let discovered: { readonly configuration: Promise<Client.Configuration>; readonly atMs: number } | undefined

  /** Concurrent sign-ins share one discovery. A failed one is repeated by the next sign-in. */
  const configurationAt = (nowMs: number): Promise<Client.Configuration> => {
    if (discovered === undefined || nowMs - discovered.atMs > METADATA_MS) {
      const configuration = discover(settings)
      discovered = { configuration, atMs: nowMs }
      configuration.catch(() => {
        discovered = undefined
      })
    }
    return discovered.configuration
  }

  const configured = Effect.flatMap(Clock.currentTimeMillis, (now) => attempt(() => configurationAt(now)))

  return {
    isConfigured: true,

    begin: Effect.fn("IdentityProvider.begin")(function* (redirectUri) {
      const configuration = yield* configured
      const attemptOf: SignInAttempt = {
        state: Client.randomState(),
        nonce: Client.randomNonce(),
        verifier: Client.randomPKCECodeVerifier(),
        expiresAtMs: (yield* Clock.currentTimeMillis) + ATTEMPT_MS
      }
      const challenge = yield* attempt(() => Client.calculatePKCECodeChallenge(attemptOf.verifier))
      const url = Client.buildAuthorizationUrl(configuration, {
        redirect_uri: redirectUri,
        scope: "openid email profile",
        code_challenge: challenge,
        code_challenge_method: "S256",
        state: attemptOf.state,
        nonce: attemptOf.nonce
      })
      return { url: url.href, sealed: secrets.seal(encodeAttempt(attemptOf), OWNER) }
    }),

    finish: Effect.fn("IdentityProvider.finish")(function* (redirectUri, sealed, parameters) {
      const opened = openAttempt(secrets, sealed)
      if (opened === undefined) return yield* refused("the cookie of the sign-in is missing or not ours")
      if (opened.expiresAtMs <= (yield* Clock.currentTimeMillis)) return yield* refused("the sign-in took too long")
      const configuration = yield* configured
      const { issuer } = configuration.serverMetadata()
      const url = new URL(redirectUri)
      for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
      const tokens = yield* attempt(() =>
        Client.authorizationCodeGrant(configuration, url, {
          pkceCodeVerifier: opened.verifier,
          expectedState: opened.state,
          expectedNonce: opened.nonce,
          idTokenExpected: true
        })
      )
      const idToken = tokens.claims()
      // Providers with many tenants have an issuer for each. Ours is one.
      if (idToken === undefined || idToken.iss !== issuer) return yield* refused("the issuer is another one")
      const claim = Option.getOrUndefined(settings.roleClaim)
      // Many providers have these claims in their user info only.
      const isComplete = idToken["email"] !== undefined && (claim === undefined || idToken[claim] !== undefined)
      const more =
        isComplete || configuration.serverMetadata().userinfo_endpoint === undefined
          ? {}
          : yield* attempt(() => Client.fetchUserInfo(configuration, tokens.access_token, idToken.sub))
      const claims: Readonly<Record<string, unknown>> = { ...more, ...idToken }
      // The address and its verification are of the same source.
      const source: Readonly<Record<string, unknown>> = idToken["email"] === undefined ? more : idToken
      if (idToken.sub.length > MAX_SUBJECT) return yield* refused("the subject is too long")
      return {
        issuer,
        subject: idToken.sub,
        email: source["email_verified"] === true && typeof source["email"] === "string" ? source["email"] : undefined,
        roles: claim === undefined ? undefined : rolesOf(claims[claim]),
        state: opened.state
      }
    })
  }
}

const discover = ({ clientId, clientSecret, issuer }: OidcSettings): Promise<Client.Configuration> =>
  Client.discovery(new URL(issuer), clientId, undefined, authenticationWith(Redacted.value(clientSecret)), {
    timeout: TIMEOUT_SECONDS,
    // Without the first, an id token from the token endpoint would be trusted for its connection alone. Settings allow
    // plain HTTP to loopback only.
    execute: [
      Client.enableNonRepudiationChecks,
      ...(new URL(issuer).protocol === "http:" ? [Client.allowInsecureRequests] : [])
    ],
    [Client.customFetch]: boundedFetch
  })

/** By the body where the provider takes that; otherwise by the header, which every provider takes unless it says so. */
const authenticationWith = (secret: string): Client.ClientAuth => {
  const [inBody, inHeader] = [Client.ClientSecretPost(secret), Client.ClientSecretBasic(secret)]
  return (server, ...rest) =>
    (server.token_endpoint_auth_methods_supported?.includes("client_secret_post") === true ? inBody : inHeader)(
      server,
      ...rest
    )
}

/** `fetch` that fails where the body is longer than a provider's are. The signal bounds the time of the body too. */
const boundedFetch: Client.CustomFetch = async (url, options) => {
  const response = await fetch(url, options as RequestInit)
  const chunks: Array<Uint8Array> = []
  let size = 0
  for await (const chunk of response.body ?? []) {
    size += chunk.length
    if (size > MAX_BYTES) throw new TypeError("the body is too long")
    chunks.push(chunk)
  }
  const { headers, status, statusText } = response
  return new Response(size === 0 ? null : Buffer.concat(chunks), { headers, status, statusText })
}

const attempt = <A>(run: () => Promise<A>): Effect.Effect<A, SignInFailed> =>
  Effect.tryPromise({ try: run, catch: failureOf })

/** Says what failed, without what the provider sent. */
const failureOf = (error: unknown): SignInFailed => {
  const code = hasProperty(error, "code") && typeof error.code === "string" ? error.code : ""
  const message = error instanceof Error ? `${error.name}: ${error.message}` : "unknown"
  // `fetch` fails with a TypeError, and the checks of an answer with errors that have a code.
  const isUnavailable =
    code === "OAUTH_TIMEOUT" ||
    (error instanceof TypeError && code === "") ||
    (hasProperty(error, "status") && typeof error.status === "number" && error.status >= 500) ||
    (hasProperty(error, "cause") && error.cause instanceof Response && error.cause.status >= 500)
  return new SignInFailed({ isUnavailable, reason: [message, code].filter(Boolean).join(" ") })
}

/** The roles that a claim names: one, or several in a list. Other names are ignored. */
const rolesOf = (claim: unknown): ReadonlyArray<OperatorRole> => {
  const names: ReadonlyArray<unknown> = Array.isArray(claim) ? claim : [claim]
  return OperatorRole.literals.filter((role) => names.includes(role))
}

const SignInAttempt = Schema.fromJsonString(
  Schema.Struct({ state: Schema.String, nonce: Schema.String, verifier: Schema.String, expiresAtMs: Schema.Finite })
)
type SignInAttempt = typeof SignInAttempt.Type

const encodeAttempt = Schema.encodeSync(SignInAttempt)
const decodeAttempt = Schema.decodeUnknownOption(SignInAttempt)

const openAttempt = (secrets: Secrets["Service"], sealed: string): SignInAttempt | undefined => {
  try {
    return Option.getOrUndefined(decodeAttempt(Redacted.value(secrets.open(sealed, OWNER))))
  } catch {
    return undefined
  }
}

const OWNER = { kind: "sign-in", id: "oidc" } as const

const TIMEOUT_SECONDS = 5
const MAX_BYTES = 1024 * 1024
const MAX_SUBJECT = 255
const ATTEMPT_MS = 10 * 60 * 1000
const METADATA_MS = 60 * 60 * 1000
