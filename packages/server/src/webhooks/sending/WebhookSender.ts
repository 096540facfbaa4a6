/**
 * Makes one attempt to deliver.
 *
 * Guarantees:
 * - `WEBHOOK_TIMEOUT_MS` covers name lookup, connecting, headers and body together. A status line that arrives in time decides;
 * - the address that was checked is the address that is connected to; a redirect is a failure; receivers get no credentials
 *   and no trace header but the `traceparent` of a sampled trace; their responses are bounded (`ReceiverClient`);
 * - `send` never fails: every outcome is returned as an `Attempt`.
 *
 * Rules: DLV-1, DLV-2, SIG-1, SIG-2, ADD-2.
 */
import { partsOf } from "@pix-payments/domain/EventCatalog"
import { connectionProblem, isSuccess } from "@pix-payments/domain/ReceiverAnswer"
import { attemptKey } from "@pix-payments/domain/Signature"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { createHmac } from "node:crypto"
import { Ids } from "../../base/Ids.ts"
import { type SecretOwner, Secrets } from "../../base/Secrets.ts"
import { Settings } from "../../base/Settings.ts"
import { currentTrace } from "../../base/observability/Tracing.ts"
import type { Attempt, ClaimedDelivery } from "../deliveries/Delivery.ts"
import { type NotReachable, PublicAddress } from "../../base/network/PublicAddress.ts"
import { inDeliverySpan } from "./DeliveryTrace.ts"
import { AnswerRefused, makeReceiverClient, PostFailed } from "./ReceiverClient.ts"
import { DESTINATION_LIMIT } from "../queue/Admission.ts"

export class WebhookSender extends Context.Service<
  WebhookSender,
  { readonly send: (delivery: ClaimedDelivery) => Effect.Effect<Attempt> }
>()("@pix-payments/server/WebhookSender") {
  static readonly layer = Layer.effect(
    WebhookSender,
    Effect.gen(function* () {
      const { webhookTimeoutMs } = yield* Settings
      const addresses = yield* PublicAddress
      const secrets = yield* Secrets
      const ids = yield* Ids
      const clock = yield* Clock.Clock
      const client = yield* makeReceiverClient({
        lookup: addresses.lookup,
        timeoutMs: webhookTimeoutMs,
        // No delivery waits for a connection: each lane admits twice the limit to one origin. Half as many are for endpoints
        // that have moved there since.
        connections: 6 * DESTINATION_LIMIT
      })

      const attempt = (delivery: ClaimedDelivery) =>
        addresses.withPinnedAddress(delivery.url, delivery.accountId, (url) =>
          Effect.flatMap(
            Effect.flatMap(currentTrace, (trace) =>
              Effect.try({
                try: () => headersOf(delivery, secrets, clock.currentTimeMillisUnsafe(), trace),
                catch: (cause) => new PostFailed({ cause })
              })
            ),
            (headers) => client.post({ id: delivery.id, url, headers, body: delivery.body })
          )
        )

      return WebhookSender.of({
        send: (delivery) =>
          Effect.suspend(() => {
            const startedAtMs = clock.currentTimeMillisUnsafe()
            /** `problem` counts only where no status line arrived. */
            const finished = (problem: string): Attempt => {
              const { address, body, statusCode } = client.take(delivery.id)
              return {
                id: ids.next().id,
                atMs: startedAtMs,
                durationMs: Math.max(0, clock.currentTimeMillisUnsafe() - startedAtMs),
                address,
                statusCode,
                error: statusCode === null ? problem : errorOf(statusCode),
                responseBody: statusCode === null ? null : textOf(body)
              }
            }
            const attempted = attempt(delivery).pipe(
              Effect.as("not HTTP"),
              Effect.timeoutOrElse({ duration: webhookTimeoutMs, orElse: () => Effect.succeed("timeout") }),
              Effect.catch((error) => Effect.succeed(reasonOf(error))),
              Effect.map(finished),
              Effect.onInterrupt(() => Effect.sync(() => client.take(delivery.id)))
            )
            return inDeliverySpan(delivery, attempted)
          })
      })
    })
  )
}

/** The error of a status that is not a success. */
const errorOf = (statusCode: number): string | null =>
  isSuccess(statusCode) ? null : statusCode === 410 ? "410 Gone" : `status ${statusCode}`

const headersOf = (
  delivery: ClaimedDelivery,
  secrets: Secrets["Service"],
  nowMs: number,
  traceparent: string | null
): Record<string, string> => {
  const { method, resource } = partsOf(delivery.event)
  const headers: Record<string, string> = {
    "content-type": "application/json",
    "user-agent": "pix-payments-webhooks/1",
    "X-Webhook-Event": delivery.event,
    "X-Webhook-Resource": resource,
    "X-Webhook-Method": method,
    ...(traceparent !== null && { traceparent })
  }
  if (delivery.sealedSecret === null) return headers
  const secret = Redacted.value(openSecret(secrets, delivery.sealedSecret, secretOwnerOf(delivery)))
  headers["X-Webhook-Signature"] = `sha256=${createHmac("sha256", secret).update(delivery.body).digest("hex")}`
  return { ...headers, ...standardHeaders(delivery, secret, Math.floor(nowMs / 1000)) }
}

/** The headers of Standard Webhooks, which sign the time of the attempt too. */
export const standardHeaders = (
  delivery: { readonly id: string; readonly body: string },
  secret: string,
  seconds: number
): Record<string, string> => {
  const signature = createHmac("sha256", attemptKey(secret))
    .update(`${delivery.id}.${seconds}.${delivery.body}`)
    .digest("base64")
  return {
    "webhook-id": delivery.id,
    "webhook-timestamp": String(seconds),
    "webhook-signature": `v1,${signature}`
  }
}

/** The registered endpoint, or the charge or payout with its own `webhook_url`. */
const secretOwnerOf = ({ endpointId, event, resourceId }: ClaimedDelivery): SecretOwner => {
  if (endpointId !== null) return { kind: "webhook", id: endpointId }
  return { kind: partsOf(event).resource === "charge" ? "charge" : "payout", id: resourceId }
}

const openSecret = (secrets: Secrets["Service"], sealed: string, owner: SecretOwner): Redacted.Redacted<string> => {
  try {
    return secrets.open(sealed, owner)
  } catch (cause) {
    throw new SecretNotOpened("the secret cannot be opened", { cause })
  }
}

class SecretNotOpened extends Error {}

// PostgreSQL's text type has no NUL.
const textOf = (body: Buffer): string => body.toString("utf8").replaceAll("\0", "\u{fffd}")

/** A short reason: never a stack trace, never text of the receiver. */
const reasonOf = (error: NotReachable | PostFailed): string => {
  if (error._tag === "NotReachable") return error.reason
  const { cause } = error
  if (!(cause instanceof Error)) return "unknown"
  if (cause instanceof AnswerRefused || cause instanceof SecretNotOpened) return cause.message
  if (cause.cause instanceof AnswerRefused) return cause.cause.message
  if (cause.name === "HTTPParserError") return "not HTTP"
  const code = "code" in cause && typeof cause.code === "string" ? cause.code : cause.name
  return reasons[code] ?? connectionProblem(code)
}

/** The errors of undici. */
const reasons: Readonly<Record<string, string>> = {
  UND_ERR_SOCKET: "connection closed",
  UND_ERR_CONNECT_TIMEOUT: "timeout",
  UND_ERR_HEADERS_TIMEOUT: "timeout",
  UND_ERR_BODY_TIMEOUT: "timeout",
  UND_ERR_HEADERS_OVERFLOW: "headers too large"
}
