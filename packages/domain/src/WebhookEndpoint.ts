/**
 * The webhook endpoint: a registered address that receives the events it subscribed to. END-1 to END-9.
 */
import * as Schema from "effect/Schema"
import { failsWith } from "./ErrorCode.ts"
import { eventNames, isEventName } from "./EventCatalog.ts"
import { Instant } from "./Instant.ts"
import { WebhookUrl } from "./PublicUrl.ts"
import { decoder, distinctUpTo, nullable } from "./Request.ts"
import { text } from "./Text.ts"

/** An endpoint as the API shows it. The secret is never returned. */
export const WebhookEndpoint = Schema.Struct({
  id: Schema.String.annotate({ format: "uuid" }),
  object: Schema.Literal("webhook"),
  url: Schema.String,
  description: Schema.NullOr(Schema.String),
  events: Schema.Array(Schema.String),
  active: Schema.Boolean.annotate({ description: "False pauses deliveries: they wait." }),
  has_secret: Schema.Boolean,
  created_at: Instant
}).annotate({ identifier: "WebhookEndpoint" })
export type WebhookEndpoint = typeof WebhookEndpoint.Type

/** Repeats are removed before the names are counted. */
const SubscribedEvents = distinctUpTo(
  64,
  Schema.String.check(
    Schema.makeFilter(isEventName, {
      expected: "an event of the catalog, as charge.pix.paid",
      ...failsWith("INVALID_WEBHOOK_EVENT"),
      toJsonSchema: () => ({ enum: [...eventNames] })
    })
  )
)

const Secret = text(8, 255)

/** The body of `POST /v1/webhooks`. */
export const CreateWebhookEndpoint = Schema.Struct({
  url: WebhookUrl,
  events: SubscribedEvents,
  description: nullable(text(0, 255)),
  secret: nullable(Secret)
}).annotate({ identifier: "CreateWebhookEndpoint" })
export type CreateWebhookEndpoint = typeof CreateWebhookEndpoint.Type

/** The body of `PATCH /v1/webhooks/{id}`: `null` clears `secret` and `description` (API-6). */
export const UpdateWebhookEndpoint = Schema.Struct({
  url: Schema.optionalKey(WebhookUrl),
  events: Schema.optionalKey(SubscribedEvents),
  description: nullable(text(0, 255)),
  secret: nullable(Secret),
  active: Schema.optionalKey(Schema.Boolean)
}).annotate({ identifier: "UpdateWebhookEndpoint" })
export type UpdateWebhookEndpoint = typeof UpdateWebhookEndpoint.Type

export const decodeCreateWebhookEndpoint = decoder(CreateWebhookEndpoint)
export const decodeUpdateWebhookEndpoint = decoder(UpdateWebhookEndpoint)
