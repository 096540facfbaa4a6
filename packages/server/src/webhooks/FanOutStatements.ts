/**
 * The SQL of `FanOut`: from outbox rows to deliveries, in one statement and one commit.
 *
 * Why one statement: a lone event takes as many round trips as a claim did.
 */
import { eventCatalog } from "@pix-payments/domain/EventCatalog"
import { isActiveOwnerIn } from "./DeliveryStatements.ts"

const dispatched = eventCatalog
  .filter((entry) => entry.dispatched)
  .map(({ event }) => `'${event}'`)
  .join(", ")

/** Most accounts that one round serves. */
const ACCOUNTS = 50

const outboxColumns = "account_id, change_id, endpoints_version, normalized_hash, destination_hash"

/** Some accounts, behind the one that the parameter `first` names, and without those of `first + 4`. */
const inTurn = (first: number): string => `
  walk AS (
    (SELECT account_id FROM outbox WHERE account_id > $${first}::uuid ORDER BY account_id LIMIT 1)
    UNION ALL
    SELECT (SELECT n.account_id FROM outbox n WHERE n.account_id > w.account_id ORDER BY n.account_id LIMIT 1)
    FROM walk w WHERE w.account_id IS NOT NULL
  ),
  turn AS MATERIALIZED (
    SELECT account_id FROM walk WHERE account_id IS NOT NULL AND account_id <> ALL ($${first + 4}::uuid[])
    LIMIT ${ACCOUNTS}
  )`

/**
 * The oldest changes of each account of `turn`: as many as the round may take, divided by the accounts, and fewer of an
 * account with many endpoints, so that a round inserts a bounded number of deliveries. A change is taken at the least.
 */
const oldest = (first: number, lock: string): string => `
  picked AS MATERIALIZED (
    SELECT o.*, t.share FROM (
      SELECT t.account_id, greatest(1, least(
        $${first + 1}::integer / s.accounts, $${first + 2}::integer / (s.accounts * (1 + coalesce(n.live, 0)))
      )) AS share
      FROM turn t CROSS JOIN (SELECT count(*) AS accounts FROM turn) s
      LEFT JOIN webhook_endpoint_counters n ON n.account_id = t.account_id
    ) t CROSS JOIN LATERAL (
      SELECT ${outboxColumns} FROM outbox
      WHERE account_id = t.account_id AND change_id <> ALL ($${first + 3}::uuid[])
      ORDER BY change_id LIMIT t.share ${lock}
    ) o
  )`

/** These changes, for rounds that are done in halves. */
const these = `
  picked AS MATERIALIZED (
    SELECT ${outboxColumns}, 1 AS share FROM outbox
    WHERE (account_id, change_id) IN (SELECT * FROM unnest($10::uuid[], $11::uuid[])) FOR UPDATE SKIP LOCKED
  )`

/** Derived: the change's time and counter, and 62 bits of a hash, so that a fan-out done again makes the same ids. */
const deliveryId = (change: string, event: string, endpoint: string): string => `(
      SELECT (left(${change}::text, 18) || '-' || substr('89ab', 1 + get_byte(h.bytes, 9) % 4, 1)
        || substr(encode(h.bytes, 'hex'), 1, 3) || '-' || substr(encode(h.bytes, 'hex'), 4, 12))::uuid
      FROM (SELECT sha256(convert_to(concat_ws(' ', ${change}, ${event}, ${endpoint}), 'UTF8')) AS bytes) h
    )`

const eventColumns =
  "change_id, account_id, application_id, resource_id, event, created_at, normalized_hash, destination_hash"

const subscriptions = (condition: string): string => `
    SELECT ${eventColumns
      .split(", ")
      .map((column) => `e.${column}`)
      .join(", ")}, v.endpoint_id, (v.normalized_hash = e.normalized_hash) IS TRUE AS is_folded
    FROM events e JOIN webhook_endpoint_versions v
      ON ${condition} AND v.to_version > e.endpoints_version AND v.from_version <= e.endpoints_version
        AND e.event = ANY (v.events)`

/** Who was subscribed to the events of `picked` when they were committed. */
const subscribed = `
  events AS MATERIALIZED (
    SELECT p.change_id, p.account_id, p.endpoints_version, p.normalized_hash, p.destination_hash, c.application_id,
      c.resource_id, c.created_at, c.kind || '.' || a.action AS event
    FROM picked p JOIN changes c ON c.id = p.change_id CROSS JOIN LATERAL unnest(c.actions) AS a(action)
    WHERE c.kind || '.' || a.action IN (${dispatched})
  ),
  subscribed AS MATERIALIZED (${subscriptions("v.application_id = e.application_id")}
    UNION ALL${subscriptions("v.account_id = e.account_id")}
    WHERE e.application_id IS NULL
  )`

/**
 * Everything of a round. `$1` how many may be leased, `$2` for how long, `$3` how many for one destination, `$4` for one
 * account, `$5` accounts, `$6`, `$7` destinations and `$8` origins that get none, `$9` how many for one
 * origin.
 *
 * Endpoints are locked so that one that is paused or deleted meanwhile sees its deliveries; a change with an endpoint
 * that somebody else has locked waits for the next round.
 */
const fanOutOf = (
  picked: string,
  only: Readonly<Record<"lock" | "waiting" | "target" | "ends" | "walkedTo", string>>
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
      s.created_at
    FROM subscribed s JOIN endpoints w ON w.id = s.endpoint_id
    WHERE w.deleted_at IS NULL AND (s.change_id IN (SELECT change_id FROM waiting)) IS FALSE
    UNION ALL
    SELECT ${deliveryId("e.change_id", "e.event", "'webhook_url'")}, e.change_id, e.event, e.resource_id,
      e.account_id, e.application_id, NULL, r.webhook_url,
      coalesce(substring(r.webhook_url FROM '^[^:/?#]+:/*[^/?#]*'), r.webhook_url), e.destination_hash, r.webhook_secret,
      true, e.created_at
    FROM events e CROSS JOIN LATERAL (
      SELECT webhook_url, webhook_secret FROM charges WHERE id = e.resource_id
      UNION ALL SELECT webhook_url, webhook_secret FROM payouts WHERE id = e.resource_id
    ) r
    WHERE e.destination_hash IS NOT NULL AND r.webhook_url IS NOT NULL
      AND ((e.change_id, e.event) IN (SELECT change_id, event FROM folded)) IS FALSE
      AND (e.change_id IN (SELECT change_id FROM waiting)) IS FALSE
  ),
  judged AS MATERIALIZED (
    SELECT *, active AND ${isActiveOwnerIn("targets")} AS is_active FROM targets t WHERE ${only.target}
  ),
  ranked AS MATERIALIZED (
    SELECT id, account_id, destination_hash,
      row_number() OVER (PARTITION BY account_id, destination_hash ORDER BY id) AS nth
    FROM judged
    WHERE is_active AND account_id <> ALL ($5::uuid[]) AND destination_hash <> ALL ($8::uuid[])
      AND (account_id, destination_hash) NOT IN (SELECT * FROM unnest($6::uuid[], $7::uuid[]))
  ),
  shared AS MATERIALIZED (
    SELECT id, row_number() OVER (PARTITION BY account_id ORDER BY nth, id) AS nth,
      row_number() OVER (PARTITION BY destination_hash ORDER BY nth, id) AS nth_of_origin
    FROM ranked WHERE nth <= $3::integer
  ),
  leased AS MATERIALIZED (
    SELECT id FROM shared
    WHERE nth <= $4::integer AND nth_of_origin <= $9::integer
    ORDER BY nth, id LIMIT $1::integer
  ),
  inserted AS (
    INSERT INTO deliveries (id, change_id, event, resource_id, account_id, application_id, endpoint_id, url,
      destination, destination_hash, secret, status, due_at, held_due_at, created_at)
    SELECT j.id, j.change_id, j.event, j.resource_id, j.account_id, j.application_id, j.endpoint_id, j.url,
      j.destination, j.destination_hash, j.secret,
      CASE WHEN j.id IN (SELECT id FROM leased) THEN 'delivering' ELSE 'scheduled' END,
      CASE WHEN NOT j.is_active THEN NULL WHEN j.id IN (SELECT id FROM leased)
        THEN now() + $2::double precision * interval '1 millisecond' ELSE now() END,
      CASE WHEN NOT j.is_active THEN now() END, j.created_at
    FROM judged j
    ON CONFLICT (id) DO NOTHING
    RETURNING id, change_id, event, account_id, resource_id, endpoint_id, url, destination_hash, secret, status, due_at
  ),
  ${only.ends}
  SELECT t.*, m.*, set_config('synchronous_commit', 'on', true)
  FROM (
    SELECT (SELECT count(*)::integer FROM waiting) AS waiting,
      (
        SELECT json_agg(DISTINCT account_id || '/' || destination_hash) FROM inserted
        WHERE status = 'scheduled' AND due_at IS NOT NULL
      ) AS left_at, ${only.walkedTo} AS walked_to,
      EXISTS (SELECT 1 FROM picked GROUP BY account_id, share HAVING count(*) >= share) AS is_more,
      (SELECT count(*)::integer FROM done) AS ended
  ) m LEFT JOIN (
    SELECT i.id, i.status, i.event, i.account_id, i.resource_id, i.endpoint_id, i.url, i.destination_hash,
      i.destination_hash AS found_hash, CASE WHEN i.endpoint_id IS NULL THEN i.secret ELSE w.secret END AS secret,
      0 AS attempts_made, 0 AS curve_from, c.created_at, c.sequence, c.data
    FROM inserted i JOIN changes c ON c.id = i.change_id LEFT JOIN endpoints w ON w.id = i.endpoint_id
    WHERE i.status = 'delivering'
  ) t ON true
  ORDER BY t.id`

const done = `
  done AS (
    DELETE FROM outbox o USING picked p
    WHERE o.account_id = p.account_id AND o.change_id = p.change_id
      AND (p.change_id IN (SELECT change_id FROM waiting)) IS FALSE
    RETURNING o.change_id
  ),
  recovered AS (DELETE FROM outbox_failures f WHERE f.change_id IN (SELECT change_id FROM done))`

const whole = {
  lock: "FOR SHARE SKIP LOCKED",
  waiting: "",
  target: "true",
  ends: done,
  walkedTo: "NULL::uuid"
}

/** The last account of `turn`, where there may be others behind it. */
const walkedTo = `(SELECT account_id FROM turn OFFSET ${ACCOUNTS - 1} LIMIT 1)`

export const fanOutInTurn = fanOutOf(`${inTurn(10)},${oldest(10, "FOR UPDATE SKIP LOCKED")}`, { ...whole, walkedTo })
export const fanOutThese = fanOutOf(these, whole)

/** Whether an endpoint concerns a part of a change's targets: the resource's own address depends on those it equals. */
const concerns = (endpoint: string): string =>
  ` AND (array_position($12::uuid[], NULL::uuid) IS NOT NULL OR ${endpoint} = ANY ($12::uuid[]))`

/** Inserts the deliveries of one change to the endpoints `$12`, null for the resource's own address; the change stays. */
export const fanOutToSome = fanOutOf(these, {
  ...whole,
  lock: `${concerns("id")} FOR SHARE SKIP LOCKED`,
  waiting: concerns("endpoint_id"),
  target: "array_position($12::uuid[], t.endpoint_id) IS NOT NULL",
  ends: "done AS (SELECT change_id FROM picked WHERE false)"
})

/** What the next round would take, without locks. */
export const candidates = `
  WITH RECURSIVE ${inTurn(1)},${oldest(1, "")} SELECT account_id, change_id, ${walkedTo} AS walked_to FROM picked`

/** The same of the account `$1` alone. */
export const candidatesOf = `
  WITH turn AS MATERIALIZED (SELECT $1::uuid AS account_id),${oldest(1, "")} SELECT account_id, change_id FROM picked`

/** The endpoints of one change, null for the resource's own address. */
export const targetsOf = `
  WITH picked AS (SELECT ${outboxColumns} FROM outbox WHERE account_id = $1::uuid AND change_id = $2::uuid),
  ${subscribed}
  SELECT DISTINCT endpoint_id FROM subscribed UNION ALL
  SELECT DISTINCT NULL::uuid FROM events WHERE destination_hash IS NOT NULL`

/** Ends the fan-out of a change; what failed of it is kept. `$3` are the endpoints, `$4` what PostgreSQL said of each. */
export const setAside = `
  WITH ended AS (
    DELETE FROM outbox WHERE account_id = $1::uuid AND change_id = $2::uuid
    RETURNING ${outboxColumns}
  ),
  recovered AS (
    DELETE FROM outbox_failures f USING ended e
    WHERE f.change_id = e.change_id
      AND NOT EXISTS (SELECT 1 FROM unnest($3::uuid[]) AS n(endpoint_id) WHERE n.endpoint_id IS NOT DISTINCT FROM f.endpoint_id)
  )
  INSERT INTO outbox_failures AS f (id, change_id, endpoint_id, account_id, endpoints_version, normalized_hash,
    destination_hash, error, first_failed_at, last_failed_at)
  SELECT uuidv7(), e.change_id, n.endpoint_id, e.account_id, e.endpoints_version, e.normalized_hash, e.destination_hash,
    n.error, now(), now()
  FROM ended e CROSS JOIN (
    SELECT a.endpoint_id, b.error FROM unnest($3::uuid[]) WITH ORDINALITY AS a(endpoint_id, n)
    JOIN json_array_elements_text($4::json) WITH ORDINALITY AS b(error, n) ON b.n = a.n
  ) n
  ON CONFLICT (change_id, endpoint_id) DO UPDATE SET error = excluded.error, failures = f.failures + 1,
    last_failed_at = excluded.last_failed_at, retried_at = NULL
  RETURNING f.id`
