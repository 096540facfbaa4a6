/**
 * What the simulated acquirer is told. It reports as a real one would; a report that changes nothing is the
 * operator's mistake, and answered so.
 */
import {
  OperatorApi,
  SimulatorChargesGroup,
  SimulatorDisputesGroup,
  SimulatorPayoutsGroup,
  SimulatorReturnsGroup
} from "@pix-payments/api/OperatorApi"
import {
  decodeSimulateFailure,
  decodeSimulateInfraction,
  decodeSimulatePay,
  decodeSimulateReturn,
  decodeTextBody
} from "@pix-payments/api/OperatorResources"
import { parseInstant } from "@pix-payments/domain/Instant"
import { txidFromId } from "@pix-payments/domain/Txid"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Layer from "effect/Layer"
import type { AcquirerReport } from "../../acquirer/AcquirerReports.ts"
import { SimulatorReports } from "../../acquirer/SimulatorReports.ts"
import { Charges } from "../../charges/Charges.ts"
import { Disputes } from "../../disputes/Disputes.ts"
import { DisputeStore } from "../../disputes/DisputeStore.ts"
import { InvalidStateError } from "../../Errors.ts"
import { Audit } from "../../operations/Audit.ts"
import { Payouts } from "../../payouts/Payouts.ts"
import { decodeBody, jsonResponse } from "../Json.ts"
import { invalidState, notFound, refusedAs, serviceUnavailable } from "../WireTranslation.ts"
import { toOperatorCharge } from "./ChargesHandlers.ts"
import { withMessages } from "./DisputesHandlers.ts"
import { toOperatorPayout } from "./PayoutsHandlers.ts"

const withoutBody = { NotFoundError: notFound, InvalidStateError: invalidState, Unavailable: serviceUnavailable }
const withBody = { ...withoutBody, RequestRefused: refusedAs("VALIDATION_ERROR") }

/** Tells a report about something whose status is known, and fails where nothing comes of it. */
const tell = Effect.fnUntraced(function* (report: AcquirerReport, status: string) {
  const simulator = yield* SimulatorReports
  const outcome = yield* simulator.tell(report)
  if (outcome !== "applied") return yield* new InvalidStateError({ status })
})

const chargesLayer = HttpApiBuilder.group(
  OperatorApi,
  SimulatorChargesGroup.identifier,
  Effect.fn(function* (handlers) {
    const charges = yield* Charges
    const audit = yield* Audit
    const simulator = yield* SimulatorReports

    const report = (id: string, make: (txid: string) => AcquirerReport, action: string) =>
      Effect.gen(function* () {
        const charge = yield* charges.find(id)
        yield* tell(make(txidFromId(charge.id)), charge.status)
        return toOperatorCharge(yield* charges.find(id), yield* Clock.currentTimeMillis)
      }).pipe(audit.after(action), Effect.provideService(SimulatorReports, simulator))

    return handlers
      .handleRaw("pay", ({ params, request }) =>
        Effect.gen(function* () {
          yield* charges.find(params.id)
          const { end_to_end_id: endToEndId } = yield* decodeBody(request, decodeSimulatePay)
          const paid = yield* report(
            params.id,
            (txid) => ({ _tag: "charge.paid", txid, ...(typeof endToEndId === "string" ? { endToEndId } : {}) }),
            "simulatorCharges.pay"
          )
          return jsonResponse(paid, 200)
        }).pipe(Effect.catchTags(withBody))
      )
      .handle("fail", ({ params }) =>
        report(params.id, (txid) => ({ _tag: "charge.failed", txid }), "simulatorCharges.fail").pipe(
          Effect.catchTags(withoutBody)
        )
      )
  })
)

const returnsLayer = HttpApiBuilder.group(
  OperatorApi,
  SimulatorReturnsGroup.identifier,
  Effect.fn(function* (handlers) {
    const charges = yield* Charges
    const disputes = yield* DisputeStore
    const audit = yield* Audit
    const simulator = yield* SimulatorReports
    const told = Effect.provideService(SimulatorReports, simulator)

    const report = (id: string, make: (txid: string) => AcquirerReport, action: string) =>
      Effect.gen(function* () {
        const charge = yield* charges.find(id)
        yield* tell(make(txidFromId(charge.id)), charge.status)
        return toOperatorCharge(yield* charges.find(id), yield* Clock.currentTimeMillis)
      }).pipe(audit.after(action), told)

    return handlers
      .handle("refund", ({ params }) =>
        report(params.id, (txid) => ({ _tag: "charge.refunded", txid }), "simulatorReturns.refund").pipe(
          Effect.catchTags(withoutBody)
        )
      )
      .handleRaw("infraction", ({ params, request }) =>
        Effect.gen(function* () {
          const charge = yield* charges.find(params.id)
          const input = yield* decodeBody(request, decodeSimulateInfraction)
          const deadline =
            typeof input.defense_deadline_at === "string" ? parseInstant(input.defense_deadline_at) : undefined
          const opened = yield* Effect.gen(function* () {
            yield* tell(
              {
                _tag: "med.opened",
                txid: txidFromId(charge.id),
                reason: input.reason,
                ...(deadline === undefined ? {} : { defenseDeadlineAtMs: deadline })
              },
              charge.status
            )
            const [dispute] = yield* disputes.list({ chargeId: charge.id }, { limit: 1, startingAfter: undefined })
            return dispute ?? (yield* new InvalidStateError({ status: charge.status }))
          }).pipe(audit.after("simulatorReturns.infraction"), told)
          return jsonResponse(yield* withMessages(disputes, opened), 201)
        }).pipe(Effect.catchTags({ ...withBody, UnknownCursor: Effect.die }))
      )
      .handleRaw("return", ({ params, request }) =>
        Effect.gen(function* () {
          yield* charges.find(params.id)
          const { as } = yield* decodeBody(request, decodeSimulateReturn)
          const back = yield* report(
            params.id,
            (txid) => ({ _tag: "charge.returned", txid, as }),
            "simulatorReturns.return"
          )
          return jsonResponse(back, 200)
        }).pipe(Effect.catchTags(withBody))
      )
  })
)

const disputesLayer = HttpApiBuilder.group(
  OperatorApi,
  SimulatorDisputesGroup.identifier,
  Effect.fn(function* (handlers) {
    const disputes = yield* Disputes
    const store = yield* DisputeStore
    const audit = yield* Audit
    const simulator = yield* SimulatorReports

    const report = (id: string, make: (disputeId: string) => AcquirerReport, action: string) =>
      Effect.gen(function* () {
        const dispute = yield* disputes.find(id)
        yield* tell(make(dispute.id), dispute.status)
        return yield* withMessages(store, yield* disputes.find(id))
      }).pipe(audit.after(action), Effect.provideService(SimulatorReports, simulator))

    return handlers
      .handleRaw("message", ({ params, request }) =>
        Effect.gen(function* () {
          yield* disputes.find(params.id)
          const { text } = yield* decodeBody(request, decodeTextBody)
          const dispute = yield* report(
            params.id,
            (disputeId) => ({ _tag: "med.message", disputeId, text }),
            "simulatorDisputes.message"
          )
          return jsonResponse(dispute, 200)
        }).pipe(Effect.catchTags(withBody))
      )
      .handle("win", ({ params }) =>
        report(params.id, (disputeId) => ({ _tag: "med.won", disputeId }), "simulatorDisputes.win").pipe(
          Effect.catchTags(withoutBody)
        )
      )
      .handle("lose", ({ params }) =>
        report(params.id, (disputeId) => ({ _tag: "med.lost", disputeId }), "simulatorDisputes.lose").pipe(
          Effect.catchTags(withoutBody)
        )
      )
  })
)

const payoutsLayer = HttpApiBuilder.group(
  OperatorApi,
  SimulatorPayoutsGroup.identifier,
  Effect.fn(function* (handlers) {
    const payouts = yield* Payouts
    const audit = yield* Audit
    const simulator = yield* SimulatorReports

    const report = (id: string, make: (payoutId: string) => AcquirerReport, action: string) =>
      Effect.gen(function* () {
        const payout = yield* payouts.find(id)
        yield* tell(make(payout.id), payout.status)
        return toOperatorPayout(yield* payouts.find(id))
      }).pipe(audit.after(action), Effect.provideService(SimulatorReports, simulator))

    return handlers
      .handle("complete", ({ params }) =>
        report(params.id, (payoutId) => ({ _tag: "payout.completed", payoutId }), "simulatorPayouts.complete").pipe(
          Effect.catchTags(withoutBody)
        )
      )
      .handleRaw("fail", ({ params, request }) =>
        Effect.gen(function* () {
          yield* payouts.find(params.id)
          const { reason } = yield* decodeBody(request, decodeSimulateFailure)
          const failed = yield* report(
            params.id,
            (payoutId) => ({ _tag: "payout.failed", payoutId, reason }),
            "simulatorPayouts.fail"
          )
          return jsonResponse(failed, 200)
        }).pipe(Effect.catchTags(withBody))
      )
  })
)

export const layer = Layer.mergeAll(chargesLayer, returnsLayer, disputesLayer, payoutsLayer)
