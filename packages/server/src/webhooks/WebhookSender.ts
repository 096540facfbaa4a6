/**
 * Makes one attempt to deliver.
 *
 * Guarantees: headers and body together have `WEBHOOK_TIMEOUT_MS`; a redirect is a failure and is not
 * followed; the address that was judged is the one connected to; no proxy, no credentials and no trace headers
 * go to strangers; at most 1 KiB of the answer is read. An attempt never fails as an effect: it is told as it was.
 *
 * undici is called directly: measured, the HTTP client's adapter costs twice as much for each delivery.
 *
 * Source: payments-api-v1.md "Delivery", "Webhook signature"; decisions.md "Webhooks".
 */
import * as Undici from "@effect/platform-node/Undici"
import { partsOf } from "@pix-payments/domain/EventCatalog"
import { attemptKey } from "@pix-payments/domain/Signature"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { createHmac } from "node:crypto"
import { subscribe, unsubscribe } from "node:diagnostics_channel"
import { Ids } from "../Ids.ts"
import { type SecretOwner, Secrets } from "../Secrets.ts"
import { Settings } from "../Settings.ts"
import type { Attempt, Claimed } from "./DeliveryQueue.ts"
import { ForbiddenAddress, PublicAddress } from "./PublicAddress.ts"
import { DESTINATION_LIMIT } from "./UnderWay.ts"

export class WebhookSender extends Context.Service<
  WebhookSender,
  { readonly send: (delivery: Claimed) => Effect.Effect<Attempt> }
>()("@pix-payments/server/WebhookSender") {
  static readonly layer = Layer.effect(
    WebhookSender,
    Effect.gen(function* () {
      const { webhookTimeoutMs } = yield* Settings
      const addresses = yield* PublicAddress
      const secrets = yield* Secrets
      const ids = yield* Ids
      const clock = yield* Clock.Clock
      const agent = yield* Effect.acquireRelease(
        Effect.sync(
          () =>
            new Undici.Agent({
              connect: { lookup: addresses.lookup, timeout: webhookTimeoutMs },
              headersTimeout: webhookTimeoutMs,
              bodyTimeout: webhookTimeoutMs,
              maxHeaderSize: 16_384,
              // In each lane a claim and a sweep may come while almost as many as the limit are under way: none waits for
              // a connection.
              connections: 6 * DESTINATION_LIMIT,
              keepAliveTimeout: 10_000,
              pipelining: 1
            })
        ),
        (dispatcher) => Effect.promise(() => dispatcher.destroy())
      )

      const connected = yield* connectedAddresses

      const attempt = async (delivery: Claimed, signal: AbortSignal): Promise<Answer> => {
        if (addresses.isForbiddenLiteral(delivery.url)) throw new ForbiddenAddress("the host of the URL")
        const url = new URL(delivery.url)
        const { body, statusCode } = await agent.request({
          origin: url.origin,
          path: url.pathname + url.search,
          method: "POST",
          headers: headersOf(delivery, secrets, clock.currentTimeMillisUnsafe()),
          body: delivery.body,
          signal
        })
        return { statusCode, responseBody: await readFirst(body) }
      }

      return WebhookSender.of({
        send: (delivery) =>
          Effect.suspend(() => {
            const startedAtMs = clock.currentTimeMillisUnsafe()
            const finished = (answer: Partial<Answer>, error: string | null): Attempt => ({
              id: ids.next().id,
              atMs: startedAtMs,
              durationMs: Math.max(0, clock.currentTimeMillisUnsafe() - startedAtMs),
              address: connected.take(delivery.id),
              statusCode: answer.statusCode ?? null,
              error,
              responseBody: answer.responseBody ?? null
            })
            return Effect.tryPromise((signal) => attempt(delivery, signal)).pipe(
              Effect.map((answer) => finished(answer, errorOf(answer.statusCode))),
              Effect.timeoutOrElse({
                duration: webhookTimeoutMs,
                orElse: () => Effect.sync(() => finished({}, "timeout"))
              }),
              Effect.catch((error) => Effect.sync(() => finished({}, reasonOf(error.cause))))
            )
          })
      })
    })
  )
}

/** Any 2xx is a success. */
export const isSuccess = (statusCode: number | null): boolean =>
  statusCode !== null && statusCode >= 200 && statusCode < 300

/** A status that is no success, as it is shown to people. */
const errorOf = (statusCode: number): string | null =>
  isSuccess(statusCode) ? null : statusCode === 410 ? "410 Gone" : `status ${statusCode}`

interface Answer {
  readonly statusCode: number
  readonly responseBody: string
}

const headersOf = (delivery: Claimed, secrets: Secrets["Service"], nowMs: number): Record<string, string> => {
  const { method, resource } = partsOf(delivery.event)
  const headers: Record<string, string> = {
    "content-type": "application/json",
    "user-agent": "pix-payments-webhooks/1",
    "X-Webhook-Event": delivery.event,
    "X-Webhook-Resource": resource,
    "X-Webhook-Method": method,
    "X-Webhook-Delivery": delivery.id
  }
  if (delivery.sealedSecret === null) return headers
  const secret = Redacted.value(openSecret(secrets, delivery.sealedSecret, secretOwnerOf(delivery)))
  headers["X-Webhook-Signature"] = `sha256=${createHmac("sha256", secret).update(delivery.body).digest("hex")}`
  return { ...headers, ...standardHeaders(delivery, secret, Math.floor(nowMs / 1000)) }
}

/** The headers of Standard Webhooks beside the contract's: they sign the time of the attempt as well. */
const standardHeaders = (delivery: Claimed, secret: string, seconds: number): Record<string, string> => {
  const signature = createHmac("sha256", attemptKey(secret))
    .update(`${delivery.id}.${seconds}.${delivery.body}`)
    .digest("base64")
  return {
    "webhook-id": delivery.id,
    "webhook-timestamp": String(seconds),
    "webhook-signature": `v1,${signature}`
  }
}

/** Which address each delivery's connection went to, read where undici writes the request to its socket. */
const connectedAddresses = Effect.gen(function* () {
  const byDelivery = new Map<string, string>()
  const listen = (message: unknown) => {
    const { request, socket } = message as SentHeaders
    const id = deliveryIdOf(request.headers)
    if (id !== undefined && socket.remoteAddress !== undefined) byDelivery.set(id, socket.remoteAddress)
  }
  yield* Effect.acquireRelease(
    Effect.sync(() => subscribe("undici:client:sendHeaders", listen)),
    () => Effect.sync(() => unsubscribe("undici:client:sendHeaders", listen))
  )
  return {
    take: (deliveryId: string): string | null => {
      const address = byDelivery.get(deliveryId)
      byDelivery.delete(deliveryId)
      return address ?? null
    }
  }
})

interface SentHeaders {
  readonly request: { readonly headers: ReadonlyArray<string> | string }
  readonly socket: { readonly remoteAddress?: string }
}

const deliveryIdOf = (headers: ReadonlyArray<string> | string): string | undefined => {
  if (typeof headers === "string") return /X-Webhook-Delivery: (\S+)/.exec(headers)?.[1]
  const at = headers.indexOf("X-Webhook-Delivery")
  return at < 0 ? undefined : headers[at + 1]
}

/** The registered endpoint, or the charge or payout that has an address of its own. */
const secretOwnerOf = ({ endpointId, event, resourceId }: Claimed): SecretOwner => {
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

const readFirst = async (body: Undici.Dispatcher.ResponseData["body"]): Promise<string> => {
  const chunks: Array<Buffer> = []
  let length = 0
  for await (const chunk of body) {
    chunks.push(chunk)
    length += chunk.length
    if (length >= KEPT_RESPONSE_BYTES) break
  }
  // A NUL cannot be stored as text.
  return Buffer.concat(chunks).subarray(0, KEPT_RESPONSE_BYTES).toString("utf8").replaceAll("\0", "\u{fffd}")
}

const KEPT_RESPONSE_BYTES = 1024

/** A short class of what went wrong: never a stack, never what a stranger wrote. */
const reasonOf = (cause: unknown): string => {
  if (!(cause instanceof Error)) return "unknown"
  if (cause instanceof ForbiddenAddress || cause.cause instanceof ForbiddenAddress) return "forbidden address"
  if (cause instanceof SecretNotOpened) return cause.message
  if (cause.name === "HTTPParserError") return hasCode(cause, "HPE_HEADER_OVERFLOW") ? "headers too large" : "not HTTP"
  const code = "code" in cause && typeof cause.code === "string" ? cause.code : cause.name
  return reasons[code] ?? `connection error (${code})`
}

const reasons: Readonly<Record<string, string>> = {
  ENOTFOUND: "name does not resolve",
  EAI_AGAIN: "name does not resolve",
  ECONNREFUSED: "connection refused",
  ECONNRESET: "connection reset",
  UND_ERR_SOCKET: "connection closed",
  UND_ERR_CONNECT_TIMEOUT: "timeout",
  UND_ERR_HEADERS_TIMEOUT: "timeout",
  UND_ERR_BODY_TIMEOUT: "timeout",
  UND_ERR_HEADERS_OVERFLOW: "headers too large"
}

const hasCode = (error: Error, code: string): boolean => "code" in error && error.code === code
