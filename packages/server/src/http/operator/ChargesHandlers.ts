/**
 * Every charge and delivery, and what the simulated acquirer is told about charges, for operators.
 */
import { ChargesGroup, DeliveriesGroup, SimulatorChargesGroup } from "@pix-payments/api/OperatorApi"
import { decodeSimulatePay, type Delivery, type OperatorCharge } from "@pix-payments/api/OperatorResources"
import { pageOf } from "@pix-payments/domain/List"
import { txidFromId } from "@pix-payments/domain/Txid"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Layer from "effect/Layer"
import type { AcquirerReport } from "../../acquirer/AcquirerReports.ts"
import { SimulatorReports } from "../../acquirer/SimulatorReports.ts"
import { Charges, toCharge } from "../../charges/Charges.ts"
import type { StoredCharge } from "../../charges/ChargeStore.ts"
import { InvalidStateError } from "../../Errors.ts"
import { EventHistory } from "../../events/EventHistory.ts"
import { Audit } from "../../operations/Audit.ts"
import { type DeliveryRow, DeliveryStore } from "../../webhooks/DeliveryStore.ts"
import { jsonResponse } from "../Json.ts"
import { invalidState, notFound, refusedAs, serviceUnavailable, unknownCursor } from "../WireTranslation.ts"
import { decodeBody, knownId, pageFrom } from "./Requests.ts"
import { ServedOperatorApi } from "./ServedOperatorApi.ts"

const chargesLayer = HttpApiBuilder.group(
  ServedOperatorApi,
  ChargesGroup.identifier,
  Effect.fn(function* (handlers) {
    const charges = yield* Charges
    const history = yield* EventHistory
    const deliveries = yield* DeliveryStore

    return handlers
      .handle("list", ({ query }) =>
        Effect.gen(function* () {
          const page = pageFrom(query)
          const rows = yield* charges.list(
            query.account_id,
            { origin: query.origin, reference: query.reference, endToEndId: query.end_to_end_id },
            page
          )
          const now = yield* Clock.currentTimeMillis
          return pageOf(
            rows.map((charge) => toOperatorCharge(charge, now)),
            page.limit
          )
        }).pipe(Effect.catchTags({ UnknownCursor: unknownCursor, Unavailable: serviceUnavailable }))
      )
      .handle("retrieve", ({ params }) =>
        Effect.gen(function* () {
          const charge = yield* charges.find(params.id)
          const told = yield* deliveries.list({ resourceId: charge.id }, { limit: 100, startingAfter: undefined })
          return {
            ...toOperatorCharge(charge, yield* Clock.currentTimeMillis),
            history: yield* history.of(charge.id, charge.createdAtMs),
            deliveries: told.map(toDelivery)
          }
        }).pipe(
          Effect.catchTags({ NotFoundError: notFound, UnknownCursor: Effect.die, Unavailable: serviceUnavailable })
        )
      )
  })
)

const deliveriesLayer = HttpApiBuilder.group(
  ServedOperatorApi,
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

const simulatorLayer = HttpApiBuilder.group(
  ServedOperatorApi,
  SimulatorChargesGroup.identifier,
  Effect.fn(function* (handlers) {
    const charges = yield* Charges
    const simulator = yield* SimulatorReports
    const audit = yield* Audit

    /** Tells a report of a charge; one that changes nothing is the operator's mistake. */
    const tell = Effect.fnUntraced(function* (
      id: string,
      report: AcquirerReport["report"],
      facts: { readonly endToEndId?: string | undefined; readonly reason?: string | undefined }
    ) {
      const charge = yield* charges.find(id)
      const outcome = yield* simulator.tell({ txid: txidFromId(charge.id), report, ...facts })
      if (outcome !== "applied") return yield* new InvalidStateError({ status: charge.status })
      return toOperatorCharge(yield* charges.find(id), yield* Clock.currentTimeMillis)
    })

    return handlers
      .handleRaw("pay", ({ params, request }) =>
        Effect.gen(function* () {
          yield* charges.find(params.id)
          const input = yield* decodeBody(request, decodeSimulatePay)
          const paid = yield* tell(params.id, "paid", { endToEndId: input.end_to_end_id ?? undefined }).pipe(
            audit.after("simulatorCharges.pay")
          )
          return jsonResponse(paid, 200)
        }).pipe(
          Effect.catchTags({
            RequestRefused: refusedAs("VALIDATION_ERROR"),
            NotFoundError: notFound,
            InvalidStateError: invalidState,
            Unavailable: serviceUnavailable
          })
        )
      )
      .handle("fail", ({ params }) =>
        tell(params.id, "failed", {}).pipe(
          audit.after("simulatorCharges.fail"),
          Effect.catchTags({
            NotFoundError: notFound,
            InvalidStateError: invalidState,
            Unavailable: serviceUnavailable
          })
        )
      )
  })
)

export const layer = Layer.mergeAll(chargesLayer, deliveriesLayer, simulatorLayer)

const toOperatorCharge = (charge: StoredCharge, nowMs: number): OperatorCharge => ({
  ...toCharge(charge, nowMs),
  account_id: charge.accountId,
  application_id: charge.applicationId,
  origin: charge.origin
})

const toDelivery = (row: DeliveryRow): Delivery => ({
  id: row.id,
  object: "delivery",
  status: row.status,
  event: row.event,
  resource_id: row.resource_id,
  endpoint_id: row.endpoint_id,
  url: row.url,
  attempts_made: row.attempts_made,
  next_attempt_at: row.status === "scheduled" ? (row.due_at?.toISOString() ?? null) : null,
  created_at: row.created_at.toISOString()
})
