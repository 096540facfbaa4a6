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
  readonly url: string
  readonly secret: string | null
  readonly created_at: string
}

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
      url: changed.webhookUrl,
      secret: changed.sealedWebhookSecret,
      created_at: createdAt
    })
  }
  return { events, deliveries }
}

/**
 * The part of a statement that writes them: CTEs that follow one called `changed`, which returns the `id` of
 * each resource whose change was done. `$events` and `$deliveries` are the numbers of the JSON parameters.
 */
export const tellingCtes = (parameters: { readonly events: string; readonly deliveries: string }): string => `
  told AS (
    INSERT INTO events (id, resource_id, account_id, application_id, name, status, sequence, body, created_at)
    SELECT e.id, e.resource_id, e.account_id, e.application_id, e.name, e.status, e.sequence, e.body, e.created_at
    FROM json_to_recordset(${parameters.events}::json) AS e(id uuid, resource_id uuid, account_id uuid,
      application_id uuid, name text, status text, sequence integer, body text, created_at timestamptz)
    WHERE e.resource_id IN (SELECT id FROM changed)
  ),
  addressed AS (
    INSERT INTO deliveries (id, event_id, event, resource_id, account_id, url, secret, status, due_at, created_at)
    SELECT d.id, d.event_id, d.event, d.resource_id, d.account_id, d.url, d.secret, 'scheduled', now(), d.created_at
    FROM json_to_recordset(${parameters.deliveries}::json) AS d(id uuid, event_id uuid, event text,
      resource_id uuid, account_id uuid, url text, secret text, created_at timestamptz)
    WHERE d.resource_id IN (SELECT id FROM changed)
  )`

const nothing: Told = { events: [], deliveries: [] }
