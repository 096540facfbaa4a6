/**
 * The outbox of a batch: changes and deliveries, inserted in the statement that changes the resources.
 */
import { rowsOf } from "./rows.ts"

const outboxRows = rowsOf({
  id: "uuid",
  resource_id: "uuid",
  account_id: "uuid",
  application_id: "uuid",
  kind: "text",
  // Comma-separated: PostgreSQL has no arrays of arrays with different lengths.
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

/** A change; each of its actions is an event. */
export interface OutboxEntry {
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

/** The number of parameters of `outboxCtes`. */
export const OUTBOX_WIDTH = outboxRows.width

export const outboxParameters = (entries: ReadonlyArray<OutboxEntry>) =>
  outboxRows.values(
    entries.map(({ actions, createdAt, data, id, kind, row }) => {
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

/** CTEs that follow a CTE `changed` with the ids of the changed resources. */
export const outboxCtes = (first: number) => `
  outbox AS MATERIALIZED (
    SELECT * FROM ${outboxRows.from(first)} WHERE (resource_id IN (SELECT id FROM changed)) IS TRUE
  ),
  inserted_changes AS (
    INSERT INTO changes (id, resource_id, account_id, application_id, kind, actions, status, sequence, data, created_at)
    SELECT id, resource_id, account_id, application_id, kind, string_to_array(actions, ','), status, sequence, data,
      created_at
    FROM outbox
  ),
  events AS MATERIALIZED (
    SELECT o.*, o.kind || '.' || a.action AS event
    FROM outbox o CROSS JOIN LATERAL unnest(string_to_array(o.actions, ',')) AS a(action)
  ),
  inserted_deliveries AS (
    INSERT INTO deliveries (id, change_id, event, resource_id, account_id, endpoint_id, url, destination, secret, status,
      due_at, created_at)
    SELECT uuidv7(), e.id, e.event, e.resource_id, e.account_id, w.id, w.url, w.destination, NULL, 'scheduled', now(),
      e.created_at
    FROM events e JOIN webhook_endpoints w
      ON w.application_id = e.application_id AND w.deleted_at IS NULL AND e.event = ANY (w.events)
    UNION ALL
    SELECT uuidv7(), e.id, e.event, e.resource_id, e.account_id, NULL, e.webhook_url, e.destination, e.webhook_secret,
      'scheduled', now(), e.created_at
    FROM events e
    WHERE e.webhook_url IS NOT NULL AND NOT EXISTS (
      SELECT 1 FROM webhook_endpoints w
      WHERE w.application_id = e.application_id AND w.deleted_at IS NULL AND w.normalized_url = e.normalized_url
        AND e.event = ANY (w.events)
    )
  )`
