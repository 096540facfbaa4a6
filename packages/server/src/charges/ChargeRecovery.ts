/**
 * Which charges are to be asked for again, as notes in `charge_recoveries`.
 *
 * A batch of new charges leaves a note that names them all (see `ChargeStore`), which is all that is written for a charge
 * whose answer comes. Those that still wait when the note is looked at get a note each, with their account: from there on
 * a charge has its own pace, which slows down each time, and accounts are served in turn.
 */

/** Nobody waits longer than this to be asked for again. */
const LONGEST_PAUSE = "interval '5 minutes'"

export const recoveryStatements = (chargeColumns: string, shownStatus: (row: string) => string) => ({
  /**
   * Parts notes on many charges, and takes what a process of the release before 0004 left, as long as one may have.
   * $1: how many of each.
   */
  sortNotes: `
    WITH due AS MATERIALIZED (
      SELECT due_at, id, charge_ids FROM charge_recoveries WHERE due_at <= now() AND account_id IS NULL
      ORDER BY due_at LIMIT $1::integer FOR UPDATE SKIP LOCKED
    ),
    unnoted AS (
      UPDATE charges SET recover_at = NULL
      WHERE id IN (
        SELECT id FROM charges WHERE status = 'processing' AND recover_at <= now()
        ORDER BY recover_at LIMIT $1::integer FOR UPDATE SKIP LOCKED
      )
      RETURNING id, account_id
    ),
    parted AS (
      INSERT INTO charge_recoveries (due_at, id, charge_ids, account_id)
      SELECT now(), id, ARRAY[id], account_id FROM (
        SELECT c.id, c.account_id FROM due d CROSS JOIN LATERAL unnest(d.charge_ids) AS named(id)
        JOIN charges c ON c.id = named.id
        WHERE (${shownStatus("c")}) = 'processing'
        UNION ALL SELECT id, account_id FROM unnoted
      ) waiting
      ON CONFLICT (id) WHERE account_id IS NOT NULL DO NOTHING
    ),
    done AS (DELETE FROM charge_recoveries n USING due d WHERE n.due_at = d.due_at AND n.id = d.id)
    SELECT (SELECT count(*) FROM due) + (SELECT count(*) FROM unnoted) AS looked`,

  /**
   * Takes charges that are due, one of each account in turn: from account to account along one index, in words that fit
   * no other. $1: how many; $2: for how long at least.
   */
  takeInTurn: `
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
        ORDER BY n.account_id, n.due_at LIMIT $1::integer
      ) d
      WHERE a.account_id IS NOT NULL ORDER BY d.turn, d.due_at LIMIT $1::integer
    ),
    taken AS MATERIALIZED (
      SELECT n.due_at, n.id FROM candidates c JOIN charge_recoveries n ON n.due_at = c.due_at AND n.id = c.id
      FOR UPDATE OF n SKIP LOCKED
    ),
    stuck AS MATERIALIZED (
      SELECT c.* FROM taken t JOIN charges c ON c.id = t.id WHERE (${shownStatus("c")}) = 'processing'
    ),
    done AS (
      DELETE FROM charge_recoveries n USING taken t
      WHERE n.due_at = t.due_at AND n.id = t.id AND (t.id IN (SELECT id FROM stuck)) IS FALSE
    ),
    leased AS (
      UPDATE charge_recoveries n SET attempts = n.attempts + 1, due_at = now() + greatest(
        $2::double precision * interval '1 millisecond',
        least($2::double precision * interval '1 millisecond' * power(2, least(n.attempts, 20)), ${LONGEST_PAUSE})
      )
      FROM taken t WHERE n.due_at = t.due_at AND n.id = t.id AND (t.id IN (SELECT id FROM stuck)) IS TRUE
    )
    SELECT l.looked, s.* FROM (SELECT count(*) AS looked FROM taken) l
    LEFT JOIN (SELECT ${chargeColumns} FROM stuck) s ON true`,

  /** Keeps what is worked on. $1: the charges; $2: their accounts; $3: for how long. */
  renewTaken: `
    UPDATE charge_recoveries SET due_at = greatest(due_at, now() + $3::double precision * interval '1 millisecond')
    WHERE account_id = ANY (string_to_array($2, ',')::uuid[]) AND id = ANY (string_to_array($1, ',')::uuid[])`
})
