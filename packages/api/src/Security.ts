/**
 * Authentication: `x-api-key` of `/v1` (KEY-1 to KEY-10), `x-operator-token` of the operator interface (OPR-2).
 *
 * Guarantees
 * - The scopes of a route are declared on its endpoint only. The middleware, the OpenAPI document and the tests read
 *   them there.
 */
import type { OperatorRole } from "@pix-payments/domain/Operator"
import type { Scope } from "@pix-payments/domain/Scope"
import * as Context from "effect/Context"
import * as HttpApiMiddleware from "effect/http-api/HttpApiMiddleware"
import * as HttpApiSecurity from "effect/http-api/HttpApiSecurity"
import {
  Forbidden,
  InsufficientScope,
  InternalError,
  MisdirectedRequest,
  PayloadTooLarge,
  RateLimited,
  ServiceUnavailable,
  Unauthorized,
  ValidationError
} from "./WireErrors.ts"

/** The scopes that an endpoint requires; empty if any accepted key may call it. */
export const RequiredScopes = Context.Reference<ReadonlyArray<Scope>>("@pix-payments/api/RequiredScopes", {
  defaultValue: () => []
})

/** Accepts the key, limits the body and checks the endpoint's scopes, in this order (ERR-2). */
export class Authentication extends HttpApiMiddleware.Service<Authentication>()("@pix-payments/api/Authentication", {
  requiredForClient: true,
  security: { "x-api-key": HttpApiSecurity.apiKey({ key: "x-api-key" }) },
  error: [Unauthorized, PayloadTooLarge, InsufficientScope, RateLimited, ServiceUnavailable, InternalError]
}) {}

/** The person or machine behind an operator call. */
export interface Operator {
  /** Null for the installation's token. */
  readonly id: string | null
  readonly name: string
  readonly email: string | null
  readonly role: OperatorRole
  /** The accounts that the operator is limited to; null for all accounts. */
  readonly accountIds: ReadonlyArray<string> | null
  /** The credential of the request. A link, a code and an identity provider (`oidc`) are ones of sign-ins only. */
  readonly via: "installation" | "token" | "session" | "link" | "oidc" | "code"
  readonly sessionId: string | null
  /** True where the identity provider allows the session less than the operator's role (OPR-135). */
  readonly isNarrowed?: boolean
  /** Another operator who made the credential, or the one that it was made with: OPR-203. */
  readonly madeBy?: string | null
  /** Of a link: when a session that it starts ends at the latest (OPR-204). */
  readonly sessionEndsAt?: Date | null
}

export class CurrentOperator extends Context.Service<CurrentOperator, Operator>()(
  "@pix-payments/api/CurrentOperator"
) {}

/** The name of the session's cookie; over TLS it has the prefix `__Host-` (OPR-44). */
export const SESSION_COOKIE = "pix_operator"

/**
 * Accepts a token or a session's cookie, limits the body and checks the endpoint's roles and accounts, in this order.
 *
 * @effect-expect-leaking HttpServerRequest | ParsedSearchParams | RouteContext
 */
export class OperatorAuthentication extends HttpApiMiddleware.Service<
  OperatorAuthentication,
  { provides: CurrentOperator }
>()("@pix-payments/api/OperatorAuthentication", {
  requiredForClient: true,
  security: {
    "x-operator-token": HttpApiSecurity.apiKey({ key: "x-operator-token" }),
    session: HttpApiSecurity.apiKey({ in: "cookie", key: SESSION_COOKIE })
  },
  // Every route refuses unknown query parameters.
  error: [
    ValidationError,
    Unauthorized,
    PayloadTooLarge,
    Forbidden,
    MisdirectedRequest,
    RateLimited,
    ServiceUnavailable,
    InternalError
  ]
}) {}

/** Answers a request that does not match its declaration with the contract's error body. */
export class RequestErrors extends HttpApiMiddleware.Service<RequestErrors>()("@pix-payments/api/RequestErrors", {
  error: ValidationError
}) {}
