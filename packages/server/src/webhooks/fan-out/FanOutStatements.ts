/**
 * The SQL of `FanOut`: from outbox rows to deliveries, in one statement and one commit.
 *
 * Why one statement: a single event then costs one round trip.
 */
import { eventCatalog } from "@pix-payments/domain/EventCatalog"
import { eventData } from "../../events/EventData.ts"
import { nullable, text, uuid } from "../../database/statements/Column.ts"
import { rows, statement, uuids, value } from "../../database/statements/Statement.ts"
import { DESTINATION_KEY, destinations } from "../deliveries/Delivery.ts"
import { commitMode } from "../queue/DeliveryClaims.ts"
import { isActiveOwnerIn } from "../deliveries/OwnerStatus.ts"

const dispatched = eventCatalog
  .filter((entry) => entry.dispatched)
  .map(({ event }) => `'${event}'`)
  .join(", ")

/**
 * For so long a change waits for capacity. A burst is sent within it without an insert, a claim and an update of each
 * delivery; a receiver that hangs delays the others of its account by it.
 */
const POSTPONED_MS = 500

/** Accounts in one round. */
const ACCOUNTS = 50

const outboxColumns = "account_id, change_id, endpoints_version, normalized_hash, destination_hash"

/** Of changes whose deliveries are inserted before they are sent. */
const NOT_LEASED = "false AS may_be_leased, false AS is_first"

/** The condition of changes that no process sends. */
const IS_FREE = "(leased_until IS NULL OR leased_until <= now())"

/** What a round may lease. */
const leaseParts = {
  limit: value("integer"),
  leaseMs: value("double precision"),
  perDestination: value("integer"),
  perAccount: value("integer"),
  excludedAccounts: uuids,
  excluded: destinations,
  excludedOrigins: uuids,
  perOrigin: value("integer")
}

/** Which changes a round takes: at most `changes`, with some `deliveries`. */
const batchParts = {
  changes: value("integer"),
  deliveries: value("integer"),
  excludedChanges: uuids
}

const roundParts = { afterAccount: value("uuid"), ...batchParts, quarantined: uuids }

type Placeholders<Parts> = { readonly [Name in keyof Parts]: string }

/**
 * The next account with a change that no process sends. The subquery keeps the order of the index, also where statistics
 * say that all changes are leased.
 */
const nextAccount = (after: string): string => `
      SELECT account_id FROM (
        SELECT account_id, leased_until FROM outbox WHERE account_id > ${after} ORDER BY account_id OFFSET 0
      ) o WHERE ${IS_FREE} LIMIT 1`

/** The next accounts after one, except the quarantined. */
const accountsInTurn = (p: Placeholders<typeof roundParts>): string => `
  walk AS (
    (${nextAccount(p.afterAccount)})
    UNION ALL
    SELECT (${nextAccount("w.account_id")})
    FROM walk w WHERE w.account_id IS NOT NULL
  ),
  turn AS MATERIALIZED (
    SELECT account_id FROM walk WHERE account_id IS NOT NULL AND account_id <> ALL (${p.quarantined})
    LIMIT ${ACCOUNTS}
  )`

/**
 * The oldest changes of each account of `turn`: the round's changes divided by the accounts, and fewer of an account with
 * many endpoints, so that a round inserts a bounded number of deliveries. At least one change of each account.
 */
const oldestChanges = (p: Placeholders<typeof batchParts>, lock: string, leasesChanges = "false"): string => `
  picked AS MATERIALIZED (
    SELECT o.*, t.share, row_number() OVER (PARTITION BY t.account_id ORDER BY o.change_id) = 1 AS is_first FROM (
      SELECT t.account_id, greatest(1, least(
        ${p.changes} / s.accounts, ${p.deliveries} / (s.accounts * (1 + coalesce(n.live, 0)))
      )) AS share
      FROM turn t CROSS JOIN (SELECT count(*) AS accounts FROM turn) s
      LEFT JOIN webhook_endpoint_counters n ON n.account_id = t.account_id
    ) t CROSS JOIN LATERAL (
      SELECT ${outboxColumns}, leased_until IS NULL AND ${leasesChanges} AS may_be_leased FROM outbox
      WHERE account_id = t.account_id AND change_id <> ALL (${p.excludedChanges}) AND ${IS_FREE}
      ORDER BY change_id LIMIT t.share ${lock}
    ) o
  )`

const changeRows = rows({ account_id: uuid(), change_id: uuid() })

/** These changes, for rounds that are bisected. */
const theseChanges = (changes: string): string => `
  picked AS MATERIALIZED (
    SELECT ${outboxColumns}, ${NOT_LEASED}, 1 AS share FROM outbox
    WHERE (account_id, change_id) IN (SELECT * FROM ${changes} AS c) AND ${IS_FREE} FOR UPDATE SKIP LOCKED
  )`

/** Derived: the change's time and counter, and 62 bits of a hash, so that a repeated fan-out makes the same ids. */
const deliveryId = (change: string, event: string, endpoint: string): string => `(
      SELECT (left(${change}::text, 18) || '-' || substr('89ab', 1 + get_byte(h.bytes, 9) % 4, 1)
        || substr(encode(h.bytes, 'hex'), 1, 3) || '-' || substr(encode(h.bytes, 'hex'), 4, 12))::uuid
      FROM (SELECT sha256(convert_to(concat_ws(' ', ${change}, ${event}, ${endpoint}), 'UTF8')) AS bytes) h
    )`

const eventColumns =
  "change_id, may_be_leased, is_first, account_id, application_id, resource_id, event, created_at, normalized_hash, " +
  "destination_hash"

const subscriptions = (condition: string): string => `
    SELECT ${eventColumns
      .split(", ")
      .map((column) => `e.${column}`)
      .join(", ")}, v.endpoint_id, (v.normalized_hash = e.normalized_hash) IS TRUE AS is_folded
    FROM events e JOIN webhook_endpoint_versions v
      ON ${condition} AND v.to_version > e.endpoints_version AND v.from_version <= e.endpoints_version
        AND e.event = ANY (v.events)`

/** What a process needs of a delivery to send it. */
const sentColumns =
  "id, event, change_id, account_id, application_id, resource_id, endpoint_id, url, destination, destination_hash, secret"

/** The endpoints that were subscribed to the events of `picked` when they were committed. */
const subscribed = `
  events AS MATERIALIZED (
    SELECT p.change_id, p.may_be_leased, p.is_first, p.account_id, p.endpoints_version, p.normalized_hash,
      p.destination_hash, c.application_id,
      c.resource_id, c.created_at, c.kind || '.' || a.action AS event
    FROM picked p JOIN changes c ON c.id = p.change_id CROSS JOIN LATERAL unnest(c.actions) AS a(action)
    WHERE c.kind || '.' || a.action IN (${dispatched})
  ),
  subscribed AS MATERIALIZED (${subscriptions("v.application_id = e.application_id")}
    UNION ALL${subscriptions("v.account_id = e.account_id")}
    WHERE e.application_id IS NULL
  )`

/**
 * A round over the changes of `picked`.
 *
 * Endpoints are locked, so that a statement that pauses or deletes one sees the deliveries that are inserted. A change
 * with an endpoint that another transaction has locked waits for the next round.
 */
const fanOutOf = (
  picked: string,
  p: Placeholders<typeof leaseParts>,
  only: Readonly<Record<"lock" | "waiting" | "target" | "postponed" | "completion" | "lastAccount", string>>
): string => `
  WITH RECURSIVE ${picked},
  ${subscribed},
  endpoints AS MATERIALIZED (
    SELECT id, application_id, url, destination, destination_hash, secret, active AND disabled_at IS NULL AS active,
      deleted_at
    FROM webhook_endpoints WHERE id = ANY (ARRAY(SELECT endpoint_id FROM subscribed)) ${only.lock}
  ),
  waiting AS MATERIALIZED (
    SELECT DISTINCT change_id FROM subscribed WHERE (endpoint_id IN (SELECT id FROM endpoints)) IS FALSE${only.waiting}
  ),
  folded AS MATERIALIZED (
    SELECT s.change_id, s.event FROM subscribed s JOIN endpoints w ON w.id = s.endpoint_id
    WHERE s.is_folded AND (w.deleted_at IS NULL OR EXISTS (
      SELECT 1 FROM deliveries d WHERE d.id = ${deliveryId("s.change_id", "s.event", "s.endpoint_id")}
    ))
  ),
  targets AS MATERIALIZED (
    SELECT ${deliveryId("s.change_id", "s.event", "s.endpoint_id")} AS id, s.change_id, s.event, s.resource_id,
      s.account_id, w.application_id, s.endpoint_id, w.url, w.destination, w.destination_hash, NULL AS secret, w.active,
      s.created_at, s.may_be_leased, s.is_first
    FROM subscribed s JOIN endpoints w ON w.id = s.endpoint_id
    WHERE w.deleted_at IS NULL AND (s.change_id IN (SELECT change_id FROM waiting)) IS FALSE
    UNION ALL
    SELECT ${deliveryId("e.change_id", "e.event", "'webhook_url'")}, e.change_id, e.event, e.resource_id,
      e.account_id, e.application_id, NULL, r.webhook_url,
      coalesce(substring(r.webhook_url FROM '^[^:/?#]+:/*[^/?#]*'), r.webhook_url), e.destination_hash, r.webhook_secret,
      true, e.created_at, e.may_be_leased, e.is_first
    FROM events e CROSS JOIN LATERAL (
      SELECT webhook_url, webhook_secret FROM charges WHERE id = e.resource_id
      UNION ALL SELECT webhook_url, webhook_secret FROM payouts WHERE id = e.resource_id
    ) r
    WHERE e.destination_hash IS NOT NULL AND r.webhook_url IS NOT NULL
      AND ((e.change_id, e.event) IN (SELECT change_id, event FROM folded)) IS FALSE
      AND (e.change_id IN (SELECT change_id FROM waiting)) IS FALSE
  ),
  checked AS MATERIALIZED (
    SELECT *, active AND ${isActiveOwnerIn("targets")} AS is_active FROM targets t WHERE ${only.target}
  ),
  ranked AS MATERIALIZED (
    SELECT id, account_id, destination_hash,
      row_number() OVER (PARTITION BY account_id, destination_hash ORDER BY id) AS nth
    FROM checked
    WHERE is_active AND account_id <> ALL (${p.excludedAccounts}) AND destination_hash <> ALL (${p.excludedOrigins})
      AND (account_id, destination_hash) NOT IN (SELECT * FROM ${p.excluded})
  ),
  limited AS MATERIALIZED (
    SELECT id, row_number() OVER (PARTITION BY account_id ORDER BY nth, id) AS nth,
      row_number() OVER (PARTITION BY destination_hash ORDER BY nth, id) AS nth_of_origin
    FROM ranked WHERE nth <= ${p.perDestination}
  ),
  leased AS MATERIALIZED (
    SELECT id FROM limited
    WHERE nth <= ${p.perAccount} AND nth_of_origin <= ${p.perOrigin}
    ORDER BY nth, id LIMIT ${p.limit}
  ),
  ${only.postponed},
  unstored AS MATERIALIZED (
    SELECT * FROM checked
    WHERE may_be_leased AND (id IN (SELECT id FROM leased)) IS TRUE
      AND (change_id IN (SELECT change_id FROM postponed)) IS FALSE
  ),
  inserted AS (
    INSERT INTO deliveries (id, change_id, event, resource_id, account_id, application_id, endpoint_id, url,
      destination, destination_hash, secret, status, due_at, held_due_at, created_at)
    SELECT j.id, j.change_id, j.event, j.resource_id, j.account_id, j.application_id, j.endpoint_id, j.url,
      j.destination, j.destination_hash, j.secret,
      CASE WHEN j.id IN (SELECT id FROM leased) THEN 'delivering' ELSE 'scheduled' END,
      CASE WHEN NOT j.is_active THEN NULL WHEN j.id IN (SELECT id FROM leased)
        THEN now() + ${p.leaseMs} * interval '1 millisecond' ELSE now() END,
      CASE WHEN NOT j.is_active THEN now() END, j.created_at
    FROM checked j
    WHERE (j.id IN (SELECT id FROM unstored)) IS FALSE AND (j.change_id IN (SELECT change_id FROM postponed)) IS FALSE
    ON CONFLICT (id) DO NOTHING
    RETURNING ${sentColumns}, status, due_at
  ),
  ${only.completion}
  SELECT t.*, m.*,
    CASE WHEN EXISTS (SELECT FROM inserted) THEN set_config('synchronous_commit', 'on', true) ELSE ${commitMode} END
  FROM (
    SELECT (SELECT count(*)::integer FROM waiting) AS waiting,
      (SELECT count(*)::integer FROM picked) AS picked,
      (SELECT count(*)::integer FROM postponed) AS postponed,
      (
        SELECT json_agg(DISTINCT ${DESTINATION_KEY}) FROM inserted
        WHERE status = 'scheduled' AND due_at IS NOT NULL
      ) AS backlogged, ${only.lastAccount} AS last_account,
      EXISTS (SELECT 1 FROM picked GROUP BY account_id, share HAVING count(*) >= share) AS is_more,
      (SELECT count(*)::integer FROM done) AS completed
  ) m LEFT JOIN (
    SELECT i.id, i.event, i.change_id, i.account_id, i.application_id, i.resource_id, i.endpoint_id, i.url,
      i.destination AS origin, i.is_stored, i.destination_hash,
      i.destination_hash AS previous_hash, CASE WHEN i.endpoint_id IS NULL THEN i.secret ELSE w.secret END AS secret,
      0 AS attempts_made, 0 AS curve_from, c.created_at, c.sequence, ${eventData} AS data
    FROM (
      SELECT ${sentColumns}, true AS is_stored FROM inserted WHERE status = 'delivering'
      UNION ALL SELECT ${sentColumns}, false FROM unstored
    ) i JOIN changes c ON c.id = i.change_id LEFT JOIN endpoints w ON w.id = i.endpoint_id
  ) t ON true
  ORDER BY t.id`

const completed = (p: Placeholders<typeof leaseParts>): string => `
  done AS (
    DELETE FROM outbox o USING picked p
    WHERE o.account_id = p.account_id AND o.change_id = p.change_id
      AND (p.change_id IN (SELECT change_id FROM waiting)) IS FALSE
      AND (p.change_id IN (SELECT change_id FROM unstored)) IS FALSE
      AND (p.change_id IN (SELECT change_id FROM postponed)) IS FALSE
    RETURNING o.change_id
  ),
  leased_changes AS (
    UPDATE outbox o SET leased_until = now() + ${p.leaseMs} * interval '1 millisecond'
    FROM (SELECT DISTINCT account_id, change_id FROM unstored) u
    WHERE o.account_id = u.account_id AND o.change_id = u.change_id
  ),
  recovered AS (DELETE FROM outbox_failures f WHERE f.change_id IN (SELECT change_id FROM done))`

const wholeChanges = (p: Placeholders<typeof leaseParts>) => ({
  lock: "FOR SHARE SKIP LOCKED",
  waiting: "",
  target: "true",
  postponed: "postponed AS (SELECT change_id FROM picked WHERE false)",
  completion: completed(p),
  lastAccount: "NULL::uuid"
})

/**
 * Changes that wait for capacity: of the last moments, and not of saturated accounts, or to saturated origins or destinations
 * that are busy with a backlog. The oldest one of an account does not wait if some of its deliveries can be sent. A change
 * may be from the future, where clocks differ: none waits for longer.
 */
const postponed = (p: Placeholders<typeof leaseParts>, busy: string): string => `
  postponed AS MATERIALIZED (
    SELECT change_id FROM checked
    WHERE may_be_leased AND is_active AND ${p.limit} > 0
      AND abs(extract(epoch FROM now() - created_at)) < ${POSTPONED_MS / 1000}
    GROUP BY change_id, is_first
    HAVING bool_or((id IN (SELECT id FROM leased)) IS FALSE)
      AND NOT (is_first AND bool_or(id IN (SELECT id FROM leased)))
      AND NOT bool_or((account_id, destination_hash) IN (SELECT * FROM ${busy})
        OR account_id = ANY (${p.excludedAccounts}) OR destination_hash = ANY (${p.excludedOrigins}))
  )`

/** The last account of `turn`, if there may be others after it. */
const lastAccount = `(SELECT account_id FROM turn OFFSET ${ACCOUNTS - 1} LIMIT 1)`

/** Fans out the oldest changes of the next accounts. */
export const fanOutRound = statement(
  { ...leaseParts, ...roundParts, leasesChanges: value("boolean"), busy: destinations },
  (p) =>
    fanOutOf(`${accountsInTurn(p)},${oldestChanges(p, "FOR UPDATE SKIP LOCKED", p.leasesChanges)}`, p, {
      ...wholeChanges(p),
      postponed: postponed(p, p.busy),
      lastAccount
    })
)

/** Fans these changes out. */
export const fanOutChanges = statement({ ...leaseParts, picked: changeRows }, (p) =>
  fanOutOf(theseChanges(p.picked), p, wholeChanges(p))
)

/** Inserts the deliveries of one change to some endpoints, null for the resource's own address; the change stays. */
export const fanOutToEndpoints = statement({ ...leaseParts, picked: changeRows, endpoints: uuids }, (p) => {
  // The deliveries to the resource's own address depend on which endpoints have the same one.
  const concerns = (endpoint: string): string =>
    ` AND (array_position(${p.endpoints}, NULL::uuid) IS NOT NULL OR ${endpoint} = ANY (${p.endpoints}))`
  return fanOutOf(theseChanges(p.picked), p, {
    ...wholeChanges(p),
    lock: `${concerns("id")} FOR SHARE SKIP LOCKED`,
    waiting: concerns("endpoint_id"),
    target: `array_position(${p.endpoints}, t.endpoint_id) IS NOT NULL`,
    // Some of its deliveries are stored, so it is not leased later.
    completion: `
  done AS (SELECT change_id FROM picked WHERE false),
  stored AS (
    UPDATE outbox o SET leased_until = '-infinity' FROM picked p
    WHERE o.account_id = p.account_id AND o.change_id = p.change_id AND o.leased_until IS NULL
  )`
  })
})

/** Finds what the next round would take, without locks. */
export const roundCandidates = statement(
  roundParts,
  (p) => `
  WITH RECURSIVE ${accountsInTurn(p)},${oldestChanges(p, "")}
  SELECT account_id, change_id, ${lastAccount} AS last_account FROM picked`
)

/** Finds the oldest changes of one account. */
export const accountCandidates = statement(
  { account: value("uuid"), ...batchParts },
  (p) => `
  WITH turn AS MATERIALIZED (SELECT ${p.account} AS account_id),${oldestChanges(p, "")}
  SELECT account_id, change_id FROM picked`
)

/** The endpoints of one change, null for the resource's own address. */
export const endpointsOf = statement(
  { account: value("uuid"), change: value("uuid") },
  (p) => `
  WITH picked AS (
    SELECT ${outboxColumns}, ${NOT_LEASED} FROM outbox WHERE account_id = ${p.account} AND change_id = ${p.change}
  ),
  ${subscribed}
  SELECT DISTINCT endpoint_id FROM subscribed UNION ALL
  SELECT DISTINCT NULL::uuid FROM events WHERE destination_hash IS NOT NULL`
)

/**
 * Completes the fan-out of a change and stores which of its endpoints failed, with PostgreSQL's messages; not while another
 * process sends it.
 */
export const completeWithFailures = statement(
  {
    account: value("uuid"),
    change: value("uuid"),
    failures: rows({ endpoint_id: nullable(uuid()), error: text() })
  },
  (p) => `
  WITH completed AS (
    DELETE FROM outbox WHERE account_id = ${p.account} AND change_id = ${p.change} AND ${IS_FREE}
    RETURNING ${outboxColumns}
  ),
  recovered AS (
    DELETE FROM outbox_failures f USING completed e
    WHERE f.change_id = e.change_id
      AND NOT EXISTS (SELECT 1 FROM ${p.failures} AS n WHERE n.endpoint_id IS NOT DISTINCT FROM f.endpoint_id)
  )
  INSERT INTO outbox_failures AS f (id, change_id, endpoint_id, account_id, endpoints_version, normalized_hash,
    destination_hash, error, first_failed_at, last_failed_at)
  SELECT uuidv7(), e.change_id, n.endpoint_id, e.account_id, e.endpoints_version, e.normalized_hash, e.destination_hash,
    n.error, now(), now()
  FROM completed e CROSS JOIN ${p.failures} AS n
  ON CONFLICT (change_id, endpoint_id) DO UPDATE SET error = excluded.error, failures = f.failures + 1,
    last_failed_at = excluded.last_failed_at, retried_at = NULL
  RETURNING f.id`
)
