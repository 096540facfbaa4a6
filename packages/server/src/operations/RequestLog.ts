/**
 * The log of requests to `/v1`: key, route, resource, status, duration and request id (ERR-12).
 *
 * Guarantees:
 * - lines are inserted in batches, and no answer waits for them;
 * - the buffer is flushed on shutdown, and bounded: while the database is unreachable, the oldest lines are dropped and
 *   counted;
 * - a line has the id of its request's arrival, and the request id only where the caller sent one;
 * - a batch is stored once, also where the answer to its commit was lost and it is repeated;
 * - the same statement sets `last_used_at` of the keys.
 *
 * Rules: ERR-12, OPR-31.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import * as BackgroundLoop from "../base/observability/BackgroundLoop.ts"
import { Metrics } from "../base/observability/Metrics.ts"
import { runToCompletionUntimed } from "../database/RunToCompletion.ts"
import { type InputOf, instant, integer, nullable, text, uuid } from "../database/statements/Column.ts"
import { rows, statement } from "../database/statements/Statement.ts"
import type { RequestInfo } from "../base/observability/RequestContext.ts"

export class RequestLog extends Context.Service<
  RequestLog,
  {
    readonly write: (info: RequestInfo, method: string, status: number, durationMs: number) => void
  }
>()("@pix-payments/server/RequestLog") {
  static readonly layer = Layer.effect(
    RequestLog,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const metrics = yield* Metrics
      let buffer: Array<Line> = []
      // Whether lines of the buffer may be stored already.
      let isRepeated = false

      const flush = Effect.suspend(() => {
        if (buffer.length === 0) return Effect.succeed(0)
        const lines = buffer.splice(0, BATCH)
        const insert = isRepeated ? insertMissing : insertNew
        return Effect.as(sql.unsafe(...insert({ lines })), lines.length).pipe(
          Effect.onExit((exit) =>
            Effect.sync(() => {
              if (Exit.isFailure(exit)) {
                buffer = [...lines, ...buffer]
                isRepeated = true
              } else if (insert === insertMissing) isRepeated = false
            })
          ),
          runToCompletionUntimed(sql)
        )
      })

      yield* Effect.addFinalizer(() =>
        flush.pipe(Effect.repeat({ until: (count) => count === 0 }), Effect.timeout("5 seconds"), Effect.ignore)
      )
      // Full batches are inserted at once, the others every 250 ms.
      yield* Effect.forkScoped(
        BackgroundLoop.run(
          "request log",
          Effect.map(flush, (count) => (count === BATCH ? count : 0)),
          Effect.sleep("250 millis")
        )
      )

      return RequestLog.of({
        write: (info, method, status, durationMs) => {
          if (buffer.length >= MAX_BUFFERED) {
            buffer.splice(0, BATCH)
            metrics.requestLinesDropped(BATCH)
          }
          const { epochMs, id } = info.arrival
          buffer.push({
            id,
            request_id: info.requestId === id ? null : info.requestId,
            key_id: info.keyId,
            account_id: info.accountId,
            resource_id: info.resourceId,
            route: `${method} ${info.route}`,
            status,
            duration_us: Math.round(durationMs * 1000),
            at: epochMs,
            trace_id: info.traceId
          })
        }
      })
    })
  )
}

const BATCH = 2000
const MAX_BUFFERED = 100_000

const lineColumns = {
  id: uuid(),
  /** Null where the caller sent none: the request's id is that of the line. */
  request_id: nullable(text()),
  key_id: nullable(uuid()),
  account_id: nullable(uuid()),
  resource_id: nullable(uuid()),
  route: text(),
  status: integer(),
  duration_us: integer(),
  at: instant(),
  /** Null where it is not sampled. */
  trace_id: nullable(text())
}

type Line = InputOf<typeof lineColumns>

const insertedBy = (onConflict: string) =>
  statement(
    { lines: rows(lineColumns) },
    ({ lines }) => `
  WITH lines AS (
    INSERT INTO requests (id, request_id, key_id, account_id, resource_id, route, status, duration_us, at, trace_id)
    SELECT id, request_id, key_id, account_id, resource_id, route, status, duration_us, at, trace_id
    FROM ${lines} AS r
    ${onConflict}
    RETURNING key_id, at
  )
  UPDATE api_keys k SET last_used_at = greatest(k.last_used_at, u.at)
  FROM (SELECT key_id, max(at) AS at FROM lines WHERE key_id IS NOT NULL GROUP BY key_id) u
  WHERE k.id = u.key_id`
  )

// A check for conflicts costs 48 bytes of WAL for each row.
const insertNew = insertedBy("")
const insertMissing = insertedBy("ON CONFLICT (id) DO NOTHING")
