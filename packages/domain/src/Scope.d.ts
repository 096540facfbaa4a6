/**
 * The scopes that an API key may carry.
 *
 * Source: payments-api-v1.md "Authentication".
 */
import * as Schema from "effect/Schema";
export declare const Scope: Schema.Literals<readonly ["charge:read", "charge:write", "payout:read", "payout:write", "balance:read", "account:read", "webhook:read", "webhook:write"]>;
export type Scope = typeof Scope.Type;
export declare const allScopes: ReadonlyArray<Scope>;
