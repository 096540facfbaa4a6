/**
 * The webhook endpoint routes of `/v1`, and the event catalog.
 */
import { eventCatalog } from "@pix-payments/domain/EventCatalog"
import { decodeCreateWebhookEndpoint, decodeUpdateWebhookEndpoint } from "@pix-payments/domain/WebhookEndpoint"
import * as Effect from "effect/Effect"
import { toWebhookEndpoint, WebhookEndpoints } from "../../webhooks/endpoints/WebhookEndpoints.ts"
import type { PublicHandlers } from "./PublicHandlers.ts"
import { decodeBody } from "../pipeline/RequestDecoding.ts"
import { refusedAs, webhookNotFound } from "../pipeline/WireTranslation.ts"

export const webhookEndpointHandlers = Effect.gen(function* () {
  const endpoints = yield* WebhookEndpoints

  const handlers: PublicHandlers<"webhooks"> = {
    list: ({ caller }) =>
      Effect.map(endpoints.list(caller.applicationId), (rows) => ({
        status: 200,
        body: { object: "list", data: rows.map(toWebhookEndpoint), has_more: false }
      })),

    create: ({ body, caller }) =>
      Effect.gen(function* () {
        const input = yield* decodeBody(body, decodeCreateWebhookEndpoint)
        return { status: 201, body: toWebhookEndpoint(yield* endpoints.create(caller, input)) }
      }).pipe(Effect.catchTags({ RequestRefused: refusedEndpoint })),

    update: ({ body, caller, params }) =>
      Effect.gen(function* () {
        const id = params.id
        yield* endpoints.find(caller.applicationId, id)
        const changes = yield* decodeBody(body, decodeUpdateWebhookEndpoint)
        return { status: 200, body: toWebhookEndpoint(yield* endpoints.update(caller, id, changes)) }
      }).pipe(Effect.catchTags({ RequestRefused: refusedEndpoint, NotFoundError: webhookNotFound })),

    delete: ({ caller, params }) =>
      endpoints
        .remove(caller, params.id)
        .pipe(Effect.as({ status: 204 }), Effect.catchTags({ NotFoundError: webhookNotFound })),

    events: () => Effect.succeed({ status: 200, body: { object: "list", data: eventCatalog, has_more: false } })
  }
  return handlers
})

const refusedEndpoint = refusedAs("VALIDATION_ERROR", "INVALID_WEBHOOK_EVENT", "INVALID_WEBHOOK_URL")
