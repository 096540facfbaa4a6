/**
 * The operator routes of deliveries, webhook endpoints and outbox failures.
 */
import {
  decodeResendFailed,
  Delivery,
  type DeliveryAttempt,
  type DeliveryStatus,
  type ResendFailed
} from "@pix-payments/api/operator/Deliveries"
import type { OutboxFailure } from "@pix-payments/api/operator/OutboxFailures"
import { decodeUpdateEndpointState, type OperatorWebhookEndpoint } from "@pix-payments/api/operator/WebhookEndpoints"
import * as Effect from "effect/Effect"
import { Accounts } from "../../../accounts/Accounts.ts"
import { AuditLog, changeOf } from "../../../operations/AuditLog.ts"
import { type AttemptRow, type DeliveryRow, DeliveryStore } from "../../../webhooks/deliveries/DeliveryStore.ts"
import type { DeliveryFilters } from "../../../webhooks/deliveries/DeliveryLists.ts"
import { type OutboxFailureRow, OutboxFailures } from "../../../webhooks/fan-out/OutboxFailures.ts"
import { TestDeliveries } from "../../../webhooks/endpoints/TestDeliveries.ts"
import { EndpointHealth, type HealthRow } from "../../../webhooks/endpoints/EndpointHealth.ts"
import { toWebhookEndpoint } from "../../../webhooks/endpoints/WebhookEndpoints.ts"
import { decodeBody } from "../../pipeline/RequestDecoding.ts"
import { invalidState, notFound, refusedAs, unknownCursor } from "../../pipeline/WireTranslation.ts"
import { answer } from "../../pipeline/Answer.ts"
import { ofAccount } from "../../../database/statements/Paging.ts"
import { countAnswer, createdBetween, instantFrom, listAnswer, pageFrom, walkedAnswer } from "../../pipeline/Lists.ts"
import { csvAnswers } from "../Csv.ts"
import { knownId, type OperatorHandlers } from "../OperatorHandlers.ts"

export const deliveryHandlers = Effect.gen(function* () {
  const csvAnswer = yield* csvAnswers
  const deliveries = yield* DeliveryStore

  const handlers: OperatorHandlers<"deliveries"> = {
    list: ({ query }) =>
      deliveries.list(filtersOf(query), pageFrom(query)).pipe(
        ofAccount(query.account_id),
        Effect.map((page) => walkedAnswer(page, toDelivery)),
        Effect.catchTags({ UnknownCursor: unknownCursor })
      ),
    summary: ({ query }) =>
      deliveries.count(filtersOf(query)).pipe(ofAccount(query.account_id), Effect.map(countAnswer)),
    export: ({ caller, query }) =>
      csvAnswer({
        caller,
        columns: deliveryColumns,
        schema: Delivery,
        read: (page) => ofAccount(query.account_id)(deliveries.list(filtersOf(query), page)),
        toItem: toDelivery
      }),
    retrieve: ({ params }) =>
      Effect.gen(function* () {
        const delivery = yield* deliveries.find(yield* knownId(params))
        if (delivery === undefined) return yield* notFound()
        const attempts = yield* deliveries.attemptsOf(delivery.id)
        return answer(200, {
          ...toDelivery(delivery),
          attempts: attempts.map(toAttempt)
        })
      }).pipe(Effect.catchTags({ NotFoundError: notFound }))
  }
  return handlers
})

/** The filters of a query, or of a body, which may have `null` for none. */
const filtersOf = (asked: Omit<ResendFailed, "status"> & { readonly status?: DeliveryStatus }): DeliveryFilters => ({
  status: asked.status,
  resourceId: asked.resource_id ?? undefined,
  endpointId: asked.endpoint_id ?? undefined,
  event: asked.event ?? undefined,
  ...createdBetween(asked)
})

const deliveryColumns: Readonly<Record<string, (delivery: Delivery) => string | number | null>> = {
  id: ({ id }) => id,
  created_at: (delivery) => delivery.created_at,
  event: ({ event }) => event,
  resource_id: (delivery) => delivery.resource_id,
  endpoint_id: (delivery) => delivery.endpoint_id,
  url: ({ url }) => url,
  status: ({ status }) => status,
  attempts_made: (delivery) => delivery.attempts_made,
  next_attempt_at: (delivery) => delivery.next_attempt_at,
  reason: ({ reason }) => reason
}

export const deliveryActionHandlers = Effect.gen(function* () {
  const deliveries = yield* DeliveryStore
  const audit = yield* AuditLog

  const handlers: OperatorHandlers<"deliveryActions"> = {
    resend: ({ params }) =>
      Effect.gen(function* () {
        const id = yield* knownId(params)
        const row = yield* deliveries.resend(id).pipe(audit.recordAfter("deliveryActions.resend"))
        return answer(202, toDelivery(row))
      }).pipe(
        Effect.catchTags({
          NotFoundError: notFound,
          InvalidStateError: invalidState
        })
      ),
    resendFailed: ({ body }) =>
      Effect.gen(function* () {
        const filter = yield* decodeBody(body, decodeResendFailed)
        const { account_id, dry_run: isDryRun = false, endpoint_id, resource_id, since } = filter
        const resend = deliveries
          .resendFailed({ ...filtersOf(filter), sinceMs: Math.floor(instantFrom(since) ?? 0), isDryRun })
          .pipe(ofAccount(account_id ?? undefined))
        // Recorded before the first turn, because each turn commits.
        const entry = audit.recordAfter("deliveryActions.resendFailed", { after: filter })
        if (!isDryRun) yield* entry(Effect.succeed({ id: endpoint_id ?? resource_id ?? account_id ?? null }))
        const { count, hasMore } = yield* resend
        return answer(202, { object: "resend" as const, count, has_more: hasMore, dry_run: isDryRun })
      }).pipe(Effect.catchTags({ RequestRefused: refusedAs("VALIDATION_ERROR") }))
  }
  return handlers
})

export const webhookEndpointHandlers = Effect.gen(function* () {
  const accounts = yield* Accounts
  const endpoints = yield* EndpointHealth

  const handlers: OperatorHandlers<"webhookEndpoints"> = {
    list: ({ params }) =>
      Effect.gen(function* () {
        const application = yield* accounts.getApplication(yield* knownId(params))
        const rows = yield* endpoints.ofApplication(application.id)
        return answer(200, { object: "list" as const, data: rows.map(toOperatorEndpoint), has_more: false })
      }).pipe(Effect.catchTags({ NotFoundError: notFound })),
    listAll: ({ query }) =>
      Effect.gen(function* () {
        const page = pageFrom(query)
        const filters = { accountId: query.account_id, failing: query.failing === "true" }
        return listAnswer(yield* endpoints.list(filters, page), toOperatorEndpoint, page)
      }).pipe(Effect.catchTags({ UnknownCursor: unknownCursor })),
    retrieve: ({ params }) =>
      Effect.gen(function* () {
        return answer(200, toOperatorEndpoint(yield* endpoints.find(yield* knownId(params))))
      }).pipe(Effect.catchTags({ NotFoundError: notFound }))
  }
  return handlers
})

export const webhookEndpointActionHandlers = Effect.gen(function* () {
  const endpoints = yield* EndpointHealth
  const tests = yield* TestDeliveries
  const audit = yield* AuditLog

  const handlers: OperatorHandlers<"webhookEndpointActions"> = {
    update: ({ body, params }) =>
      Effect.gen(function* () {
        const id = yield* knownId(params)
        const { active } = yield* decodeBody(body, decodeUpdateEndpointState)
        const before = yield* endpoints.find(id)
        const row = yield* endpoints
          .setEnabled(id, active)
          .pipe(audit.recordAfter("webhookEndpointActions.update", changeOf({ ...before }, { active })))
        return answer(200, toOperatorEndpoint(row))
      }).pipe(
        Effect.catchTags({
          RequestRefused: refusedAs("VALIDATION_ERROR"),
          NotFoundError: notFound
        })
      ),
    test: ({ params }) =>
      Effect.gen(function* () {
        const id = yield* knownId(params)
        const row = yield* tests
          .send(id)
          .pipe(
            Effect.tap(({ event, id: delivery_id }) =>
              audit.recordAfter("webhookEndpointActions.test", { after: { event, delivery_id } })(
                Effect.succeed({ id })
              )
            )
          )
        return answer(202, toDelivery(row))
      }).pipe(Effect.catchTags({ NotFoundError: notFound, InvalidStateError: invalidState }))
  }
  return handlers
})

export const outboxFailureHandlers = Effect.gen(function* () {
  const failures = yield* OutboxFailures

  const handlers: OperatorHandlers<"outboxFailures"> = {
    list: ({ query }) =>
      Effect.gen(function* () {
        const page = pageFrom(query)
        return listAnswer(yield* failures.list(page), toOutboxFailure, page)
      }).pipe(Effect.catchTags({ UnknownCursor: unknownCursor }))
  }
  return handlers
})

export const outboxFailureActionHandlers = Effect.gen(function* () {
  const failures = yield* OutboxFailures
  const audit = yield* AuditLog

  const handlers: OperatorHandlers<"outboxFailureActions"> = {
    retry: ({ params }) =>
      Effect.gen(function* () {
        const id = yield* knownId(params)
        const row = yield* failures.retry(id).pipe(audit.recordAfter("outboxFailureActions.retry"))
        return answer(202, toOutboxFailure(row))
      }).pipe(Effect.catchTags({ NotFoundError: notFound }))
  }
  return handlers
})

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

/** The delivery resource of `/operator/v1`. */
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

/** An attempt of a delivery. */
export const toAttempt = (row: AttemptRow): DeliveryAttempt => ({
  at: row.at.toISOString(),
  duration_ms: row.duration_ms,
  address: row.address,
  status_code: row.status_code,
  error: row.error,
  response_body: row.response_body
})

const toOperatorEndpoint = (row: HealthRow): OperatorWebhookEndpoint => {
  const attempts = Number(row.successes + row.failures)
  return {
    ...toWebhookEndpoint(row),
    account_id: row.account_id,
    application_id: row.application_id,
    application_name: row.application_name,
    consecutive_failures: row.consecutive_failures,
    success_rate: attempts === 0 ? null : Number(row.successes) / attempts,
    paused: row.paused,
    last_success_at: row.last_success_at?.toISOString() ?? null,
    last_failure_at: row.last_failure_at?.toISOString() ?? null
  }
}
