/**
 * The scopes that an API key may carry.
 *
 * Source: payments-api-v1.md "Authentication".
 */
import * as Schema from "effect/Schema"

export const Scope = Schema.Literals([
  "charge:read",
  "charge:write",
  "payout:read",
  "payout:write",
  "balance:read",
  "account:read",
  "webhook:read",
  "webhook:write"
])
export type Scope = typeof Scope.Type

export const allScopes: ReadonlyArray<Scope> = Scope.literals
