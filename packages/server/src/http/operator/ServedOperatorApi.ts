/**
 * The part of the operator surface that this server routes.
 */
import {
  AccountsGroup,
  ApplicationsGroup,
  AuditGroup,
  ChargeActionsGroup,
  ChargesGroup,
  CheckoutChargesGroup,
  DeliveriesGroup,
  DisputeActionsGroup,
  DisputesGroup,
  KeysGroup,
  LedgerGroup,
  OperatorApi,
  PayoutActionsGroup,
  PayoutsGroup,
  RequestsGroup,
  SimulatorChargesGroup,
  SimulatorDisputesGroup,
  SimulatorPayoutsGroup,
  SimulatorReturnsGroup
} from "@pix-payments/api/OperatorApi"
import * as HttpApi from "effect/http-api/HttpApi"

export class ServedOperatorApi extends HttpApi.make("operator")
  .add(AccountsGroup)
  .add(ApplicationsGroup)
  .add(KeysGroup)
  .add(ChargesGroup)
  .add(ChargeActionsGroup)
  .add(CheckoutChargesGroup)
  .add(PayoutsGroup)
  .add(PayoutActionsGroup)
  .add(DisputesGroup)
  .add(DisputeActionsGroup)
  .add(DeliveriesGroup)
  .add(RequestsGroup)
  .add(AuditGroup)
  .add(LedgerGroup)
  .add(SimulatorChargesGroup)
  .add(SimulatorReturnsGroup)
  .add(SimulatorDisputesGroup)
  .add(SimulatorPayoutsGroup)
  .annotateMerge(OperatorApi.annotations) {}
