/**
 * Deliveries and their attempts, the endpoints that they go to, and sending again, for operators.
 */
import {
  decodeResendFailed,
  DeliveriesGroup,
  type Delivery,
  DeliveryActionsGroup
} from "@pix-payments/api/operator/Deliveries"
import {
  type OutboxFailure,
  OutboxFailureActionsGroup,
  OutboxFailuresGroup
} from "@pix-payments/api/operator/OutboxFailures"
import {
  decodeUpdateEndpointState,
  type OperatorWebhookEndpoint,
  WebhookEndpointActionsGroup,
  WebhookEndpointsGroup
} from "@pix-payments/api/operator/WebhookEndpoints"
import { OperatorApi } from "@pix-payments/api/OperatorApi"
import { parseInstant } from "@pix-payments/domain/Instant"
import { pageOf } from "@pix-payments/domain/List"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Layer from "effect/Layer"
import { Accounts } from "../../accounts/Accounts.ts"
import { AuditLog } from "../../operations/AuditLog.ts"
import { type DeliveryRow, DeliveryStore } from "../../webhooks/DeliveryStore.ts"
import { type OutboxFailureRow, OutboxFailures } from "../../webhooks/OutboxFailures.ts"
import { type HealthRow, toWebhookEndpoint, WebhookEndpoints } from "../../webhooks/WebhookEndpoints.ts"
import { decodeBody, jsonResponse } from "../Json.ts"
import { invalidState, notFound, refusedAs, serviceUnavailable, unknownCursor } from "../WireTranslation.ts"
import { knownId, pageFrom } from "./Requests.ts"

const deliveriesLayer = HttpApiBuilder.group(
  OperatorApi,
  DeliveriesGroup.identifier,
  Effect.fn(function* (handlers) {
    const deliveries = yield* DeliveryStore

    return handlers
      .handle("list", ({ query }) =>
        Effect.gen(function* () {
          const page = pageFrom(query)
          const rows = yield* deliveries.list(
            {
              status: query.status,
              resourceId: query.resource_id,
              endpointId: query.endpoint_id,
              event: query.event
            },
            page
          )
          return pageOf(rows.map(toDelivery), page.limit)
        }).pipe(Effect.catchTags({ UnknownCursor: unknownCursor, Unavailable: serviceUnavailable }))
      )
      .handle("retrieve", ({ params }) =>
        Effect.gen(function* () {
          const delivery = yield* deliveries.find(yield* knownId(params.id))
          if (delivery === undefined) return yield* notFound()
          const attempts = yield* deliveries.attemptsOf(delivery.id)
          return {
            ...toDelivery(delivery),
            attempts: attempts.map((attempt) => ({ ...attempt, at: attempt.at.toISOString() }))
          }
        }).pipe(Effect.catchTags({ NotFoundError: notFound, Unavailable: serviceUnavailable }))
      )
  })
)

const actionsLayer = HttpApiBuilder.group(
  OperatorApi,
  DeliveryActionsGroup.identifier,
  Effect.fn(function* (handlers) {
    const deliveries = yield* DeliveryStore
    const audit = yield* AuditLog

    return handlers
      .handleRaw("resend", ({ params }) =>
        Effect.gen(function* () {
          const id = yield* knownId(params.id)
          const row = yield* deliveries.resend(id).pipe(audit.after("deliveryActions.resend"))
          return jsonResponse(toDelivery(row), 202)
        }).pipe(
          Effect.catchTags({
            NotFoundError: notFound,
            InvalidStateError: invalidState,
            Unavailable: serviceUnavailable
          })
        )
      )
      .handleRaw("resendFailed", ({ request }) =>
        Effect.gen(function* () {
          const { endpoint_id, resource_id, since } = yield* decodeBody(request, decodeResendFailed)
          const { count } = yield* deliveries
            .resendFailed({
              endpointId: endpoint_id ?? undefined,
              resourceId: resource_id ?? undefined,
              sinceMs: Math.floor(parseInstant(since) ?? 0)
            })
            .pipe(
              Effect.map((resent) => ({ id: endpoint_id ?? resource_id ?? "", count: resent })),
              audit.after("deliveryActions.resendFailed")
            )
          return jsonResponse({ object: "resend", deliveries: count }, 202)
        }).pipe(Effect.catchTags({ RequestRefused: refusedAs("VALIDATION_ERROR"), Unavailable: serviceUnavailable }))
      )
  })
)

const endpointsLayer = HttpApiBuilder.group(
  OperatorApi,
  WebhookEndpointsGroup.identifier,
  Effect.fn(function* (handlers) {
    const accounts = yield* Accounts
    const endpoints = yield* WebhookEndpoints

    return handlers.handle("list", ({ params }) =>
      Effect.gen(function* () {
        const application = yield* accounts.getApplication(yield* knownId(params.id))
        const rows = yield* endpoints.listWithHealth(application.id)
        return { object: "list" as const, data: rows.map(toOperatorEndpoint), has_more: false }
      }).pipe(Effect.catchTags({ NotFoundError: notFound, Unavailable: serviceUnavailable }))
    )
  })
)

const endpointActionsLayer = HttpApiBuilder.group(
  OperatorApi,
  WebhookEndpointActionsGroup.identifier,
  Effect.fn(function* (handlers) {
    const endpoints = yield* WebhookEndpoints
    const audit = yield* AuditLog

    return handlers.handleRaw("update", ({ params, request }) =>
      Effect.gen(function* () {
        const id = yield* knownId(params.id)
        const { active } = yield* decodeBody(request, decodeUpdateEndpointState)
        const row = yield* endpoints.setEnabled(id, active).pipe(audit.after("webhookEndpointActions.update"))
        return jsonResponse(toOperatorEndpoint(row), 200)
      }).pipe(
        Effect.catchTags({
          RequestRefused: refusedAs("VALIDATION_ERROR"),
          NotFoundError: notFound,
          Unavailable: serviceUnavailable
        })
      )
    )
  })
)

const failuresLayer = HttpApiBuilder.group(
  OperatorApi,
  OutboxFailuresGroup.identifier,
  Effect.fn(function* (handlers) {
    const failures = yield* OutboxFailures

    return handlers.handle("list", ({ query }) =>
      Effect.gen(function* () {
        const page = pageFrom(query)
        return pageOf((yield* failures.list(page)).map(toOutboxFailure), page.limit)
      }).pipe(Effect.catchTags({ UnknownCursor: unknownCursor, Unavailable: serviceUnavailable }))
    )
  })
)

const failureActionsLayer = HttpApiBuilder.group(
  OperatorApi,
  OutboxFailureActionsGroup.identifier,
  Effect.fn(function* (handlers) {
    const failures = yield* OutboxFailures
    const audit = yield* AuditLog

    return handlers.handleRaw("retry", ({ params }) =>
      Effect.gen(function* () {
        const id = yield* knownId(params.id)
        const row = yield* failures.retry(id).pipe(audit.after("outboxFailureActions.retry"))
        return jsonResponse(toOutboxFailure(row), 202)
      }).pipe(Effect.catchTags({ NotFoundError: notFound, Unavailable: serviceUnavailable }))
    )
  })
)

export const layer = Layer.mergeAll(
  deliveriesLayer,
  actionsLayer,
  endpointsLayer,
  endpointActionsLayer,
  failuresLayer,
  failureActionsLayer
)

const toOutboxFailure = (row: OutboxFailureRow): OutboxFailure => ({
  id: row.id,
  object: "outbox_failure",
  change_id: row.change_id,
  account_id: row.account_id,
  endpoint_id: row.endpoint_id,
  error: row.error,
  failures: row.failures,
  first_failed_at: row.first_failed_at.toISOString(),
  last_failed_at: row.last_failed_at.toISOString(),
  retried_at: row.retried_at?.toISOString() ?? null
})

/** A delivery as operators see it. */
export const toDelivery = (row: DeliveryRow): Delivery => ({
  id: row.id,
  object: "delivery",
  status: row.status,
  event: row.event,
  resource_id: row.resource_id,
  endpoint_id: row.endpoint_id,
  url: row.url,
  attempts_made: row.attempts_made,
  next_attempt_at: row.status === "scheduled" ? (row.due_at?.toISOString() ?? null) : null,
  reason: row.reason,
  created_at: row.created_at.toISOString()
})

const toOperatorEndpoint = (row: HealthRow): OperatorWebhookEndpoint => {
  const attempts = Number(row.successes + row.failures)
  return {
    ...toWebhookEndpoint(row),
    consecutive_failures: row.consecutive_failures,
    success_rate: attempts === 0 ? null : Number(row.successes) / attempts,
    last_success_at: row.last_success_at?.toISOString() ?? null,
    last_failure_at: row.last_failure_at?.toISOString() ?? null
  }
}
