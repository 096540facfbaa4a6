/**
 * The public listener: `/v1`, its OpenAPI document and its reference page, and the page that verifies receipts.
 *
 * Guarantees: every request that is not shed is in the request log.
 */
import { PaymentsApi } from "@pix-payments/api/PaymentsApi"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { ApiKeys } from "../../accounts/ApiKeys.ts"
import type { Cached, Confirmed } from "../../accounts/Caller.ts"
import { Outward } from "../../base/Outward.ts"
import { RequestLog } from "../../operations/RequestLog.ts"
import { Receipts } from "../../receipts/Receipts.ts"
import { Settings } from "../../base/Settings.ts"
import { compile, type Guard } from "../pipeline/CompiledApi.ts"
import { listen } from "../pipeline/HttpServer.ts"
import { ListenAddresses } from "../pipeline/ListenAddresses.ts"
import { accountHandlers, balanceHandlers } from "./AccountHandlers.ts"
import { chargeHandlers } from "./ChargeHandlers.ts"
import * as KeyGuard from "./KeyGuard.ts"
import { KeyRateLimit } from "./KeyRateLimit.ts"
import { payoutHandlers } from "./PayoutHandlers.ts"
import { receiptRoute } from "./ReceiptRoute.ts"
import { pages } from "./ReferencePage.ts"
import { webhookEndpointHandlers } from "./WebhookEndpointHandlers.ts"

export const layer = Layer.effectDiscard(
  Effect.gen(function* () {
    const { host, port } = yield* Settings
    const log = yield* RequestLog
    const addresses = yield* ListenAddresses
    const guard = KeyGuard.make(yield* ApiKeys, yield* KeyRateLimit, yield* Outward)
    addresses.public = yield* listen({
      name: "public",
      host,
      port,
      routes: [...(yield* routesBehind(guard)), receiptRoute<KeyGuard.KeyCredentials>(yield* Receipts)],
      guard,
      pages,
      probes: [],
      refusalOf: () => undefined,
      onAnswered: log.write
    })
  })
).pipe(Layer.provide([KeyRateLimit.layer, RequestLog.layer]))

/** Every route of `/v1`. */
export const routesBehind = Effect.fnUntraced(function* (
  guard: Guard<KeyGuard.KeyCredentials, Confirmed, never, Cached>
) {
  const handlers = {
    charges: yield* chargeHandlers,
    payouts: yield* payoutHandlers,
    balance: yield* balanceHandlers,
    account: yield* accountHandlers,
    webhooks: yield* webhookEndpointHandlers
  }
  return compile(PaymentsApi, handlers, guard)
})
