/**
 * The webhook endpoints of `/v1`, and the event catalog.
 */
import { eventCatalog } from "@pix-payments/domain/EventCatalog"
import type { Refusal } from "@pix-payments/domain/Request"
import { decodeCreateWebhookEndpoint, decodeUpdateWebhookEndpoint } from "@pix-payments/domain/WebhookEndpoint"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { RequestRefused } from "../../Errors.ts"
import { toWebhookEndpoint, WebhookEndpoints } from "../../webhooks/WebhookEndpoints.ts"
import type { Handlers } from "../CompiledApi.ts"
import { refusedAs, webhookNotFound } from "../WireTranslation.ts"

export const handlers = Effect.gen(function* () {
  const endpoints = yield* WebhookEndpoints

  const found: Handlers<"webhooks"> = {
    list: ({ caller }) =>
      Effect.map(endpoints.list(caller.applicationId), (rows) => ({
        status: 200,
        body: { object: "list", data: rows.map(toWebhookEndpoint), has_more: false }
      })),

    create: ({ body, caller }) =>
      Effect.gen(function* () {
        const input = yield* accepted(decodeCreateWebhookEndpoint(body))
        return { status: 201, body: toWebhookEndpoint(yield* endpoints.create(caller, input)) }
      }).pipe(Effect.catchTags({ RequestRefused: refusedEndpoint })),

    update: ({ body, caller, params }) =>
      Effect.gen(function* () {
        const id = params["id"] ?? ""
        yield* endpoints.find(caller.applicationId, id)
        const changes = yield* accepted(decodeUpdateWebhookEndpoint(body))
        return { status: 200, body: toWebhookEndpoint(yield* endpoints.update(caller, id, changes)) }
      }).pipe(Effect.catchTags({ RequestRefused: refusedEndpoint, NotFoundError: webhookNotFound })),

    delete: ({ caller, params }) =>
      endpoints
        .remove(caller.applicationId, params["id"] ?? "")
        .pipe(Effect.as({ status: 204 }), Effect.catchTags({ NotFoundError: webhookNotFound })),

    events: () => Effect.succeed({ status: 200, body: { object: "list", data: eventCatalog, has_more: false } })
  }
  return found
})

const refusedEndpoint = refusedAs("VALIDATION_ERROR", "INVALID_WEBHOOK_EVENT", "INVALID_WEBHOOK_URL")

const accepted = <A>(decoded: Result.Result<A, Refusal>): Effect.Effect<A, RequestRefused> =>
  Result.match(decoded, {
    onSuccess: Effect.succeed,
    onFailure: (refusal) => Effect.fail(new RequestRefused(refusal))
  })
