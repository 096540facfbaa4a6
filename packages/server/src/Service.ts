/**
 * The service as one layer. Processes and tests run the same.
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Adjustments } from "./accounts/Adjustments.ts"
import { Accounts } from "./accounts/Accounts.ts"
import { ApiKeys } from "./accounts/ApiKeys.ts"
import { AcquirerNotifications } from "./reports/AcquirerNotifications.ts"
import { ChargePayments } from "./reports/ChargePayments.ts"
import { AcceptedMoney } from "./payments/exceptions/AcceptedMoney.ts"
import { Acceptance } from "./payments/exceptions/Acceptance.ts"
import { EarlyReversals } from "./payments/exceptions/EarlyReversals.ts"
import { Reversals } from "./payments/exceptions/Reversals.ts"
import * as ExceptionMetrics from "./payments/exceptions/ExceptionMetrics.ts"
import { ExceptionResolution } from "./payments/exceptions/ExceptionResolution.ts"
import { ExceptionDisputes } from "./payments/exceptions/ExceptionDisputes.ts"
import { ExceptionReversals } from "./payments/exceptions/ExceptionReversals.ts"
import { AcceptedReturns } from "./payments/exceptions/AcceptedReturns.ts"
import { ExceptionRefunds } from "./payments/exceptions/ExceptionRefunds.ts"
import { ExceptionReturns } from "./payments/exceptions/ExceptionReturns.ts"
import { HandSettlements } from "./payments/exceptions/HandSettlements.ts"
import * as ContradictoryOutcomes from "./payments/exceptions/ContradictoryOutcomes.ts"
import { Exceptions } from "./payments/exceptions/Exceptions.ts"
import { ReturnedPayouts } from "./payments/exceptions/ReturnedPayouts.ts"
import { UnreturnedLosses } from "./payments/exceptions/UnreturnedLosses.ts"
import { ExceptionStore } from "./payments/exceptions/ExceptionStore.ts"
import * as Simulator from "./providers/simulator/Simulator.ts"
import { SimulatorNotifications } from "./reports/SimulatorNotifications.ts"
import * as ConnectedAcquirer from "./providers/connections/ConnectedAcquirer.ts"
import * as ConnectionMonitor from "./providers/connections/ConnectionMonitor.ts"
import { ConnectionRegistry } from "./providers/connections/ConnectionRegistry.ts"
import { Connections } from "./providers/connections/Connections.ts"
import { ApprovalStore } from "./operators/approvals/ApprovalStore.ts"
import { ConnectionStore } from "./providers/connections/ConnectionStore.ts"
import { LockedCharges } from "./payments/charges/LockedCharges.ts"
import { Cancellations } from "./payments/charges/Cancellations.ts"
import { Defenses } from "./payments/disputes/Defenses.ts"
import * as DisputeClaims from "./payments/disputes/DisputeClaims.ts"
import * as OrderLoop from "./providers/OrderLoop.ts"
import * as ChargeRecovery from "./payments/charges/ChargeRecovery.ts"
import { ChargeEmission } from "./payments/charges/ChargeEmission.ts"
import { Charges } from "./payments/charges/Charges.ts"
import { NewCharges } from "./payments/charges/NewCharges.ts"
import { ChargeStore } from "./payments/charges/ChargeStore.ts"
import { OrderStore } from "./providers/OrderStore.ts"
import { Disputes } from "./payments/disputes/Disputes.ts"
import { DisputeStore } from "./payments/disputes/DisputeStore.ts"
import { EventFeed } from "./events/EventFeed.ts"
import { EventHistory } from "./events/EventHistory.ts"
import { EventLog } from "./events/EventLog.ts"
import { DeliverySignal } from "./events/DeliverySignal.ts"
import * as Drain from "./http/pipeline/Drain.ts"
import { ListenAddresses } from "./http/pipeline/ListenAddresses.ts"
import * as OperatorServer from "./http/operator/OperatorServer.ts"
import { OperatorToken } from "./http/operator/sign-in/OperatorToken.ts"
import * as PublicServer from "./http/public/PublicServer.ts"
import { Ids } from "./base/Ids.ts"
import { CallbackConnections } from "./reports/CallbackConnections.ts"
import * as CallbackListener from "./http/callbacks/CallbackListener.ts"
import { Callbacks } from "./reports/Callbacks.ts"
import { Reports } from "./reports/Reports.ts"
import { UnreadableEntries } from "./payments/exceptions/UnreadableEntries.ts"
import { Ownership } from "./reports/Ownership.ts"
import { RestoreComparison } from "./reports/RestoreComparison.ts"
import { ReportStore } from "./reports/ReportStore.ts"
import * as Sweep from "./reports/Sweep.ts"
import { SweepStore } from "./reports/SweepStore.ts"
import { ChainCheck } from "./ledger/ChainCheck.ts"
import * as Closes from "./ledger/Closes.ts"
import * as OverdueCloses from "./ledger/OverdueCloses.ts"
import { LedgerReports } from "./ledger/LedgerReports.ts"
import { LineDetails } from "./ledger/LineDetails.ts"
import { Lines } from "./ledger/Lines.ts"
import { Statements } from "./ledger/statements/Statements.ts"
import { LedgerVerification } from "./ledger/LedgerVerification.ts"
import * as LedgerWatch from "./alerts/LedgerWatch.ts"
import { AlertChannels } from "./alerts/AlertChannels.ts"
import * as AlertLoops from "./alerts/AlertLoops.ts"
import { Releases } from "./ledger/Releases.ts"
import * as BackgroundLoop from "./base/observability/BackgroundLoop.ts"
import { AuditLog } from "./operations/AuditLog.ts"
import { onceOutward } from "./base/Outward.ts"
import * as OutwardGate from "./operators/OutwardGate.ts"
import { Metrics } from "./base/observability/Metrics.ts"
import * as Telemetry from "./base/observability/Telemetry.ts"
import { Payers } from "./operations/Payers.ts"
import { Search } from "./operations/Search.ts"
import { TimelineStore } from "./operations/TimelineStore.ts"
import { Statistics } from "./operations/Statistics.ts"
import * as StatusCounts from "./operations/StatusCounts.ts"
import * as WorkGauges from "./operations/WorkGauges.ts"
import { AccountOf } from "./operators/AccountOf.ts"
import { Installation } from "./operators/Installation.ts"
import { OperatorIdentities } from "./operators/OperatorIdentities.ts"
import { OrderKeys } from "./operators/OrderKeys.ts"
import { Operators } from "./operators/Operators.ts"
import { OperatorSessions } from "./operators/OperatorSessions.ts"
import { OperatorTokens } from "./operators/OperatorTokens.ts"
import * as PausedPayouts from "./payments/payouts/PausedPayouts.ts"
import * as PayoutSubmission from "./payments/payouts/PayoutSubmission.ts"
import { NewPayouts } from "./payments/payouts/creation/NewPayouts.ts"
import { NewPayoutStore } from "./payments/payouts/creation/NewPayoutStore.ts"
import { Payouts } from "./payments/payouts/Payouts.ts"
import { PayoutStore } from "./payments/payouts/PayoutStore.ts"
import * as BankReconciliation from "./statements/BankReconciliation.ts"
import { BankBalances } from "./statements/BankBalances.ts"
import { BooksOfDay } from "./statements/BooksOfDay.ts"
import { BankDays } from "./statements/BankDays.ts"
import { ReconciliationDays } from "./statements/ReconciliationDays.ts"
import { ReconciliationStore } from "./statements/ReconciliationStore.ts"
import { BankStatementStore } from "./statements/BankStatementStore.ts"
import { Receipts } from "./receipts/Receipts.ts"
import { RefundOrders } from "./payments/refunds/RefundOrders.ts"
import { Refunds } from "./payments/refunds/Refunds.ts"
import { RefundStore } from "./payments/refunds/RefundStore.ts"
import { PayoutClaims } from "./payments/payouts/PayoutClaims.ts"
import { Secrets } from "./base/Secrets.ts"
import * as Database from "./schema/MigratedDatabase.ts"
import { DatabaseState } from "./database/DatabaseState.ts"
import * as Maintenance from "./schema/partitions/Maintenance.ts"
import type { Unavailable } from "./database/Unavailable.ts"
import { DeliveryQueue } from "./webhooks/queue/DeliveryQueue.ts"
import { DeliveryStore } from "./webhooks/deliveries/DeliveryStore.ts"
import { FanOut } from "./webhooks/fan-out/FanOut.ts"
import * as PausedDeliveries from "./webhooks/deliveries/PausedDeliveries.ts"
import { OutboxFailures } from "./webhooks/fan-out/OutboxFailures.ts"
import { TestDeliveries } from "./webhooks/endpoints/TestDeliveries.ts"
import * as DeliveryTotals from "./webhooks/deliveries/DeliveryTotals.ts"
import * as OutboxMaintenance from "./webhooks/fan-out/OutboxMaintenance.ts"
import { PublicAddress } from "./base/network/PublicAddress.ts"
import * as InstalledAcquirer from "./startup/InstalledAcquirer.ts"
import { EndpointHealth } from "./webhooks/endpoints/EndpointHealth.ts"
import { WebhookEndpoints } from "./webhooks/endpoints/WebhookEndpoints.ts"
import * as WebhookScheduler from "./webhooks/sending/WebhookScheduler.ts"
import { WebhookSender } from "./webhooks/sending/WebhookSender.ts"

const foundation = Layer.mergeAll(
  Ids.layer,
  DeliverySignal.layer,
  Metrics.layer,
  PublicAddress.layer,
  PausedDeliveries.PausedDeliveries.layer
).pipe(Layer.provideMerge(OutwardGate.layer), Layer.provideMerge(Database.layer))

/** The stores, over any database. */
export const stores = Layer.mergeAll(
  Accounts.layer,
  Adjustments.layer,
  ApiKeys.layer,
  ApprovalStore.layer,
  AlertChannels.layer.pipe(Layer.provide(Secrets.layer)),
  ConnectionStore.layer,
  ChargeStore.layer,
  OrderStore.layer,
  RefundStore.layer,
  Receipts.layer,
  BankDays.layer,
  BankStatementStore.layer.pipe(Layer.provideMerge(ReconciliationDays.layer)),
  ReconciliationStore.layer,
  PayoutStore.layer,
  NewPayoutStore.layer,
  PayoutClaims.layer,
  PausedPayouts.PausedPayouts.layer,
  DisputeStore.layer,
  EarlyReversals.layer,
  ExceptionStore.layer,
  LedgerReports.layer,
  OverdueCloses.OverdueCloses.layer,
  Layer.mergeAll(Statements.layer, LedgerVerification.layer.pipe(Layer.provide(ChainCheck.layer))).pipe(
    Layer.provideMerge(Layer.merge(Closes.Closes.layer, LineDetails.layer)),
    Layer.provideMerge(Lines.layer)
  ),
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
  Payers.layer,
  Search.layer.pipe(Layer.provide([ChargeStore.layer, PayoutStore.layer])),
  TimelineStore.layer,
  Statistics.layer,
  Secrets.layer,
  OperatorToken.layer,
  Installation.layer,
  Operators.layer,
  OrderKeys.layer,
  OperatorTokens.layer,
  OperatorSessions.layer,
  OperatorIdentities.layer,
  AccountOf.layer
)

/** The migrated database and its stores, without listeners and background loops. */
export const storesLayer = Layer.merge(stores, InstalledAcquirer.layer).pipe(Layer.provideMerge(foundation))

/** The services with the rules, over any acquirer. */
export const deciders = Layer.mergeAll(
  AcquirerNotifications.layer,
  WebhookEndpoints.layer,
  EndpointHealth.layer,
  TestDeliveries.layer
).pipe(
  Layer.provideMerge(
    Layer.mergeAll(
      HandSettlements.layer,
      RefundOrders.layer,
      Defenses.layer,
      ChargeRecovery.ChargeRecovery.layer,
      ChargePayments.layer,
      PayoutSubmission.PayoutSubmission.layer,
      ReturnedPayouts.layer
    )
  ),
  Layer.provideMerge(Layer.merge(ExceptionResolution.layer, ExceptionRefunds.layer)),
  Layer.provideMerge(Acceptance.layer),
  Layer.provideMerge(Reversals.layer),
  Layer.provideMerge(ExceptionReversals.layer),
  Layer.provideMerge(Layer.merge(ExceptionReturns.layer, UnreturnedLosses.layer)),
  Layer.provideMerge(ContradictoryOutcomes.layer),
  Layer.provideMerge(AcceptedReturns.layer),
  Layer.provideMerge(ExceptionDisputes.layer),
  Layer.provideMerge(AcceptedMoney.layer),
  Layer.provideMerge(
    Layer.mergeAll(
      Cancellations.layer,
      Charges.layer,
      NewCharges.layer,
      Payouts.layer,
      NewPayouts.layer,
      Disputes.layer
    )
  ),
  Layer.provideMerge(Layer.mergeAll(Refunds.layer, Exceptions.layer, ChargeEmission.layer)),
  Layer.provideMerge(Layer.merge(LockedCharges.layer, DisputeClaims.layer))
)

/** The simulator, and the connections of the installation. */
export const acquirer = ConnectedAcquirer.layer.pipe(
  Layer.provideMerge(Layer.merge(Simulator.layer, ConnectionRegistry.layer))
)

/** What comes in from providers. */
export const inbound = Layer.merge(Sweep.Sweep.layer, Callbacks.layer).pipe(
  Layer.provideMerge(Reports.layer),
  Layer.provideMerge(
    Layer.mergeAll(
      Ownership.layer,
      UnreadableEntries.layer,
      ReportStore.layer,
      SweepStore.layer,
      CallbackConnections.layer
    )
  )
)

/** What `reconcile` needs: no listener and no loop. */
export const reconciler = RestoreComparison.layer.pipe(
  Layer.provideMerge(inbound),
  Layer.provideMerge(deciders),
  Layer.provideMerge(acquirer),
  Layer.provideMerge(storesLayer)
)

/** What compares banks' statements with the books. */
export const comparison = BankReconciliation.BankReconciliation.layer.pipe(
  Layer.provide(BooksOfDay.layer),
  Layer.provideMerge(BankBalances.layer),
  Layer.provideMerge(inbound)
)

const services = Layer.mergeAll(SimulatorNotifications.layer, comparison, Connections.layer).pipe(
  Layer.provideMerge(deciders),
  Layer.provideMerge(acquirer),
  Layer.provideMerge(storesLayer),
  Layer.provideMerge(Layer.merge(ListenAddresses.layer, Drain.Drain.layer)),
  Layer.provideMerge(DatabaseState.layer.pipe(Layer.provide(Layer.merge(Database.layer, Metrics.layer))))
)

const backgroundLoop = <R>(name: string, round: Effect.Effect<number, Unavailable, R>, idle: Duration.Input) =>
  Layer.effectDiscard(Effect.forkScoped(BackgroundLoop.run(name, round, Effect.sleep(idle))))

/** The background loops that call others, or that prepare it. Rows say what is due. */
const outwardLoops = Layer.mergeAll(
  AlertLoops.loop,
  ChargeRecovery.loop,
  PayoutSubmission.loop,
  PausedPayouts.loop,
  Layer.unwrap(RefundOrders.use(({ claimDue }) => Effect.succeed(OrderLoop.loop("charge orders", claimDue)))),
  Layer.unwrap(Defenses.use(({ claimDue }) => Effect.succeed(OrderLoop.loop("defenses", claimDue)))),
  Layer.unwrap(
    ExceptionReturns.use(({ claimDue }) => Effect.succeed(OrderLoop.loop("returns of exceptions", claimDue)))
  ),
  WebhookScheduler.layer
)

/** The background loops of what is in the database alone. */
const inwardLoops = Layer.mergeAll(
  ExceptionMetrics.loop,
  Telemetry.gaugesLoop,
  BankReconciliation.metricsLoop,
  backgroundLoop(
    "releases",
    Releases.use(({ releaseDue }) => releaseDue),
    "1 second"
  ),
  Closes.loop,
  OverdueCloses.loop,
  LedgerWatch.loop,
  StatusCounts.loop,
  WorkGauges.loop,
  PausedDeliveries.loop,
  DeliveryTotals.loop,
  OutboxMaintenance.loop
)

/** The background loops of every process. */
export const loops = Layer.merge(outwardLoops, inwardLoops)

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
      connectionLoop,
      ConnectionMonitor.loop,
      callbackLoop,
      CallbackListener.layer,
      Maintenance.loop,
      inwardLoops,
      onceOutward(
        Layer.mergeAll(
          simulatorLoop,
          Sweep.loop,
          BankReconciliation.loop,
          outwardLoops.pipe(Layer.provide(WebhookSender.layer))
        )
      )
    )
  ),
  Layer.provideMerge(services)
)
