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
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { createHmac } from "node:crypto"
import { Ids } from "../Ids.ts"
import { Secrets } from "../Secrets.ts"
import { Settings } from "../Settings.ts"
import type { Attempt, Claimed } from "./DeliveryStore.ts"
import { ForbiddenAddress, PublicAddress } from "./PublicAddress.ts"

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
              // A claim may come while almost as many as its limit are under way: none waits for a connection.
              connections: 2 * DESTINATION_LIMIT,
              keepAliveTimeout: 10_000,
              pipelining: 1
            })
        ),
        (dispatcher) => Effect.promise(() => dispatcher.destroy())
      )

      const attempt = async (delivery: Claimed, signal: AbortSignal): Promise<Answer> => {
        if (addresses.isForbiddenLiteral(delivery.url)) throw new ForbiddenAddress("the host of the URL")
        const url = new URL(delivery.url)
        const { body, statusCode } = await agent.request({
          origin: url.origin,
          path: url.pathname + url.search,
          method: "POST",
          headers: headersOf(delivery, secrets),
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
              address: null,
              statusCode: answer.statusCode ?? null,
              error,
              responseBody: answer.responseBody ?? null
            })
            return Effect.tryPromise((signal) => attempt(delivery, signal)).pipe(
              Effect.map((answer) => finished(answer, isSuccess(answer.statusCode) ? null : `status ${answer.statusCode}`)),
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

/** Most deliveries that are claimed at once for one destination, which is an origin. */
export const DESTINATION_LIMIT = 50

/** Any 2xx is a success. */
export const isSuccess = (statusCode: number | null): boolean =>
  statusCode !== null && statusCode >= 200 && statusCode < 300

interface Answer {
  readonly statusCode: number
  readonly responseBody: string
}

const headersOf = (delivery: Claimed, secrets: Secrets["Service"]): Record<string, string> => {
  const { method, resource } = partsOf(delivery.event)
  const headers: Record<string, string> = {
    "content-type": "application/json",
    "user-agent": "pix-payments-webhooks/1",
    "X-Webhook-Event": delivery.event,
    "X-Webhook-Resource": resource,
    "X-Webhook-Method": method,
    "X-Webhook-Delivery": delivery.id
  }
  if (delivery.sealedSecret !== null) {
    const secret = Redacted.value(openSecret(secrets, delivery.sealedSecret))
    headers["X-Webhook-Signature"] = `sha256=${createHmac("sha256", secret).update(delivery.body).digest("hex")}`
  }
  return headers
}

const openSecret = (secrets: Secrets["Service"], sealed: string): Redacted.Redacted<string> => {
  try {
    return secrets.open(sealed)
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
