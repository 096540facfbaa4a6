/**
 * What the simulated acquirer is made to report. It reports as a real one would; a report that changes nothing, a copy
 * too, is answered as the operator's mistake.
 */
import {
  decodeSimulateFailure,
  decodeSimulateInfraction,
  decodeSimulateMessage,
  decodeSimulatePay,
  decodeSimulateReport,
  decodeSimulateReturn,
  SimulatorChargesGroup,
  SimulatorDisputesGroup,
  SimulatorPayoutsGroup,
  SimulatorReturnsGroup
} from "@pix-payments/api/operator/Simulator"
import { OperatorApi } from "@pix-payments/api/OperatorApi"
import { parseInstant } from "@pix-payments/domain/Instant"
import type { Refusal } from "@pix-payments/domain/Request"
import { txidFromId } from "@pix-payments/domain/Txid"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Layer from "effect/Layer"
import type * as Result from "effect/Result"
import type { AcquirerNotification } from "../../acquirer/AcquirerNotification.ts"
import { SimulatorNotifications } from "../../simulator/SimulatorNotifications.ts"
import { Charges } from "../../charges/Charges.ts"
import { Disputes } from "../../disputes/Disputes.ts"
import { DisputeStore } from "../../disputes/DisputeStore.ts"
import { InvalidStateError } from "../../Errors.ts"
import { AuditLog } from "../../operations/AuditLog.ts"
import { Payouts } from "../../payouts/Payouts.ts"
import { decodeBody, jsonResponse } from "../Json.ts"
import { invalidState, notFound, refusedAs, serviceUnavailable } from "../WireTranslation.ts"
import { toOperatorCharge } from "./ChargeHandlers.ts"
import { withMessages } from "./DisputeHandlers.ts"
import { toOperatorPayout } from "./PayoutHandlers.ts"

const failures = {
  NotFoundError: notFound,
  InvalidStateError: invalidState,
  Unavailable: serviceUnavailable,
  RequestRefused: refusedAs("VALIDATION_ERROR")
}

interface Asked {
  readonly params: { readonly id: string }
  readonly request: HttpServerRequest
}

interface Body {
  readonly external_id?: string | null
}

/** The id that a report has where the caller chose one. */
const idOf = ({ external_id }: Body) => (typeof external_id === "string" ? { externalId: external_id } : {})

/** Reports something, and fails where nothing comes of it. True: it waits for the payment of its charge. */
const notify = Effect.fnUntraced(function* (report: AcquirerNotification, status: string) {
  const simulator = yield* SimulatorNotifications
  const outcome = yield* simulator.notify(report)
  if (outcome !== "applied" && outcome !== "deferred") return yield* new InvalidStateError({ status })
  return outcome === "deferred"
})

/** A call about a charge. */
const aboutCharges = Effect.gen(function* () {
  const charges = yield* Charges
  const audit = yield* AuditLog
  const simulator = yield* SimulatorNotifications

  return <A extends Body>(
    action: string,
    decode: (body: unknown) => Result.Result<A, Refusal>,
    make: (txid: string, body: A) => AcquirerNotification
  ) =>
    Effect.fnUntraced(function* ({ params, request }: Asked) {
      const charge = yield* charges.find(params.id)
      const report = make(txidFromId(charge.id), yield* decodeBody(request, decode))
      const applied = yield* Effect.gen(function* () {
        const isDeferred = yield* notify(report, charge.status)
        return { id: charge.id, isDeferred, charge: yield* charges.find(charge.id) }
      }).pipe(audit.after(action), Effect.provideService(SimulatorNotifications, simulator))
      return jsonResponse(
        toOperatorCharge(applied.charge, yield* Clock.currentTimeMillis),
        applied.isDeferred ? 202 : 200
      )
    }, Effect.catchTags(failures))
})

const chargesLayer = HttpApiBuilder.group(
  OperatorApi,
  SimulatorChargesGroup.identifier,
  Effect.fn(function* (handlers) {
    const about = yield* aboutCharges

    return handlers
      .handleRaw(
        "pay",
        about("simulatorCharges.pay", decodeSimulatePay, (txid, body) => ({
          _tag: "charge.paid",
          txid,
          ...idOf(body),
          ...(typeof body.end_to_end_id === "string" ? { endToEndId: body.end_to_end_id } : {})
        }))
      )
      .handleRaw(
        "fail",
        about("simulatorCharges.fail", decodeSimulateReport, (txid, body) => ({
          _tag: "charge.failed",
          txid,
          ...idOf(body)
        }))
      )
  })
)

const returnsLayer = HttpApiBuilder.group(
  OperatorApi,
  SimulatorReturnsGroup.identifier,
  Effect.fn(function* (handlers) {
    const charges = yield* Charges
    const disputes = yield* DisputeStore
    const audit = yield* AuditLog
    const simulator = yield* SimulatorNotifications
    const about = yield* aboutCharges

    return handlers
      .handleRaw(
        "refund",
        about("simulatorReturns.refund", decodeSimulateReport, (txid, body) => ({
          _tag: "charge.refunded",
          txid,
          ...idOf(body)
        }))
      )
      .handleRaw(
        "return",
        about("simulatorReturns.return", decodeSimulateReturn, (txid, body) => ({
          _tag: "charge.returned",
          txid,
          as: body.as,
          ...idOf(body)
        }))
      )
      .handleRaw("infraction", ({ params, request }) =>
        Effect.gen(function* () {
          const charge = yield* charges.find(params.id)
          const input = yield* decodeBody(request, decodeSimulateInfraction)
          const deadline =
            typeof input.defense_deadline_at === "string" ? parseInstant(input.defense_deadline_at) : undefined
          const { dispute } = yield* Effect.gen(function* () {
            const isDeferred = yield* notify(
              {
                _tag: "med.opened",
                txid: txidFromId(charge.id),
                reason: input.reason,
                ...idOf(input),
                ...(deadline === undefined ? {} : { defenseDeadlineAtMs: deadline })
              },
              charge.status
            )
            if (isDeferred) return { id: charge.id, dispute: undefined }
            const [opened] = yield* disputes.list({ chargeId: charge.id }, { limit: 1, startingAfter: undefined })
            if (opened === undefined) return yield* new InvalidStateError({ status: charge.status })
            return { id: opened.id, dispute: opened }
          }).pipe(audit.after("simulatorReturns.infraction"), Effect.provideService(SimulatorNotifications, simulator))
          if (dispute !== undefined) return jsonResponse(yield* withMessages(disputes, dispute), 201)
          const waiting = toOperatorCharge(yield* charges.find(charge.id), yield* Clock.currentTimeMillis)
          return jsonResponse(waiting, 202)
        }).pipe(Effect.catchTags({ ...failures, UnknownCursor: Effect.die }))
      )
  })
)

const disputesLayer = HttpApiBuilder.group(
  OperatorApi,
  SimulatorDisputesGroup.identifier,
  Effect.fn(function* (handlers) {
    const disputes = yield* Disputes
    const store = yield* DisputeStore
    const audit = yield* AuditLog
    const simulator = yield* SimulatorNotifications

    const about = <A extends Body>(
      action: string,
      decode: (body: unknown) => Result.Result<A, Refusal>,
      make: (disputeId: string, body: A) => AcquirerNotification
    ) =>
      Effect.fnUntraced(function* ({ params, request }: Asked) {
        const { id, status } = yield* disputes.find(params.id)
        const report = make(id, yield* decodeBody(request, decode))
        const applied = yield* Effect.andThen(notify(report, status), disputes.find(id)).pipe(
          audit.after(action),
          Effect.provideService(SimulatorNotifications, simulator)
        )
        return jsonResponse(yield* withMessages(store, applied), 200)
      }, Effect.catchTags(failures))

    return handlers
      .handleRaw(
        "message",
        about("simulatorDisputes.message", decodeSimulateMessage, (disputeId, body) => ({
          _tag: "med.message",
          disputeId,
          text: body.text,
          ...idOf(body)
        }))
      )
      .handleRaw(
        "win",
        about("simulatorDisputes.win", decodeSimulateReport, (disputeId, body) => ({
          _tag: "med.won",
          disputeId,
          ...idOf(body)
        }))
      )
      .handleRaw(
        "lose",
        about("simulatorDisputes.lose", decodeSimulateReport, (disputeId, body) => ({
          _tag: "med.lost",
          disputeId,
          ...idOf(body)
        }))
      )
  })
)

const payoutsLayer = HttpApiBuilder.group(
  OperatorApi,
  SimulatorPayoutsGroup.identifier,
  Effect.fn(function* (handlers) {
    const payouts = yield* Payouts
    const audit = yield* AuditLog
    const simulator = yield* SimulatorNotifications

    const about = <A extends Body>(
      action: string,
      decode: (body: unknown) => Result.Result<A, Refusal>,
      make: (payoutId: string, body: A) => AcquirerNotification
    ) =>
      Effect.fnUntraced(function* ({ params, request }: Asked) {
        const { id, status } = yield* payouts.find(params.id)
        const report = make(id, yield* decodeBody(request, decode))
        const applied = yield* Effect.gen(function* () {
          // An acquirer has no outcome of what it was never given.
          if (!(yield* simulator.hasPayout(id))) return yield* new InvalidStateError({ status })
          yield* notify(report, status)
          return yield* payouts.find(id)
        }).pipe(audit.after(action), Effect.provideService(SimulatorNotifications, simulator))
        return jsonResponse(toOperatorPayout(applied), 200)
      }, Effect.catchTags(failures))

    return handlers
      .handleRaw(
        "complete",
        about("simulatorPayouts.complete", decodeSimulateReport, (payoutId, body) => ({
          _tag: "payout.completed",
          payoutId,
          ...idOf(body)
        }))
      )
      .handleRaw(
        "fail",
        about("simulatorPayouts.fail", decodeSimulateFailure, (payoutId, body) => ({
          _tag: "payout.failed",
          payoutId,
          reason: body.reason,
          ...idOf(body)
        }))
      )
  })
)

export const layer = Layer.mergeAll(chargesLayer, returnsLayer, disputesLayer, payoutsLayer)
