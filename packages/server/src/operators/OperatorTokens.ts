/**
 * Personal tokens of operators, links that sign in once, and codes that are exchanged for a token.
 *
 * Guarantees:
 * - A token is stored as its SHA-256. Only the answer of its creation has it.
 * - `authenticate` looks the token up for every request: a revocation, an expiry, another role or a deactivated operator
 *   takes effect with the next request, in every process.
 * - A link signs in once, within five minutes. It is not a token.
 * - A code is exchanged once, within two minutes, with the verifier of its challenge: the hash that is stored covers both.
 * - A credential that is made with another one keeps who made that for its operator.
 * - Revoking a token ends the sessions of its operator in the same commit, and revokes its links and codes, because they may
 *   have been made with it.
 *
 * Rules: OPR-42, OPR-43, OPR-47, OPR-150 to OPR-152, OPR-157.
 */
import type { Operator } from "@pix-payments/api/Security"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { ApprovalRequired, Authority, isAuthorized } from "./approvals/Authority.ts"
import { NotFoundError, type UnknownCursor } from "../base/Errors.ts"
import { Ids } from "../base/Ids.ts"
import { type Page, readPage } from "../database/statements/Paging.ts"
import { runToCompletion } from "../database/RunToCompletion.ts"
import { equals } from "../database/statements/Condition.ts"
import { is } from "../database/statements/Seek.ts"
import { statement, value } from "../database/statements/Statement.ts"
import { orUnavailable, type Unavailable } from "../database/Unavailable.ts"
import { hashOf, newSecret, type OperatorColumns, operatorColumns, toOperator } from "./Operator.ts"
import { endSignIns } from "./OperatorSessions.ts"
import { createHash } from "node:crypto"

export interface OperatorTokenRow {
  readonly id: string
  readonly operator_id: string
  readonly name: string
  readonly prefix: string
  readonly expires_at: Date | null
  readonly revoked_at: Date | null
  readonly last_used_at: Date | null
  readonly created_at: Date
}

export class OperatorTokens extends Context.Service<
  OperatorTokens,
  {
    /** The operator of a token; `undefined` where it is not accepted, whatever the reason. */
    readonly authenticate: (token: string) => Effect.Effect<Operator | undefined, Unavailable>
    /** Creates a token. One that `by` creates for somebody else needs the `Authority` around it. */
    readonly create: (input: {
      readonly operatorId: string
      readonly by: Operator
      readonly name: string
      readonly expiresAtMs: number | undefined
    }) => Effect.Effect<OperatorTokenRow & { readonly token: string }, NotFoundError | ApprovalRequired | Unavailable>
    readonly list: (
      operatorId: string,
      page: Page
    ) => Effect.Effect<ReadonlyArray<OperatorTokenRow>, UnknownCursor | Unavailable>
    /** Revokes a token of `operatorId`, or of anybody where it is null. Repeating it changes nothing. */
    readonly revoke: (
      id: string,
      operatorId: string | null
    ) => Effect.Effect<OperatorTokenRow, NotFoundError | Unavailable>
    /** A token for a link that signs in as this operator. The session that it starts ends with the one that made it. */
    readonly makeLink: (
      by: Pick<Operator, "id" | "sessionId" | "madeBy">
    ) => Effect.Effect<{ readonly id: string; readonly token: string; readonly expiresAt: Date }, Unavailable>
    /** The operator of a link, which is used up by this; `undefined` where it is not accepted. */
    readonly useLink: (token: string) => Effect.Effect<Operator | undefined, Unavailable>
    /** A code for a token of this operator with this name. */
    readonly makeCode: (input: {
      readonly operatorId: string
      readonly madeBy: string | null
      readonly challenge: string
      readonly name: string
    }) => Effect.Effect<{ readonly id: string; readonly code: string; readonly expiresAt: Date }, Unavailable>
    /** A new token for a code, which is used up by this; `undefined` where code or verifier are not accepted. */
    readonly exchangeCode: (input: {
      readonly code: string
      readonly verifier: string
    }) => Effect.Effect<
      { readonly row: OperatorTokenRow & { readonly token: string }; readonly operator: Operator } | undefined,
      Unavailable
    >
  }
>()("@pix-payments/server/OperatorTokens") {
  static readonly layer = Layer.effect(
    OperatorTokens,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const ids = yield* Ids

      return OperatorTokens.of({
        authenticate: Effect.fn("OperatorTokens.authenticate")(function* (token) {
          if (!isPersonalToken(token)) return undefined
          const [row] = yield* sql.unsafe<OperatorColumns>(...findOwner({ hash: hashOf(token) }))
          return row === undefined ? undefined : toOperator(row, "token")
        }, orUnavailable),

        create: Effect.fn("OperatorTokens.create")(function* ({ by, expiresAtMs, name, operatorId }) {
          const authority = yield* Authority
          const { epochMs, id } = ids.next()
          const token = `${PERSONAL}${newSecret()}`
          const [row] = yield* sql<OperatorTokenRow>`
            INSERT INTO operator_tokens (id, operator_id, kind, name, prefix, hash, expires_at, created_at, made_by)
            SELECT ${id}::uuid, o.id, 'personal', ${name}::text, ${token.slice(0, PREFIX_LENGTH)}::text,
              ${hashOf(token)}::text, to_timestamp(${expiresAtMs ?? null}::double precision / 1000),
              to_timestamp(${epochMs}::double precision / 1000), ${by.madeBy ?? (by.id === operatorId ? null : by.id)}::uuid
            FROM operators o WHERE o.id = ${operatorId}::uuid
              AND ((o.id = ${by.id}::uuid) IS TRUE OR ${isAuthorized(sql, authority, "operator_token.create", "o.id")})
            RETURNING ${sql.literal(columns)}`
          if (row !== undefined) return { ...row, token }
          const known = yield* sql`SELECT 1 FROM operators WHERE id = ${operatorId}::uuid`
          return yield* known.length === 0 ? new NotFoundError() : new ApprovalRequired()
        }, runToCompletion(sql)),

        list: (operatorId, page) =>
          readPage<OperatorTokenRow>(
            {
              table: "operator_tokens",
              columns,
              scope: [equals("operator_id", "uuid", operatorId), () => PERSONAL_ONLY],
              paths: [{ columns: [is("operator_id", "uuid", operatorId)], predicate: PERSONAL_ONLY }]
            },
            page
          ).pipe(Effect.provideService(SqlClient, sql), orUnavailable),

        revoke: Effect.fn("OperatorTokens.revoke")(
          function* (id, operatorId) {
            const [row] = yield* sql.unsafe<OperatorTokenRow>(...revokeOne({ id, operatorId }))
            if (row === undefined) return yield* new NotFoundError()
            yield* sql.unsafe(...endSignIns({ operatorId: row.operator_id }))
            return row
          },
          sql.withTransaction,
          runToCompletion(sql)
        ),

        makeLink: Effect.fn("OperatorTokens.makeLink")(function* ({ id: operatorId, madeBy, sessionId }) {
          const { id } = ids.next()
          const token = `${LINK}${newSecret()}`
          const rows = yield* sql<{ expiresAt: Date }>`
            INSERT INTO operator_tokens (id, operator_id, kind, name, prefix, hash, expires_at, created_at, made_by,
              session_ends_at)
            VALUES (${id}::uuid, ${operatorId}::uuid, 'link', 'link', ${token.slice(0, PREFIX_LENGTH)}, ${hashOf(token)},
              now() + interval '5 minutes', now(), ${madeBy ?? null}::uuid,
              (SELECT s.expires_at FROM operator_sessions s WHERE s.id = ${sessionId}::uuid))
            RETURNING expires_at AS "expiresAt"`
          return { id, token, expiresAt: rows[0]!.expiresAt }
        }, runToCompletion(sql)),

        useLink: Effect.fn("OperatorTokens.useLink")(function* (token) {
          if (!token.startsWith(LINK)) return undefined
          const [row] = yield* sql.unsafe<OperatorColumns & { readonly session_ends_at: Date | null }>(
            ...useOne({ hash: hashOf(token) })
          )
          return row === undefined ? undefined : { ...toOperator(row, "link"), sessionEndsAt: row.session_ends_at }
        }, runToCompletion(sql)),

        makeCode: Effect.fn("OperatorTokens.makeCode")(function* ({ challenge, madeBy, name, operatorId }) {
          const { id } = ids.next()
          const code = `${CODE}${newSecret()}`
          const rows = yield* sql<{ expiresAt: Date }>`
            INSERT INTO operator_tokens (id, operator_id, kind, name, prefix, hash, expires_at, created_at, made_by)
            VALUES (${id}::uuid, ${operatorId}::uuid, 'link', ${name}, ${CODE}, ${codeHash(code, challenge)},
              now() + interval '2 minutes', now(), ${madeBy}::uuid)
            RETURNING expires_at AS "expiresAt"`
          return { id, code, expiresAt: rows[0]!.expiresAt }
        }, runToCompletion(sql)),

        exchangeCode: Effect.fn("OperatorTokens.exchangeCode")(function* ({ code, verifier }) {
          if (!code.startsWith(CODE)) return undefined
          const { id } = ids.next()
          const token = `${PERSONAL}${newSecret()}`
          const challenge = createHash("sha256").update(verifier).digest("base64url")
          const [row] = yield* sql.unsafe<OperatorTokenRow & OperatorColumns>(
            ...exchangeOne({
              codeHash: codeHash(code, challenge),
              id,
              prefix: token.slice(0, PREFIX_LENGTH),
              hash: hashOf(token)
            })
          )
          return row === undefined ? undefined : { row: { ...row, token }, operator: toOperator(row, "code") }
        }, runToCompletion(sql))
      })
    })
  )
}

const PERSONAL = "pixop_"
const LINK = "pixlink_"
const CODE = "pixcode_"
const PREFIX_LENGTH = 14
const PERSONAL_ONLY = "kind = 'personal'"

/** Other texts are not looked up. */
const isPersonalToken = (token: string): boolean => /^pixop_[\w-]{43}$/.test(token)

const columns = "id, operator_id, name, prefix, expires_at, revoked_at, last_used_at, created_at"

// `last_used_at` is written once a minute.
const findOwner = statement(
  { hash: value("text") },
  ({ hash }) => `
  WITH found AS (
    SELECT t.id, t.last_used_at, t.made_by, ${operatorColumns} FROM operator_tokens t JOIN operators o ON o.id = t.operator_id
    WHERE t.hash = ${hash} AND t.kind = 'personal' AND t.revoked_at IS NULL
      AND (t.expires_at IS NULL OR t.expires_at > now()) AND o.active
  ),
  used AS (
    UPDATE operator_tokens t SET last_used_at = now() FROM found f
    WHERE t.id = f.id AND (f.last_used_at IS NULL OR f.last_used_at < now() - interval '1 minute')
  )
  SELECT operator_id, operator_name, email, role, account_ids, made_by FROM found`
)

const revokeOne = statement(
  { id: value("uuid"), operatorId: value("uuid") },
  (p) => `UPDATE operator_tokens SET revoked_at = coalesce(revoked_at, now())
    WHERE id = ${p.id} AND ${PERSONAL_ONLY} AND (${p.operatorId} IS NULL OR operator_id = ${p.operatorId})
    RETURNING ${columns}`
)

/** What is stored of a code. Without the verifier of the challenge, nobody finds it. */
const codeHash = (code: string, challenge: string): string => hashOf(`${code}.${challenge}`)

// A code is stored as a link is, because the kinds of a token are fixed. `useLink` finds none, for its prefix.
const exchangeOne = statement(
  { codeHash: value("text"), id: value("uuid"), prefix: value("text"), hash: value("text") },
  (p) => `
  WITH used AS (
    UPDATE operator_tokens SET revoked_at = now()
    WHERE hash = ${p.codeHash} AND kind = 'link' AND revoked_at IS NULL AND expires_at > now()
    RETURNING operator_id AS owner_id, name AS token_name, made_by AS maker_id
  ),
  created AS (
    INSERT INTO operator_tokens (id, operator_id, kind, name, prefix, hash, expires_at, created_at, made_by)
    SELECT ${p.id}, o.id, 'personal', u.token_name, ${p.prefix}, ${p.hash}, now() + interval '90 days', now(), u.maker_id
    FROM used u JOIN operators o ON o.id = u.owner_id WHERE o.active
    RETURNING ${columns}
  )
  SELECT c.*, o.name AS operator_name, o.email, o.role, o.account_ids FROM created c JOIN operators o ON o.id = c.operator_id`
)

const useOne = statement(
  { hash: value("text") },
  ({ hash }) => `
  WITH used AS (
    UPDATE operator_tokens SET revoked_at = now()
    WHERE hash = ${hash} AND kind = 'link' AND revoked_at IS NULL AND expires_at > now()
    RETURNING operator_id AS owner_id, made_by, session_ends_at
  )
  SELECT ${operatorColumns}, u.made_by, u.session_ends_at FROM used u LEFT JOIN operators o ON o.id = u.owner_id
  WHERE u.owner_id IS NULL OR o.active`
)
