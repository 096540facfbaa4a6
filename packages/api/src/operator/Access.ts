/**
 * Who may call an endpoint of the operator interface: OPR-38, OPR-39.
 *
 * Guarantee: access is declared on the endpoint only. The guard, the OpenAPI document and the tests read it there. An
 * endpoint without this annotation is for admins, and a test fails.
 */
import type { OperatorRole } from "@pix-payments/domain/Operator"
import * as Context from "effect/Context"

export interface Access {
  /** The least roles: `["viewer"]` is everybody, `["operator"]` operators and admins. */
  readonly roles: ReadonlyArray<OperatorRole>
  /** How the endpoint applies to an operator who is limited to accounts. */
  readonly accounts: AccountLimit
  /** True where `?reveal=true` shows personal data to roles that see it masked (OPR-49). */
  readonly reveals?: boolean
  /** True where personal data is not masked to any role that may call (OPR-109). */
  readonly isClear?: boolean
}

/**
 * - `resource`: the id in the path belongs to one account. One of another account is 404.
 * - `filtered`: the answer is about the operator's accounts only.
 * - `own`: about the operator, not about accounts.
 * - `installation`: about the whole installation. Refused.
 */
export type AccountLimit = "resource" | "filtered" | "own" | "installation"

export const Access = Context.Reference<Access | undefined>("@pix-payments/api/Access", {
  defaultValue: () => undefined
})

/** The access of an endpoint without the annotation. */
export const defaultAccess: Access = { roles: ["admin"], accounts: "installation" }
