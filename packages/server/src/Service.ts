/**
 * The service as one layer. Processes and tests run the same.
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Accounts } from "./accounts/Accounts.ts"
import { ApiKeys } from "./accounts/ApiKeys.ts"
import { AcquirerNotifications } from "./notifications/AcquirerNotifications.ts"
import { ChargePayments } from "./notifications/ChargePayments.ts"
import { DeferredNotifications } from "./notifications/DeferredNotifications.ts"
import { DeferredStore } from "./notifications/DeferredStore.ts"
import { Reversals } from "./notifications/Reversals.ts"
import * as ExceptionMetrics from "./exceptions/ExceptionMetrics.ts"
import { ExceptionResolution } from "./exceptions/ExceptionResolution.ts"
import { ExceptionReturns } from "./exceptions/ExceptionReturns.ts"
import { Exceptions } from "./exceptions/Exceptions.ts"
import { ExceptionStore } from "./exceptions/ExceptionStore.ts"
import * as Simulator from "./simulator/Simulator.ts"
import { SimulatorNotifications } from "./simulator/SimulatorNotifications.ts"
import * as ConnectedAcquirer from "./connections/ConnectedAcquirer.ts"
import * as ConnectionMonitor from "./connections/ConnectionMonitor.ts"
import { ConnectionRegistry } from "./connections/ConnectionRegistry.ts"
import { Connections } from "./connections/Connections.ts"
import { ApprovalStore } from "./approvals/ApprovalStore.ts"
import { ConnectionStore } from "./connections/ConnectionStore.ts"
import { ChargeMoney } from "./charges/ChargeMoney.ts"
import { ChargeOrders } from "./orders/ChargeOrders.ts"
import { DefenseOrders } from "./orders/DefenseOrders.ts"
import * as OrderLoop from "./acquirer/OrderLoop.ts"
import * as ChargeRecovery from "./charges/ChargeRecovery.ts"
import { Charges } from "./charges/Charges.ts"
import { ChargeStore } from "./charges/ChargeStore.ts"
import { OrderStore } from "./acquirer/OrderStore.ts"
import { Disputes } from "./disputes/Disputes.ts"
import { DisputeStore } from "./disputes/DisputeStore.ts"
import { EventFeed } from "./events/EventFeed.ts"
import { EventHistory } from "./events/EventHistory.ts"
import { EventLog } from "./events/EventLog.ts"
import { DeliverySignal } from "./events/DeliverySignal.ts"
import * as Drain from "./http/Drain.ts"
import { ListenAddresses } from "./http/ListenAddresses.ts"
import * as OperatorServer from "./http/operator/OperatorServer.ts"
import { OperatorToken } from "./http/operator/OperatorToken.ts"
import * as PublicServer from "./http/public/PublicServer.ts"
import { Ids } from "./Ids.ts"
import { CallbackConnections } from "./inbound/CallbackConnections.ts"
import * as CallbackListener from "./inbound/CallbackListener.ts"
import { Callbacks } from "./inbound/Callbacks.ts"
import { Reports } from "./inbound/Reports.ts"
import { ReportStore } from "./inbound/ReportStore.ts"
import * as Sweep from "./inbound/Sweep.ts"
import { SweepStore } from "./inbound/SweepStore.ts"
import { LedgerReports } from "./ledger/LedgerReports.ts"
import * as LedgerVerification from "./ledger/LedgerVerification.ts"
import { Releases } from "./ledger/Releases.ts"
import * as BackgroundLoop from "./observability/BackgroundLoop.ts"
import { AuditLog } from "./operations/AuditLog.ts"
import { Metrics } from "./observability/Metrics.ts"
import { Search } from "./operations/Search.ts"
import { TimelineStore } from "./operations/TimelineStore.ts"
import { Statistics } from "./operations/Statistics.ts"
import * as StatusCounts from "./operations/StatusCounts.ts"
import { AccountOf } from "./operators/AccountOf.ts"
import { Installation } from "./operators/Installation.ts"
import { OperatorIdentities } from "./operators/OperatorIdentities.ts"
import { Operators } from "./operators/Operators.ts"
import { OperatorSessions } from "./operators/OperatorSessions.ts"
import { OperatorTokens } from "./operators/OperatorTokens.ts"
import * as PayoutSubmission from "./payouts/PayoutSubmission.ts"
import { Payouts } from "./payouts/Payouts.ts"
import { PayoutStore } from "./payouts/PayoutStore.ts"
import { Refunds } from "./refunds/Refunds.ts"
import { RefundStore } from "./refunds/RefundStore.ts"
import { PayoutClaims } from "./payouts/PayoutClaims.ts"
import { Secrets } from "./Secrets.ts"
import * as Database from "./sql/Database.ts"
import { DatabaseState } from "./sql/DatabaseState.ts"
import * as Maintenance from "./sql/partitions/Maintenance.ts"
import type { Unavailable } from "./sql/Unavailable.ts"
import { DeliveryQueue } from "./webhooks/DeliveryQueue.ts"
import { DeliveryStore } from "./webhooks/DeliveryStore.ts"
import { FanOut } from "./webhooks/FanOut.ts"
import * as PausedDeliveries from "./webhooks/PausedDeliveries.ts"
import { OutboxFailures } from "./webhooks/OutboxFailures.ts"
import { TestDeliveries } from "./webhooks/TestDeliveries.ts"
import * as DeliveryTotals from "./webhooks/DeliveryTotals.ts"
import * as OutboxMaintenance from "./webhooks/OutboxMaintenance.ts"
import { PublicAddress } from "./network/PublicAddress.ts"
import { WebhookEndpoints } from "./webhooks/WebhookEndpoints.ts"
import * as WebhookScheduler from "./webhooks/WebhookScheduler.ts"
import { WebhookSender } from "./webhooks/WebhookSender.ts"

const foundation = Layer.mergeAll(
  Ids.layer,
  DeliverySignal.layer,
  Metrics.layer,
  PublicAddress.layer,
  PausedDeliveries.PausedDeliveries.layer
).pipe(Layer.provideMerge(Database.layer))

/** The stores, over any database. */
export const stores = Layer.mergeAll(
  Accounts.layer,
  ApiKeys.layer,
  ApprovalStore.layer,
  ConnectionStore.layer,
  ChargeStore.layer,
  OrderStore.layer,
  RefundStore.layer,
  PayoutStore.layer,
  PayoutClaims.layer,
  DisputeStore.layer,
  DeferredStore.layer,
  ExceptionStore.layer,
  LedgerReports.layer,
  LedgerVerification.LedgerVerification.layer,
  StatusCounts.StatusCounts.layer,
  Releases.layer,
  DeliveryQueue.layer,
  FanOut.layer,
  OutboxFailures.layer,
  DeliveryStore.layer,
  EventHistory.layer,
  EventFeed.layer.pipe(Layer.provide(EventLog.layer)),
  EventLog.layer,
  AuditLog.layer,
  Search.layer,
  TimelineStore.layer,
  Statistics.layer,
  Secrets.layer,
  OperatorToken.layer,
  Installation.layer,
  Operators.layer,
  OperatorTokens.layer,
  OperatorSessions.layer,
  OperatorIdentities.layer,
  AccountOf.layer
)

/** The migrated database and its stores, without listeners and background loops. */
export const storesLayer = stores.pipe(Layer.provideMerge(foundation))

/** The services with the rules, over any acquirer. */
export const deciders = Layer.mergeAll(AcquirerNotifications.layer, WebhookEndpoints.layer, TestDeliveries.layer).pipe(
  Layer.provideMerge(
    Layer.mergeAll(
      ChargeOrders.layer,
      DefenseOrders.layer,
      ChargeRecovery.ChargeRecovery.layer,
      ChargePayments.layer,
      PayoutSubmission.PayoutSubmission.layer
    )
  ),
  Layer.provideMerge(Layer.merge(DeferredNotifications.layer, ExceptionResolution.layer)),
  Layer.provideMerge(Reversals.layer),
  Layer.provideMerge(ExceptionReturns.layer),
  Layer.provideMerge(Exceptions.layer),
  Layer.provideMerge(Layer.mergeAll(Charges.layer, Payouts.layer, Disputes.layer)),
  Layer.provideMerge(Layer.merge(ChargeMoney.layer, Refunds.layer))
)

/** The simulator, and the connections of the installation. */
export const acquirer = ConnectedAcquirer.layer.pipe(
  Layer.provideMerge(Layer.merge(Simulator.layer, ConnectionRegistry.layer))
)

/** What comes in from providers. */
export const inbound = Layer.merge(Sweep.Sweep.layer, Callbacks.layer).pipe(
  Layer.provideMerge(Reports.layer),
  Layer.provideMerge(Layer.mergeAll(ReportStore.layer, SweepStore.layer, CallbackConnections.layer))
)

const services = Layer.mergeAll(SimulatorNotifications.layer, inbound, Connections.layer).pipe(
  Layer.provideMerge(deciders),
  Layer.provideMerge(acquirer),
  Layer.provideMerge(storesLayer),
  Layer.provideMerge(Layer.merge(ListenAddresses.layer, Drain.Drain.layer)),
  Layer.provideMerge(DatabaseState.layer.pipe(Layer.provide(Database.layer)))
)

const backgroundLoop = <R>(name: string, round: Effect.Effect<number, Unavailable, R>, idle: Duration.Input) =>
  Layer.effectDiscard(Effect.forkScoped(BackgroundLoop.run(name, round, Effect.sleep(idle))))

/** The background loops of every process. Rows say what is due. */
export const loops = Layer.mergeAll(
  ChargeRecovery.loop,
  PayoutSubmission.loop,
  Layer.unwrap(ChargeOrders.use(({ claimDue }) => Effect.succeed(OrderLoop.loop("charge orders", claimDue)))),
  Layer.unwrap(DefenseOrders.use(({ claimDue }) => Effect.succeed(OrderLoop.loop("defenses", claimDue)))),
  Layer.unwrap(
    ExceptionReturns.use(({ claimDue }) => Effect.succeed(OrderLoop.loop("returns of exceptions", claimDue)))
  ),
  ExceptionMetrics.loop,
  backgroundLoop(
    "deferred notifications",
    DeferredNotifications.use(({ applyDue }) => applyDue),
    "1 second"
  ),
  backgroundLoop(
    "releases",
    Releases.use(({ releaseDue }) => releaseDue),
    "1 second"
  ),
  LedgerVerification.loop,
  StatusCounts.loop,
  PausedDeliveries.loop,
  DeliveryTotals.loop,
  OutboxMaintenance.loop,
  WebhookScheduler.layer
)

const simulatorLoop = backgroundLoop(
  "simulator notifications",
  SimulatorNotifications.use(({ sendDue }) => sendDue),
  "200 millis"
)

const connectionLoop = backgroundLoop(
  "connections",
  ConnectionRegistry.use(({ refresh }) => Effect.as(refresh, 0)),
  "2 seconds"
)

const callbackLoop = backgroundLoop(
  "callback connections",
  CallbackConnections.use(({ refresh }) => Effect.as(refresh, 0)),
  "2 seconds"
)

/** Needs `Settings` and `DatabaseLocation`. */
export const layer = Drain.whileServing.pipe(
  Layer.provideMerge(
    Layer.mergeAll(
      PublicServer.layer,
      OperatorServer.layer,
      simulatorLoop,
      connectionLoop,
      ConnectionMonitor.loop,
      callbackLoop,
      Sweep.loop,
      CallbackListener.layer,
      Maintenance.loop,
      loops.pipe(Layer.provide(WebhookSender.layer))
    )
  ),
  Layer.provideMerge(services)
)
