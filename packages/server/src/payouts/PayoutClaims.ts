/**
 * Which payouts a process hands to the acquirer next.
 *
 * Guarantees:
 * - accounts take turns: a claim takes an equal share of each account that has something due, so that an account with a
 *   backlog, however long, delays no other; an account alone takes all;
 * - what a claim reads is bounded, however much waits: one payout where nothing is due; else some accounts, from where the
 *   claim before ended, and that whose payout is due longest;
 * - a payout of an account that is inactive or whose payouts are paused is parked when it is claimed (`hand_over_at` is
 *   null then) and rescheduled in batches once the account may send again; one that was handed over is followed to its end.
 *   One that was claimed before, and of which nobody knows whether the acquirer has it, is parked too: to ask for it is to
 *   send it, and what is sent cannot be taken back. Its outcome may still be reported meanwhile.
 */
import { recordset } from "../sql/Recordset.ts"

/** How many accounts a claim looks at, beside that whose payout is due longest. */
const FURTHER_ACCOUNTS = 100

const RESCHEDULED_AT_ONCE = 1000

const isHeld = "(a.status <> 'active' OR a.payouts_paused)"

/** Where a round over all accounts begins. */
export const FIRST_ACCOUNT = "00000000-0000-0000-0000-000000000000"

/**
 * What an account has due is said as a range of the index by account, and not as an equality, which the index of all due
 * times could answer as well, with what others wait for read on the way.
 *
 * Parameters: how many, the lease in milliseconds, the account after which others have their turn. A row without an id
 * where nothing was claimed; `parked` and `next_account` are the same in all rows.
 */
export const claimMany = (columns: string): string => `
  WITH RECURSIVE longest_due AS MATERIALIZED (
    SELECT account_id FROM payouts WHERE status = 'processing' AND hand_over_at <= now()
    ORDER BY hand_over_at LIMIT 1
  ),
  further(account_id, n) AS (
    SELECT ${accountAfter("$3::uuid")}, 1 WHERE EXISTS (SELECT FROM longest_due)
    UNION ALL
    SELECT ${accountAfter("f.account_id")}, f.n + 1 FROM further f
    WHERE f.account_id IS NOT NULL AND f.n < least(${FURTHER_ACCOUNTS}, $1::integer / 2)
  ),
  turns AS MATERIALIZED (
    SELECT account_id FROM longest_due
    UNION
    SELECT f.account_id FROM further f WHERE (
      SELECT p.hand_over_at FROM payouts p
      WHERE p.status = 'processing' AND p.hand_over_at IS NOT NULL
        AND (p.account_id, p.hand_over_at) >= (f.account_id, '-infinity') AND p.account_id <= f.account_id
      ORDER BY p.account_id, p.hand_over_at LIMIT 1
    ) <= now()
  ),
  shares AS MATERIALIZED (
    SELECT t.account_id, ${isHeld} AS is_held, greatest(1, $1::integer / (SELECT count(*) FROM turns)) AS share
    FROM turns t JOIN accounts a ON a.id = t.account_id
  ),
  taken AS MATERIALIZED (
    SELECT d.id, s.is_held AND d.processed_at IS NULL AS is_parked
    FROM shares s CROSS JOIN LATERAL (
      SELECT p.id, p.processed_at FROM payouts p
      WHERE p.status = 'processing' AND p.hand_over_at IS NOT NULL
        AND (p.account_id, p.hand_over_at) >= (s.account_id, '-infinity')
        AND (p.account_id, p.hand_over_at) <= (s.account_id, now())
      ORDER BY p.account_id, p.hand_over_at LIMIT s.share FOR UPDATE SKIP LOCKED
    ) d
  ),
  parked AS (
    UPDATE payouts p SET hand_over_at = NULL FROM taken t WHERE p.id = t.id AND t.is_parked RETURNING p.id
  ),
  claimed AS (
    UPDATE payouts p SET hand_over_at = now() + $2::double precision * interval '1 millisecond',
      hand_overs = p.hand_overs + 1
    FROM taken t WHERE p.id = t.id AND NOT t.is_parked
    RETURNING ${prefixed("p", columns)}, p.hand_overs
  )
  SELECT c.*, r.parked, r.next_account FROM (
    SELECT (SELECT count(*) FROM parked) AS parked,
      (SELECT account_id FROM further ORDER BY n DESC LIMIT 1) AS next_account
  ) r LEFT JOIN claimed c ON true`

const accountAfter = (account: string) => `(
      SELECT p.account_id FROM payouts p
      WHERE p.status = 'processing' AND p.hand_over_at IS NOT NULL
        AND (p.account_id, p.hand_over_at) > (${account}, 'infinity')
      ORDER BY p.account_id, p.hand_over_at LIMIT 1
    )`

const parkedAccountAfter = (condition: string) => `
      SELECT p.account_id FROM payouts p WHERE p.status = 'processing' AND p.hand_over_at IS NULL ${condition}
      ORDER BY p.account_id LIMIT 1`

/** Reschedules parked payouts of accounts that may send again. */
export const rescheduleParked = `
  WITH RECURSIVE waiting(account_id) AS (
    (${parkedAccountAfter("")})
    UNION ALL
    SELECT (${parkedAccountAfter("AND p.account_id > w.account_id")}) FROM waiting w WHERE w.account_id IS NOT NULL
  ),
  free AS MATERIALIZED (
    SELECT d.id FROM waiting w JOIN accounts a ON a.id = w.account_id AND NOT ${isHeld}
    CROSS JOIN LATERAL (
      SELECT p.id FROM payouts p WHERE p.account_id = a.id AND p.status = 'processing' AND p.hand_over_at IS NULL
      ORDER BY p.id LIMIT ${RESCHEDULED_AT_ONCE} FOR UPDATE SKIP LOCKED
    ) d
    LIMIT ${RESCHEDULED_AT_ONCE}
  )
  UPDATE payouts p SET hand_over_at = now() FROM free f WHERE p.id = f.id RETURNING p.id`

/** A payout that the acquirer was asked about, and when to ask again. */
export const handedRows = recordset({ id: "uuid", processed_at: "timestamptz", delay_ms: "float8" })

// The status is asked for in words that fit no partial index: each row is found by its id.
export const noteHandOvers = `
  UPDATE payouts p SET processed_at = coalesce(p.processed_at, i.processed_at),
    hand_over_at = now() + i.delay_ms * interval '1 millisecond'
  FROM ${handedRows.from(1)} AS i
  WHERE p.id = i.id AND p.status || '' = 'processing'`

function prefixed(alias: string, columns: string): string {
  return columns
    .split(",")
    .map((column) => `${alias}.${column.trim()}`)
    .join(", ")
}
