/**
 * Removes versions of endpoint subscriptions that no change needs.
 *
 * Guarantees:
 * - a version stays while an outbox row was committed under it or an earlier version of the account, or a stored failure
 *   under it;
 * - a round removes a bounded number.
 *
 * Why two steps: a transaction may have read a version in its snapshot without having committed its outbox row, for long if
 * the synchronous standby is away. A minute after a version ended, every statement that read it has its transaction id,
 * because statements time out after five seconds. Then the version is marked with a new transaction id. It is removed once
 * all transactions with earlier ids have ended.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import * as BackgroundLoop from "../../base/observability/BackgroundLoop.ts"
import { runToCompletion } from "../../database/RunToCompletion.ts"

/** One round. Returns how many versions it removed. */
export const removeOldVersions = Effect.gen(function* () {
  const sql = yield* SqlClient
  yield* runToCompletion(sql)(sql.unsafe(mark))
  return (yield* runToCompletion(sql)(sql.unsafe(remove))).length
})

export const loop = Layer.effectDiscard(
  Effect.forkScoped(
    BackgroundLoop.run(
      "endpoint versions",
      Effect.map(removeOldVersions, (count) => (count === VERSIONS_PER_ROUND ? 1 : 0)),
      Effect.sleep("1 minute")
    )
  )
)

const VERSIONS_PER_ROUND = 1000

const mark = `
  UPDATE webhook_endpoint_versions v SET removable_from = pg_current_xact_id()
  WHERE (v.endpoint_id, v.from_version) IN (
    SELECT endpoint_id, from_version FROM webhook_endpoint_versions
    WHERE ended_at < now() - interval '1 minute' AND removable_from IS NULL
    ORDER BY ended_at LIMIT ${VERSIONS_PER_ROUND} FOR UPDATE SKIP LOCKED
  )`

const remove = `
  WITH needed AS MATERIALIZED (
    SELECT account_id, min(endpoints_version) AS version FROM outbox GROUP BY account_id
  )
  DELETE FROM webhook_endpoint_versions v
  WHERE (v.endpoint_id, v.from_version) IN (
    SELECT e.endpoint_id, e.from_version FROM webhook_endpoint_versions e
    WHERE e.ended_at < now() - interval '1 minute' AND e.removable_from <= pg_snapshot_xmin(pg_current_snapshot())
      AND NOT EXISTS (SELECT 1 FROM needed n WHERE n.account_id = e.account_id AND n.version < e.to_version)
      AND NOT EXISTS (
        SELECT 1 FROM outbox_failures f WHERE f.account_id = e.account_id
          AND f.endpoints_version >= e.from_version AND f.endpoints_version < e.to_version
      )
    ORDER BY e.ended_at LIMIT ${VERSIONS_PER_ROUND} FOR UPDATE SKIP LOCKED
  )
  RETURNING v.endpoint_id`
