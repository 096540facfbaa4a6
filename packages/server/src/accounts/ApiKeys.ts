/**
 * API keys: created, listed, revoked, and authenticated by their SHA-256 (KEY-3).
 *
 * Guarantee: `authenticate` looks the key up for every request, so that a revocation, an expiry or a deactivated
 * application takes effect with the next request, in every process (KEY-4). Lookups of concurrent requests are one
 * statement. `cached` skips the lookup; `Caller.ts` has the rules for its use.
 *
 * Rules: KEY-1 to KEY-10.
 */
import type { LimitChanges, Limits } from "@pix-payments/domain/Limits"
import type { Scope } from "@pix-payments/domain/Scope"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import { SqlClient } from "effect/sql/SqlClient"
import { hash, randomBytes } from "node:crypto"
import { Ids } from "../base/Ids.ts"
import { Settings, type SettingsShape } from "../base/Settings.ts"
import { connectionOf, defaultConnectionId } from "./AccountConnection.ts"
import { chargesStopped } from "./Brakes.ts"
import { type Cached, type Confirmed, GENERATION } from "./Caller.ts"
import { changeLimits, limitsOf, limitsPayouts } from "./StoredLimits.ts"
import * as Batching from "../database/batching/Batching.ts"
import { type Page, readPage } from "../database/statements/Paging.ts"
import { equals } from "../database/statements/Condition.ts"
import { is } from "../database/statements/Seek.ts"
import { runToCompletion } from "../database/RunToCompletion.ts"
import { statement, texts } from "../database/statements/Statement.ts"
import { orUnavailable, type Unavailable } from "../database/Unavailable.ts"
import { ApprovalRequired, Authority, isAuthorized } from "../operators/approvals/Authority.ts"
import { NotFoundError, UnknownCursor } from "../base/Errors.ts"

export interface ApiKeyRow {
  readonly id: string
  readonly application_id: string
  readonly name: string
  readonly prefix: string
  readonly scopes: ReadonlyArray<string>
  readonly limits: Limits | null
  readonly expires_at: Date | null
  readonly revoked_at: Date | null
  readonly last_used_at: Date | null
  readonly created_at: Date
}

export class ApiKeys extends Context.Service<
  ApiKeys,
  {
    /** The caller of a key; `undefined` for a key that is not accepted, whatever the reason (KEY-2). */
    readonly authenticate: (key: string) => Effect.Effect<Confirmed | undefined, Unavailable>
    /** The caller at the key's last lookup. */
    readonly cached: (key: string) => Cached | undefined
    /** Creates a key. Only this answer has the complete key (KEY-3). `payout:write` needs the `Authority` around it. */
    readonly create: (input: {
      readonly applicationId: string
      readonly name: string
      readonly scopes: ReadonlyArray<Scope>
      readonly expiresAtMs: number | undefined
    }) => Effect.Effect<ApiKeyRow & { readonly key: string }, NotFoundError | ApprovalRequired | Unavailable>
    readonly list: (
      applicationId: string,
      page: Page
    ) => Effect.Effect<ReadonlyArray<ApiKeyRow>, NotFoundError | UnknownCursor | Unavailable>
    readonly get: (id: string) => Effect.Effect<ApiKeyRow, NotFoundError | Unavailable>
    /** Changes the limits of a key. Higher ones need the `Authority` around it. */
    readonly limit: (
      id: string,
      changes: LimitChanges
    ) => Effect.Effect<ApiKeyRow, NotFoundError | ApprovalRequired | Unavailable>
    /** Revokes a key; repeating it changes nothing. */
    readonly revoke: (id: string) => Effect.Effect<ApiKeyRow, NotFoundError | Unavailable>
  }
>()("@pix-payments/server/ApiKeys") {
  static readonly layer = Layer.effect(
    ApiKeys,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const ids = yield* Ids
      const { acquirer, cell } = yield* Settings

      const toCached = cachedFrom(acquirer)
      const cache = makeCache()

      const authenticate = yield* Batching.make<string, Confirmed | undefined>({
        maxBatch: 500,
        run: (hashes) =>
          Effect.map(sql.unsafe<CallerRow>(...findCallers[acquirer]({ hashes: [...new Set(hashes)] })), (rows) => {
            const byHash = new Map(rows.map((row) => [row.hash, toCached(row)]))
            return hashes.map((hash) => {
              const cached = byHash.get(hash)
              cache.set(hash, cached)
              return cached === undefined ? undefined : confirmed(cached)
            })
          })
      })

      const get = Effect.fn("ApiKeys.get")(function* (id: string) {
        const rows = yield* sql<ApiKeyRow>`SELECT ${sql.literal(columns)} FROM api_keys WHERE id = ${id}::uuid`
        return rows[0] ?? (yield* new NotFoundError())
      }, orUnavailable)

      return ApiKeys.of({
        get,

        cached: (key) => (key.length > MAX_KEY_LENGTH ? undefined : cache.get(hashOf(key))),

        authenticate: (key) => (key.length > MAX_KEY_LENGTH ? Effect.undefined : authenticate(hashOf(key))),

        create: Effect.fn("ApiKeys.create")(function* (input) {
          const authority = yield* Authority
          const { epochMs, id } = ids.next()
          const head = Option.match(cell, { onNone: () => "pix_", onSome: (name) => `pix_${name}.` })
          const key = head + randomBytes(32).toString("base64url")
          const rows = yield* sql<ApiKeyRow>`
            INSERT INTO api_keys (id, application_id, name, prefix, hash, scopes, expires_at, created_at)
            SELECT ${id}::uuid, p.id, ${input.name}::text, ${key.slice(0, head.length + 8)}::text, ${hashOf(key)}::text,
              string_to_array(${input.scopes.join(",")}::text, ','),
              to_timestamp(${input.expiresAtMs ?? null}::double precision / 1000),
              to_timestamp(${epochMs}::double precision / 1000)
            FROM applications p WHERE p.id = ${input.applicationId}::uuid
              AND (${!input.scopes.includes("payout:write")}::boolean
                OR ${isAuthorized(sql, authority, "key.create", "p.id")})
            RETURNING ${sql.literal(columns)}`
          const row = rows[0]
          if (row !== undefined) return { ...row, key }
          const known = yield* sql`SELECT 1 FROM applications WHERE id = ${input.applicationId}::uuid`
          return yield* known.length === 0 ? new NotFoundError() : new ApprovalRequired()
        }, runToCompletion(sql)),

        list: Effect.fn("ApiKeys.list")(
          function* (applicationId, page) {
            const application = yield* sql`SELECT 1 FROM applications WHERE id = ${applicationId}::uuid`
            if (application.length === 0) return yield* new NotFoundError()
            return yield* readPage<ApiKeyRow>(
              {
                table: "api_keys",
                columns,
                scope: [equals("application_id", "uuid", applicationId)],
                paths: [{ columns: [is("application_id", "uuid", applicationId)] }]
              },
              page
            )
          },
          Effect.provideService(SqlClient, sql),
          orUnavailable
        ),

        limit: Effect.fn("ApiKeys.limit")(function* (id, changes) {
          yield* changeLimits(sql, "api_keys", id, changes).pipe(sql.withTransaction)
          return yield* get(id)
        }, runToCompletion(sql)),

        revoke: Effect.fn("ApiKeys.revoke")(function* (id) {
          const rows = yield* sql<ApiKeyRow>`UPDATE api_keys SET revoked_at = coalesce(revoked_at, now())
            WHERE id = ${id}::uuid RETURNING ${sql.literal(columns)}`
          return rows[0] ?? (yield* new NotFoundError())
        }, runToCompletion(sql))
      })
    })
  )
}

/** The stored form of a key. */
export const hashOf = (key: string): string => hash("sha256", key, "hex")

const MAX_KEY_LENGTH = 512

/** The latest callers by the hash of their key. */
const makeCache = () => {
  const byHash = new Map<string, Cached>()
  return {
    get: (hash: string): Cached | undefined => byHash.get(hash),
    /** `undefined` removes a key that is not accepted. */
    set: (hash: string, caller: Cached | undefined): void => {
      if (caller === undefined) {
        byHash.delete(hash)
        return
      }
      byHash.set(hash, caller)
      if (byHash.size > MAX_CACHED) for (const oldest of byHash.keys()) return void byHash.delete(oldest)
    }
  }
}

const MAX_CACHED = 10_000

const columns = `id, application_id, name, prefix, scopes, ${limitsOf("api_keys.id")} AS limits, expires_at, revoked_at,
  last_used_at, created_at`

const callersStatement = (acquirer: SettingsShape["acquirer"]) =>
  statement(
    { hashes: texts },
    ({ hashes }) => `
  SELECT k.hash, k.id AS key_id, k.scopes, k.expires_at, p.id AS application_id, a.id AS account_id, a.name, a.document,
    a.status, a.onboarding_status, a.default_expires_in, ${chargesStopped[acquirer]} AS charges_paused, a.moved_to IS NOT NULL AS is_moved, a.connection_id,
    ${defaultConnectionId} AS default_connection_id, ${GENERATION} AS generation, of_key.requests_per_minute,
    of_account.requests_per_minute AS account_requests_per_minute, ${limitsPayouts("of_key")} AS is_payout_limited
  FROM api_keys k JOIN applications p ON p.id = k.application_id JOIN accounts a ON a.id = p.account_id
    LEFT JOIN limits of_key ON of_key.owner_id = k.id LEFT JOIN limits of_account ON of_account.owner_id = a.id
  WHERE k.hash = ANY (${hashes}) AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > now()) AND p.active`
  )

const findCallers = { simulator: callersStatement("simulator"), connections: callersStatement("connections") }

interface CallerRow {
  readonly hash: string
  readonly key_id: string
  readonly scopes: Cached["scopes"]
  readonly expires_at: Date | null
  readonly application_id: string
  readonly account_id: string
  readonly name: string
  readonly document: string
  readonly status: Cached["account"]["status"]
  readonly onboarding_status: Cached["account"]["onboardingStatus"]
  readonly default_expires_in: number
  readonly charges_paused: boolean
  readonly is_moved: boolean
  readonly connection_id: string | null
  readonly default_connection_id: string | null
  readonly generation: string
  readonly requests_per_minute: number | null
  readonly account_requests_per_minute: number | null
  readonly is_payout_limited: boolean
}

const cachedFrom =
  (acquirer: SettingsShape["acquirer"]) =>
  (row: CallerRow): Cached => ({
    _tag: "Cached",
    generation: row.generation,
    keyExpiresAtMs: row.expires_at?.getTime() ?? null,
    keyId: row.key_id,
    scopes: row.scopes,
    applicationId: row.application_id,
    requestsPerMinute: { ofKey: row.requests_per_minute, ofAccount: row.account_requests_per_minute },
    isPayoutLimited: row.is_payout_limited,
    account: {
      id: row.account_id,
      name: row.name,
      document: row.document,
      status: row.status,
      onboardingStatus: row.onboarding_status,
      defaultExpiresInSeconds: row.default_expires_in,
      chargesPaused: row.charges_paused,
      isMoved: row.is_moved,
      connectionId: connectionOf(acquirer, row)
    }
  })

const confirmed = ({
  account,
  applicationId,
  isPayoutLimited,
  keyId,
  requestsPerMinute,
  scopes
}: Cached): Confirmed => ({
  _tag: "Confirmed",
  keyId,
  scopes,
  applicationId,
  requestsPerMinute,
  isPayoutLimited,
  account
})
