/**
 * The outbox: the event row committed with a state change, from which its deliveries are made.
 *
 * Guarantees:
 * - a change is one row in `changes`, with the resource after the change and the names of its events. Every delivery is
 *   made from that row, what never changes of its charge (`EventData.ts`) and its own id, so that its bytes never change
 *   (DLV-4);
 * - a change that may have deliveries is one row of fixed width in `outbox`. It reads one row about the account's endpoints,
 *   with their version and the events of all, so that no endpoint can abort, delay or lengthen the commit (EVT-11);
 * - `FanOut` inserts the deliveries later, for the endpoints subscribed in that version (EVT-10);
 * - an event that the catalog marks as not dispatched is history only (EVT-3).
 *
 * Measured: one row for each change, not for each event, and arrays instead of JSON cost PostgreSQL a third less.
 */
import { findEvent } from "@pix-payments/domain/EventCatalog"
import { normalizeUrl } from "@pix-payments/domain/PublicUrl"
import type { Generated } from "@pix-payments/domain/Uuid"
import { hash } from "node:crypto"
import { instant, integer, names, nullable, text, uuid } from "../database/statements/Column.ts"
import { type Cte, part, type Part, rows } from "../database/statements/Statement.ts"

/** A resource after a change, with what its events need. */
export interface Changed {
  readonly id: string
  readonly accountId: string
  readonly applicationId: string | null
  readonly status: string
  readonly sequence: number
  readonly webhookUrl: string | null
  readonly sealedWebhookSecret: string | null
  /** The resource as its events show it; of a charge, `ChangedFields`. */
  readonly data: unknown
}

/** A change as the outbox stores it. */
export interface OutboxEntry {
  readonly row: {
    readonly id: string
    readonly resource_id: string
    readonly account_id: string
    readonly application_id: string | null
    /** `<resource>.<method>`, the first two parts of the names of its events. */
    readonly kind: string
    /** The third parts, in order; none for a change without events. */
    readonly actions: ReadonlyArray<string>
    /** The names of its events that are dispatched. */
    readonly dispatched: ReadonlyArray<string>
    readonly status: string
    readonly sequence: number
    /** Epoch milliseconds. */
    readonly created_at: number
    /** Digests of the resource's `webhook_url`, if it has one. */
    readonly normalized_hash?: string
    readonly destination_hash?: string
  }
  readonly data: unknown
}

/** The entry of a change. Actions that make no event of the catalog with `kind` are left out (there is no `charge.card.emitted`). */
export const outboxEntry = (
  kind: string,
  actions: ReadonlyArray<string>,
  changed: Changed,
  next: () => Generated
): OutboxEntry => {
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
      dispatched: known.map((action) => `${kind}.${action}`).filter((event) => findEvent(event)?.dispatched === true),
      status: changed.status,
      sequence: changed.sequence,
      created_at: epochMs,
      ...(changed.webhookUrl === null
        ? undefined
        : {
            normalized_hash: textDigest(normalizeUrl(changed.webhookUrl)),
            destination_hash: textDigest(destinationOf(changed.webhookUrl))
          })
    },
    data: changed.data
  }
}

/**
 * The part of a statement that inserts the changes of the resources that a CTE returns, and their outbox rows. `insert` gives CTEs;
 * `rows` is a column that the statement selects: how many outbox rows it inserted.
 *
 * The version of the account's endpoints is read without a lock, in the snapshot of the change. No outbox row is inserted
 * where nothing can be delivered: without a dispatched event that an endpoint subscribes to, or that goes to a `webhook_url`.
 */
export const outbox = part(
  {
    entries: rows({
      id: uuid(),
      resource_id: uuid(),
      account_id: uuid(),
      application_id: nullable(uuid()),
      kind: text(),
      actions: names(),
      dispatched: names(),
      status: text(),
      sequence: integer(),
      created_at: instant(),
      normalized_hash: nullable(uuid()),
      destination_hash: nullable(uuid()),
      data: text()
    })
  },
  ({ entries }) => ({
    insert: (changed: Cte) => `
  events AS MATERIALIZED (
    SELECT e.* FROM ${entries} AS e
    WHERE (e.resource_id IN (SELECT id FROM ${changed})) IS TRUE
  ),
  inserted_changes AS (
    INSERT INTO changes (id, resource_id, account_id, application_id, kind, actions, status, sequence, data, created_at)
    SELECT id, resource_id, account_id, application_id, kind, actions, status, sequence, data, created_at FROM events
  ),
  inserted_outbox AS (
    INSERT INTO outbox (account_id, change_id, endpoints_version, normalized_hash, destination_hash)
    SELECT h.account_id, h.id, coalesce(v.version, 0), h.normalized_hash, h.destination_hash
    FROM events h LEFT JOIN webhook_endpoint_counters v ON v.account_id = h.account_id
    WHERE h.dispatched && v.events OR (h.destination_hash IS NOT NULL AND h.dispatched <> '{}')
    RETURNING change_id
  )`,
    rows: "(SELECT count(*)::integer FROM inserted_outbox) AS outbox_rows"
  }),
  (entries: ReadonlyArray<OutboxEntry>) => ({
    entries: entries.map(({ data, row }) => ({ ...row, data: JSON.stringify(data) }))
  })
)

/** The SQL of that part. */
export type OutboxPart = typeof outbox extends Part<never, infer Sql> ? Sql : never

/** The origin of a URL, which its deliveries share as their destination. */
export const destinationOf = (url: string): string => URL.parse(url)?.origin ?? url

/** The digest of a text, as the SQL function `text_digest` computes it. */
export const textDigest = (of: string): string => {
  const hex = hash("sha256", of, "hex")
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20, 32)}`
}
