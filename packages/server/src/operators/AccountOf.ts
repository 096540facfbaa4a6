/**
 * The account that a resource belongs to: for operators who are limited to accounts, and for accounts that move to another cell.
 *
 * Guarantee: a kind of resource without a line here is not shown to a limited operator.
 *
 * Rules: OPR-39, OPR-391.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { orUnavailable, type Unavailable } from "../database/Unavailable.ts"

export class AccountOf extends Context.Service<
  AccountOf,
  {
    /** True where the resource belongs to one of the accounts. `kind` is as in its path. */
    readonly isOneOf: (
      kind: ResourceKind,
      id: string,
      accountIds: ReadonlyArray<string>
    ) => Effect.Effect<boolean, Unavailable>
    /** The cell to which the resource's account moves, or has moved. */
    readonly movedTo: (kind: ResourceKind, id: string) => Effect.Effect<string | undefined, Unavailable>
  }
>()("@pix-payments/server/AccountOf") {
  static readonly layer = Layer.effect(
    AccountOf,
    Effect.map(SqlClient, (sql) =>
      AccountOf.of({
        isOneOf: (kind, id, accountIds) =>
          sql.unsafe<{ account_id: string | null }>(queries[kind], [id]).pipe(
            Effect.map(([row]) => typeof row?.account_id === "string" && accountIds.includes(row.account_id)),
            orUnavailable
          ),
        movedTo: (kind, id) =>
          sql
            .unsafe<{ moved_to: string | null }>(`SELECT moved_to FROM accounts WHERE id = (${queries[kind]})`, [id])
            .pipe(
              Effect.map(([row]) => row?.moved_to ?? undefined),
              orUnavailable
            )
      })
    )
  )
}

const ofTable = (table: string): string => `SELECT account_id FROM ${table} WHERE id = $1::uuid`

const queries = {
  accounts: "SELECT id AS account_id FROM accounts WHERE id = $1::uuid",
  applications: ofTable("applications"),
  keys: `SELECT p.account_id FROM api_keys k JOIN applications p ON p.id = k.application_id WHERE k.id = $1::uuid`,
  charges: ofTable("charges"),
  refunds: ofTable("refunds"),
  payouts: ofTable("payouts"),
  disputes: ofTable("disputes"),
  "dispute-files": `SELECT d.account_id FROM dispute_files f JOIN dispute_messages m ON m.id = f.message_id
    JOIN disputes d ON d.id = m.dispute_id WHERE f.id = $1::uuid`,
  exceptions: ofTable("acquirer_exceptions"),
  deliveries: ofTable("deliveries"),
  webhooks: `SELECT p.account_id FROM webhook_endpoints w JOIN applications p ON p.id = w.application_id
    WHERE w.id = $1::uuid`,
  approvals: ofTable("approvals"),
  "outbox-failures": ofTable("outbox_failures")
}

export type ResourceKind = keyof typeof queries

/** `charges` of `/operator/v1/charges/:id/refund`. */
export const nameInPath = (path: string): string => /\/([a-z-]+)\/:id/.exec(path)?.[1] ?? ""

/** The kind of the resource in a path such as `/operator/v1/charges/:id/refund`. */
export const resourceKindOf = (path: string): ResourceKind | undefined => {
  const name = nameInPath(path)
  return Object.hasOwn(queries, name) ? (name as ResourceKind) : undefined
}
