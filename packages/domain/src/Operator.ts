/**
 * Operators: the people and machines that run the service, and what each role may do. OPR-38.
 *
 * Guarantees
 * - The rules of the roles are data and functions of this module. The operator interface and its tests read them.
 */
import * as Schema from "effect/Schema"
import type { Scope } from "./Scope.ts"

/** `viewer` reads, `developer` also integrates, `operator` also decides about money, `admin` does everything. */
export const OperatorRole = Schema.Literals(["viewer", "developer", "operator", "admin"])
export type OperatorRole = typeof OperatorRole.Type

/**
 * How personal data is shown to each role: `masked` always, `revealable` on request for a single resource, or `clear`
 * (OPR-48, OPR-49).
 */
export const personalDataFor: Readonly<Record<OperatorRole, "masked" | "revealable" | "clear">> = {
  viewer: "masked",
  developer: "revealable",
  operator: "clear",
  admin: "clear"
}

/** True where a role may create an API key with these scopes: `payout:write` is for admins (OPR-38). */
export const mayGrantScopes = (role: OperatorRole, scopes: ReadonlyArray<Scope>): boolean =>
  role === "admin" || !scopes.includes("payout:write")

/** True where `role` is among the least roles. Every role includes `viewer`, and `admin` includes every role (OPR-38). */
export const includesRole = (role: OperatorRole, least: ReadonlyArray<OperatorRole>): boolean =>
  role === "admin" || least.includes(role) || least.includes("viewer")

/** The role that is left of `role` where somebody else allows `allowed` at most (OPR-135). */
export const lesserRole = (role: OperatorRole, allowed: OperatorRole): OperatorRole => {
  if (allowed === role || allowed === "admin") return role
  return role === "admin" ? allowed : "viewer"
}
