/**
 * Fan-outs that failed, as operators see them, and retrying them.
 *
 * Guarantees: a retry puts the change back into the outbox. Deliveries that exist are not inserted again, because their ids
 * are derived. The failure is deleted when the fan-out succeeds, and counted when it fails again.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { NotFoundError, type UnknownCursor } from "../../base/Errors.ts"
import { DeliverySignal } from "../../events/DeliverySignal.ts"
import { type Page, readPage } from "../../database/statements/Paging.ts"
import { runToCompletion } from "../../database/RunToCompletion.ts"
import { orUnavailable, type Unavailable } from "../../database/Unavailable.ts"

export interface OutboxFailureRow {
  readonly id: string
  readonly change_id: string
  readonly account_id: string
  readonly endpoint_id: string | null
  readonly error: string
  readonly failures: number
  readonly first_failed_at: Date
  readonly last_failed_at: Date
  readonly retried_at: Date | null
}

export class OutboxFailures extends Context.Service<
  OutboxFailures,
  {
    readonly list: (page: Page) => Effect.Effect<ReadonlyArray<OutboxFailureRow>, UnknownCursor | Unavailable>
    /** Up to `limit + 1` failures whose retry was not requested, or failed again. */
    readonly unretried: (limit: number) => Effect.Effect<ReadonlyArray<{ readonly id: string }>, Unavailable>
    readonly retry: (id: string) => Effect.Effect<OutboxFailureRow, NotFoundError | Unavailable>
  }
>()("@pix-payments/server/OutboxFailures") {
  static readonly layer = Layer.effect(
    OutboxFailures,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const signal = yield* DeliverySignal
      return OutboxFailures.of({
        list: (page) =>
          readPage<OutboxFailureRow>({ table: "outbox_failures", columns, account: "account_id" }, page).pipe(
            Effect.provideService(SqlClient, sql),
            orUnavailable
          ),
        unretried: (limit) =>
          readPage<{ readonly id: string }>(
            {
              table: "outbox_failures",
              columns: "id",
              account: "account_id",
              paths: [{ columns: [], predicate: "retried_at IS NULL" }]
            },
            { limit, startingAfter: undefined }
          ).pipe(Effect.provideService(SqlClient, sql), Effect.catchTag("UnknownCursor", Effect.die), orUnavailable),
        retry: Effect.fn("OutboxFailures.retry")(function* (id) {
          const [row] = yield* runToCompletion(sql)(sql.unsafe<OutboxFailureRow>(retryOne, [id]))
          if (row === undefined) return yield* new NotFoundError()
          signal.afterCommit([{ id: row.change_id, outbox_rows: 1 }])
          return row
        })
      })
    })
  )
}

const columns = "id, change_id, account_id, endpoint_id, error, failures, first_failed_at, last_failed_at, retried_at"

const retryOne = `
  WITH failed AS (
    UPDATE outbox_failures SET retried_at = now() WHERE id = $1::uuid RETURNING *
  ),
  again AS (
    INSERT INTO outbox (account_id, change_id, endpoints_version, normalized_hash, destination_hash, leased_until)
    SELECT account_id, change_id, endpoints_version, normalized_hash, destination_hash, '-infinity' FROM failed
    ON CONFLICT DO NOTHING
  )
  SELECT ${columns} FROM failed`
