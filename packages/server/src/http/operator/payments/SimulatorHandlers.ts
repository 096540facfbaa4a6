/**
 * The simulator routes: notifications of the simulated acquirer, sent by an operator.
 *
 * They are handled as those of a real acquirer. One that changes nothing, or a copy, is `INVALID_STATE`.
 *
 * Rules: OPR-32 to OPR-35.
 */
import {
  decodeSimulateFailure,
  decodeSimulateInfraction,
  decodeSimulateMessage,
  decodeSimulatePay,
  decodeSimulateRefund,
  decodeSimulateReport,
  decodeSimulateReturn
} from "@pix-payments/api/operator/Simulator"
import { parseInstant } from "@pix-payments/domain/Instant"
import type { Refusal } from "@pix-payments/domain/Request"
import { txidFromId } from "@pix-payments/domain/Txid"
import * as Effect from "effect/Effect"
import type * as Result from "effect/Result"
import { type AcquirerNotification, isEffect } from "../../../providers/AcquirerNotification.ts"
import { Charges } from "../../../payments/charges/Charges.ts"
import type { StoredCharge } from "../../../payments/charges/ChargeTable.ts"
import { Disputes } from "../../../payments/disputes/Disputes.ts"
import { DisputeStore } from "../../../payments/disputes/DisputeStore.ts"
import type { StoredDispute } from "../../../payments/disputes/DisputeTable.ts"
import { InvalidStateError, type NotFoundError } from "../../../base/Errors.ts"
import { AuditLog } from "../../../operations/AuditLog.ts"
import { ExceptionStore } from "../../../payments/exceptions/ExceptionStore.ts"
import { Payouts } from "../../../payments/payouts/Payouts.ts"
import { RefundStore, type ShownRefund, toRefund } from "../../../payments/refunds/RefundStore.ts"
import { firstPixOf, newEndToEndId } from "../../../providers/simulator/SimulatedInstitution.ts"
import { SimulatorNotifications } from "../../../reports/SimulatorNotifications.ts"
import type { Unavailable } from "../../../database/Unavailable.ts"
import { decodeBody } from "../../pipeline/RequestDecoding.ts"
import { invalidState, notFound, refusedAs } from "../../pipeline/WireTranslation.ts"
import { withRefunds } from "./ChargeHandlers.ts"
import { withMessages } from "./DisputeHandlers.ts"
import { answer } from "../../pipeline/Answer.ts"
import { knownId, type OperatorHandlers } from "../OperatorHandlers.ts"
import { withOutcome } from "./PayoutHandlers.ts"

export const simulatorChargeHandlers = Effect.gen(function* () {
  const send = yield* makeChargeSimulation

  const handlers: OperatorHandlers<"simulatorCharges"> = {
    pay: send("simulatorCharges.pay", decodeSimulatePay, (charge, body) => ({
      _tag: "charge.paid",
      ...pixOf(charge),
      // What has paid it already is another payment.
      ...(charge.endToEndId !== null && { endToEndId: newEndToEndId(charge.createdAtMs) }),
      ...(typeof body.end_to_end_id === "string" && { endToEndId: body.end_to_end_id }),
      ...idOf(body)
    })),
    fail: send("simulatorCharges.fail", decodeSimulateReport, ({ id }, body) => ({
      _tag: "charge.failed",
      txid: txidFromId(id),
      ...idOf(body)
    }))
  }
  return handlers
})

export const simulatorReturnHandlers = Effect.gen(function* () {
  const send = yield* makeChargeSimulation
  const openMed = yield* makeInfraction

  const handlers: OperatorHandlers<"simulatorReturns"> = {
    refund: send("simulatorReturns.refund", decodeSimulateRefund, (charge, body) =>
      canGoBack(charge) ? { _tag: "charge.refunded", ...pixOf(charge), ...amountOf(body), ...idOf(body) } : undefined
    ),
    return: send("simulatorReturns.return", decodeSimulateReturn, (charge, body) =>
      canGoBack(charge)
        ? { _tag: "charge.returned", ...pixOf(charge), as: body.as, ...amountOf(body), ...idOf(body) }
        : undefined
    ),
    infraction: openMed
  }
  return handlers
})

export const simulatorDisputeHandlers = Effect.gen(function* () {
  const disputes = yield* Disputes
  const store = yield* DisputeStore
  const simulate = yield* makeSimulation
  const send = simulate(disputes.find, (dispute: StoredDispute) =>
    Effect.map(withMessages(store, dispute), (found) => answer(200, found))
  )

  const handlers: OperatorHandlers<"simulatorDisputes"> = {
    message: send("simulatorDisputes.message", decodeSimulateMessage, ({ id }, body) => ({
      _tag: "med.message",
      disputeId: id,
      text: body.text,
      ...idOf(body)
    })),
    win: send("simulatorDisputes.win", decodeSimulateReport, ({ id }, body) => ({
      _tag: "med.won",
      disputeId: id,
      ...idOf(body)
    })),
    lose: send("simulatorDisputes.lose", decodeSimulateReport, ({ id }, body) => ({
      _tag: "med.lost",
      disputeId: id,
      ...idOf(body)
    }))
  }
  return handlers
})

export const simulatorRefundHandlers = Effect.gen(function* () {
  const refunds = yield* RefundStore
  const simulate = yield* makeSimulation
  const find = (id: string) => Effect.flatMap(knownId({ id }), refunds.get)
  const send = simulate(find, (refund: ShownRefund) => Effect.succeed(answer(200, toRefund(refund))))

  const handlers: OperatorHandlers<"simulatorRefunds"> = {
    complete: send("simulatorRefunds.complete", decodeSimulateReport, ({ id }) => ({
      _tag: "return.completed",
      orderId: id
    })),
    fail: send("simulatorRefunds.fail", decodeSimulateFailure, ({ id }, body) => ({
      _tag: "return.failed",
      orderId: id,
      reason: body.reason
    }))
  }
  return handlers
})

export const simulatorPayoutHandlers = Effect.gen(function* () {
  const payouts = yield* Payouts
  const simulator = yield* SimulatorNotifications
  const exceptions = yield* ExceptionStore
  const simulate = yield* makeSimulation
  const send = simulate(
    payouts.find,
    (payout) => Effect.map(withOutcome(exceptions, payout), (found) => answer(200, found)),
    ({ id }) => simulator.hasPayout(id)
  )

  const handlers: OperatorHandlers<"simulatorPayouts"> = {
    complete: send("simulatorPayouts.complete", decodeSimulateReport, ({ id }, body) => ({
      _tag: "payout.completed",
      payoutId: id,
      ...idOf(body)
    })),
    fail: send("simulatorPayouts.fail", decodeSimulateFailure, ({ id }, body) => ({
      _tag: "payout.failed",
      payoutId: id,
      reason: body.reason,
      ...idOf(body)
    }))
  }
  return handlers
})

interface SimulatorCall {
  readonly params: { readonly id: string }
  readonly body: unknown
}

interface Body {
  readonly external_id?: string | null
}

interface Subject {
  readonly id: string
  readonly status: string
}

const failures = {
  NotFoundError: notFound,
  InvalidStateError: invalidState,
  RequestRefused: refusedAs("VALIDATION_ERROR")
}

const amountOf = ({ amount }: { readonly amount?: number | null }) => (typeof amount === "number" ? { amount } : {})

const hasNoPix = ({ status }: StoredCharge) => status === "failed" || status === "canceled"

/** Something of its payment is there, or will be. */
const canGoBack = (charge: StoredCharge) => !hasNoPix(charge) && charge.refundedAmount < charge.amount

/** A charge and its payment, also before that has arrived. */
const pixOf = ({ endToEndId, id }: StoredCharge) => {
  const txid = txidFromId(id)
  return { txid, endToEndId: endToEndId ?? firstPixOf(txid) }
}

/** The id of the notification, where the caller gives one. */
const idOf = ({ external_id }: Body) => (typeof external_id === "string" ? { externalId: external_id } : {})

/**
 * Makes the handlers of one kind of subject: find it, decode the body, send the notification, answer with the subject
 * afterwards. Where `wasSubmitted` is false, the acquirer never received the subject, so it can have no outcome.
 */
const makeSimulation = Effect.gen(function* () {
  const audit = yield* AuditLog
  const notify = yield* makeNotify

  return <S extends Subject, B>(
    find: (id: string) => Effect.Effect<S, NotFoundError | Unavailable>,
    toAnswer: (subject: S, isUnchanged: boolean) => Effect.Effect<B, Unavailable>,
    wasSubmitted: (subject: S) => Effect.Effect<boolean, Unavailable> = () => Effect.succeed(true)
  ) =>
    <A extends Body>(
      action: string,
      decode: (body: unknown) => Result.Result<A, Refusal>,
      make: (subject: S, body: A) => AcquirerNotification | undefined
    ) =>
      Effect.fnUntraced(function* ({ body, params }: SimulatorCall) {
        const subject = yield* find(params.id)
        const notification = make(subject, yield* decodeBody(body, decode))
        if (notification === undefined || !(yield* wasSubmitted(subject)))
          return yield* new InvalidStateError({ status: subject.status })
        const { after, isUnchanged } = yield* Effect.gen(function* () {
          const wasUnchanged = yield* notify(notification, subject.status)
          return { id: subject.id, isUnchanged: wasUnchanged, after: yield* find(subject.id) }
        }).pipe(audit.recordAfter(action))
        return yield* toAnswer(after, isUnchanged)
      }, Effect.catchTags(failures))
})

/**
 * Sends a notification. Fails where it changes nothing; true where it does not change its subject now: it is deferred until
 * the charge is paid, or an exception.
 */
const makeNotify = Effect.map(
  SimulatorNotifications,
  (simulator) => (notification: AcquirerNotification, status: string) =>
    Effect.flatMap(simulator.notify(notification), (outcome) =>
      isEffect(outcome) ? Effect.succeed(outcome !== "applied") : Effect.fail(new InvalidStateError({ status }))
    )
)

const makeChargeSimulation = Effect.gen(function* () {
  const charges = yield* Charges
  const refunds = yield* RefundStore
  const simulate = yield* makeSimulation
  return simulate(charges.find, (charge: StoredCharge, isUnchanged) =>
    Effect.map(withRefunds(refunds, charge), (found) => answer(isUnchanged ? 202 : 200, found))
  )
})

/** Opens a MED for a charge, and answers with its dispute. */
const makeInfraction = Effect.gen(function* () {
  const charges = yield* Charges
  const disputes = yield* DisputeStore
  const refunds = yield* RefundStore
  const audit = yield* AuditLog
  const notify = yield* makeNotify

  return Effect.fnUntraced(
    function* ({ body, params }: SimulatorCall) {
      const charge = yield* charges.find(params.id)
      const input = yield* decodeBody(body, decodeSimulateInfraction)
      if (hasNoPix(charge)) return yield* new InvalidStateError({ status: charge.status })
      const deadline =
        typeof input.defense_deadline_at === "string" ? parseInstant(input.defense_deadline_at) : undefined
      const { dispute } = yield* Effect.gen(function* () {
        const isUnchanged = yield* notify(
          {
            _tag: "med.opened",
            ...pixOf(charge),
            reason: input.reason,
            ...amountOf(input),
            ...idOf(input),
            ...(deadline === undefined ? {} : { defenseDeadlineAtMs: deadline })
          },
          charge.status
        )
        if (isUnchanged) return { id: charge.id, dispute: undefined }
        const {
          rows: [opened]
        } = yield* disputes.list({ chargeId: charge.id }, { limit: 1, startingAfter: undefined })
        if (opened === undefined) return yield* new InvalidStateError({ status: charge.status })
        return { id: opened.id, dispute: opened }
      }).pipe(audit.recordAfter("simulatorReturns.infraction"))
      if (dispute !== undefined) return answer(201, yield* withMessages(disputes, dispute))
      return answer(202, yield* withRefunds(refunds, yield* charges.find(charge.id)))
    },
    Effect.catchTags({ ...failures, UnknownCursor: Effect.die })
  )
})
