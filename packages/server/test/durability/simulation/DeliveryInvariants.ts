/** Each event of a history reached each of its destinations, under one id. */
import { eventCatalog } from "@pix-payments/domain/EventCatalog"
import { normalizeUrl } from "@pix-payments/domain/PublicUrl"
import type { Callers } from "./Callers.ts"
import type { Database } from "./Database.ts"
import { isPoisoned } from "./HostileTenant.ts"
import type { Receivers } from "./Receivers.ts"
import { eventsOf } from "./Transitions.ts"

/** Checks all events and deliveries, at the end of a history. */
export const compareDeliveries = async (options: {
  readonly database: Database
  readonly callers: Callers
  readonly receivers: Receivers
  readonly attemptsInAll: number
  /** The states that each resource went through. */
  readonly moved: ReadonlyMap<string, ReadonlyArray<string>>
}): Promise<ReadonlyArray<string>> => {
  const {
    attemptsInAll,
    callers,
    database: { query },
    moved,
    receivers
  } = options
  const broken: Array<string> = []
  const expected = new Set<string>()
  // To an endpoint that was deleted before the fan-out there is none; its `webhook_url` then has its own.
  const allowed = new Set<string>()
  const expectedRows = await query<ExpectedRow>(
    `SELECT t.change_id, t.event, t.endpoint_id, t.normalized_url, w.deleted_at IS NOT NULL AS is_deleted
     FROM simulation_events t JOIN webhook_endpoints w ON w.id = t.endpoint_id`
  )
  const equal = new Set<string>()
  const equalDeleted = new Map<string, string>()
  for (const row of expectedRows) {
    if (isPoisoned(row.normalized_url)) continue
    const folding = `${row.change_id} ${row.event} ${row.normalized_url}`
    const delivery = `${row.change_id} ${row.event} ${row.endpoint_id}`
    if (!row.is_deleted) equal.add(folding)
    else equalDeleted.set(folding, delivery)
    if (dispatched.has(row.event)) (row.is_deleted ? allowed : expected).add(delivery)
  }
  /** Of these one at the least. */
  const either: Array<ReadonlyArray<string>> = []
  const changes = await query<ChangeRow>(
    `SELECT c.id, c.resource_id, c.kind, c.actions, c.status, c.sequence,
       coalesce((SELECT webhook_url FROM charges r WHERE r.id = c.resource_id),
         (SELECT webhook_url FROM payouts r WHERE r.id = c.resource_id)) AS webhook_url
     FROM changes c ORDER BY c.sequence, c.id`
  )
  const eventStates = new Map<string, Array<string>>()
  for (const change of changes) {
    const isMessage = change.actions.includes("message")
    if (!isMessage) eventStates.set(change.resource_id, [...(eventStates.get(change.resource_id) ?? []), change.status])
    const states = moved.get(change.resource_id) ?? []
    const step = `${change.kind.split(".")[0]} ${states[change.sequence - 2] ?? "-"}>${change.status}`
    const actions = eventsOf.get(step)
    if (!isMessage && actions?.includes(change.actions.join(" ")) !== true) {
      broken.push(`${change.resource_id} has an event of ${step} with "${change.actions.join(" ")}"`)
    }
    if (change.webhook_url === null || isPoisoned(change.webhook_url)) continue
    for (const action of change.actions) {
      const event = `${change.kind}.${action}`
      if (!dispatched.has(event)) continue
      const folding = `${change.id} ${event} ${normalizeUrl(change.webhook_url)}`
      if (equal.has(folding)) continue
      const delivery = `${change.id} ${event} ${change.webhook_url}`
      const deleted = equalDeleted.get(folding)
      if (deleted === undefined) expected.add(delivery)
      else {
        allowed.add(delivery)
        either.push([deleted, delivery])
      }
    }
  }
  // DSP-12: nobody hears of a dispute of an exception.
  const silent = await query<{ id: string }>("SELECT id FROM disputes WHERE charge_id IS NULL")
  const silentIds = new Set(silent.map(({ id }) => id))
  for (const [id, states] of moved) {
    if (silentIds.has(id)) continue
    const [first, ...later] = states
    const all = first === "processing" && !eventStates.get(id)?.includes("processing") ? later : states
    if ((eventStates.get(id) ?? []).join(">") !== all.join(">")) {
      broken.push(`${id} went through ${all.join(">")}, and has events of ${(eventStates.get(id) ?? []).join(">")}`)
    }
  }
  const deliveries = await query<DeliveryRow>(
    `SELECT d.id, d.change_id, d.event, d.endpoint_id, d.url, d.status, d.attempts_made, d.curve_from,
       w.deleted_at IS NOT NULL AS is_deleted
     FROM deliveries d LEFT JOIN webhook_endpoints w ON w.id = d.endpoint_id`
  )
  const made = new Set<string>()
  for (const { attempts_made, change_id, curve_from, endpoint_id, event, id, is_deleted, status, url } of deliveries) {
    if (isPoisoned(url)) continue
    const what = `${change_id} ${event} ${endpoint_id ?? url}`
    made.add(what)
    if (!expected.delete(what) && !allowed.delete(what)) broken.push(`delivery ${id} is one too many: ${what}`)
    const accepted = receivers.received.get(id)?.accepted ?? 0
    if (status === "delivered" && accepted === 0) broken.push(`delivery ${id} is delivered, and nobody took it`)
    if (status === "failed" && attempts_made - curve_from < attemptsInAll) {
      broken.push(`delivery ${id} is given up after ${attempts_made - curve_from} attempts`)
    }
    if (status === "canceled" && is_deleted !== true)
      broken.push(`delivery ${id} is canceled, and its endpoint is there`)
  }
  for (const what of expected) broken.push(`no event of ${what}`)
  for (const ways of either) if (!ways.some((what) => made.has(what))) broken.push(`no event of ${ways.join(" or ")}`)
  for (const { error } of await query<{ error: string }>(setAsideRows, [
    callers.merchants
      .filter(({ isHostile }) => isHostile)
      .map(({ accountId }) => accountId)
      .join(",")
  ]))
    broken.push(`set aside: ${error}`)
  return broken
}

interface ChangeRow {
  readonly id: string
  readonly resource_id: string
  readonly kind: string
  readonly actions: ReadonlyArray<string>
  readonly status: string
  readonly sequence: number
  readonly webhook_url: string | null
}

interface ExpectedRow {
  readonly change_id: string
  readonly event: string
  readonly endpoint_id: string
  readonly normalized_url: string
  readonly is_deleted: boolean
}

interface DeliveryRow {
  readonly id: string
  readonly change_id: string
  readonly event: string
  readonly endpoint_id: string | null
  readonly url: string
  readonly status: string
  readonly attempts_made: number
  readonly curve_from: number
  readonly is_deleted: boolean | null
}

const dispatched: ReadonlySet<string> = new Set(
  eventCatalog.flatMap(({ dispatched: isDispatched, event }) => (isDispatched ? [event] : []))
)

/** Only a hostile tenant makes single rows fail. */
const setAsideRows = `
  SELECT error FROM outbox_failures WHERE account_id <> ALL (string_to_array($1, ',')::uuid[])
  UNION ALL SELECT reason FROM deliveries WHERE account_id <> ALL (string_to_array($1, ',')::uuid[])
    AND reason IS NOT NULL AND reason <> 'endpoint deleted'`
