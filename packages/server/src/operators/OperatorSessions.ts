/**
 * Sessions of operators in a browser: rows, so that every process knows of their end.
 *
 * Guarantees:
 * - A session ends after 30 minutes without a request, after 12 hours, when it is ended, and with its operator's
 *   deactivation. PostgreSQL's clock decides.
 * - Where a session is ended, the links and codes of its operator that are not used are revoked in the same commit.
 * - The secret of its cookie is stored as its SHA-256.
 * - A sign-in at an identity provider starts one session, however often its callback is repeated.
 * - A session of an identity provider has the lesser of the operator's role and of the role that the provider gave.
 *
 * Rules: OPR-44, OPR-45, OPR-134, OPR-135, OPR-157.
 */
import type { Operator } from "@pix-payments/api/Security"
import type { OperatorRole } from "@pix-payments/domain/Operator"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { NotFoundError, type UnknownCursor } from "../base/Errors.ts"
import { Ids } from "../base/Ids.ts"
import { type Page, readPage } from "../database/statements/Paging.ts"
import { runToCompletion } from "../database/RunToCompletion.ts"
import { equals } from "../database/statements/Condition.ts"
import { is } from "../database/statements/Seek.ts"
import { statement, value } from "../database/statements/Statement.ts"
import { orUnavailable, type Unavailable } from "../database/Unavailable.ts"
import { hashOf, newSecret, type OperatorColumns, operatorColumns, toOperator } from "./Operator.ts"

export interface OperatorSessionRow {
  readonly id: string
  readonly operator_id: string | null
  readonly address: string
  readonly user_agent: string | null
  readonly created_at: Date
  readonly last_seen_at: Date
  readonly expires_at: Date
  readonly ended_at: Date | null
}

export class OperatorSessions extends Context.Service<
  OperatorSessions,
  {
    /** The operator of a cookie's secret; `ended` for a session that was one, `undefined` for an unknown secret. */
    readonly authenticate: (secret: string) => Effect.Effect<Operator | "ended" | undefined, Unavailable>
    /** Starts a session of this operator, which ends when its link says, if it is one (OPR-204). */
    readonly start: (input: {
      readonly operator: Operator
      readonly address: string
      readonly userAgent: string | undefined
    }) => Effect.Effect<OperatorSessionRow & { readonly secret: string }, Unavailable>
    /** Starts the session of a sign-in at an identity provider. `undefined` where its `state` has started one. */
    readonly startWith: (input: {
      readonly operatorId: string
      readonly address: string
      readonly userAgent: string | undefined
      /** The role that the provider gave. */
      readonly role: OperatorRole | undefined
      readonly state: string
    }) => Effect.Effect<(OperatorSessionRow & { readonly secret: string }) | undefined, Unavailable>
    readonly find: (id: string) => Effect.Effect<OperatorSessionRow, NotFoundError | Unavailable>
    /** Sessions of an operator; of everybody where it is `undefined`. */
    readonly list: (
      operatorId: string | undefined,
      page: Page
    ) => Effect.Effect<ReadonlyArray<OperatorSessionRow>, UnknownCursor | Unavailable>
    /** Ends a session of `operatorId`, or of anybody where it is `undefined`. Repeating it changes nothing. */
    readonly end: (
      id: string,
      operatorId: string | undefined
    ) => Effect.Effect<OperatorSessionRow, NotFoundError | Unavailable>
  }
>()("@pix-payments/server/OperatorSessions") {
  static readonly layer = Layer.effect(
    OperatorSessions,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const ids = yield* Ids

      const insert = Effect.fn("OperatorSessions.start")(function* (input: {
        readonly operatorId: string | null
        readonly madeBy?: string | null | undefined
        readonly endsAt?: Date | null | undefined
        readonly address: string
        readonly userAgent: string | undefined
        readonly role: OperatorRole | undefined
        readonly state: string | undefined
      }) {
        const { id } = ids.next()
        const secret = newSecret()
        const [row] = yield* sql<OperatorSessionRow>`
          INSERT INTO operator_sessions (id, operator_id, hash, address, user_agent, created_at, last_seen_at, expires_at,
            role, state_hash, made_by)
          VALUES (${id}::uuid, ${input.operatorId}::uuid, ${hashOf(secret)}, ${input.address},
            ${input.userAgent?.slice(0, MAX_USER_AGENT) ?? null}, now(), now(),
            least(now() + interval '12 hours', ${input.endsAt ?? null}::timestamptz),
            ${input.role ?? null}, ${input.state === undefined ? null : hashOf(input.state)}, ${input.madeBy ?? null}::uuid)
          ON CONFLICT (state_hash) WHERE state_hash IS NOT NULL DO NOTHING
          RETURNING ${sql.literal(columns)}`
        return row === undefined ? undefined : { ...row, secret }
      })

      return OperatorSessions.of({
        authenticate: Effect.fn("OperatorSessions.authenticate")(function* (secret) {
          if (!/^[\w-]{43}$/.test(secret)) return undefined
          const [row] = yield* sql.unsafe<SessionOwner>(...findOne({ hash: hashOf(secret) }))
          if (row === undefined) return undefined
          return row.live ? toOperator(row, "session", { id: row.id, role: row.session_role }) : "ended"
        }, orUnavailable),

        start: ({ operator, ...input }) =>
          Effect.map(
            insert({
              ...input,
              operatorId: operator.id,
              madeBy: operator.madeBy,
              endsAt: operator.sessionEndsAt,
              role: undefined,
              state: undefined
            }),
            (started) => started!
          ).pipe(runToCompletion(sql)),

        startWith: (input) => runToCompletion(sql)(insert(input)),

        find: Effect.fn("OperatorSessions.find")(function* (id) {
          const [row] = yield* sql<OperatorSessionRow>`
            SELECT ${sql.literal(columns)} FROM operator_sessions WHERE id = ${id}::uuid`
          return row ?? (yield* new NotFoundError())
        }, orUnavailable),

        list: (operatorId, page) =>
          readPage<OperatorSessionRow>(
            {
              table: "operator_sessions",
              columns,
              ...(operatorId === undefined
                ? {}
                : {
                    scope: [equals("operator_id", "uuid", operatorId)],
                    paths: [{ columns: [is("operator_id", "uuid", operatorId)] }]
                  })
            },
            page
          ).pipe(Effect.provideService(SqlClient, sql), orUnavailable),

        end: Effect.fn("OperatorSessions.end")(function* (id, operatorId) {
          const [row] = yield* sql.unsafe<OperatorSessionRow>(...endOne({ id, operatorId: operatorId ?? null }))
          return row ?? (yield* new NotFoundError())
        }, runToCompletion(sql))
      })
    })
  )
}

interface SessionOwner extends OperatorColumns {
  readonly id: string
  readonly live: boolean
  /** The role that an identity provider gave; null without one. */
  readonly session_role: OperatorRole | null
}

const MAX_USER_AGENT = 255

/** A link, or a code, which is stored as one. */
const isUnusedLink = (tokens: string): string => `${tokens}.kind = 'link' AND ${tokens}.revoked_at IS NULL`

const columns = "id, operator_id, address, user_agent, created_at, last_seen_at, expires_at, ended_at"

// `last_seen_at` is written once a minute, so a session ends after 29 to 30 idle minutes.
const findOne = statement(
  { hash: value("text") },
  ({ hash }) => `
  WITH found AS (
    SELECT s.id, s.last_seen_at, s.role AS session_role, s.made_by, ${operatorColumns},
      s.ended_at IS NULL AND s.expires_at > now() AND s.last_seen_at > now() - interval '30 minutes'
        AND (s.operator_id IS NULL OR o.active) AS live
    FROM operator_sessions s LEFT JOIN operators o ON o.id = s.operator_id WHERE s.hash = ${hash}
  ),
  seen AS (
    UPDATE operator_sessions s SET last_seen_at = now() FROM found f
    WHERE s.id = f.id AND f.live AND f.last_seen_at < now() - interval '1 minute'
  )
  SELECT id, live, session_role, operator_id, operator_name, email, role, account_ids, made_by FROM found`
)

// `ended_at` is `now()` in the statement that ends it: a repeat revokes nothing. The installation's operator is null.
const endOne = statement(
  { id: value("uuid"), operatorId: value("uuid") },
  (p) => `
  WITH ended AS (
    UPDATE operator_sessions SET ended_at = coalesce(ended_at, now())
    WHERE id = ${p.id} AND (${p.operatorId} IS NULL OR operator_id = ${p.operatorId})
    RETURNING ${columns}
  ),
  revoked AS (
    UPDATE operator_tokens t SET revoked_at = now() FROM ended e
    WHERE t.operator_id IS NOT DISTINCT FROM e.operator_id AND e.ended_at = now() AND ${isUnusedLink("t")}
  )
  SELECT ${columns} FROM ended`
)

/** Revokes everything that signs in as an operator, for good. */
export const revokeTokens = statement(
  { operatorId: value("uuid") },
  ({ operatorId }) =>
    `UPDATE operator_tokens SET revoked_at = now() WHERE operator_id = ${operatorId} AND revoked_at IS NULL`
)

/** Ends the sessions of an operator, and revokes its links and codes that are not used. */
export const endSignIns = statement(
  { operatorId: value("uuid") },
  ({ operatorId }) => `
  WITH ended AS (
    UPDATE operator_sessions SET ended_at = now() WHERE operator_id = ${operatorId} AND ended_at IS NULL
  )
  UPDATE operator_tokens t SET revoked_at = now() WHERE t.operator_id = ${operatorId} AND ${isUnusedLink("t")}`
)
