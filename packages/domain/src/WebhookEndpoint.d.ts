/**
 * A registered address that receives the events it subscribed to, from all resources of its application.
 *
 * Source: payments-api-v1.md "webhook endpoint", "POST /v1/webhooks", "PATCH"; decisions.md "Values".
 */
import * as Schema from "effect/Schema";
/** An endpoint as the API shows it. The secret is never returned. */
export declare const WebhookEndpoint: Schema.Struct<{
    readonly id: Schema.String;
    readonly object: Schema.Literal<"webhook">;
    readonly url: Schema.String;
    readonly description: Schema.NullOr<Schema.String>;
    readonly events: Schema.$Array<Schema.String>;
    readonly active: Schema.Boolean;
    readonly has_secret: Schema.Boolean;
    readonly created_at: Schema.String;
}>;
export type WebhookEndpoint = typeof WebhookEndpoint.Type;
/** What `POST /v1/webhooks` takes. */
export declare const CreateWebhookEndpoint: Schema.Struct<{
    readonly url: Schema.String;
    readonly events: Schema.$Array<Schema.String>;
    readonly description: Schema.optionalKey<Schema.NullOr<Schema.String>>;
    readonly secret: Schema.optionalKey<Schema.NullOr<Schema.String>>;
}>;
export type CreateWebhookEndpoint = typeof CreateWebhookEndpoint.Type;
/** What `PATCH /v1/webhooks/{id}` takes: `null` clears `secret` and `description`. */
export declare const UpdateWebhookEndpoint: Schema.Struct<{
    readonly url: Schema.optionalKey<Schema.String>;
    readonly events: Schema.optionalKey<Schema.$Array<Schema.String>>;
    readonly description: Schema.optionalKey<Schema.NullOr<Schema.String>>;
    readonly secret: Schema.optionalKey<Schema.NullOr<Schema.String>>;
    readonly active: Schema.optionalKey<Schema.Boolean>;
}>;
export type UpdateWebhookEndpoint = typeof UpdateWebhookEndpoint.Type;
export declare const decodeCreateWebhookEndpoint: (body: unknown) => import("effect/Result").Result<{
    readonly url: string;
    readonly events: readonly string[];
    readonly description?: string | null;
    readonly secret?: string | null;
}, import("./Request.ts").Refusal>;
export declare const decodeUpdateWebhookEndpoint: (body: unknown) => import("effect/Result").Result<{
    readonly url?: string;
    readonly events?: readonly string[];
    readonly description?: string | null;
    readonly secret?: string | null;
    readonly active?: boolean;
}, import("./Request.ts").Refusal>;
