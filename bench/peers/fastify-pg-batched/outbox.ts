/**
 * What a change tells, for many resources in the statement that changes them.
 */
import { rowsOf } from "./rows.ts"

const told = rowsOf({
  id: "uuid",
  resource_id: "uuid",
  account_id: "uuid",
  application_id: "uuid",
  kind: "text",
  // Names parted by commas: an array of arrays would have to be rectangular.
  actions: "text",
  status: "text",
  sequence: "integer",
  data: "text",
  created_at: "timestamptz",
  webhook_url: "text",
  normalized_url: "text",
  destination: "text",
  webhook_secret: "text"
})

/** A change, all actions of which are delivered. */
export interface Told {
  readonly id: string
  readonly kind: string
  readonly actions: ReadonlyArray<string>
  readonly data: string
  readonly createdAt: Date
  readonly row: {
    readonly id: string
    readonly account_id: string
    readonly application_id: string | null
    readonly status: string
    readonly sequence: number
    readonly webhook_url: string | null
    readonly webhook_secret: string | null
  }
}

/** How many parameters they take. */
export const TOLD_WIDTH = told.width

export const toldValues = (changes: ReadonlyArray<Told>) =>
  told.values(
    changes.map(({ actions, createdAt, data, id, kind, row }) => {
      const url = row.webhook_url === null ? undefined : new URL(row.webhook_url)
      return {
        id,
        resource_id: row.id,
        account_id: row.account_id,
        application_id: row.application_id,
        kind,
        actions: actions.join(","),
        status: row.status,
        sequence: row.sequence,
        data,
        created_at: createdAt,
        webhook_url: row.webhook_url,
        normalized_url: url?.href ?? null,
        destination: url?.origin ?? null,
        webhook_secret: row.webhook_secret
      }
    })
  )

/** CTEs behind one called `changed`, which returns the ids of the resources whose change was done. */
export const tellingCtes = (first: number) => `
  happened AS MATERIALIZED (
    SELECT * FROM ${told.from(first)} WHERE (resource_id IN (SELECT id FROM changed)) IS TRUE
  ),
  told AS (
    INSERT INTO changes (id, resource_id, account_id, application_id, kind, actions, status, sequence, data, created_at)
    SELECT id, resource_id, account_id, application_id, kind, string_to_array(actions, ','), status, sequence, data,
      created_at
    FROM happened
  ),
  sent AS MATERIALIZED (
    SELECT h.*, h.kind || '.' || a.action AS event
    FROM happened h CROSS JOIN LATERAL unnest(string_to_array(h.actions, ',')) AS a(action)
  ),
  addressed AS (
    INSERT INTO deliveries (id, change_id, event, resource_id, account_id, endpoint_id, url, destination, secret, status,
      due_at, created_at)
    SELECT uuidv7(), s.id, s.event, s.resource_id, s.account_id, w.id, w.url, w.destination, NULL, 'scheduled', now(),
      s.created_at
    FROM sent s JOIN webhook_endpoints w
      ON w.application_id = s.application_id AND w.deleted_at IS NULL AND s.event = ANY (w.events)
    UNION ALL
    SELECT uuidv7(), s.id, s.event, s.resource_id, s.account_id, NULL, s.webhook_url, s.destination, s.webhook_secret,
      'scheduled', now(), s.created_at
    FROM sent s
    WHERE s.webhook_url IS NOT NULL AND NOT EXISTS (
      SELECT 1 FROM webhook_endpoints w
      WHERE w.application_id = s.application_id AND w.deleted_at IS NULL AND w.normalized_url = s.normalized_url
        AND s.event = ANY (w.events)
    )
  )`
