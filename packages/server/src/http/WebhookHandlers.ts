/**
 * The webhook endpoints of `/v1`, and the event catalog.
 */
import { PaymentsApi, WebhooksGroup } from "@pix-payments/api/PaymentsApi"
import { CurrentCaller } from "@pix-payments/api/Security"
import { eventCatalog } from "@pix-payments/domain/EventCatalog"
import { decodeCreateWebhookEndpoint, decodeUpdateWebhookEndpoint } from "@pix-payments/domain/WebhookEndpoint"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { toWebhookEndpoint, WebhookEndpoints } from "../webhooks/WebhookEndpoints.ts"
import { decodeBody, jsonResponse } from "./Json.ts"
import { refusedAs, serviceUnavailable, webhookNotFound } from "./WireTranslation.ts"

export const layer = HttpApiBuilder.group(
  PaymentsApi,
  WebhooksGroup.identifier,
  Effect.fn(function* (handlers) {
    const endpoints = yield* WebhookEndpoints

    return handlers
      .handle("list", () =>
        Effect.gen(function* () {
          const { applicationId } = yield* CurrentCaller
          const rows = yield* endpoints.list(applicationId)
          return { object: "list" as const, data: rows.map(toWebhookEndpoint), has_more: false }
        }).pipe(Effect.catchTags({ Unavailable: serviceUnavailable }))
      )
      .handleRaw(
        "create",
        ({ request }) =>
          Effect.gen(function* () {
            const caller = yield* CurrentCaller
            const row = yield* endpoints.create(caller, yield* decodeBody(request, decodeCreateWebhookEndpoint))
            return jsonResponse(toWebhookEndpoint(row), 201)
          }).pipe(Effect.catchTags({ RequestRefused: refusedEndpoint, Unavailable: serviceUnavailable })),
        { uninterruptible: true }
      )
      .handleRaw(
        "update",
        ({ params, request }) =>
          Effect.gen(function* () {
            const { applicationId } = yield* CurrentCaller
            yield* endpoints.find(applicationId, params.id)
            const changes = yield* decodeBody(request, decodeUpdateWebhookEndpoint)
            return jsonResponse(toWebhookEndpoint(yield* endpoints.update(applicationId, params.id, changes)), 200)
          }).pipe(
            Effect.catchTags({
              RequestRefused: refusedEndpoint,
              NotFoundError: webhookNotFound,
              Unavailable: serviceUnavailable
            })
          ),
        { uninterruptible: true }
      )
      .handle("delete", ({ params }) =>
        Effect.gen(function* () {
          const { applicationId } = yield* CurrentCaller
          yield* endpoints.remove(applicationId, params.id)
        }).pipe(Effect.catchTags({ NotFoundError: webhookNotFound, Unavailable: serviceUnavailable }))
      )
      .handle("events", () => Effect.succeed({ object: "list" as const, data: eventCatalog, has_more: false }))
  })
)

const refusedEndpoint = refusedAs("VALIDATION_ERROR", "INVALID_WEBHOOK_EVENT", "INVALID_WEBHOOK_URL")
