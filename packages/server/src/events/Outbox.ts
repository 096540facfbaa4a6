/**
 * What a state change tells the world: the event rows and the deliveries that go into the same commit.
 *
 * Guarantees: an event's body is assembled here, once; every delivery of it, and every repeat, is
 * `deliveryBody(id, body)` to the byte. An event that the catalog marks as not dispatched is kept as history
 * and delivered to nobody.
 *
 * Source: payments-api-v1.md "Events"; decisions.md "Webhooks".
 */
import { eventBody } from "@pix-payments/domain/Event"
import { findEvent } from "@pix-payments/domain/EventCatalog"
import { formatInstant } from "@pix-payments/domain/Instant"
import { normalizeUrl } from "@pix-payments/domain/PublicUrl"
import type { Generated } from "@pix-payments/domain/Uuid"

/** A resource after a change, as far as its events need to know it. */
export interface Changed {
  readonly id: string
  readonly accountId: string
  readonly applicationId: string | null
  readonly status: string
  readonly sequence: number
  readonly webhookUrl: string | null
  readonly sealedWebhookSecret: string | null
  /** The resource as its events show it. */
  readonly data: unknown
}

export interface EventRow {
  readonly id: string
  readonly resource_id: string
  readonly account_id: string
  readonly application_id: string | null
  readonly name: string
  /** False for what is kept as history and told to nobody. */
  readonly dispatched: boolean
  readonly status: string
  readonly sequence: number
  readonly body: string
  readonly created_at: string
}

export interface DeliveryRow {
  readonly id: string
  readonly event_id: string
  readonly event: string
  readonly resource_id: string
  readonly account_id: string
  readonly application_id: string | null
  readonly url: string
  readonly normalized_url: string
  readonly destination: string
  readonly secret: string | null
  readonly created_at: string
}

/** An event, and its delivery to the resource's own address where it has one. */
export interface Told {
  readonly events: ReadonlyArray<EventRow>
  readonly deliveries: ReadonlyArray<DeliveryRow>
}

/**
 * The rows that tell of one change. `kind` is `<resource>.<method>`; an action that makes no event of the
 * catalog with it (there is no `charge.card.emitted`) is left out.
 */
export const tell = (kind: string, actions: ReadonlyArray<string>, changed: Changed, next: () => Generated): Told => {
  if (actions.length === 0) return nothing
  const events: Array<EventRow> = []
  const deliveries: Array<DeliveryRow> = []
  const dataJson = JSON.stringify(changed.data)
  for (const action of actions) {
    const entry = findEvent(`${kind}.${action}`)
    if (entry === undefined) continue
    const event = next()
    const createdAt = formatInstant(event.epochMs)
    events.push({
      id: event.id,
      resource_id: changed.id,
      account_id: changed.accountId,
      application_id: changed.applicationId,
      name: entry.event,
      dispatched: entry.dispatched,
      status: changed.status,
      sequence: changed.sequence,
      body: eventBody({ name: entry.event, createdAt, sequence: changed.sequence, dataJson }),
      created_at: createdAt
    })
    if (changed.webhookUrl === null || !entry.dispatched) continue
    deliveries.push({
      id: next().id,
      event_id: event.id,
      event: entry.event,
      resource_id: changed.id,
      account_id: changed.accountId,
      application_id: changed.applicationId,
      url: changed.webhookUrl,
      normalized_url: normalizeUrl(changed.webhookUrl),
      destination: destinationOf(changed.webhookUrl),
      secret: changed.sealedWebhookSecret,
      created_at: createdAt
    })
  }
  return { events, deliveries }
}

/**
 * The part of a statement that writes them and fans them out: CTEs that follow one called `changed`, which returns
 * the `id` of each resource whose change was done. `told` are the events, `addressed` the deliveries.
 *
 * Who is told is decided here, in the commit of the change: every endpoint of the application that is subscribed
 * now (of the account's applications, for what an operator asked for without one), and the resource's own address
 * unless an equal endpoint is among them.
 */
export const tellingCtes = (parameters: { readonly events: string; readonly deliveries: string }): string => `
  happened AS MATERIALIZED (
    SELECT e.* FROM json_to_recordset(${parameters.events}::json) AS e(id uuid, resource_id uuid, account_id uuid,
      application_id uuid, name text, dispatched boolean, status text, sequence integer, body text,
      created_at timestamptz)
    WHERE e.resource_id IN (SELECT id FROM changed)
  ),
  told AS (
    INSERT INTO events (id, resource_id, account_id, application_id, name, status, sequence, body, created_at)
    SELECT id, resource_id, account_id, application_id, name, status, sequence, body, created_at FROM happened
  ),
  addressed AS (
    INSERT INTO deliveries (id, event_id, event, resource_id, account_id, endpoint_id, url, destination, secret, status,
      due_at, created_at)
    SELECT uuidv7(), e.id, e.name, e.resource_id, e.account_id, w.id, w.url, w.destination, NULL, 'scheduled',
      now(), e.created_at
    FROM happened e JOIN webhook_endpoints w
      ON w.application_id = e.application_id AND w.deleted_at IS NULL AND e.name = ANY (w.events)
    WHERE e.dispatched
    UNION ALL
    SELECT uuidv7(), e.id, e.name, e.resource_id, e.account_id, w.id, w.url, w.destination, NULL, 'scheduled',
      now(), e.created_at
    FROM happened e JOIN webhook_endpoints w
      ON w.account_id = e.account_id AND w.deleted_at IS NULL AND e.name = ANY (w.events)
    WHERE e.dispatched AND e.application_id IS NULL
    UNION ALL
    SELECT d.id, d.event_id, d.event, d.resource_id, d.account_id, NULL, d.url, d.destination, d.secret,
      'scheduled', now(), d.created_at
    FROM json_to_recordset(${parameters.deliveries}::json) AS d(id uuid, event_id uuid, event text, resource_id uuid,
      account_id uuid, application_id uuid, url text, normalized_url text, destination text,
      secret text, created_at timestamptz)
    WHERE d.resource_id IN (SELECT id FROM changed) AND NOT EXISTS (
      SELECT 1 FROM webhook_endpoints w
      WHERE w.deleted_at IS NULL AND w.normalized_url = d.normalized_url AND d.event = ANY (w.events)
        AND (w.application_id = d.application_id OR (d.application_id IS NULL AND w.account_id = d.account_id))
    )
    RETURNING id
  )`

/** What a statement selects beside the ids that it changed: whether anything is to be delivered. */
export const ADDRESSED = "(SELECT count(*)::integer FROM addressed) AS addressed"

/** Whose receiver a URL is: deliveries to one origin share it. */
export const destinationOf = (url: string): string => URL.parse(url)?.origin ?? url

const nothing: Told = { events: [], deliveries: [] }
