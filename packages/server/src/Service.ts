/**
 * The whole service as one layer: what a process runs, and what the tests run.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Accounts } from "./accounts/Accounts.ts"
import { ApiKeys } from "./accounts/ApiKeys.ts"
import { AcquirerReports } from "./acquirer/AcquirerReports.ts"
import * as Simulator from "./acquirer/Simulator.ts"
import { SimulatorReports } from "./acquirer/SimulatorReports.ts"
import { Charges } from "./charges/Charges.ts"
import { ChargeStore } from "./charges/ChargeStore.ts"
import { EventHistory } from "./events/EventHistory.ts"
import { Nudge } from "./events/Nudge.ts"
import { Listening } from "./http/Listening.ts"
import * as OperatorServer from "./http/OperatorServer.ts"
import { OperatorToken } from "./http/OperatorToken.ts"
import * as PublicServer from "./http/PublicServer.ts"
import { Ids } from "./Ids.ts"
import { forever } from "./Loops.ts"
import { Audit } from "./operations/Audit.ts"
import { Metrics } from "./operations/Metrics.ts"
import { Secrets } from "./Secrets.ts"
import * as Database from "./sql/Database.ts"
import { DeliveryStore } from "./webhooks/DeliveryStore.ts"
import { PublicAddress } from "./webhooks/PublicAddress.ts"
import * as WebhookScheduler from "./webhooks/WebhookScheduler.ts"
import { WebhookSender } from "./webhooks/WebhookSender.ts"

const foundation = Layer.mergeAll(Ids.layer, Nudge.layer, Metrics.layer, PublicAddress.layer).pipe(
  Layer.provideMerge(Database.layer)
)

/** The migrated database and what keeps things in it, without listeners or loops. */
export const storesLayer = Layer.mergeAll(
  Accounts.layer,
  ApiKeys.layer,
  ChargeStore.layer,
  DeliveryStore.layer,
  EventHistory.layer,
  Audit.layer,
  Secrets.layer,
  OperatorToken.layer
).pipe(Layer.provideMerge(foundation))

const services = SimulatorReports.layer.pipe(
  Layer.provideMerge(AcquirerReports.layer),
  Layer.provideMerge(Charges.layer),
  Layer.provideMerge(Simulator.layer),
  Layer.provideMerge(storesLayer),
  Layer.provideMerge(Listening.layer)
)

/** Charges left in `processing`, and what the simulated acquirer has to tell. */
const loops = Layer.mergeAll(
  Layer.effectDiscard(
    Effect.flatMap(Charges, ({ recover }) =>
      Effect.forkScoped(forever("charge recovery", recover, Effect.sleep("1 second")))
    )
  ),
  Layer.effectDiscard(
    Effect.flatMap(SimulatorReports, ({ tellDue }) =>
      Effect.forkScoped(forever("simulator reports", tellDue, Effect.sleep("200 millis")))
    )
  ),
  WebhookScheduler.layer.pipe(Layer.provide(WebhookSender.layer))
)

/** Needs `Settings` and `DatabaseLocation`; gives what the demo and the tests look at. */
export const layer = Layer.mergeAll(PublicServer.layer, OperatorServer.layer, loops).pipe(Layer.provideMerge(services))
