/**
 * What the states of payouts, refunds, disputes, releases and exceptions say of the money in ledger accounts, as one statement.
 *
 * Guarantees (BAL-15):
 * - each ledger account of `payouts_in_transit`, `returns_in_transit`, `pending`, `blocked` and `unallocated` whose balance the
 *   states do not explain is in the result, the first `MOST` of them;
 * - an open payout whose money is not in transit explains nothing, whatever other payouts have;
 * - it reads the rows that have money in one of these, never those of what has ended, and the sums are made in PostgreSQL;
 * - one snapshot: each commit is on both sides or on neither.
 *
 * `blocked` has a range. MEDs contest money that is in a refund, or that went back meanwhile: it is blocked no more.
 */

const MOST = 100

const GONE = `
  SELECT coalesce(sum(
    CASE WHEN t.credit IN ('acquirer', 'returns_in_transit') THEN t.amount ELSE 0 END
    - CASE WHEN t.debit = 'returns_in_transit' THEN t.amount ELSE 0 END
  ), 0) AS amount
  FROM ledger_transfers t WHERE t.resource_id = d.resource_id AND t.account_id = d.account_id`

// An open payout without its money explains none: another one's may be in its place.
const IN_TRANSIT = `
  SELECT coalesce(sum(CASE t.credit WHEN 'payouts_in_transit' THEN t.amount ELSE 0 END
    - CASE t.debit WHEN 'payouts_in_transit' THEN t.amount ELSE 0 END), 0)
  FROM ledger_transfers t WHERE t.resource_id = p.id AND t.account_id = p.account_id`

const EXPECTED = `
  SELECT account_id AS owner_id, 'payouts_in_transit' AS kind, sum(amount + fee) AS least, sum(amount + fee) AS most
  FROM payouts p WHERE status IN ('pending', 'processing') AND (${IN_TRANSIT}) <> 0 GROUP BY account_id
  UNION ALL
  SELECT account_id, 'returns_in_transit', sum(amount), sum(amount) FROM (
    SELECT account_id, amount FROM refunds WHERE status = 'processing'
    UNION ALL
    SELECT account_id, amount FROM acquirer_orders
    WHERE state = 'ordered' AND kind = 'return' AND account_id IS NOT NULL
  ) AS returns GROUP BY account_id
  UNION ALL
  SELECT account_id, 'pending', sum(amount), sum(amount) FROM releases WHERE released_at IS NULL GROUP BY account_id
  UNION ALL
  SELECT connection_id, 'unallocated', sum(unallocated), sum(unallocated)
  FROM acquirer_exceptions WHERE unallocated <> 0 GROUP BY connection_id
  UNION ALL
  SELECT d.account_id, 'blocked', sum(greatest(0, d.amount - g.amount)), sum(d.amount)
  FROM (
    SELECT account_id, coalesce(charge_id, exception_id) AS resource_id, sum(amount) AS amount
    FROM disputes WHERE status IN ('open', 'under_review') GROUP BY 1, 2
  ) d CROSS JOIN LATERAL (${GONE}) g GROUP BY d.account_id`

/** `kept`: the balance. `computed`: the nearest amount that the states explain. */
export const statesAgainstBalances = `
  WITH expected AS (${EXPECTED})
  SELECT coalesce(l.owner_id, e.owner_id) AS owner_id, coalesce(l.kind, e.kind) AS kind,
    coalesce(l.balance, 0)::bigint AS kept,
    greatest(coalesce(e.least, 0), least(coalesce(e.most, 0), coalesce(l.balance, 0)))::bigint AS computed
  FROM (
    SELECT owner_id, kind, balance FROM ledger_accounts
    WHERE kind IN ('payouts_in_transit', 'returns_in_transit', 'pending', 'blocked', 'unallocated') AND balance <> 0
  ) l FULL JOIN expected e ON e.owner_id = l.owner_id AND e.kind = l.kind
  WHERE coalesce(l.balance, 0) NOT BETWEEN coalesce(e.least, 0) AND coalesce(e.most, 0)
  ORDER BY 1, 2 LIMIT ${MOST}`
