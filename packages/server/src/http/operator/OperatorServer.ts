/**
 * The operator listener: `/operator/v1`, its OpenAPI document, health and metrics.
 *
 * Guarantees:
 * - A request for a host that is not in `OPERATOR_HOSTS` is `MISDIRECTED_REQUEST`, except health probes and metrics. A host in the
 *   request line counts as one in `Host`.
 * - An unknown query parameter is refused, except in the callback of the identity provider.
 *
 * Rules: OPR-1, OPR-7, OPR-8, OPR-211.
 */
import { openApiDocument } from "@pix-payments/api/OpenApiDocument"
import { OperatorApi } from "@pix-payments/api/OperatorApi"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import type { IncomingMessage } from "node:http"
import { hostnameOf } from "../../base/AllowedHosts.ts"
import { textOf } from "../../base/observability/Exposition.ts"
import { Metrics } from "../../base/observability/Metrics.ts"
import { AllMetrics } from "../../base/observability/WorkerMetrics.ts"
import { version } from "../../base/Version.ts"
import { IdentityProvider } from "../../operators/IdentityProvider.ts"
import { SignIns } from "../../operators/SignIns.ts"
import { Settings } from "../../base/Settings.ts"
import { type Answer, codeAnswer } from "../pipeline/Answer.ts"
import { compile } from "../pipeline/CompiledApi.ts"
import { listen, probe } from "../pipeline/HttpServer.ts"
import { ListenAddresses } from "../pipeline/ListenAddresses.ts"
import { hostOf } from "../pipeline/Listener.ts"
import { nothingPolicy, page } from "../pipeline/Pages.ts"
import { alertChannelHandlers } from "./administration/AlertChannelHandlers.ts"
import { approvalActionHandlers, approvalHandlers } from "./approvals/ApprovalHandlers.ts"
import { accountHandlers, applicationHandlers, keyHandlers } from "./administration/AccountHandlers.ts"
import { bankStatementHandlers } from "./payments/BankStatementHandlers.ts"
import { chargeActionHandlers, chargeHandlers, checkoutChargeHandlers } from "./payments/ChargeHandlers.ts"
import { connectionActionHandlers, connectionHandlers } from "./administration/ConnectionHandlers.ts"
import { dashboardPages } from "./Dashboard.ts"
import {
  deliveryActionHandlers,
  deliveryHandlers,
  outboxFailureActionHandlers,
  outboxFailureHandlers,
  webhookEndpointActionHandlers,
  webhookEndpointHandlers
} from "./operations/DeliveryHandlers.ts"
import { disputeActionHandlers, disputeFileHandlers, disputeHandlers } from "./payments/DisputeHandlers.ts"
import { eventHandlers } from "./operations/EventHandlers.ts"
import { exceptionActionHandlers, exceptionHandlers } from "./payments/ExceptionHandlers.ts"
import { installationHandlers } from "./administration/InstallationHandlers.ts"
import { InstallationUses } from "./InstallationUses.ts"
import { Outward } from "../../base/Outward.ts"
import { healthProbes } from "./Health.ts"
import { adjustmentHandlers } from "./operations/AdjustmentHandlers.ts"
import { accountBooksHandlers, closesHandlers, connectionBooksHandlers } from "./operations/BooksHandlers.ts"
import { ledgerHandlers, statsHandlers } from "./operations/LedgerHandlers.ts"
import { auditHandlers, requestHandlers } from "./operations/LogHandlers.ts"
import { payoutActionHandlers, payoutHandlers } from "./payments/PayoutHandlers.ts"
import { reconciliationHandlers } from "./payments/ReconciliationHandlers.ts"
import { receiptHandlers } from "./payments/ReceiptHandlers.ts"
import { refundActionHandlers, refundHandlers } from "./payments/RefundHandlers.ts"
import {
  simulatorChargeHandlers,
  simulatorDisputeHandlers,
  simulatorPayoutHandlers,
  simulatorRefundHandlers,
  simulatorReturnHandlers
} from "./payments/SimulatorHandlers.ts"
import * as OperatorGuard from "./OperatorGuard.ts"
import { operatorHandlers, operatorTokenHandlers } from "./administration/OperatorsHandlers.ts"
import { payerHandlers } from "./operations/PayerHandlers.ts"
import { searchHandlers } from "./operations/SearchHandlers.ts"
import { sessionHandlers, sessionsHandlers, signInHandlers } from "./sign-in/SessionHandlers.ts"
import { timelineHandlers } from "./operations/TimelineHandlers.ts"
import { waitingHandlers } from "./operations/WaitingHandlers.ts"

export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const { acquirer, cell, operatorHost, operatorHosts, operatorPort } = yield* Settings
    const metrics = yield* Metrics
    const allMetrics = yield* AllMetrics
    const { state } = yield* Outward
    metrics.onRead(() => metrics.gauges({ outward_on: Number(state() === "on") }))
    metrics.gauges({ acquirer_info: 1 }, { acquirer })
    if (Option.isSome(cell)) metrics.gauges({ cell_info: 1 }, { cell: cell.value })
    metrics.gauges({ build_info: 1 }, { version, node: process.versions.node })
    const addresses = yield* ListenAddresses
    const guard = yield* OperatorGuard.make
    const provider = yield* IdentityProvider
    const handlers = {
      signIn: yield* signInHandlers,
      session: yield* sessionHandlers,
      sessions: yield* sessionsHandlers,
      installation: yield* installationHandlers,
      payers: yield* payerHandlers,
      search: yield* searchHandlers,
      operators: yield* operatorHandlers,
      operatorTokens: yield* operatorTokenHandlers,
      alertChannels: yield* alertChannelHandlers,
      accounts: yield* accountHandlers,
      applications: yield* applicationHandlers,
      keys: yield* keyHandlers,
      connections: yield* connectionHandlers,
      connectionActions: yield* connectionActionHandlers,
      charges: yield* chargeHandlers,
      chargeActions: yield* chargeActionHandlers,
      checkoutCharges: yield* checkoutChargeHandlers,
      refunds: yield* refundHandlers,
      refundActions: yield* refundActionHandlers,
      receipts: yield* receiptHandlers,
      payouts: yield* payoutHandlers,
      payoutActions: yield* payoutActionHandlers,
      approvals: yield* approvalHandlers,
      approvalActions: yield* approvalActionHandlers,
      disputes: yield* disputeHandlers,
      disputeFiles: yield* disputeFileHandlers,
      disputeActions: yield* disputeActionHandlers,
      exceptions: yield* exceptionHandlers,
      exceptionActions: yield* exceptionActionHandlers,
      bankStatements: yield* bankStatementHandlers,
      reconciliations: yield* reconciliationHandlers,
      deliveries: yield* deliveryHandlers,
      deliveryActions: yield* deliveryActionHandlers,
      webhookEndpoints: yield* webhookEndpointHandlers,
      webhookEndpointActions: yield* webhookEndpointActionHandlers,
      outboxFailures: yield* outboxFailureHandlers,
      outboxFailureActions: yield* outboxFailureActionHandlers,
      events: yield* eventHandlers,
      requests: yield* requestHandlers,
      audit: yield* auditHandlers,
      timelines: yield* timelineHandlers,
      ledger: yield* ledgerHandlers,
      accountBooks: yield* accountBooksHandlers,
      connectionBooks: yield* connectionBooksHandlers,
      closes: yield* closesHandlers,
      adjustments: yield* adjustmentHandlers,
      stats: yield* statsHandlers,
      waiting: yield* waitingHandlers,
      simulatorCharges: yield* simulatorChargeHandlers,
      simulatorReturns: yield* simulatorReturnHandlers,
      simulatorRefunds: yield* simulatorRefundHandlers,
      simulatorDisputes: yield* simulatorDisputeHandlers,
      simulatorPayouts: yield* simulatorPayoutHandlers
    }
    const metricsProbe = probe(
      "/metrics",
      Effect.map(allMetrics, (samples) => ({
        status: samples === undefined ? 503 : 200,
        contentType: "text/plain; version=0.0.4; charset=utf-8",
        text: samples === undefined ? "" : textOf(samples)
      })).pipe(Effect.provideService(Metrics, metrics))
    )
    const dashboard = dashboardPages({ hasSingleSignOn: provider.isConfigured })
    addresses.operator = yield* listen({
      name: "operator",
      host: operatorHost,
      port: operatorPort,
      routes: compile(OperatorApi, handlers, guard, ({ identifier }) => identifier !== "finishOidc").filter(
        ({ template }) => acquirer === "simulator" || !template.startsWith(SIMULATOR)
      ),
      guard,
      pages: [document, ...dashboard],
      missing: dashboard.find(({ template }) => template === "/"),
      probes: [...(yield* healthProbes), metricsProbe],
      refusalOf: misdirected(new Set([...operatorHosts, hostOf(operatorHost).toLowerCase()])),
      onAnswered: () => {}
    })
  })
).pipe(Layer.provide(Layer.mergeAll(InstallationUses.layer, SignIns.layer, IdentityProvider.layer)))

const SIMULATOR = "/operator/v1/simulator/"

const document = page("/operator/openapi.json", async () => ({
  contentType: "application/json",
  text: JSON.stringify(openApiDocument(OperatorApi)),
  caching: "revalidated",
  contentSecurityPolicy: nothingPolicy
}))

/** Refuses requests for another host: DNS rebinding leads a browser here from a foreign page. */
const misdirected =
  (hosts: ReadonlySet<string>) =>
  ({ headers: { host }, url = "/" }: IncomingMessage, path: string): Answer | undefined => {
    // Probes come by address, or without a host.
    if (probedPaths.has(path)) return undefined
    if (host === undefined || host === "") return codeAnswer("VALIDATION_ERROR", { details: ["Host"] })
    const [, authority = host] = /^https?:\/\/([^/?#]*)/i.exec(url) ?? []
    const isServed = [host, authority].every((named) => hosts.has(hostnameOf(named) ?? ""))
    return isServed ? undefined : codeAnswer("MISDIRECTED_REQUEST")
  }

/** They say nothing of a tenant. */
const probedPaths: ReadonlySet<string> = new Set(["/health/live", "/health/ready", "/metrics"])
