/**
 * Registered endpoints as operators see them: with the results of their deliveries.
 *
 * Guarantees:
 * - a list costs its page, however many endpoints there are, and however many failed once;
 * - an endpoint that an operator disables stays disabled, whatever its application does.
 *
 * Rules: OPR-28.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { NotFoundError, type UnknownCursor } from "../../base/Errors.ts"
import { type List, type Page, readPage } from "../../database/statements/Paging.ts"
import { runToCompletion } from "../../database/RunToCompletion.ts"
import { isOneOf } from "../../database/statements/Condition.ts"
import { type AccessPath, is, oneOfIds } from "../../database/statements/Seek.ts"
import { orUnavailable, type Unavailable } from "../../database/Unavailable.ts"
import { PausedDeliveries } from "../deliveries/PausedDeliveries.ts"
import { endpointColumns, type EndpointRow } from "./WebhookEndpoints.ts"

/** An endpoint with the results of its deliveries. */
export interface HealthRow extends EndpointRow {
  readonly account_id: string
  readonly application_id: string
  readonly application_name: string
  readonly consecutive_failures: number
  readonly successes: bigint
  readonly failures: bigint
  /** Its paused deliveries, up to `MAX_PAUSED`. */
  readonly paused: number
  readonly last_success_at: Date | null
  readonly last_failure_at: Date | null
}

export interface EndpointFilters {
  readonly accountId?: string | undefined
  /** Only active endpoints whose last attempt failed. */
  readonly failing?: boolean | undefined
}

export class EndpointHealth extends Context.Service<
  EndpointHealth,
  {
    readonly ofApplication: (applicationId: string) => Effect.Effect<ReadonlyArray<HealthRow>, Unavailable>
    /** A page of the endpoints of all applications. */
    readonly list: (
      filters: EndpointFilters,
      page: Page
    ) => Effect.Effect<ReadonlyArray<HealthRow>, UnknownCursor | Unavailable>
    /** Up to `limit + 1` ids of endpoints that fail. */
    readonly failing: (limit: number) => Effect.Effect<ReadonlyArray<{ readonly id: string }>, Unavailable>
    readonly find: (id: string) => Effect.Effect<HealthRow, NotFoundError | Unavailable>
    /** Disables an endpoint, or enables it again. Its application cannot undo that. */
    readonly setEnabled: (id: string, isEnabled: boolean) => Effect.Effect<HealthRow, NotFoundError | Unavailable>
  }
>()("@pix-payments/server/EndpointHealth") {
  static readonly layer = Layer.effect(
    EndpointHealth,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const paused = yield* PausedDeliveries

      return EndpointHealth.of({
        ofApplication: (applicationId) =>
          orUnavailable(
            sql.unsafe<HealthRow>(
              `${selectHealth} WHERE application_id = $1::uuid AND deleted_at IS NULL
               ORDER BY webhook_endpoints.id DESC`,
              [applicationId]
            )
          ),

        list: (filters, page) =>
          readPage<HealthRow>({ ...endpointList(filters), columns: healthColumns, join: healthJoin }, page).pipe(
            Effect.provideService(SqlClient, sql),
            orUnavailable
          ),

        failing: (limit) =>
          readPage<{ readonly id: string }>(
            { ...endpointList({ failing: true }), columns: "webhook_endpoints.id" },
            { limit, startingAfter: undefined }
          ).pipe(Effect.provideService(SqlClient, sql), Effect.catchTag("UnknownCursor", Effect.die), orUnavailable),

        find: Effect.fn("EndpointHealth.find")(function* (id) {
          const [row] = yield* sql.unsafe<HealthRow>(
            `${selectHealth} WHERE webhook_endpoints.id = $1::uuid AND deleted_at IS NULL`,
            [id]
          )
          return row ?? (yield* new NotFoundError())
        }, orUnavailable),

        setEnabled: Effect.fn("EndpointHealth.setEnabled")(function* (id, isEnabled) {
          const [row] = yield* sql.unsafe<{ readonly id: string }>(
            `UPDATE webhook_endpoints SET disabled_at = CASE WHEN NOT $2::boolean THEN coalesce(disabled_at, now()) END
             WHERE id = $1::uuid AND deleted_at IS NULL RETURNING id`,
            [id, isEnabled]
          )
          if (row === undefined) return yield* new NotFoundError()
          paused.wake()
          const [found] = yield* sql.unsafe<HealthRow>(`${selectHealth} WHERE webhook_endpoints.id = $1::uuid`, [id])
          return found ?? (yield* new NotFoundError())
        }, runToCompletion(sql))
      })
    })
  )
}

const MAX_PAUSED = 1000

// The expression of the paused ones is that of their index (`PausedDeliveries.ts`).
// Of the endpoint's own columns the first is `id`, which the other tables have too.
const healthColumns = `webhook_endpoints.${endpointColumns}, account_id, application_id,
  (SELECT p.name FROM applications p WHERE p.id = application_id) AS application_name,
  coalesce(h.consecutive_failures, 0) AS consecutive_failures, coalesce(h.successes, 0) AS successes,
  coalesce(h.failures, 0) AS failures, h.last_success_at, h.last_failure_at, (
    SELECT count(*)::integer FROM (
      SELECT 1 FROM deliveries d
      WHERE d.paused_due_at IS NOT NULL
        AND coalesce(d.endpoint_id, d.application_id, d.account_id) = webhook_endpoints.id
      LIMIT ${MAX_PAUSED}
    ) counted
  ) AS paused`

const healthJoin = "LEFT JOIN webhook_endpoint_health h ON h.endpoint_id = webhook_endpoints.id"

const selectHealth = `SELECT ${healthColumns} FROM webhook_endpoints ${healthJoin}`

const isListed = "deleted_at IS NULL"

/** The endpoints that are asked whether they fail: those that failed and were disabled since are among them. */
const MOST_FAILING = 5000

const isActive = `${isListed} AND active AND disabled_at IS NULL`

// Few endpoints fail. They are found by their health, the newest first. Each step of the walk is a look-up, whatever the
// statistics say.
const failingPath: AccessPath = {
  source: `(
      WITH RECURSIVE walk AS (
        (SELECT f.endpoint_id, 1 AS n FROM webhook_endpoint_health f WHERE f.consecutive_failures > 0
          ORDER BY f.endpoint_id DESC LIMIT 1)
        UNION ALL
        SELECT next.endpoint_id, n + 1 FROM walk CROSS JOIN LATERAL (
          SELECT f.endpoint_id FROM webhook_endpoint_health f
          WHERE f.consecutive_failures > 0 AND f.endpoint_id < walk.endpoint_id
          ORDER BY f.endpoint_id DESC LIMIT 1
        ) next WHERE n < ${MOST_FAILING}
      )
      SELECT endpoint_id FROM walk
    ) failing CROSS JOIN LATERAL (
      SELECT * FROM webhook_endpoints e WHERE e.id = failing.endpoint_id OFFSET 0
    ) webhook_endpoints`,
  selective: () => isActive
}

// An account has few endpoints. A scalar subquery stays a look-up for each of them.
const failingOf = (accountIds: ReadonlyArray<string>): AccessPath => ({
  selective: (bind) => `${isOneOf("account_id", accountIds)(bind)} AND ${isActive} AND (
      SELECT f.consecutive_failures FROM webhook_endpoint_health f WHERE f.endpoint_id = webhook_endpoints.id
    ) > 0`,
  most: MOST_FAILING
})

const endpointList = ({ accountId, failing = false }: EndpointFilters): Omit<List, "columns"> => {
  const ofAccount = accountId === undefined ? [] : [is("account_id", "uuid", accountId)]
  return {
    table: "webhook_endpoints",
    account: "account_id",
    scope: [() => isListed],
    ...(failing
      ? {
          paths: [accountId === undefined ? failingPath : failingOf([accountId])],
          pathsOf: (accountIds) => [failingOf(accountId === undefined ? accountIds : [accountId])]
        }
      : {
          paths: [{ columns: ofAccount, predicate: isListed }],
          ...(accountId === undefined && {
            pathsOf: (accountIds) => [{ columns: [oneOfIds("account_id", accountIds)], predicate: isListed }]
          })
        })
  }
}
