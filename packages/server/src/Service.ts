/**
 * The whole service as one layer: what a process runs, and what the tests run.
 */
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Accounts } from "./accounts/Accounts.ts"
import { ApiKeys } from "./accounts/ApiKeys.ts"
import { AcquirerReports } from "./notifications/AcquirerNotifications.ts"
import { DeferredReports } from "./notifications/DeferredNotifications.ts"
import * as Simulator from "./simulator/Simulator.ts"
import { SimulatorReports } from "./simulator/SimulatorNotifications.ts"
import { ChargeMoney } from "./charges/ChargeMoney.ts"
import { ChargeOrders } from "./orders/ChargeOrders.ts"
import { Charges } from "./charges/Charges.ts"
import { ChargeStore } from "./charges/ChargeStore.ts"
import { OrderStore } from "./acquirer/OrderStore.ts"
import { Disputes } from "./disputes/Disputes.ts"
import { DisputeStore } from "./disputes/DisputeStore.ts"
import { EventHistory } from "./events/EventHistory.ts"
import { Nudge } from "./events/DeliverySignal.ts"
import * as Drain from "./http/Drain.ts"
import { Listening } from "./http/ListenAddresses.ts"
import * as OperatorServer from "./http/operator/OperatorServer.ts"
import { OperatorToken } from "./http/operator/OperatorToken.ts"
import * as PublicServer from "./http/public/PublicServer.ts"
import { Ids } from "./Ids.ts"
import { LedgerReports } from "./ledger/LedgerReports.ts"
import { Releases } from "./ledger/Releases.ts"
import { forever } from "./observability/BackgroundLoop.ts"
import { Audit } from "./operations/AuditLog.ts"
import { Metrics } from "./observability/Metrics.ts"
import { Stats } from "./operations/Statistics.ts"
import * as HandOver from "./payouts/PayoutSubmission.ts"
import { Payouts } from "./payouts/Payouts.ts"
import { PayoutStore } from "./payouts/PayoutStore.ts"
import { Secrets } from "./Secrets.ts"
import * as Database from "./sql/Database.ts"
import { DatabaseState } from "./sql/DatabaseState.ts"
import type { Unavailable } from "./sql/Unavailable.ts"
import { DeliveryQueue } from "./webhooks/DeliveryQueue.ts"
import { DeliveryStore } from "./webhooks/DeliveryStore.ts"
import { FanOut } from "./webhooks/FanOut.ts"
import * as HeldDeliveries from "./webhooks/PausedDeliveries.ts"
import { OutboxFailures } from "./webhooks/OutboxFailures.ts"
import * as OutboxMaintenance from "./webhooks/OutboxMaintenance.ts"
import { PublicAddress } from "./network/PublicAddress.ts"
import { WebhookEndpoints } from "./webhooks/WebhookEndpoints.ts"
import * as WebhookScheduler from "./webhooks/WebhookScheduler.ts"
import { WebhookSender } from "./webhooks/WebhookSender.ts"

const foundation = Layer.mergeAll(
  Ids.layer,
  Nudge.layer,
  Metrics.layer,
  PublicAddress.layer,
  HeldDeliveries.HeldDeliveries.layer
).pipe(Layer.provideMerge(Database.layer))

/** What keeps things, in whichever database. */
export const stores = Layer.mergeAll(
  Accounts.layer,
  ApiKeys.layer,
  ChargeStore.layer,
  OrderStore.layer,
  PayoutStore.layer,
  DisputeStore.layer,
  LedgerReports.layer,
  Releases.layer,
  DeliveryQueue.layer,
  FanOut.layer,
  OutboxFailures.layer,
  DeliveryStore.layer,
  EventHistory.layer,
  Audit.layer,
  Stats.layer,
  Secrets.layer,
  OperatorToken.layer
)

/** The migrated database and what keeps things in it, without listeners or loops. */
export const storesLayer = stores.pipe(Layer.provideMerge(foundation))

/** What decides, over whichever acquirer. */
export const deciders = Layer.merge(AcquirerReports.layer, WebhookEndpoints.layer).pipe(
  Layer.provideMerge(Layer.merge(ChargeOrders.layer, DeferredReports.layer)),
  Layer.provideMerge(Layer.mergeAll(Charges.layer, Payouts.layer, Disputes.layer)),
  Layer.provideMerge(ChargeMoney.layer)
)

const services = SimulatorReports.layer.pipe(
  Layer.provideMerge(deciders),
  Layer.provideMerge(Simulator.layer),
  Layer.provideMerge(storesLayer),
  Layer.provideMerge(Layer.merge(Listening.layer, Drain.Drain.layer)),
  Layer.provideMerge(DatabaseState.layer.pipe(Layer.provide(Database.layer)))
)

const looping = <R>(name: string, round: Effect.Effect<number, Unavailable, R>, idle: Duration.Input) =>
  Layer.effectDiscard(Effect.forkScoped(forever(name, round, Effect.sleep(idle))))

/** What goes on by itself, in every process, whoever is the acquirer and sends the webhooks: rows say what is due. */
export const loops = Layer.mergeAll(
  looping(
    "charge recovery",
    Charges.use(({ recover }) => recover),
    "1 second"
  ),
  HandOver.layer,
  looping(
    "charge orders",
    ChargeOrders.use(({ finishDue }) => finishDue),
    "1 second"
  ),
  looping(
    "deferred reports",
    DeferredReports.use(({ applyDue }) => applyDue),
    "1 second"
  ),
  looping(
    "releases",
    Releases.use(({ releaseDue }) => releaseDue),
    "1 second"
  ),
  HeldDeliveries.loop,
  OutboxMaintenance.loop,
  WebhookScheduler.layer
)

const simulatorLoop = looping(
  "simulator reports",
  SimulatorReports.use(({ tellDue }) => tellDue),
  "200 millis"
)

/** Needs `Settings` and `DatabaseLocation`; gives what the demo and the tests look at. */
export const layer = Drain.whileServing.pipe(
  Layer.provideMerge(
    Layer.mergeAll(
      PublicServer.layer,
      OperatorServer.layer,
      simulatorLoop,
      loops.pipe(Layer.provide(WebhookSender.layer))
    )
  ),
  Layer.provideMerge(services)
)
