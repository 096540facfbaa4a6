/**
 * The operator interface, `/operator/v1`, declared once.
 *
 * The server's routes, the command line, the dashboard and `operator-openapi.json` are derived from this value.
 * Reading and acting are separate groups, so that a server may serve one without the other.
 */
import * as HttpApi from "effect/http-api/HttpApi"
import * as OpenApi from "effect/http-api/OpenApi"
import { normalizeOpenApi } from "./OpenApiDocument.ts"
import { AccountsGroup } from "./operator/Accounts.ts"
import { AdjustmentsGroup } from "./operator/Adjustments.ts"
import { ApplicationsGroup } from "./operator/Applications.ts"
import { AlertChannelsGroup } from "./operator/AlertChannels.ts"
import { ApprovalActionsGroup, ApprovalsGroup } from "./operator/Approvals.ts"
import { BankStatementsGroup } from "./operator/BankStatements.ts"
import { AccountBooksGroup, ClosesGroup, ConnectionBooksGroup } from "./operator/Books.ts"
import { ChargeActionsGroup, ChargesGroup, CheckoutChargesGroup } from "./operator/Charges.ts"
import { ConnectionActionsGroup, ConnectionsGroup } from "./operator/Connections.ts"
import { DeliveriesGroup, DeliveryActionsGroup } from "./operator/Deliveries.ts"
import { DisputeActionsGroup, DisputeFilesGroup, DisputesGroup } from "./operator/Disputes.ts"
import { EventsGroup } from "./operator/Events.ts"
import { ExceptionActionsGroup, ExceptionsGroup } from "./operator/Exceptions.ts"
import { InstallationGroup } from "./operator/Installation.ts"
import { KeysGroup } from "./operator/Keys.ts"
import { LedgerGroup } from "./operator/Ledger.ts"
import { AuditGroup, RequestsGroup } from "./operator/Logs.ts"
import { OperatorsGroup, OperatorTokensGroup } from "./operator/Operators.ts"
import { OutboxFailureActionsGroup, OutboxFailuresGroup } from "./operator/OutboxFailures.ts"
import { PayoutActionsGroup, PayoutsGroup } from "./operator/Payouts.ts"
import { ReceiptsGroup } from "./operator/Receipts.ts"
import { ReconciliationsGroup } from "./operator/Reconciliations.ts"
import { RefundActionsGroup, RefundsGroup } from "./operator/Refunds.ts"
import { PayersGroup } from "./operator/Payers.ts"
import { SearchGroup } from "./operator/Search.ts"
import { SessionGroup, SessionsGroup, SignInGroup } from "./operator/Sessions.ts"
import {
  SimulatorChargesGroup,
  SimulatorDisputesGroup,
  SimulatorPayoutsGroup,
  SimulatorRefundsGroup,
  SimulatorReturnsGroup
} from "./operator/Simulator.ts"
import { StatsGroup } from "./operator/Stats.ts"
import { TimelinesGroup } from "./operator/Timelines.ts"
import { WaitingGroup } from "./operator/Waiting.ts"
import { WebhookEndpointActionsGroup, WebhookEndpointsGroup } from "./operator/WebhookEndpoints.ts"

const about = OpenApi.annotations({
  title: "Payments Service Operator API",
  version: "1.0.0",
  description:
    "For operators: accounts, applications, keys, every charge and payout, disputes, deliveries, logs and the ledger. The conventions are those of `/v1`. Every state-changing call is recorded in the audit log.",
  transform: normalizeOpenApi
})

/** The whole of `/operator/v1`. */
export class OperatorApi extends HttpApi.make("operator")
  .add(SignInGroup)
  .add(SessionGroup)
  .add(SessionsGroup)
  .add(InstallationGroup)
  .add(SearchGroup)
  .add(PayersGroup)
  .add(OperatorsGroup)
  .add(OperatorTokensGroup)
  .add(AlertChannelsGroup)
  .add(AccountsGroup)
  .add(ApplicationsGroup)
  .add(KeysGroup)
  .add(ConnectionsGroup)
  .add(ConnectionActionsGroup)
  .add(ChargesGroup)
  .add(ChargeActionsGroup)
  .add(CheckoutChargesGroup)
  .add(RefundsGroup)
  .add(RefundActionsGroup)
  .add(ReceiptsGroup)
  .add(PayoutsGroup)
  .add(PayoutActionsGroup)
  .add(ApprovalsGroup)
  .add(ApprovalActionsGroup)
  .add(DisputesGroup)
  .add(DisputeFilesGroup)
  .add(DisputeActionsGroup)
  .add(ExceptionsGroup)
  .add(ExceptionActionsGroup)
  .add(BankStatementsGroup)
  .add(ReconciliationsGroup)
  .add(DeliveriesGroup)
  .add(DeliveryActionsGroup)
  .add(WebhookEndpointsGroup)
  .add(WebhookEndpointActionsGroup)
  .add(OutboxFailuresGroup)
  .add(OutboxFailureActionsGroup)
  .add(EventsGroup)
  .add(RequestsGroup)
  .add(AuditGroup)
  .add(TimelinesGroup)
  .add(LedgerGroup)
  .add(AccountBooksGroup)
  .add(ConnectionBooksGroup)
  .add(ClosesGroup)
  .add(AdjustmentsGroup)
  .add(StatsGroup)
  .add(WaitingGroup)
  .add(SimulatorChargesGroup)
  .add(SimulatorReturnsGroup)
  .add(SimulatorRefundsGroup)
  .add(SimulatorDisputesGroup)
  .add(SimulatorPayoutsGroup)
  .annotateMerge(about)
  // OPR-9: all bad parameters at once.
  .annotate(HttpApi.QueryParseOptions, { errors: "all" }) {}
