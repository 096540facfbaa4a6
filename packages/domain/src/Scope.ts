/**
 * The scopes of an API key: KEY-6.
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
