/**
 * The SQL that finds destinations with due deliveries, whenever these fell due.
 *
 * Guarantees: a sweep steps through an index from account to account, and within each from destination to destination. It
 * costs as many steps, however many deliveries wait at each.
 */
import { NIL_UUID } from "@pix-payments/domain/Uuid"
import { statement, value } from "../../database/statements/Statement.ts"
import { accountOf, DESTINATION_KEY, destinations } from "../deliveries/Delivery.ts"
import { forLanes } from "./DeliveryClaims.ts"

/** Destinations that one sweep visits, in all and of one account: they keep it within the statement timeout. */
const SWEEP_LIMIT = 2000
const SWEEP_LIMIT_PER_ACCOUNT = 20

/** Accounts in which a sweep resumes. */
const MAX_RESUMED = 1000

/** Visits the destinations of the accounts after one; in some accounts from a destination on. */
export const sweep = forLanes((lane) =>
  statement(
    { afterAccount: value("uuid"), resumed: destinations },
    (p) => `
  WITH RECURSIVE tenants AS (
    (SELECT account_id FROM deliveries WHERE ${lane} AND account_id > ${p.afterAccount} ORDER BY account_id LIMIT 1)
    UNION ALL
    SELECT (
      SELECT n.account_id FROM deliveries n WHERE ${lane} AND n.account_id > t.account_id
      ORDER BY n.account_id LIMIT 1
    )
    FROM tenants t WHERE t.account_id IS NOT NULL
  ),
  resumed AS MATERIALIZED (SELECT * FROM ${p.resumed} AS r(account_id, destination_hash)),
  visited AS MATERIALIZED (
    SELECT t.account_id, b.destination_hash, b.nth
    FROM tenants t CROSS JOIN LATERAL (
      WITH RECURSIVE steps AS (
        (
          SELECT destination_hash, 1 AS nth FROM deliveries
          WHERE ${lane} AND account_id = t.account_id AND destination_hash >= coalesce(
            (SELECT r.destination_hash FROM resumed r WHERE r.account_id = t.account_id), '${NIL_UUID}')
          ORDER BY destination_hash LIMIT 1
        )
        UNION ALL
        SELECT (
          SELECT n.destination_hash FROM deliveries n
          WHERE ${lane} AND n.account_id = t.account_id AND n.destination_hash > s.destination_hash
          ORDER BY n.destination_hash LIMIT 1
        ), s.nth + 1
        FROM steps s WHERE s.destination_hash IS NOT NULL AND s.nth < ${SWEEP_LIMIT_PER_ACCOUNT}
      )
      SELECT destination_hash, nth FROM steps
    ) b
    WHERE t.account_id IS NOT NULL
    LIMIT ${SWEEP_LIMIT}
  ),
  due AS (
    SELECT v.account_id, v.destination_hash FROM visited v CROSS JOIN LATERAL (
      SELECT FROM deliveries
      WHERE ${lane} AND account_id = v.account_id AND destination_hash = v.destination_hash AND due_at <= now() LIMIT 1
    ) d
    WHERE v.destination_hash IS NOT NULL
  )
  SELECT l.account_id AS last_account,
    (SELECT json_agg(${DESTINATION_KEY}) FROM due) AS due,
    (
      SELECT json_agg(${DESTINATION_KEY}) FROM visited
      WHERE destination_hash IS NOT NULL
        AND (nth = ${SWEEP_LIMIT_PER_ACCOUNT} OR (account_id = l.account_id AND destination_hash = l.destination_hash))
    ) AS unfinished
  FROM (SELECT 1) one
    LEFT JOIN (SELECT account_id, destination_hash FROM visited OFFSET ${SWEEP_LIMIT - 1} LIMIT 1) l ON true`
  )
)

export interface SweepRow {
  /** The last account, if the sweep stopped at `SWEEP_LIMIT`. */
  readonly last_account: string | null
  /** Destinations with due deliveries. */
  readonly due: ReadonlyArray<string> | null
  /** The destinations at which it stopped in accounts that have more of them. */
  readonly unfinished: ReadonlyArray<string> | null
}

/** Where sweeps go on: round and round over all accounts, and in an account that one sweep does not finish. */
export const makeSweepPosition = () => {
  let afterAccount = NIL_UUID
  /** By account. */
  const resumed = new Map<string, string>()
  return {
    next: () => ({ afterAccount, resumed: [...resumed.values()] }),
    swept: ({ last_account, unfinished }: SweepRow): void => {
      for (const account of resumed.keys()) {
        if (account > afterAccount && (last_account === null || account <= last_account)) resumed.delete(account)
      }
      for (const destination of unfinished ?? []) {
        if (resumed.size < MAX_RESUMED) resumed.set(accountOf(destination), destination)
      }
      afterAccount = last_account ?? NIL_UUID
    }
  }
}
