/**
 * The SQL of `FanOut`: from outbox rows to deliveries, in one statement and one commit.
 *
 * Why one statement: a single event then costs one round trip.
 */
import { eventCatalog } from "@pix-payments/domain/EventCatalog"
import { eventData, traceOfChange } from "../../events/EventData.ts"
import { nullable, text, uuid } from "../../database/statements/Column.ts"
import { rows, statement, uuids, value } from "../../database/statements/Statement.ts"
import { commitMode } from "../queue/DeliveryClaims.ts"
import { isActiveOwnerIn } from "../deliveries/OwnerStatus.ts"

const dispatched = eventCatalog
  .filter((entry) => entry.dispatched)
  .map(({ event }) => `'${event}'`)
  .join(", ")

/** Accounts in one round. */
const ACCOUNTS = 50

const outboxColumns = "account_id, change_id, endpoints_version, normalized_hash, destination_hash"

/** Of changes whose deliveries are inserted before they are sent. */
const NOT_LEASED = "false AS may_be_leased"

/** The condition of changes that no process sends. */
const IS_FREE = "(leased_until IS NULL OR leased_until <= now())"

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
const oldestChanges = (p: Placeholders<typeof batchParts>, lock: string, mayLease = "false"): string => `
  picked AS MATERIALIZED (
    SELECT o.*, t.share FROM (
      SELECT t.account_id, greatest(1, least(
        ${p.changes} / s.accounts, ${p.deliveries} / (s.accounts * (1 + coalesce(n.live, 0)))
      )) AS share
      FROM turn t CROSS JOIN (SELECT count(*) AS accounts FROM turn) s
      LEFT JOIN webhook_endpoint_counters n ON n.account_id = t.account_id
    ) t CROSS JOIN LATERAL (
      SELECT ${outboxColumns}, leased_until IS NULL AND ${mayLease} AS may_be_leased FROM outbox
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
  "change_id, may_be_leased, account_id, application_id, resource_id, event, created_at, normalized_hash, destination_hash"

const subscriptions = (condition: string): string => `
    SELECT ${eventColumns
      .split(", ")
      .map((column) => `e.${column}`)
      .join(", ")}, v.endpoint_id, (v.normalized_hash = e.normalized_hash) IS TRUE AS is_folded
    FROM events e JOIN webhook_endpoint_versions v
      ON ${condition} AND v.to_version > e.endpoints_version AND v.from_version <= e.endpoints_version
        AND e.event = ANY (v.events)`

/** The endpoints that were subscribed to the events of `picked` when they were committed. */
const subscribed = `
  events AS MATERIALIZED (
    SELECT p.change_id, p.may_be_leased, p.account_id, p.endpoints_version, p.normalized_hash,
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
  only: Readonly<Record<"lock" | "waiting" | "target" | "completion" | "lastAccount", string>>
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
      s.created_at, s.may_be_leased
    FROM subscribed s JOIN endpoints w ON w.id = s.endpoint_id
    WHERE w.deleted_at IS NULL AND (s.change_id IN (SELECT change_id FROM waiting)) IS FALSE
    UNION ALL
    SELECT ${deliveryId("e.change_id", "e.event", "'webhook_url'")}, e.change_id, e.event, e.resource_id,
      e.account_id, e.application_id, NULL, r.webhook_url,
      coalesce(substring(r.webhook_url FROM '^[^:/?#]+:/*[^/?#]*'), r.webhook_url), e.destination_hash, r.webhook_secret,
      true, e.created_at, e.may_be_leased
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
  leased AS MATERIALIZED (SELECT * FROM checked WHERE may_be_leased AND is_active),
  inserted AS (
    INSERT INTO deliveries (id, change_id, event, resource_id, account_id, application_id, endpoint_id, url,
      destination, destination_hash, secret, status, due_at, paused_due_at, created_at)
    SELECT id, change_id, event, resource_id, account_id, application_id, endpoint_id, url, destination, destination_hash,
      secret, 'scheduled', CASE WHEN is_active THEN now() END, CASE WHEN NOT is_active THEN now() END, created_at
    FROM checked WHERE NOT (may_be_leased AND is_active)
    ON CONFLICT (id) DO NOTHING
    RETURNING due_at
  ),
  ${only.completion}
  SELECT t.*, m.*,
    CASE WHEN EXISTS (SELECT FROM inserted) THEN set_config('synchronous_commit', 'on', true) ELSE ${commitMode} END
  FROM (
    SELECT (SELECT count(*)::integer FROM waiting) AS waiting,
      (SELECT count(*)::integer FROM picked) AS picked,
      EXISTS (SELECT FROM inserted WHERE due_at IS NOT NULL) AS has_scheduled,
      ${only.lastAccount} AS last_account,
      EXISTS (SELECT 1 FROM picked GROUP BY account_id, share HAVING count(*) >= share) AS is_more,
      (SELECT count(*)::integer FROM done) AS completed
  ) m LEFT JOIN (
    SELECT l.id, l.event, l.change_id, l.account_id, l.application_id, l.resource_id, l.endpoint_id, l.url,
      l.destination AS origin, l.destination_hash, l.destination_hash AS previous_hash,
      CASE WHEN l.endpoint_id IS NULL THEN l.secret ELSE w.secret END AS secret, 0 AS attempts_made, 0 AS curve_from,
      c.created_at, c.sequence, ${eventData} AS data, ${traceOfChange} AS trace
    FROM leased l JOIN changes c ON c.id = l.change_id LEFT JOIN endpoints w ON w.id = l.endpoint_id
  ) t ON true
  ORDER BY t.id`

const completed = `
  done AS (
    DELETE FROM outbox o USING picked p
    WHERE o.account_id = p.account_id AND o.change_id = p.change_id
      AND (p.change_id IN (SELECT change_id FROM waiting)) IS FALSE
      AND (p.change_id IN (SELECT change_id FROM leased)) IS FALSE
    RETURNING o.change_id
  ),
  recovered AS (DELETE FROM outbox_failures f WHERE f.change_id IN (SELECT change_id FROM done))`

const leasedChanges = (leaseMs: string): string => `,
  leased_changes AS (
    UPDATE outbox o SET leased_until = now() + ${leaseMs} * interval '1 millisecond'
    FROM (SELECT DISTINCT account_id, change_id FROM leased) l
    WHERE o.account_id = l.account_id AND o.change_id = l.change_id
  )`

const wholeChanges = {
  lock: "FOR SHARE SKIP LOCKED",
  waiting: "",
  target: "true",
  completion: completed,
  lastAccount: "NULL::uuid"
}

/** The last account of `turn`, if there may be others after it. */
const lastAccount = `(SELECT account_id FROM turn OFFSET ${ACCOUNTS - 1} LIMIT 1)`

/** Fans out the oldest changes of the next accounts: leases them, or inserts their deliveries. */
export const fanOutRound = statement(
  { ...roundParts, mayLease: value("boolean"), leaseMs: value("double precision") },
  (p) =>
    fanOutOf(`${accountsInTurn(p)},${oldestChanges(p, "FOR UPDATE SKIP LOCKED", p.mayLease)}`, {
      ...wholeChanges,
      completion: completed + leasedChanges(p.leaseMs),
      lastAccount
    })
)

/** Inserts the deliveries of these changes. */
export const fanOutChanges = statement({ picked: changeRows }, (p) => fanOutOf(theseChanges(p.picked), wholeChanges))

/** Inserts the deliveries of one change to some endpoints, null for the resource's own address; the change stays. */
export const fanOutToEndpoints = statement({ picked: changeRows, endpoints: uuids }, (p) => {
  // The deliveries to the resource's own address depend on which endpoints have the same one.
  const concerns = (endpoint: string): string =>
    ` AND (array_position(${p.endpoints}, NULL::uuid) IS NOT NULL OR ${endpoint} = ANY (${p.endpoints}))`
  return fanOutOf(theseChanges(p.picked), {
    ...wholeChanges,
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
