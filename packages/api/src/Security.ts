/**
 * Who may call: the `x-api-key` of `/v1`, the `x-operator-token` of the operator surface.
 *
 * Guarantees: a route's scopes are annotated on its endpoint and on nothing else; the guard, the OpenAPI
 * document and the tests read them there.
 *
 * Source: payments-api-v1.md "Authentication"; operator-api.md.
 */
import type { AccountStatus, OnboardingStatus } from "@pix-payments/domain/Account"
import type { Scope } from "@pix-payments/domain/Scope"
import * as Context from "effect/Context"
import * as HttpApiMiddleware from "effect/http-api/HttpApiMiddleware"
import * as HttpApiSecurity from "effect/http-api/HttpApiSecurity"
import {
  InsufficientScope,
  InternalError,
  MisdirectedRequest,
  PayloadTooLarge,
  RateLimited,
  ServiceUnavailable,
  Unauthorized,
  ValidationError
} from "./WireErrors.ts"

/** The scopes that a key must carry for an endpoint; empty where any accepted key will do. */
export const RequiredScopes = Context.Reference<ReadonlyArray<Scope>>("@pix-payments/api/RequiredScopes", {
  defaultValue: () => []
})

/** The key that a request was accepted with, its application and its account as they are now. */
export interface Caller {
  readonly keyId: string
  readonly scopes: ReadonlyArray<Scope>
  readonly applicationId: string
  readonly account: {
    readonly id: string
    readonly name: string
    readonly document: string
    readonly status: AccountStatus
    readonly onboardingStatus: OnboardingStatus
    readonly defaultExpiresInSeconds: number
    readonly chargesPaused: boolean
  }
}

export class CurrentCaller extends Context.Service<CurrentCaller, Caller>()("@pix-payments/api/CurrentCaller") {}

/** Accepts a key, holds the body to its limit and checks the endpoint's scopes, in this order. */
export class Authentication extends HttpApiMiddleware.Service<Authentication, { provides: CurrentCaller }>()(
  "@pix-payments/api/Authentication",
  {
    requiredForClient: true,
    security: { "x-api-key": HttpApiSecurity.apiKey({ key: "x-api-key" }) },
    error: [Unauthorized, PayloadTooLarge, InsufficientScope, RateLimited, ServiceUnavailable, InternalError]
  }
) {}

/** The person or tool behind an operator call, for the audit log. */
export class CurrentOperator extends Context.Service<CurrentOperator, { readonly name: string }>()(
  "@pix-payments/api/CurrentOperator"
) {}

export class OperatorAuthentication extends HttpApiMiddleware.Service<
  OperatorAuthentication,
  { provides: CurrentOperator }
>()("@pix-payments/api/OperatorAuthentication", {
  requiredForClient: true,
  security: { "x-operator-token": HttpApiSecurity.apiKey({ key: "x-operator-token" }) },
  error: [Unauthorized, PayloadTooLarge, MisdirectedRequest, RateLimited, ServiceUnavailable, InternalError]
}) {}

/** Tells a request that does not fit its declaration in the contract's error body. */
export class RequestErrors extends HttpApiMiddleware.Service<RequestErrors>()("@pix-payments/api/RequestErrors", {
  error: ValidationError
}) {}
