/**
 * Recoveries in PostgreSQL: which charges the acquirer is asked about again, as rows of `charge_recoveries`.
 *
 * A new charge is in a row for several (`NewRecoveries.ts`), which is all that is written for a charge that the acquirer
 * answers in time. When that row is due, each charge that still waits gets its own row, with its account. From then
 * on a charge has its own due time, which doubles with each attempt, and accounts are served in turn.
 */
import { SIMULATOR_CONNECTION } from "@pix-payments/domain/AcquirerConnection"
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { SqlError } from "effect/sql/SqlError"
import { isConnectionPaused } from "../../accounts/Brakes.ts"
import { type Capacity, capacityPart } from "../../providers/Bulkheads.ts"
import type { Row } from "../../database/statements/Column.ts"
import { runToCompletion } from "../../database/RunToCompletion.ts"
import { statement, uuids, value } from "../../database/statements/Statement.ts"
import type { Unavailable } from "../../database/Unavailable.ts"
import { chargeColumns, chargeTable, type StoredCharge } from "./ChargeTable.ts"

export interface ClaimedCharge {
  readonly charge: StoredCharge
  /** Its `expires_at` has passed: an answer that is not definite fails it. */
  readonly isOverdue: boolean
}

/**
 * Leases charges in `processing` that are due, some of each account in turn, for `leaseMs` or longer: each attempt doubles
 * the time. An account is passed by while the share of the connection of its first charge is used. Charges of a paused
 * connection are leased and left out. `examined` is 0 when no recovery could be claimed.
 */
export const claimDueRecoveries = (
  sql: SqlClient,
  capacity: Capacity,
  leaseMs: number
): Effect.Effect<{ readonly examined: number; readonly charges: ReadonlyArray<ClaimedCharge> }, Unavailable> =>
  Effect.gen(function* () {
    const claimed = yield* sql.unsafe<
      Row & { readonly examined: bigint; readonly is_paused: boolean; readonly is_overdue: boolean }
    >(...claimMany({ capacity, limit: capacity.limit, leaseMs }))
    const [split] = yield* sql.unsafe<{ readonly examined: bigint }>(...splitMany({ limit: SPLIT_AT_ONCE }))
    return {
      examined: Number(claimed[0]?.examined ?? 0) + Number(split?.examined ?? 0),
      charges: claimed
        .filter(({ id, is_paused }) => id !== null && !is_paused)
        .map((row) => ({ charge: chargeTable.decode(row), isOverdue: row.is_overdue }))
    }
  }).pipe(runToCompletion(sql))

/** Leases claimed charges for `leaseMs` from now. */
export const renewRecoveries = (
  sql: SqlClient,
  charges: ReadonlyArray<StoredCharge>,
  leaseMs: number
): Effect.Effect<void, Unavailable> =>
  sql
    .unsafe(
      ...renewMany({
        ids: charges.map(({ id }) => id),
        accountIds: [...new Set(charges.map(({ accountId }) => accountId))],
        leaseMs
      })
    )
    .pipe(Effect.asVoid, runToCompletion(sql))

/** Deletes the recoveries of charges that are answered. */
export const endRecoveries = (sql: SqlClient, ids: ReadonlyArray<string>): Effect.Effect<unknown, SqlError> =>
  sql.unsafe(...endMany({ ids }))

const SPLIT_AT_ONCE = 200

/** The longest time between two attempts. */
const LONGEST_PAUSE = "interval '5 minutes'"

/** Splits due rows of several charges. The sum keeps the planner from the index of due times, which has each charge of a backlog. */
const splitMany = statement(
  { limit: value("integer") },
  ({ limit }) => `
    WITH due AS MATERIALIZED (
      SELECT due_at, id, charge_ids FROM charge_recoveries
      WHERE account_id IS NULL AND due_at + interval '0' <= now()
      ORDER BY id LIMIT ${limit} FOR UPDATE SKIP LOCKED
    ),
    split AS (
      INSERT INTO charge_recoveries (due_at, id, charge_ids, account_id)
      SELECT now(), c.id, ARRAY[c.id], c.account_id FROM due d CROSS JOIN LATERAL unnest(d.charge_ids) AS listed(id)
      JOIN charges c ON c.id = listed.id
      WHERE c.status = 'processing'
      ON CONFLICT (id) WHERE account_id IS NOT NULL DO NOTHING
    ),
    done AS (DELETE FROM charge_recoveries n USING due d WHERE n.due_at = d.due_at AND n.id = d.id)
    SELECT count(*) AS examined FROM due`
)

/**
 * Leases charges that are due, one of each account in turn: steps from account to account along one index. Its conditions
 * match no other index, so that the planner has no choice. A comparison of rows does not imply the index's predicate.
 */
const claimMany = statement(
  { capacity: capacityPart, limit: value("integer"), leaseMs: value("double precision") },
  ({ capacity, leaseMs, limit }) => `
    WITH RECURSIVE accounts AS (
      (SELECT account_id FROM charge_recoveries WHERE account_id IS NOT NULL ORDER BY account_id, due_at LIMIT 1)
      UNION ALL
      SELECT (
        SELECT n.account_id FROM charge_recoveries n WHERE n.account_id > a.account_id
        ORDER BY n.account_id, n.due_at LIMIT 1
      ) FROM accounts a WHERE a.account_id IS NOT NULL
    ),
    turns AS MATERIALIZED (
      SELECT a.account_id FROM accounts a WHERE a.account_id IS NOT NULL AND (
        SELECT n.due_at FROM charge_recoveries n
        WHERE n.account_id IS NOT NULL AND (n.account_id, n.due_at) >= (a.account_id, '-infinity')
        ORDER BY n.account_id, n.due_at LIMIT 1
      ) <= now() AND CASE WHEN ${capacity.isAnyUsed} THEN
        ${capacity.freeOf(`(SELECT c.connection_id FROM charges c WHERE c.id = (
          SELECT n.id FROM charge_recoveries n
          WHERE n.account_id IS NOT NULL AND (n.account_id, n.due_at) >= (a.account_id, '-infinity')
          ORDER BY n.account_id, n.due_at LIMIT 1
        ))`)} > 0
      ELSE true END
    ),
    candidates AS MATERIALIZED (
      SELECT d.due_at, d.id, d.turn FROM turns a CROSS JOIN LATERAL (
        SELECT n.due_at, n.id, row_number() OVER (ORDER BY n.account_id, n.due_at) AS turn FROM charge_recoveries n
        WHERE n.account_id IS NOT NULL AND (n.account_id, n.due_at) >= (a.account_id, '-infinity')
          AND (n.account_id, n.due_at) <= (a.account_id, now())
        ORDER BY n.account_id, n.due_at LIMIT (SELECT greatest(1, ${limit} / count(*)) FROM turns)
      ) d
      ORDER BY d.turn, d.due_at LIMIT ${limit}
    ),
    ranked AS MATERIALIZED (
      SELECT d.due_at, d.id, d.connection_id,
        row_number() OVER (PARTITION BY d.connection_id ORDER BY d.turn, d.due_at) AS place
      FROM (
        SELECT t.*, coalesce((SELECT c.connection_id FROM charges c WHERE c.id = t.id), '${SIMULATOR_CONNECTION}') AS connection_id
        FROM candidates t
      ) d
    ),
    claimed AS MATERIALIZED (
      SELECT n.due_at, n.id FROM ranked c JOIN charge_recoveries n ON n.due_at = c.due_at AND n.id = c.id
      WHERE c.place <= ${capacity.freeOf("c.connection_id")}
      FOR UPDATE OF n SKIP LOCKED
    ),
    waiting AS MATERIALIZED (
      SELECT c.* FROM claimed t JOIN charges c ON c.id = t.id WHERE c.status = 'processing'
    ),
    done AS (
      DELETE FROM charge_recoveries n USING claimed t
      WHERE n.due_at = t.due_at AND n.id = t.id AND (t.id IN (SELECT id FROM waiting)) IS FALSE
    ),
    leased AS (
      UPDATE charge_recoveries n SET attempts = n.attempts + 1, due_at = now() + greatest(
        ${leaseMs} * interval '1 millisecond',
        least(${leaseMs} * interval '1 millisecond' * power(2, least(n.attempts, 20)), ${LONGEST_PAUSE})
      )
      FROM claimed t WHERE n.due_at = t.due_at AND n.id = t.id AND (t.id IN (SELECT id FROM waiting)) IS TRUE
    )
    SELECT e.examined, s.* FROM (SELECT count(*) AS examined FROM claimed) e
    LEFT JOIN (SELECT ${chargeColumns}, ${isConnectionPaused("connection_id")} AS is_paused,
      (expires_at <= now()) IS TRUE AS is_overdue FROM waiting) s ON true`
)

const renewMany = statement(
  { ids: uuids, accountIds: uuids, leaseMs: value("double precision") },
  ({ accountIds, ids, leaseMs }) => `
    UPDATE charge_recoveries SET due_at = greatest(due_at, now() + ${leaseMs} * interval '1 millisecond')
    WHERE account_id = ANY (${accountIds}) AND id = ANY (${ids})`
)

// Those that are locked are left to a later claim, which deletes recoveries of answered charges too.
const endMany = statement(
  { ids: uuids },
  ({ ids }) => `
    DELETE FROM charge_recoveries n USING (
      SELECT due_at, id FROM charge_recoveries WHERE account_id IS NOT NULL AND id = ANY (${ids}) FOR UPDATE SKIP LOCKED
    ) ended
    WHERE n.due_at = ended.due_at AND n.id = ended.id`
)
