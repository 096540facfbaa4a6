/**
 * Deliveries as operators see them, and resending them.
 *
 * Guarantees:
 * - A resend restarts the retry curve at once, except that of a test, which makes one attempt.
 * - A delivery that is in flight, canceled, of a deleted endpoint or without its event is not resent, and stays as it is.
 * - `resendFailed` leaves tests out.
 *
 * Rules: DLV-8, OPR-27, OPR-155, OPR-193.
 */
import { lowestIdAt } from "@pix-payments/domain/Uuid"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { InvalidStateError, NotFoundError, type UnknownCursor } from "../../base/Errors.ts"
import { DeliverySignal } from "../../events/DeliverySignal.ts"
import {
  type List,
  type Page,
  readPage,
  readSum,
  readWalked,
  type Sum,
  type WalkedPage
} from "../../database/statements/Paging.ts"
import { runToCompletion } from "../../database/RunToCompletion.ts"
import { statement, uuids, value } from "../../database/statements/Statement.ts"
import { orUnavailable, type Unavailable } from "../../database/Unavailable.ts"
import type { DeliveryStatus } from "./Delivery.ts"
import { CLOCK_SKEW_MS, type DeliveryFilters, deliveryList, shownColumns, shownJoin } from "./DeliveryLists.ts"
import { firstAttemptOf } from "./FirstAttempt.ts"
import { ATTEMPTS_BEFORE_TEST, isTest } from "./TestEvent.ts"

export interface DeliveryRow {
  readonly id: string
  readonly event: string
  readonly resource_id: string
  readonly endpoint_id: string | null
  readonly url: string
  readonly status: DeliveryStatus
  readonly attempts_made: number
  readonly due_at: Date | null
  /** Why it ended without an answer of the receiver. */
  readonly reason: string | null
  readonly created_at: Date
}

export interface AttemptRow {
  readonly at: Date
  readonly duration_ms: number
  readonly address: string | null
  readonly status_code: number | null
  readonly error: string | null
  readonly response_body: string | null
}

export class DeliveryStore extends Context.Service<
  DeliveryStore,
  {
    /** Sends a delivery again at once and restarts its retry curve. */
    readonly resend: (id: string) => Effect.Effect<DeliveryRow, NotFoundError | InvalidStateError | Unavailable>
    /**
     * Resends failed deliveries, newest first, and returns how many; `isDryRun` only counts. It works in turns of
     * `RESENT_PER_TURN`, each a commit, and leaves what is beyond `MAX_RESENT`.
     */
    readonly resendFailed: (
      of: Omit<DeliveryFilters, "status"> & { readonly sinceMs: number; readonly isDryRun: boolean }
    ) => Effect.Effect<{ readonly count: number; readonly hasMore: boolean }, Unavailable>
    readonly find: (id: string) => Effect.Effect<DeliveryRow | undefined, Unavailable>
    /** Its attempts that are kept, oldest first. */
    readonly attemptsOf: (id: string) => Effect.Effect<ReadonlyArray<AttemptRow>, Unavailable>
    readonly list: (
      filters: DeliveryFilters,
      page: Page
    ) => Effect.Effect<WalkedPage<DeliveryRow>, UnknownCursor | Unavailable>
    /** Their number, as far as one request looks. */
    readonly count: (filters: DeliveryFilters) => Effect.Effect<Sum, Unavailable>
  }
>()("@pix-payments/server/DeliveryStore") {
  static readonly layer = Layer.effect(
    DeliveryStore,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const signal = yield* DeliverySignal

      const find = (id: string) =>
        sql.unsafe<DeliveryRow>(findOne, [id]).pipe(
          Effect.map(([row]) => row),
          orUnavailable
        )

      return DeliveryStore.of({
        resend: Effect.fn("DeliveryStore.resend")(function* (id) {
          const again = yield* runToCompletion(sql)(sql.unsafe(...resendOne({ id })))
          const known = yield* find(id)
          if (known === undefined) return yield* new NotFoundError()
          if (again.length === 0) return yield* new InvalidStateError({ status: known.status })
          signal.wake()
          return known
        }),

        resendFailed: Effect.fn("DeliveryStore.resendFailed")(function* ({ isDryRun, sinceMs, ...filters }) {
          const list: List = { ...deliveryList({ ...filters, status: "failed" }), columns: "deliveries.id" }
          // Nothing below it was created since then.
          const lowestId = lowestIdAt(sinceMs - CLOCK_SKEW_MS)
          // Not a cursor, which would have to exist: retention may remove the last delivery of a turn before the next turn.
          let before = list.before
          let count = 0
          for (let turn = 0; turn < MAX_RESENT / RESENT_PER_TURN; turn++) {
            const page = { limit: RESENT_PER_TURN, startingAfter: undefined }
            const rows = yield* readPage<{ readonly id: string }>({ ...list, before }, page).pipe(
              Effect.provideService(SqlClient, sql),
              Effect.catchTag("UnknownCursor", Effect.die),
              orUnavailable
            )
            const ids = rows.slice(0, RESENT_PER_TURN).map(({ id }) => id)
            const parameters = { ids, sinceMs }
            const resent = isDryRun
              ? yield* orUnavailable(sql.unsafe<{ readonly id: string }>(...countFailed(parameters)))
              : yield* runToCompletion(sql)(sql.unsafe<{ readonly id: string }>(...resendMany(parameters)))
            count += resent.length
            if (!isDryRun && resent.length > 0) signal.wake()
            before = ids.at(-1)
            const isLast = rows.length <= RESENT_PER_TURN || before === undefined || before < lowestId
            if (isLast) return { count, hasMore: false }
          }
          return { count, hasMore: true }
        }),

        find,
        attemptsOf: (id) => orUnavailable(sql.unsafe<AttemptRow>(...findAttempts({ id }))),
        list: (filters, page) =>
          readWalked<DeliveryRow>(deliveryList(filters), page).pipe(
            Effect.provideService(SqlClient, sql),
            orUnavailable
          ),
        count: (filters) =>
          readSum(deliveryList(filters)).pipe(
            Effect.catchTag("UnknownCursor", Effect.die),
            Effect.provideService(SqlClient, sql),
            orUnavailable
          )
      })
    })
  )
}

const findOne = `SELECT ${shownColumns} FROM deliveries ${shownJoin} WHERE deliveries.id = $1::uuid`

const findAttempts = statement(
  { id: value("uuid") },
  ({ id }) => `
  SELECT at, duration_ms, address, status_code, error, response_body FROM (
    SELECT id, delivery_id, at, duration_ms, address, status_code, error, response_body FROM delivery_attempts
    WHERE delivery_id = ${id}
    UNION ALL ${firstAttemptOf(id)}
  ) a ORDER BY id`
)

/** A deleted endpoint gets nothing, retention removes events, and another cell sends for an account that moves there. */
const CAN_BE_SENT = `NOT EXISTS (
    SELECT 1 FROM webhook_endpoints w WHERE w.id = d.endpoint_id AND w.deleted_at IS NOT NULL
  ) AND (SELECT a.moved_to FROM accounts a WHERE a.id = d.account_id) IS NULL
  AND (SELECT true FROM changes c WHERE c.id = d.change_id) IS TRUE`

const resendWhere = (condition: string): string => `
  UPDATE deliveries d SET status = 'scheduled', due_at = now(), paused_due_at = NULL, reason = NULL,
    curve_from = d.attempts_made - CASE WHEN ${isTest("d")} THEN ${ATTEMPTS_BEFORE_TEST} ELSE 0 END
  WHERE ${condition} AND d.status IN ('scheduled', 'delivered', 'failed') AND ${CAN_BE_SENT}
  RETURNING d.id`

const resendOne = statement({ id: value("uuid") }, ({ id }) => resendWhere(`d.id = ${id}`))

/** A page of the list, whose plan is for as many. Few rows are locked at a time. */
const RESENT_PER_TURN = 100

const MAX_RESENT = 10_000

const failed = { ids: uuids, sinceMs: value("double precision") }

// Each row is found by its id: `status || ''` fits no partial index.
const isFailed = (p: { readonly [Name in keyof typeof failed]: string }): string =>
  `d.id = ANY (${p.ids}) AND d.status || '' = 'failed' AND d.created_at >= to_timestamp(${p.sinceMs} / 1000)
    AND NOT ${isTest("d")}`

const resendMany = statement(failed, (p) => resendWhere(isFailed(p)))

const countFailed = statement(failed, (p) => `SELECT d.id FROM deliveries d WHERE ${isFailed(p)} AND ${CAN_BE_SENT}`)
