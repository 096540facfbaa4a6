/**
 * The part of the operator surface that this server routes.
 */
import {
  AccountsGroup,
  ApplicationsGroup,
  AuditGroup,
  ChargesGroup,
  DeliveriesGroup,
  KeysGroup,
  OperatorApi,
  RequestsGroup,
  SimulatorChargesGroup
} from "@pix-payments/api/OperatorApi"
import * as HttpApi from "effect/http-api/HttpApi"

export class ServedOperatorApi extends HttpApi.make("operator")
  .add(AccountsGroup)
  .add(ApplicationsGroup)
  .add(KeysGroup)
  .add(ChargesGroup)
  .add(DeliveriesGroup)
  .add(RequestsGroup)
  .add(AuditGroup)
  .add(SimulatorChargesGroup)
  .annotateMerge(OperatorApi.annotations) {}
