/**
 * The SQL that claims due deliveries destination by destination, whenever they fell due.
 *
 * Guarantees: a sweep steps through an index from destination to destination, and costs as many steps, however many
 * deliveries wait at each.
 */
import { statement, uuids, value } from "../../database/statements/Statement.ts"
import { destinations, NIL_UUID } from "../deliveries/Delivery.ts"
import {
  allDestinations,
  claimCtes,
  commitMode,
  dueAtDestination,
  type DueDeliveries,
  dueDeliveries,
  forLanes,
  type Lock,
  lockedDestinations,
  type RowOrNone
} from "./DeliveryClaims.ts"

export interface SweepResult extends DueDeliveries {
  /** The last account, if the sweep stopped at `SWEEP_LIMIT`. */
  readonly lastAccount: string | undefined
  readonly visitedAccounts: ReadonlyArray<string>
  /** Destinations at which it stopped in accounts that have more of them. */
  readonly unfinished: ReadonlyArray<string>
}

/** Destinations that one sweep visits, in all and of one account: they keep it within the statement timeout. */
const SWEEP_LIMIT = 2000
const SWEEP_LIMIT_PER_ACCOUNT = 20

const sweepParts = {
  limit: value("integer"),
  leaseMs: value("double precision"),
  perDestination: value("integer"),
  excludedIds: uuids,
  excludedAccounts: uuids,
  afterAccount: value("uuid"),
  excluded: destinations,
  resume: destinations,
  excludedOrigins: uuids
}

// Steps through the index from account to account, and within each from destination to destination.
const dueByDestination = (
  lane: string,
  p: { readonly [Name in keyof typeof sweepParts]: string },
  lock: Lock
): string => `
  tenants AS (
    (SELECT account_id FROM deliveries WHERE ${lane} AND account_id > ${p.afterAccount} ORDER BY account_id LIMIT 1)
    UNION ALL
    SELECT (
      SELECT n.account_id FROM deliveries n WHERE ${lane} AND n.account_id > t.account_id
      ORDER BY n.account_id LIMIT 1
    )
    FROM tenants t WHERE t.account_id IS NOT NULL
  ),
  resumed AS MATERIALIZED (SELECT * FROM ${p.resume} AS r(account_id, destination_hash)),
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
  due AS MATERIALIZED (
    SELECT t.id, t.endpoint_id, t.change_id, b.account_id, b.destination_hash
    FROM visited b CROSS JOIN LATERAL (${dueAtDestination(lane, p, lock)}
    ) t
    WHERE b.destination_hash IS NOT NULL AND b.account_id <> ALL (${p.excludedAccounts})
      AND b.destination_hash <> ALL (${p.excludedOrigins})
      AND (b.account_id, b.destination_hash) NOT IN (SELECT * FROM ${p.excluded})
    LIMIT ${p.limit}
  )`

/** Claims what is due at each destination of some accounts, whenever it fell due. */
export const sweep = forLanes((lane) =>
  statement(
    sweepParts,
    (p) => `
  WITH RECURSIVE ${dueByDestination(lane, p, "FOR UPDATE SKIP LOCKED")},
  ${claimCtes(p.leaseMs)}
  SELECT t.*, e.*, ${lockedDestinations}, ${commitMode}
  FROM (
    SELECT (SELECT account_id FROM visited OFFSET ${SWEEP_LIMIT - 1} LIMIT 1) AS last_account,
      (SELECT json_agg(DISTINCT account_id) FROM visited) AS visited_accounts,
      (
        SELECT ${allDestinations} FROM visited
        WHERE nth = ${SWEEP_LIMIT_PER_ACCOUNT} AND destination_hash IS NOT NULL
      ) AS unfinished
  ) e LEFT JOIN claimed t ON true ORDER BY t.account_id, t.previous_hash, t.id`
  )
)

/** Finds what a sweep with the same parameters would take, without locks. */
export const sweepCandidates = forLanes((lane) =>
  statement(
    sweepParts,
    (p) => `WITH RECURSIVE ${dueByDestination(lane, p, "")} SELECT id, account_id FROM due WHERE ${p.leaseMs} >= 0`
  )
)

export type SweepRow = RowOrNone & {
  readonly last_account: string | null
  readonly visited_accounts: ReadonlyArray<string> | null
  readonly locked: ReadonlyArray<string> | null
  readonly unfinished: ReadonlyArray<string> | null
}

export const sweepResult = (rows: ReadonlyArray<SweepRow>): SweepResult => ({
  ...dueDeliveries(
    rows.filter((row) => row.id !== null),
    rows[0]?.locked
  ),
  lastAccount: rows[0]?.last_account ?? undefined,
  visitedAccounts: rows[0]?.visited_accounts ?? [],
  unfinished: rows[0]?.unfinished ?? []
})
