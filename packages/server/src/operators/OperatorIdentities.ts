/**
 * The operators behind the subjects of an identity provider.
 *
 * Guarantees:
 * - A subject is one operator for good, and an operator has one subject of a provider.
 * - A new subject becomes the operator with its e-mail address, if the provider has verified the address and the operator
 *   is active. No sign-in creates an operator or changes its role.
 *
 * Why: docs/decisions/0026-operators-of-an-identity-provider.md.
 * Rules: OPR-134, OPR-136.
 */
import type { Operator } from "@pix-payments/api/Security"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { runToCompletion } from "../database/RunToCompletion.ts"
import { statement, value } from "../database/statements/Statement.ts"
import { orUnavailable, type Unavailable } from "../database/Unavailable.ts"
import { type OperatorColumns, operatorColumns, toOperator } from "./Operator.ts"

export interface Subject {
  readonly issuer: string
  readonly subject: string
}

export class OperatorIdentities extends Context.Service<
  OperatorIdentities,
  {
    /** The active operator of a subject. `isKnown` is true where the subject has an operator, active or not. */
    readonly find: (
      of: Subject
    ) => Effect.Effect<{ readonly isKnown: boolean; readonly operator: Operator | undefined }, Unavailable>
    /** Makes the active operator with this e-mail address that of the subject. `undefined` where there is none. */
    readonly link: (
      of: Subject,
      email: string
    ) => Effect.Effect<(Operator & { readonly id: string }) | undefined, Unavailable>
  }
>()("@pix-payments/server/OperatorIdentities") {
  static readonly layer = Layer.effect(
    OperatorIdentities,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      return OperatorIdentities.of({
        find: Effect.fn("OperatorIdentities.find")(function* (of) {
          const [row] = yield* sql.unsafe<OperatorColumns & { readonly active: boolean }>(...findOne({ ...of }))
          return { isKnown: row !== undefined, operator: row?.active === true ? toOperator(row, "oidc") : undefined }
        }, orUnavailable),

        link: Effect.fn("OperatorIdentities.link")(function* (of, email) {
          const [row] = yield* sql.unsafe<OperatorColumns>(...linkOne({ ...of, email }))
          const operator = row === undefined ? undefined : toOperator(row, "oidc")
          return typeof operator?.id === "string" ? { ...operator, id: operator.id } : undefined
        }, runToCompletion(sql))
      })
    })
  )
}

const subject = { issuer: value("text"), subject: value("text") }

const findOne = statement(
  subject,
  (p) => `SELECT ${operatorColumns}, o.active FROM operator_identities i JOIN operators o ON o.id = i.operator_id
    WHERE i.issuer = ${p.issuer} AND i.subject = ${p.subject}`
)

const linkOne = statement(
  { ...subject, email: value("text") },
  (p) => `
  WITH linked AS (
    INSERT INTO operator_identities (issuer, subject, operator_id, created_at)
    SELECT ${p.issuer}, ${p.subject}, o.id, now() FROM operators o WHERE lower(o.email) = lower(${p.email}) AND o.active
    ON CONFLICT DO NOTHING RETURNING operator_id AS owner_id
  )
  SELECT ${operatorColumns} FROM linked l JOIN operators o ON o.id = l.owner_id`
)
