/**
 * Recoveries: the charges whose outcome the acquirer is asked for again, as rows of `charge_recoveries`.
 *
 * A batch of new charges inserts one row for all of them, which is all that is written for a charge that the acquirer
 * answers in time. Charges that still wait when that row is due get a row each, with their account: from then on each
 * charge has its own due time, which doubles with each attempt, and accounts are served in turn.
 */
import * as Effect from "effect/Effect"
import type { SqlClient } from "effect/sql/SqlClient"
import type { Row } from "../sql/Column.ts"
import { runToCompletion } from "../sql/Patience.ts"
import { statement, uuids, value } from "../sql/Statement.ts"
import type { Unavailable } from "../sql/Unavailable.ts"
import { chargeColumns, chargeTable, statusOf, type StoredCharge } from "./ChargeTable.ts"

/** The most charges of one row, so that what is claimed at once is bounded. */
export const CHARGES_PER_RECOVERY = 50

/** Leases charges that are due: see `ChargeStore`. */
export const claimDueRecoveries = (
  sql: SqlClient,
  limit: number,
  leaseMs: number
): Effect.Effect<{ readonly examined: number; readonly charges: ReadonlyArray<StoredCharge> }, Unavailable> =>
  Effect.gen(function* () {
    const claimed = yield* sql.unsafe<Row & { readonly looked: bigint }>(...claimMany({ limit, leaseMs }))
    const [split] = yield* sql.unsafe<{ readonly looked: bigint }>(...splitMany({ limit: SPLIT_AT_ONCE }))
    return {
      examined: Number(claimed[0]?.looked ?? 0) + Number(split?.looked ?? 0),
      charges: claimed.filter(({ id }) => id !== null).map(chargeTable.decode)
    }
  }).pipe(runToCompletion(sql))

/** Leases claimed charges for longer. */
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

const SPLIT_AT_ONCE = 200

/** The longest time between two attempts. */
const LONGEST_PAUSE = "interval '5 minutes'"

/** Splits due rows of many charges, and takes over what a process of the release before migration 0004 has written. */
const splitMany = statement(
  { limit: value("integer") },
  ({ limit }) => `
    WITH due AS MATERIALIZED (
      SELECT due_at, id, charge_ids FROM charge_recoveries WHERE due_at <= now() AND account_id IS NULL
      ORDER BY due_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
    ),
    unnoted AS (
      UPDATE charges SET recover_at = NULL
      WHERE id IN (
        SELECT id FROM charges WHERE status = 'processing' AND recover_at <= now()
        ORDER BY recover_at LIMIT ${limit} FOR UPDATE SKIP LOCKED
      )
      RETURNING id, account_id
    ),
    parted AS (
      INSERT INTO charge_recoveries (due_at, id, charge_ids, account_id)
      SELECT now(), id, ARRAY[id], account_id FROM (
        SELECT c.id, c.account_id FROM due d CROSS JOIN LATERAL unnest(d.charge_ids) AS named(id)
        JOIN charges c ON c.id = named.id
        WHERE (${statusOf("c")}) = 'processing'
        UNION ALL SELECT id, account_id FROM unnoted
      ) waiting
      ON CONFLICT (id) WHERE account_id IS NOT NULL DO NOTHING
    ),
    done AS (DELETE FROM charge_recoveries n USING due d WHERE n.due_at = d.due_at AND n.id = d.id)
    SELECT (SELECT count(*) FROM due) + (SELECT count(*) FROM unnoted) AS looked`
)

/**
 * Leases charges that are due, one of each account in turn: from account to account along one index, in words that fit
 * no other.
 */
const claimMany = statement(
  { limit: value("integer"), leaseMs: value("double precision") },
  ({ leaseMs, limit }) => `
    WITH RECURSIVE accounts AS (
      (SELECT account_id FROM charge_recoveries WHERE account_id IS NOT NULL ORDER BY account_id, due_at LIMIT 1)
      UNION ALL
      SELECT (
        SELECT n.account_id FROM charge_recoveries n WHERE n.account_id > a.account_id
        ORDER BY n.account_id, n.due_at LIMIT 1
      ) FROM accounts a WHERE a.account_id IS NOT NULL
    ),
    candidates AS MATERIALIZED (
      SELECT d.due_at, d.id FROM accounts a CROSS JOIN LATERAL (
        SELECT n.due_at, n.id, row_number() OVER (ORDER BY n.account_id, n.due_at) AS turn FROM charge_recoveries n
        WHERE (n.account_id, n.due_at) >= (a.account_id, '-infinity') AND (n.account_id, n.due_at) <= (a.account_id, now())
        ORDER BY n.account_id, n.due_at LIMIT ${limit}
      ) d
      WHERE a.account_id IS NOT NULL ORDER BY d.turn, d.due_at LIMIT ${limit}
    ),
    taken AS MATERIALIZED (
      SELECT n.due_at, n.id FROM candidates c JOIN charge_recoveries n ON n.due_at = c.due_at AND n.id = c.id
      FOR UPDATE OF n SKIP LOCKED
    ),
    stuck AS MATERIALIZED (
      SELECT c.* FROM taken t JOIN charges c ON c.id = t.id WHERE (${statusOf("c")}) = 'processing'
    ),
    done AS (
      DELETE FROM charge_recoveries n USING taken t
      WHERE n.due_at = t.due_at AND n.id = t.id AND (t.id IN (SELECT id FROM stuck)) IS FALSE
    ),
    leased AS (
      UPDATE charge_recoveries n SET attempts = n.attempts + 1, due_at = now() + greatest(
        ${leaseMs} * interval '1 millisecond',
        least(${leaseMs} * interval '1 millisecond' * power(2, least(n.attempts, 20)), ${LONGEST_PAUSE})
      )
      FROM taken t WHERE n.due_at = t.due_at AND n.id = t.id AND (t.id IN (SELECT id FROM stuck)) IS TRUE
    )
    SELECT l.looked, s.* FROM (SELECT count(*) AS looked FROM taken) l
    LEFT JOIN (SELECT ${chargeColumns} FROM stuck) s ON true`
)

const renewMany = statement(
  { ids: uuids, accountIds: uuids, leaseMs: value("double precision") },
  ({ accountIds, ids, leaseMs }) => `
    UPDATE charge_recoveries SET due_at = greatest(due_at, now() + ${leaseMs} * interval '1 millisecond')
    WHERE account_id = ANY (${accountIds}) AND id = ANY (${ids})`
)
