/**
 * Which payouts a process submits to the acquirer next.
 *
 * Guarantees:
 * - Accounts take turns: a claim takes an equal share of each account with due payouts, so that a backlog of one account,
 *   however long, delays no other. An account alone takes all.
 * - A connection has a share of the calls in flight: a claim passes by accounts whose first payout is of a connection whose
 *   share is used. Those of other connections are claimed as if they were alone.
 * - What a claim reads is bounded, however much waits: one payout where nothing is due; else some accounts, from where the
 *   last claim ended, and the account of the payout that is due longest.
 * - A payout that a brake stops (of its account, its connection or the installation) is paused when it is claimed
 *   (`due_at` is null then), and `PausedPayouts` reschedules it once it may be sent. A claim that begins after a brake was committed sends
 *   nothing that the brake stops. A payout that the acquirer has is followed to its end. One that may have been sent, with an
 *   unclear answer, is looked up and not sent: such a claim does not count as an attempt.
 * - The first claim fixes the connection of a payout, so that no retry reaches another provider. With `ACQUIRER=connections`
 *   a payout whose account has no connection is paused until it has one.
 */
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import { NIL_UUID } from "@pix-payments/domain/Uuid"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import { connectionOfAccount } from "../../accounts/AccountConnection.ts"
import { areConnectionPayoutsStopped, payoutsStopped } from "../../accounts/Brakes.ts"
import { type Capacity, capacityPart } from "../../providers/Bulkheads.ts"
import { RESEND_GRACE_MS } from "../../providers/Retries.ts"
import { Settings, type SettingsShape } from "../../base/Settings.ts"
import * as Batching from "../../database/batching/Batching.ts"
import { boolean, float8, instant, integer, nullable, type Row, uuid } from "../../database/statements/Column.ts"
import { runToCompletion } from "../../database/RunToCompletion.ts"
import { updatesOf } from "../../database/statements/PrunedIds.ts"
import { rows, statement, value } from "../../database/statements/Statement.ts"
import type { Unavailable } from "../../database/Unavailable.ts"
import { orderIdOf, payoutTable, type StoredPayout } from "./PayoutTable.ts"

/** A payout that this process submits to the acquirer, or asks it about. */
export interface ClaimedPayout {
  readonly payout: StoredPayout
  /** Its id at the provider. */
  readonly orderId: string
  /** How often it was claimed, this time included, without look-ups while it was paused. */
  readonly attempts: number
  /** Whether no request of an earlier claim can have left. */
  readonly isFirstRequest: boolean
  /** Whether the first that may have left is so old that a person may settle the payout soon (OPR-215). */
  readonly isOld: boolean
  /** When the lease ends, by the clock of this process, which read it before the lease began. */
  readonly leasedUntilMs: number
  /** Whether it may not be sent now. */
  readonly isPaused: boolean
}

/** An answer that is no outcome. */
export interface Submitted {
  readonly id: string
  /** Of the claim: one that was claimed since keeps its due time, unless it is known only now that the acquirer has it. */
  readonly attempts: number
  /** When the acquirer accepted it; null where its answer was unclear. */
  readonly processedAtMs: number | null
  /** Whether its request did not leave, nor did one before it. */
  readonly isUnsent: boolean
  readonly nextInquiryInMs: number
}

export class PayoutClaims extends Context.Service<
  PayoutClaims,
  {
    /**
     * Leases due payouts for `leaseMs`. `paused`: how many it paused instead. `isWalkComplete` is false where the next claim
     * looks at further accounts.
     */
    readonly claim: (
      capacity: Capacity,
      leaseMs: number
    ) => Effect.Effect<
      { readonly due: ReadonlyArray<ClaimedPayout>; readonly paused: number; readonly isWalkComplete: boolean },
      Unavailable
    >
    /**
     * Stores what the provider named a payout, unless it was named otherwise since `before`, or another payout that did not fail
     * has this name; false then. It is stored when the effect has succeeded. It is also stored, and false, where the payout has
     * ended meanwhile: the provider's callbacks name it so, but its money must not move any more.
     */
    readonly keepReference: (
      id: string,
      before: string | null,
      reference: string
    ) => Effect.Effect<boolean, Unavailable>
    /** Stores that a payout was submitted, and when to ask for its outcome. */
    readonly submitted: (submitted: Submitted) => Effect.Effect<void, Unavailable>
  }
>()("@pix-payments/server/PayoutClaims") {
  static readonly layer = Layer.effect(
    PayoutClaims,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const { acquirer } = yield* Settings
      let afterAccount = NIL_UUID

      return PayoutClaims.of({
        claim: Effect.fnUntraced(function* (capacity, leaseMs) {
          const leasedUntilMs = (yield* Clock.currentTimeMillis) + leaseMs
          const found = yield* runToCompletion(sql)(
            sql.unsafe<ClaimRow>(...claimPayouts[acquirer]({ capacity, limit: capacity.limit, leaseMs, afterAccount }))
          )
          afterAccount = found[0]?.next_account ?? NIL_UUID
          return {
            due: found.flatMap((row) => {
              if (row.id === null) return []
              const { attempts, is_old: isOld, is_paused: isPaused, order_id: orderId } = row
              const isFirstRequest = isOld === null
              return [
                {
                  payout: payoutTable.decode(row),
                  orderId,
                  attempts,
                  isFirstRequest,
                  isOld: isOld === true,
                  isPaused,
                  leasedUntilMs
                }
              ]
            }),
            paused: Number(found[0]?.paused ?? 0n),
            isWalkComplete: afterAccount === NIL_UUID
          }
        }),
        keepReference: (id, before, reference) =>
          Effect.map(
            runToCompletion(sql)(
              sql.unsafe<{ readonly is_processing: boolean }>(...storeReference({ id, before, reference }))
            ),
            ([stored]) => stored?.is_processing === true
          ),
        submitted: yield* Batching.make<Submitted, void>({
          maxBatch: 500,
          writes: sql,
          run: (submitted) =>
            Effect.as(
              sql.unsafe(...storeSubmissions({ submitted })),
              submitted.map(() => undefined)
            )
        })
      })
    })
  )
}

interface ClaimRow extends Row {
  /** Null in the only row where nothing was claimed. */
  readonly id: string | null
  readonly order_id: string
  readonly attempts: number
  /** Null where no request of an earlier claim can have left. */
  readonly is_old: boolean | null
  readonly is_paused: boolean
  readonly paused: bigint
  readonly next_account: string | null
}

/** How many accounts a claim looks at, beside the account of the payout that is due longest. */
const ACCOUNTS_PER_CLAIM = 100

export type AcquirerKind = SettingsShape["acquirer"]

/** The connection of the account `a`: null is the simulator's, and with `ACQUIRER=connections` none. */
const route = { simulator: "a.connection_id", connections: connectionOfAccount }

/** Whether no payout of the account `a` may be sent. */
export const isStopped = {
  simulator: payoutsStopped,
  connections: `(${payoutsStopped} OR ${route.connections} IS NULL)`
}

/** The connection of the account `a`; null is the simulator's. */
export const routeOf = (acquirer: AcquirerKind) => `nullif(${route[acquirer]}, '${SIMULATOR_CONNECTION}')`

const accountAfter = (account: string) => `(
      SELECT p.account_id FROM payouts p
      WHERE p.status = 'processing' AND p.due_at IS NOT NULL
        AND (p.account_id, p.due_at) > (${account}, 'infinity')
      ORDER BY p.account_id, p.due_at LIMIT 1
    )`

// The due payouts of an account are a range of the index by account. An equality could be answered by the index of all due
// times, which reads the backlog of others on the way.
const claimStatement = (acquirer: AcquirerKind) =>
  statement(
    {
      capacity: capacityPart,
      limit: value("integer"),
      leaseMs: value("double precision"),
      afterAccount: value("uuid")
    },
    (p) => `
  WITH RECURSIVE longest_due AS MATERIALIZED (
    SELECT account_id FROM payouts WHERE status = 'processing' AND due_at <= now()
    ORDER BY due_at LIMIT 1
  ),
  further(account_id, n) AS (
    SELECT ${accountAfter(p.afterAccount)}, 1 WHERE EXISTS (SELECT FROM longest_due)
    UNION ALL
    SELECT ${accountAfter("f.account_id")}, f.n + 1 FROM further f
    WHERE f.account_id IS NOT NULL AND f.n < least(${ACCOUNTS_PER_CLAIM}, ${p.limit} / 2)
  ),
  heads AS MATERIALIZED (
    SELECT t.account_id, ${isStopped[acquirer]} AS is_stopped, ${routeOf(acquirer)} AS connection_id,
      CASE WHEN h.attempts = 0 THEN ${routeOf(acquirer)} ELSE h.connection_id END AS head_connection_id
    FROM (SELECT account_id FROM longest_due UNION SELECT account_id FROM further WHERE account_id IS NOT NULL) t
    JOIN accounts a ON a.id = t.account_id
    CROSS JOIN LATERAL (
      SELECT p.due_at, p.attempts, p.connection_id FROM payouts p
      WHERE p.status = 'processing' AND p.due_at IS NOT NULL
        AND (p.account_id, p.due_at) >= (t.account_id, '-infinity') AND p.account_id <= t.account_id
      ORDER BY p.account_id, p.due_at LIMIT 1
    ) h
    WHERE h.due_at <= now()
  ),
  turns AS MATERIALIZED (
    SELECT h.*, count(*) OVER () AS turns, count(*) OVER (PARTITION BY h.head_connection_id) AS turns_of_connection
    FROM (
      SELECT e.*, ${p.capacity.freeOf("e.head_connection_id")} AS free,
        e.is_stopped OR ${areConnectionPayoutsStopped("e.head_connection_id")} AS is_paused
      FROM heads e
    ) h
    WHERE h.is_paused OR h.free > 0
  ),
  shares AS MATERIALIZED (
    SELECT t.account_id, t.is_stopped, t.connection_id,
      greatest(1, least(${p.limit} / t.turns, CASE WHEN NOT t.is_paused THEN t.free / t.turns_of_connection END)) AS share
    FROM turns t
  ),
  locked AS MATERIALIZED (
    SELECT d.id, d.due_at, d.processed_at, d.first_sent_at, s.account_id, s.connection_id, s.is_stopped,
      CASE WHEN d.attempts = 0 THEN s.connection_id ELSE d.connection_id END AS called_connection_id
    FROM shares s CROSS JOIN LATERAL (
      SELECT p.id, p.processed_at, p.due_at, p.first_sent_at, p.attempts, p.connection_id FROM payouts p
      WHERE p.status = 'processing' AND p.due_at IS NOT NULL
        AND (p.account_id, p.due_at) >= (s.account_id, '-infinity')
        AND (p.account_id, p.due_at) <= (s.account_id, now())
      ORDER BY p.account_id, p.due_at LIMIT s.share FOR UPDATE SKIP LOCKED
    ) d
  ),
  judged AS MATERIALIZED (
    SELECT l.*, l.is_paused AND l.processed_at IS NULL AND l.first_sent_at IS NULL AS to_pause FROM (
      SELECT *, is_stopped OR ${areConnectionPayoutsStopped("called_connection_id")} AS is_paused FROM locked
    ) l
  ),
  taken AS MATERIALIZED (
    SELECT t.* FROM (
      SELECT l.*, row_number() OVER (PARTITION BY l.to_pause, l.called_connection_id ORDER BY l.turn, l.due_at) AS place
      FROM (SELECT *, row_number() OVER (PARTITION BY account_id ORDER BY due_at) AS turn FROM judged) l
    ) t
    WHERE t.to_pause OR t.place <= ${p.capacity.freeOf("t.called_connection_id")}
  ),
  paused AS (
    UPDATE payouts p SET due_at = NULL FROM taken t WHERE p.id = t.id AND t.to_pause RETURNING p.id
  ),
  claimed AS (
    UPDATE payouts p SET due_at = now() + ${p.leaseMs} * interval '1 millisecond',
      attempts = CASE WHEN t.is_paused AND t.processed_at IS NULL THEN p.attempts ELSE p.attempts + 1 END,
      requested_at = coalesce(p.requested_at, now()), first_sent_at = coalesce(p.first_sent_at, now()),
      connection_id = CASE WHEN p.attempts = 0 THEN t.connection_id ELSE p.connection_id END
    FROM taken t WHERE p.id = t.id AND NOT t.to_pause
    RETURNING ${payoutTable.columns("p")}, ${orderIdOf("p")} AS order_id, p.attempts, t.is_paused,
      t.first_sent_at <= now() - interval '20 hours' AS is_old
  )
  SELECT c.*, r.paused, r.next_account FROM (
    SELECT (SELECT count(*) FROM paused) AS paused,
      (SELECT account_id FROM further ORDER BY n DESC LIMIT 1) AS next_account
  ) r LEFT JOIN claimed c ON true`
  )

export const claimPayouts = { simulator: claimStatement("simulator"), connections: claimStatement("connections") }

const storeReference = statement(
  { id: value("uuid"), before: value("text"), reference: value("text") },
  (p) => `
  UPDATE payouts p SET provider_reference = ${p.reference}
  WHERE id = ${p.id} AND provider_reference IS NOT DISTINCT FROM ${p.before}
    AND NOT EXISTS (
      SELECT FROM payouts o
      WHERE o.provider_reference = ${p.reference} AND o.connection_id = p.connection_id AND o.id <> p.id AND o.status <> 'failed'
    )
  RETURNING status = 'processing' AS is_processing`
)

// `p.status || ''` fits no partial index, so that each row is found by its id. One that the acquirer has named is asked about again soon.
const storeSubmissions = statement(
  {
    submitted: updatesOf(
      rows({
        id: uuid(),
        attempts: integer(),
        processedAtMs: nullable(instant("processed_at")),
        isUnsent: boolean(),
        nextInquiryInMs: float8("delay_ms")
      })
    )
  },
  (p) => `
  UPDATE payouts p SET processed_at = coalesce(p.processed_at, i.processed_at),
    first_sent_at = CASE WHEN i.is_unsent AND p.attempts = i.attempts THEN NULL ELSE p.first_sent_at END,
    due_at = CASE WHEN p.attempts = i.attempts OR (p.processed_at IS NULL AND i.processed_at IS NOT NULL)
      THEN now() + least(i.delay_ms, CASE WHEN p.processed_at IS NOT NULL OR p.provider_reference IS NOT NULL THEN ${RESEND_GRACE_MS} END)
        * interval '1 millisecond'
      ELSE p.due_at END
  FROM ${p.submitted.rows} AS i
  WHERE ${p.submitted.isRow("p", "i")} AND p.status || '' = 'processing'`
)
