/**
 * Registered endpoints, as their application uses them: where its events go, besides the `webhook_url` of each resource.
 *
 * Guarantees:
 * - an application sees and changes only its own endpoints, and has a bounded number of them;
 * - a secret is sealed at rest and never returned;
 * - deliveries that fall due while their endpoint is paused are paused; resuming reschedules them, deleting cancels them;
 * - deliveries read their endpoint when they are claimed or shown, so that no change takes longer for what waits.
 *
 * Rules: END-1 to END-9.
 */
import { normalizeUrl } from "@pix-payments/domain/PublicUrl"
import { isUuid } from "@pix-payments/domain/Uuid"
import type {
  CreateWebhookEndpoint,
  UpdateWebhookEndpoint,
  WebhookEndpoint
} from "@pix-payments/domain/WebhookEndpoint"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SqlClient } from "effect/sql/SqlClient"
import type { Confirmed } from "../../accounts/Caller.ts"
import { NotFoundError, RequestRefused } from "../../base/Errors.ts"
import { destinationOf } from "../../events/Outbox.ts"
import { Ids } from "../../base/Ids.ts"
import { Secrets } from "../../base/Secrets.ts"
import { Settings } from "../../base/Settings.ts"
import { runToCompletion } from "../../database/RunToCompletion.ts"
import { statement, value } from "../../database/statements/Statement.ts"
import { orUnavailable, type Unavailable } from "../../database/Unavailable.ts"
import { PausedDeliveries } from "../deliveries/PausedDeliveries.ts"
import { PublicAddress } from "../../base/network/PublicAddress.ts"

export interface EndpointRow {
  readonly id: string
  readonly url: string
  readonly description: string | null
  readonly events: ReadonlyArray<string>
  readonly active: boolean
  readonly secret: string | null
  readonly created_at: Date
}

export class WebhookEndpoints extends Context.Service<
  WebhookEndpoints,
  {
    readonly list: (applicationId: string) => Effect.Effect<ReadonlyArray<EndpointRow>, Unavailable>
    readonly find: (applicationId: string, id: string) => Effect.Effect<EndpointRow, NotFoundError | Unavailable>
    readonly create: (
      caller: Confirmed,
      input: CreateWebhookEndpoint
    ) => Effect.Effect<EndpointRow, RequestRefused | Unavailable>
    readonly update: (
      caller: Confirmed,
      id: string,
      changes: UpdateWebhookEndpoint
    ) => Effect.Effect<EndpointRow, NotFoundError | RequestRefused | Unavailable>
    readonly remove: (caller: Confirmed, id: string) => Effect.Effect<void, NotFoundError | Unavailable>
  }
>()("@pix-payments/server/WebhookEndpoints") {
  static readonly layer = Layer.effect(
    WebhookEndpoints,
    Effect.gen(function* () {
      const sql = yield* SqlClient
      const ids = yield* Ids
      const secrets = yield* Secrets
      const addresses = yield* PublicAddress
      const paused = yield* PausedDeliveries
      const { webhookEndpointsPerApplication } = yield* Settings

      const checkAddress = (url: string | undefined, { account }: Confirmed) =>
        url === undefined
          ? Effect.void
          : Effect.flatMap(addresses.mayReceive(url, account.id), (may) =>
              may ? Effect.void : Effect.fail(new RequestRefused({ code: "INVALID_WEBHOOK_URL", details: ["url"] }))
            )

      const find = Effect.fn("WebhookEndpoints.find")(function* (applicationId: string, id: string) {
        const [row] = isUuid(id) ? yield* sql.unsafe<EndpointRow>(...findOwn({ id, applicationId })) : []
        return row ?? (yield* new NotFoundError())
      }, orUnavailable)

      return WebhookEndpoints.of({
        find,

        list: (applicationId) =>
          orUnavailable(
            sql.unsafe<EndpointRow>(
              `SELECT ${endpointColumns} FROM webhook_endpoints
               WHERE application_id = $1::uuid AND deleted_at IS NULL ORDER BY id DESC`,
              [applicationId]
            )
          ),

        create: Effect.fn("WebhookEndpoints.create")(function* (caller, input) {
          yield* checkAddress(input.url, caller)
          const { epochMs, id } = ids.next()
          const insert = sql.unsafe<EndpointRow>(
            ...insertOne({
              id,
              accountId: caller.account.id,
              applicationId: caller.applicationId,
              url: input.url,
              normalizedUrl: normalizeUrl(input.url),
              destination: destinationOf(input.url),
              description: input.description ?? null,
              events: JSON.stringify([...new Set(input.events)]),
              secret: typeof input.secret === "string" ? secrets.seal(input.secret, { kind: "webhook", id }) : null,
              createdAtMs: epochMs,
              maxEndpoints: webhookEndpointsPerApplication
            })
          )
          // The lock serialises the count of concurrent calls.
          const lock = sql.unsafe("SELECT id FROM applications WHERE id = $1::uuid FOR NO KEY UPDATE", [
            caller.applicationId
          ])
          const [row] = yield* runToCompletion(
            sql,
            caller.account.id
          )(sql.withTransaction(Effect.andThen(lock, insert)))
          return row ?? (yield* new RequestRefused({ code: "VALIDATION_ERROR", details: undefined }))
        }),

        update: Effect.fn("WebhookEndpoints.update")(function* (caller, id, changes) {
          yield* checkAddress(changes.url, caller)
          const { description, events, secret, url } = changes
          const update = sql.unsafe<EndpointRow>(
            ...updateOwn({
              id,
              applicationId: caller.applicationId,
              url: url ?? null,
              normalizedUrl: url === undefined ? null : normalizeUrl(url),
              destination: url === undefined ? null : destinationOf(url),
              hasDescription: description !== undefined,
              description: description ?? null,
              events: events === undefined ? null : JSON.stringify([...new Set(events)]),
              hasSecret: secret !== undefined,
              secret: typeof secret === "string" ? secrets.seal(secret, { kind: "webhook", id }) : null,
              active: changes.active ?? null
            })
          )
          const rows = yield* runToCompletion(sql, caller.account.id)(update)
          if (changes.active === true) paused.wake()
          return rows[0] ?? (yield* new NotFoundError())
        }),

        remove: Effect.fn("WebhookEndpoints.remove")(function* (caller, id) {
          yield* find(caller.applicationId, id)
          const removed = yield* runToCompletion(
            sql,
            caller.account.id
          )(sql.unsafe(...deleteOwn({ id, applicationId: caller.applicationId })))
          paused.wake()
          if (removed.length === 0) return yield* new NotFoundError()
        })
      })
    })
  )
}

/** An endpoint as the API shows it. */
export const toWebhookEndpoint = (row: EndpointRow): WebhookEndpoint => ({
  id: row.id,
  object: "webhook",
  url: row.url,
  description: row.description,
  events: row.events,
  active: row.active,
  has_secret: row.secret !== null,
  created_at: row.created_at.toISOString()
})

/** The columns of an `EndpointRow`. An endpoint that an operator disabled is shown as not active. */
export const endpointColumns =
  "id, url, description, events, active AND disabled_at IS NULL AS active, secret, created_at"

const ownParts = { id: value("uuid"), applicationId: value("uuid") }

const isOwn = (p: { readonly [Name in keyof typeof ownParts]: string }): string =>
  `id = ${p.id} AND application_id = ${p.applicationId} AND deleted_at IS NULL`

const findOwn = statement(ownParts, (p) => `SELECT ${endpointColumns} FROM webhook_endpoints WHERE ${isOwn(p)}`)

// A deleted endpoint fails no more.
const deleteOwn = statement(
  ownParts,
  (p) => `
  WITH removed AS (UPDATE webhook_endpoints SET deleted_at = now() WHERE ${isOwn(p)} RETURNING id),
  reset AS (
    UPDATE webhook_endpoint_health h SET consecutive_failures = 0 FROM removed r
    WHERE h.endpoint_id = r.id AND h.consecutive_failures > 0
  )
  SELECT id FROM removed`
)

const insertOne = statement(
  {
    id: value("uuid"),
    accountId: value("uuid"),
    applicationId: value("uuid"),
    url: value("text"),
    normalizedUrl: value("text"),
    destination: value("text"),
    description: value("text"),
    events: value("text"),
    secret: value("text"),
    createdAtMs: value("double precision"),
    maxEndpoints: value("integer")
  },
  (p) => `
  INSERT INTO webhook_endpoints (id, account_id, application_id, url, normalized_url, destination, description, events,
    active, secret, created_at)
  SELECT ${p.id}, ${p.accountId}, ${p.applicationId}, ${p.url}, ${p.normalizedUrl}, ${p.destination}, ${p.description},
    ARRAY(SELECT json_array_elements_text(${p.events}::json)), true, ${p.secret}, to_timestamp(${p.createdAtMs} / 1000)
  WHERE (
    SELECT count(*) FROM webhook_endpoints WHERE application_id = ${p.applicationId} AND deleted_at IS NULL
  ) < ${p.maxEndpoints}
  RETURNING ${endpointColumns}`
)

const updateOwn = statement(
  {
    ...ownParts,
    url: value("text"),
    normalizedUrl: value("text"),
    destination: value("text"),
    hasDescription: value("boolean"),
    description: value("text"),
    events: value("text"),
    hasSecret: value("boolean"),
    secret: value("text"),
    active: value("boolean")
  },
  (p) => `
  UPDATE webhook_endpoints SET
    url = coalesce(${p.url}, url), normalized_url = coalesce(${p.normalizedUrl}, normalized_url),
    destination = coalesce(${p.destination}, destination),
    description = CASE WHEN ${p.hasDescription} THEN ${p.description} ELSE description END,
    events = CASE WHEN ${p.events} IS NULL THEN events ELSE ARRAY(SELECT json_array_elements_text(${p.events}::json)) END,
    secret = CASE WHEN ${p.hasSecret} THEN ${p.secret} ELSE secret END,
    active = coalesce(${p.active}, active)
  WHERE ${isOwn(p)}
  RETURNING ${endpointColumns}`
)
