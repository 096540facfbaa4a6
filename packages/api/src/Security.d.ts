/**
 * Who may call: the `x-api-key` of `/v1`, the `x-operator-token` of the operator surface.
 *
 * Guarantees: a route's scopes are annotated on its endpoint and on nothing else; the guard, the OpenAPI
 * document and the tests read them there.
 *
 * Source: payments-api-v1.md "Authentication"; operator-api.md.
 */
import type { AccountStatus, OnboardingStatus } from "@pix-payments/domain/Account";
import type { Scope } from "@pix-payments/domain/Scope";
import * as Context from "effect/Context";
import * as HttpApiMiddleware from "effect/http-api/HttpApiMiddleware";
import * as HttpApiSecurity from "effect/http-api/HttpApiSecurity";
import { InsufficientScope, InternalError, PayloadTooLarge, RateLimited, ServiceUnavailable, Unauthorized, ValidationError } from "./WireErrors.ts";
/** The scopes that a key must carry for an endpoint; empty where any accepted key will do. */
export declare const RequiredScopes: Context.Reference<readonly ("account:read" | "balance:read" | "charge:read" | "charge:write" | "payout:read" | "payout:write" | "webhook:read" | "webhook:write")[]>;
/** The key that a request was accepted with, its application and its account as they are now. */
export interface Caller {
    readonly keyId: string;
    readonly scopes: ReadonlyArray<Scope>;
    readonly applicationId: string;
    readonly account: {
        readonly id: string;
        readonly name: string;
        readonly document: string;
        readonly status: AccountStatus;
        readonly onboardingStatus: OnboardingStatus;
        readonly defaultExpiresInSeconds: number;
    };
}
declare const CurrentCaller_base: Context.ServiceClass<CurrentCaller, "@pix-payments/api/CurrentCaller", Caller>;
export declare class CurrentCaller extends CurrentCaller_base {
}
declare const Authentication_base: HttpApiMiddleware.ServiceClass<Authentication, "@pix-payments/api/Authentication", {
    requires: never;
    provides: CurrentCaller;
    error: readonly [typeof Unauthorized, typeof PayloadTooLarge, typeof InsufficientScope, typeof RateLimited, typeof ServiceUnavailable, typeof InternalError];
    clientError: never;
    requiredForClient: true;
    security: {
        readonly "x-api-key": HttpApiSecurity.ApiKey;
    };
}, HttpApiMiddleware.HttpApiMiddlewareSecurity<{
    readonly "x-api-key": HttpApiSecurity.ApiKey;
}, CurrentCaller, readonly [typeof Unauthorized, typeof PayloadTooLarge, typeof InsufficientScope, typeof RateLimited, typeof ServiceUnavailable, typeof InternalError], never>>;
/** Accepts a key, holds the body to its limit and checks the endpoint's scopes, in this order. */
export declare class Authentication extends Authentication_base {
}
declare const CurrentOperator_base: Context.ServiceClass<CurrentOperator, "@pix-payments/api/CurrentOperator", {
    readonly name: string;
}>;
/** The person or tool behind an operator call, for the audit log. */
export declare class CurrentOperator extends CurrentOperator_base {
}
declare const OperatorAuthentication_base: HttpApiMiddleware.ServiceClass<OperatorAuthentication, "@pix-payments/api/OperatorAuthentication", {
    requires: never;
    provides: CurrentOperator;
    error: readonly [typeof Unauthorized, typeof PayloadTooLarge, typeof ServiceUnavailable, typeof InternalError];
    clientError: never;
    requiredForClient: true;
    security: {
        readonly "x-operator-token": HttpApiSecurity.ApiKey;
    };
}, HttpApiMiddleware.HttpApiMiddlewareSecurity<{
    readonly "x-operator-token": HttpApiSecurity.ApiKey;
}, CurrentOperator, readonly [typeof Unauthorized, typeof PayloadTooLarge, typeof ServiceUnavailable, typeof InternalError], never>>;
export declare class OperatorAuthentication extends OperatorAuthentication_base {
}
declare const RequestErrors_base: HttpApiMiddleware.ServiceClass<RequestErrors, "@pix-payments/api/RequestErrors", {
    requires: never;
    provides: never;
    error: typeof ValidationError;
    clientError: never;
    requiredForClient: false;
    security: never;
}, HttpApiMiddleware.HttpApiMiddleware<never, typeof ValidationError, never>>;
/** Tells a request that does not fit its declaration in the contract's error body. */
export declare class RequestErrors extends RequestErrors_base {
}
export {};
