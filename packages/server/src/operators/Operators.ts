/**
 * Operators: the people and machines that run the service.
 *
 * Guarantees:
 * - An e-mail address belongs to one operator, whatever its case.
 * - An admin is not limited to accounts. Every account of a limit exists.
 * - Creating and activating an operator, and another role or other accounts, need the `Authority` around them.
 * - Deactivating an operator ends its sessions and revokes its tokens, links and codes in the same commit, so that they give
 *   nothing when it is active again.
 *
 * Rules: OPR-37, OPR-41, OPR-112, OPR-157.
 */
import type { OperatorRole } from "@pix-payments/domain/Operator"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { ApprovalRequired, Authority, authorityPart } from "./approvals/Authority.ts"
import { NotFoundError, RequestRefused, type UnknownCursor } from "../base/Errors.ts"
import { Ids } from "../base/Ids.ts"
import { type Page, readPage } from "../database/statements/Paging.ts"
import { runToCompletion } from "../database/RunToCompletion.ts"
import { statement, uuids, value } from "../database/statements/Statement.ts"
import { orUnavailable, type Unavailable } from "../database/Unavailable.ts"
import { endSignIns, revokeTokens } from "./OperatorSessions.ts"

export interface OperatorRow {
  readonly id: string
  readonly name: string
  readonly email: string
  readonly role: OperatorRole
  readonly account_ids: ReadonlyArray<string> | null
  readonly active: boolean
  readonly created_at: Date
}

export interface OperatorChanges {
  readonly name?: string | undefined
  readonly role?: OperatorRole | undefined
  /** Null lifts the limit. */
  readonly account_ids?: ReadonlyArray<string> | null | undefined
  readonly active?: boolean | undefined
}

/** What a new or changed operator would be. */
export interface OperatorCheck {
  readonly role: OperatorRole
  readonly account_ids: ReadonlyArray<string> | null
  /** Null where the address does not change. */
  readonly email: string | null
}

export class Operators extends Context.Service<
  Operators,
  {
    readonly create: (input: {
      readonly name: string
      readonly email: string
      readonly role: OperatorRole
      readonly account_ids: ReadonlyArray<string> | null
    }) => Effect.Effect<OperatorRow, RequestRefused | ApprovalRequired | Unavailable>
    /** Refuses what `create` and `update` would refuse. */
    readonly check: (operator: OperatorCheck) => Effect.Effect<void, RequestRefused | Unavailable>
    readonly get: (id: string) => Effect.Effect<OperatorRow, NotFoundError | Unavailable>
    readonly list: (page: Page) => Effect.Effect<ReadonlyArray<OperatorRow>, UnknownCursor | Unavailable>
    readonly update: (
      id: string,
      changes: OperatorChanges
    ) => Effect.Effect<OperatorRow, NotFoundError | RequestRefused | ApprovalRequired | Unavailable>
  }
>()("@pix-payments/server/Operators") {
  static readonly layer = Layer.effect(
    Operators,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const ids = yield* Ids

      const refuse = (field: string) => Effect.fail(new RequestRefused({ code: "VALIDATION_ERROR", details: [field] }))

      /** Checks the accounts that an operator is limited to. */
      const checkLimit = (
        role: OperatorRole,
        accountIds: ReadonlyArray<string> | null
      ): Effect.Effect<unknown, RequestRefused | SqlError> => {
        if (accountIds === null) return Effect.void
        if (role === "admin") return refuse("account_ids")
        return Effect.flatMap(sql.unsafe<{ count: bigint }>(...countAccounts({ accountIds })), ([row]) =>
          Number(row?.count) === new Set(accountIds).size ? Effect.void : refuse("account_ids")
        )
      }

      return Operators.of({
        create: Effect.fn("Operators.create")(function* ({ account_ids: accountIds, email, name, role }) {
          yield* checkLimit(role, accountIds)
          const { epochMs, id } = ids.next()
          const [row] = yield* sql.unsafe<OperatorRow>(
            ...insertOne({
              id,
              name,
              email,
              role,
              accountIds: arrayOf(accountIds),
              epochMs,
              authority: yield* Authority
            })
          )
          if (row !== undefined) return row
          return yield* (yield* sql.unsafe(...findEmail({ email }))).length > 0
            ? refuse("email")
            : new ApprovalRequired()
        }, runToCompletion(sql)),

        check: Effect.fn("Operators.check")(function* ({ account_ids: accountIds, email, role }) {
          yield* checkLimit(role, accountIds)
          if (email !== null && (yield* sql.unsafe(...findEmail({ email }))).length > 0) return yield* refuse("email")
        }, orUnavailable),

        get: Effect.fn("Operators.get")(function* (id) {
          const [row] = yield* sql.unsafe<OperatorRow>(...findOne({ id }))
          return row ?? (yield* new NotFoundError())
        }, orUnavailable),

        list: (page) =>
          readPage<OperatorRow>({ table: "operators", columns }, page).pipe(
            Effect.provideService(SqlClient, sql),
            orUnavailable
          ),

        update: Effect.fn("Operators.update")(
          function* (id, changes) {
            const [before] = yield* sql.unsafe<OperatorRow>(`${findOne.text} FOR UPDATE`, [id])
            if (before === undefined) return yield* new NotFoundError()
            const after = {
              name: changes.name ?? before.name,
              role: changes.role ?? before.role,
              account_ids: changes.account_ids === undefined ? before.account_ids : changes.account_ids,
              active: changes.active ?? before.active
            }
            yield* checkLimit(after.role, after.account_ids)
            const [row] = yield* sql.unsafe<OperatorRow>(
              ...updateOne({
                id,
                ...after,
                accountIds: arrayOf(after.account_ids),
                authority: yield* Authority
              })
            )
            if (row === undefined) return yield* new ApprovalRequired()
            // Also once it is active again: a sign-in may have begun at the moment of the deactivation.
            if (!after.active || !before.active) {
              yield* sql.unsafe(...endSignIns({ operatorId: id }))
              yield* sql.unsafe(...revokeTokens({ operatorId: id }))
              yield* sql`UPDATE approvals SET expires_at = now() WHERE concerns = ${id}::uuid
                AND action = 'operator_token.create' AND used_at IS NULL AND expires_at > now()`
            }
            return row
          },
          sql.withTransaction,
          runToCompletion(sql)
        )
      })
    })
  )
}

/** What a token of an operator may do, as an approval of the token has it. */
export const rightsOf = ({ account_ids, active, role }: OperatorRow) => ({ role, account_ids, active })

const columns = "id, name, email, role, account_ids, active, created_at"

/** The text of an array, which may be null. */
const arrayOf = (accountIds: ReadonlyArray<string> | null): string | null =>
  accountIds === null ? null : `{${[...new Set(accountIds)].join(",")}}`

const countAccounts = statement(
  { accountIds: uuids },
  ({ accountIds }) => `SELECT count(*) AS count FROM accounts WHERE id = ANY (${accountIds})`
)

const findOne = statement({ id: value("uuid") }, ({ id }) => `SELECT ${columns} FROM operators WHERE id = ${id}`)

const insertOne = statement(
  {
    id: value("uuid"),
    name: value("text"),
    email: value("text"),
    role: value("text"),
    accountIds: value("text"),
    epochMs: value("double precision"),
    authority: authorityPart
  },
  (p) => `INSERT INTO operators (${columns})
    SELECT ${p.id}, ${p.name}, ${p.email}, ${p.role}, ${p.accountIds}::uuid[], true, to_timestamp(${p.epochMs} / 1000)
    WHERE ${p.authority("operator.create", "NULL::uuid")}
    ON CONFLICT (lower(email)) DO NOTHING RETURNING ${columns}`
)

const updateOne = statement(
  {
    id: value("uuid"),
    name: value("text"),
    role: value("text"),
    accountIds: value("text"),
    active: value("boolean"),
    authority: authorityPart
  },
  (p) => `UPDATE operators SET name = ${p.name}, role = ${p.role}, account_ids = ${p.accountIds}::uuid[],
    active = ${p.active}
    WHERE id = ${p.id} AND (
      (role = ${p.role} AND account_ids IS NOT DISTINCT FROM ${p.accountIds}::uuid[] AND (active OR NOT ${p.active}))
      OR ${p.authority("operator.update", "operators.id")}
    )
    RETURNING ${columns}`
)

const findEmail = statement(
  { email: value("text") },
  ({ email }) => `SELECT 1 FROM operators WHERE lower(email) = lower(${email})`
)
