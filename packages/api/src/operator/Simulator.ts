/** Reports of the simulated acquirer: OPR-32 to OPR-35. */
import { MAX_CENTS } from "@pix-payments/domain/Cents"
import { EndToEndId } from "@pix-payments/domain/EndToEndId"
import { InstantInput } from "@pix-payments/domain/Instant"
import { Refund } from "@pix-payments/domain/Refund"
import { decoder, nullable, wholeNumber } from "@pix-payments/domain/Request"
import { text } from "@pix-payments/domain/Text"
import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { OperatorAuthentication, RequestErrors } from "../Security.ts"
import { InvalidState, NotFound, ValidationError } from "../WireErrors.ts"
import { Access } from "./Access.ts"
import { OperatorCharge } from "./Charges.ts"
import { OperatorDispute } from "./Disputes.ts"
import { byId, optionalBody } from "./Fields.ts"
import { OperatorPayout } from "./Payouts.ts"

const ExternalId = nullable(text(1, 255)).annotateKey({
  description: "The institution's id of the fact. A second call with the same id is a copy of the first."
})

/** A report without further fields. */
export const SimulateReport = Schema.Struct({ external_id: ExternalId }).annotate({ identifier: "SimulateReport" })
export type SimulateReport = typeof SimulateReport.Type

export const SimulateMessage = Schema.Struct({ text: text(1, 4000), external_id: ExternalId }).annotate({
  identifier: "SimulateMessage"
})
export type SimulateMessage = typeof SimulateMessage.Type

/** A payment by the simulated payer. */
export const SimulatePay = Schema.Struct({
  end_to_end_id: nullable(EndToEndId),
  external_id: ExternalId
}).annotate({ identifier: "SimulatePay" })
export type SimulatePay = typeof SimulatePay.Type

const Amount = nullable(wholeNumber(1, MAX_CENTS, "cents")).annotateKey({
  description: "Cents; by default, all that is left of the charge."
})

/** A refund that the institution made. */
export const SimulateRefund = Schema.Struct({ amount: Amount, external_id: ExternalId }).annotate({
  identifier: "SimulateRefund"
})
export type SimulateRefund = typeof SimulateRefund.Type

export const SimulateInfraction = Schema.Struct({
  amount: Amount,
  reason: text(1, 255),
  defense_deadline_at: nullable(InstantInput),
  external_id: ExternalId
}).annotate({ identifier: "SimulateInfraction" })
export type SimulateInfraction = typeof SimulateInfraction.Type

export const SimulateReturn = Schema.Struct({
  as: Schema.Literals(["refunded", "charged_back"]),
  amount: Amount,
  external_id: ExternalId
}).annotate({ identifier: "SimulateReturn" })
export type SimulateReturn = typeof SimulateReturn.Type

export const SimulateFailure = Schema.Struct({ reason: text(1, 255), external_id: ExternalId }).annotate({
  identifier: "SimulateFailure"
})
export type SimulateFailure = typeof SimulateFailure.Type

export const decodeSimulateInfraction = decoder(SimulateInfraction)

export const decodeSimulateReturn = decoder(SimulateReturn)

export const decodeSimulateFailure = decoder(SimulateFailure)

export const decodeSimulateMessage = decoder(SimulateMessage)

const decodePay = decoder(SimulatePay)

const decodeReport = decoder(SimulateReport)

const decodeRefund = decoder(SimulateRefund)

/** No body is the same as an empty one. */
export const decodeSimulatePay = (body: unknown) => decodePay(body === undefined ? {} : body)

export const decodeSimulateRefund = (body: unknown) => decodeRefund(body === undefined ? {} : body)

export const decodeSimulateReport = (body: unknown) => decodeReport(body === undefined ? {} : body)

const simulatorOnly =
  "Reports of the simulated acquirer, handled like those of a real one. A copy of a report (the same `external_id`) changes nothing and is 409. Without the simulated acquirer, every report is 404."

/** The answer to a report that does not change the charge now. */
const unchanged = OperatorCharge.pipe(HttpApiSchema.status(202))

const beforePayment =
  "If the payment of the charge has not arrived yet: 202 with the charge as it is. The report is applied when the payment arrives."

export class SimulatorChargesGroup extends HttpApiGroup.make("simulatorCharges")
  .add(
    HttpApiEndpoint.post("pay", "/:id/pay", {
      params: byId,
      payload: SimulatePay,
      success: [OperatorCharge, unchanged],
      error: [NotFound, ValidationError, InvalidState]
    })
      .annotate(Access, { roles: ["developer"], accounts: "resource" })
      .annotate(OpenApi.Summary, "Report a payment")
      .annotate(
        OpenApi.Description,
        "A payment that does not fit the charge is an exception: 202 with the charge as it is."
      )
      .annotate(OpenApi.Transform, optionalBody),
    HttpApiEndpoint.post("fail", "/:id/fail", {
      params: byId,
      payload: SimulateReport,
      success: OperatorCharge,
      error: [NotFound, ValidationError, InvalidState]
    })
      .annotate(Access, { roles: ["developer"], accounts: "resource" })
      .annotate(OpenApi.Summary, "Report a failure")
      .annotate(OpenApi.Transform, optionalBody)
  )
  .prefix("/operator/v1/simulator/charges")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors)
  .annotate(OpenApi.Description, simulatorOnly) {}

export class SimulatorReturnsGroup extends HttpApiGroup.make("simulatorReturns")
  .add(
    HttpApiEndpoint.post("refund", "/:id/refund", {
      params: byId,
      payload: SimulateRefund,
      success: [OperatorCharge, unchanged],
      error: [NotFound, ValidationError, InvalidState]
    })
      .annotate(Access, { roles: ["developer"], accounts: "resource" })
      .annotate(OpenApi.Summary, "Report a refund")
      .annotate(OpenApi.Description, beforePayment)
      .annotate(OpenApi.Transform, optionalBody),
    HttpApiEndpoint.post("infraction", "/:id/infraction", {
      params: byId,
      payload: SimulateInfraction,
      success: [OperatorDispute.pipe(HttpApiSchema.status(201)), unchanged],
      error: [NotFound, ValidationError, InvalidState]
    })
      .annotate(Access, { roles: ["developer"], accounts: "resource" })
      .annotate(OpenApi.Summary, "Report a MED")
      .annotate(OpenApi.Description, beforePayment),
    HttpApiEndpoint.post("return", "/:id/return", {
      params: byId,
      payload: SimulateReturn,
      success: [OperatorCharge, unchanged],
      error: [NotFound, ValidationError, InvalidState]
    })
      .annotate(Access, { roles: ["developer"], accounts: "resource" })
      .annotate(OpenApi.Summary, "Report a return without prior notice")
      .annotate(OpenApi.Description, beforePayment)
  )
  .prefix("/operator/v1/simulator/charges")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors)
  .annotate(OpenApi.Description, simulatorOnly) {}

export class SimulatorRefundsGroup extends HttpApiGroup.make("simulatorRefunds")
  .add(
    HttpApiEndpoint.post("complete", "/:id/complete", {
      params: byId,
      payload: SimulateReport,
      success: Refund,
      error: [NotFound, ValidationError, InvalidState]
    })
      .annotate(Access, { roles: ["developer"], accounts: "resource" })
      .annotate(OpenApi.Summary, "Report that a refund was completed")
      .annotate(OpenApi.Transform, optionalBody),
    HttpApiEndpoint.post("fail", "/:id/fail", {
      params: byId,
      payload: SimulateFailure,
      success: Refund,
      error: [NotFound, ValidationError, InvalidState]
    })
      .annotate(Access, { roles: ["developer"], accounts: "resource" })
      .annotate(OpenApi.Summary, "Report that a refund failed")
  )
  .prefix("/operator/v1/simulator/refunds")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors)
  .annotate(OpenApi.Description, simulatorOnly) {}

export class SimulatorDisputesGroup extends HttpApiGroup.make("simulatorDisputes")
  .add(
    HttpApiEndpoint.post("message", "/:id/message", {
      params: byId,
      payload: SimulateMessage,
      success: OperatorDispute,
      error: [NotFound, ValidationError, InvalidState]
    })
      .annotate(Access, { roles: ["developer"], accounts: "resource" })
      .annotate(OpenApi.Summary, "Report a reply of the platform"),
    HttpApiEndpoint.post("win", "/:id/win", {
      params: byId,
      payload: SimulateReport,
      success: OperatorDispute,
      error: [NotFound, ValidationError, InvalidState]
    })
      .annotate(Access, { roles: ["developer"], accounts: "resource" })
      .annotate(OpenApi.Summary, "Report that the MED was denied")
      .annotate(OpenApi.Transform, optionalBody),
    HttpApiEndpoint.post("lose", "/:id/lose", {
      params: byId,
      payload: SimulateReport,
      success: OperatorDispute,
      error: [NotFound, ValidationError, InvalidState]
    })
      .annotate(Access, { roles: ["developer"], accounts: "resource" })
      .annotate(OpenApi.Summary, "Report that the MED was accepted")
      .annotate(OpenApi.Transform, optionalBody)
  )
  .prefix("/operator/v1/simulator/disputes")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors)
  .annotate(OpenApi.Description, simulatorOnly) {}

export class SimulatorPayoutsGroup extends HttpApiGroup.make("simulatorPayouts")
  .add(
    HttpApiEndpoint.post("complete", "/:id/complete", {
      params: byId,
      payload: SimulateReport,
      success: OperatorPayout,
      error: [NotFound, ValidationError, InvalidState]
    })
      .annotate(Access, { roles: ["developer"], accounts: "resource" })
      .annotate(OpenApi.Summary, "Report that a payout was completed")
      .annotate(OpenApi.Description, "409 unless the payout was handed over to the acquirer.")
      .annotate(OpenApi.Transform, optionalBody),
    HttpApiEndpoint.post("fail", "/:id/fail", {
      params: byId,
      payload: SimulateFailure,
      success: OperatorPayout,
      error: [NotFound, ValidationError, InvalidState]
    })
      .annotate(Access, { roles: ["developer"], accounts: "resource" })
      .annotate(OpenApi.Summary, "Report that a payout failed")
      .annotate(OpenApi.Description, "409 unless the payout was handed over to the acquirer.")
  )
  .prefix("/operator/v1/simulator/payouts")
  .middleware(OperatorAuthentication)
  .middleware(RequestErrors)
  .annotate(OpenApi.Description, simulatorOnly) {}
