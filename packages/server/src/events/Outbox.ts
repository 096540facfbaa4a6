/**
 * What a state change tells the world: the row that goes into the same commit, and who is told of it.
 *
 * Guarantees: a change is one row, with the resource as it is after the change and the names of its events; every
 * delivery of an event, and every repeat, is made of that row and its own id alone, so that its bytes never change. An
 * event that the catalog marks as not dispatched is kept as history and delivered to nobody.
 *
 * Measured: one row for a change instead of one for each of its events, and its columns in arrays instead of
 * in JSON, costs the database a third less.
 *
 * Source: payments-api-v1.md "Events"; decisions.md "Webhooks".
 */
import { findEvent } from "@pix-payments/domain/EventCatalog"
import { normalizeUrl } from "@pix-payments/domain/PublicUrl"
import type { Generated } from "@pix-payments/domain/Uuid"
import { arrayText, recordset } from "../sql/Recordset.ts"

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

/** The row that tells of a change, with the resource's own address where it has one. */
export interface Told {
  readonly row: {
    readonly id: string
    readonly resource_id: string
    readonly account_id: string
    readonly application_id: string | null
    /** `<resource>.<method>`, the first two parts of the names of its events. */
    readonly kind: string
    /** The third parts, in order; none for a change that no event tells of. */
    readonly actions: ReadonlyArray<string>
    /** Those of them that are delivered. */
    readonly dispatched: ReadonlyArray<string>
    readonly status: string
    readonly sequence: number
    /** Epoch milliseconds. */
    readonly created_at: number
    readonly webhook_url?: string
    readonly normalized_url?: string
    readonly destination?: string
    readonly webhook_secret?: string | null
  }
  /** The resource as JSON text: what receivers verify. */
  readonly data: string
}

/**
 * Tells of one change. An action that makes no event of the catalog with `kind` (there is no `charge.card.emitted`) is
 * left out.
 */
export const tell = (kind: string, actions: ReadonlyArray<string>, changed: Changed, next: () => Generated): Told => {
  const { epochMs, id } = next()
  const known = actions.filter((action) => findEvent(`${kind}.${action}`) !== undefined)
  return {
    row: {
      id,
      resource_id: changed.id,
      account_id: changed.accountId,
      application_id: changed.applicationId,
      kind,
      actions: known,
      dispatched: known.filter((action) => findEvent(`${kind}.${action}`)?.dispatched === true),
      status: changed.status,
      sequence: changed.sequence,
      created_at: epochMs,
      ...(changed.webhookUrl === null
        ? undefined
        : {
            webhook_url: changed.webhookUrl,
            normalized_url: normalizeUrl(changed.webhookUrl),
            destination: destinationOf(changed.webhookUrl),
            webhook_secret: changed.sealedWebhookSecret
          })
    },
    data: JSON.stringify(changed.data)
  }
}

const rows = recordset({
  id: "uuid",
  resource_id: "uuid",
  account_id: "uuid",
  application_id: "uuid",
  kind: "text",
  actions: "text[]",
  dispatched: "text[]",
  status: "text",
  sequence: "integer",
  created_at: "timestamptz",
  webhook_url: "text",
  normalized_url: "text",
  destination: "text",
  webhook_secret: "text",
  data: "text"
})

/** How many parameters changes take. */
export const TOLD_WIDTH = rows.width

/** The parameters that hold changes. */
export const toldParameters = (told: ReadonlyArray<Told>): ReadonlyArray<unknown> =>
  rows.parameters(
    told.map(({ data, row }) => ({
      ...row,
      actions: arrayText(row.actions),
      dispatched: arrayText(row.dispatched),
      data
    }))
  )

/**
 * The part of a statement that writes changes and fans their events out: CTEs that follow one called `changed`, which
 * returns the `id` of each resource whose change was done. `first` is the number of the first of the parameters that
 * `toldParameters` makes.
 *
 * Who is told is decided here, in the commit of the change: every endpoint of the application that is subscribed
 * now (of the account's applications, for what an operator asked for without one), and the resource's own address
 * unless an equal endpoint is among them.
 */
export const tellingCtes = (first: number): string => `
  happened AS MATERIALIZED (
    SELECT e.* FROM ${rows.from(first)} AS e
    WHERE (e.resource_id IN (SELECT id FROM changed)) IS TRUE
  ),
  told AS (
    INSERT INTO changes (id, resource_id, account_id, application_id, kind, actions, status, sequence, data, created_at)
    SELECT id, resource_id, account_id, application_id, kind, actions, status, sequence, data, created_at FROM happened
  ),
  sent AS MATERIALIZED (
    SELECT h.id, h.resource_id, h.account_id, h.application_id, h.kind || '.' || a.action AS event, h.created_at,
      h.webhook_url, h.normalized_url, h.destination, h.webhook_secret
    FROM happened h CROSS JOIN LATERAL unnest(h.dispatched) AS a(action)
  ),
  addressed AS (
    INSERT INTO deliveries (id, change_id, event, resource_id, account_id, endpoint_id, url, destination, secret, status,
      due_at, created_at)
    SELECT uuidv7(), s.id, s.event, s.resource_id, s.account_id, w.id, w.url, w.destination, NULL, 'scheduled',
      now(), s.created_at
    FROM sent s JOIN webhook_endpoints w
      ON w.application_id = s.application_id AND w.deleted_at IS NULL AND s.event = ANY (w.events)
    UNION ALL
    SELECT uuidv7(), s.id, s.event, s.resource_id, s.account_id, w.id, w.url, w.destination, NULL, 'scheduled',
      now(), s.created_at
    FROM sent s JOIN webhook_endpoints w
      ON w.account_id = s.account_id AND w.deleted_at IS NULL AND s.event = ANY (w.events)
    WHERE s.application_id IS NULL
    UNION ALL
    SELECT uuidv7(), s.id, s.event, s.resource_id, s.account_id, NULL, s.webhook_url, s.destination, s.webhook_secret,
      'scheduled', now(), s.created_at
    FROM sent s
    WHERE s.webhook_url IS NOT NULL AND NOT EXISTS (
      SELECT 1 FROM webhook_endpoints w
      WHERE w.deleted_at IS NULL AND w.normalized_url = s.normalized_url AND s.event = ANY (w.events)
        AND (w.application_id = s.application_id OR (s.application_id IS NULL AND w.account_id = s.account_id))
    )
    RETURNING id
  )`

/** What a statement selects beside the ids that it changed: whether anything is to be delivered. */
export const ADDRESSED = "(SELECT count(*)::integer FROM addressed) AS addressed"

/** Whose receiver a URL is: deliveries to one origin share it. */
export const destinationOf = (url: string): string => URL.parse(url)?.origin ?? url
