/** The operator behind a request, as tokens and sessions find it. */
import type { Operator } from "@pix-payments/api/Security"
import { lesserRole, type OperatorRole } from "@pix-payments/domain/Operator"
import { createHash, randomBytes } from "node:crypto"

/** The columns of an operator who may sign in, joined as `o`. Null columns are those of the installation's token. */
export const operatorColumns = "o.id AS operator_id, o.name AS operator_name, o.email, o.role, o.account_ids"

export interface OperatorColumns {
  readonly operator_id: string | null
  readonly operator_name: string | null
  readonly email: string | null
  readonly role: OperatorRole | null
  readonly account_ids: ReadonlyArray<string> | null
  /** Absent where an identity provider vouches for the operator. */
  readonly made_by?: string | null
}

/** Who acts with the installation's token, with a link or in a session of it: OPR-40. */
export const installation = {
  id: null,
  name: "operator",
  email: null,
  role: "admin",
  accountIds: null
} as const satisfies Partial<Operator>

/** `session` is that of the request, with the role that an identity provider gave. */
export const toOperator = (
  row: OperatorColumns,
  via: Operator["via"],
  session: { readonly id: string | null; readonly role: OperatorRole | null } = { id: null, role: null }
): Operator => {
  if (row.operator_id === null || row.role === null) return { ...installation, via, sessionId: session.id }
  const role = session.role === null ? row.role : lesserRole(row.role, session.role)
  return {
    id: row.operator_id,
    name: row.operator_name ?? "",
    email: row.email,
    role,
    accountIds: row.account_ids,
    via,
    sessionId: session.id,
    isNarrowed: role !== row.role,
    madeBy: row.made_by ?? null
  }
}

/** The page that signs in with a link's token. Browsers send no fragment, so it reaches no server and no log. */
export const linkUrl = (origin: string, token: string): string => `${origin}/#link=${token}`

/** A new secret of 256 bits. */
export const newSecret = (): string => randomBytes(32).toString("base64url")

/** The stored form of a token or of a session's secret. */
export const hashOf = (secret: string): string => createHash("sha256").update(secret).digest("hex")
