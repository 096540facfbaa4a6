/**
 * One event to a receiver on this machine, as the service sends it to an endpoint: CLI-10.
 *
 * Guarantees:
 * - Body and headers are those of a delivery, signed with the secret of the session.
 * - A receiver that is away is tried again, with growing delays up to 5 s, until it answers or the session ends.
 */
import { partsOf } from "@pix-payments/domain/EventCatalog"
import { sign, signAttempt, utf8 } from "@pix-payments/domain/Signature"
import * as Effect from "effect/Effect"
import * as Http from "node:http"
import * as Https from "node:https"

export interface ForwardedEvent {
  /** The event's position in the stream. */
  readonly id: string
  /** The body of a delivery. */
  readonly text: string
  /** The delivery's id, which the body has too. */
  readonly deliveryId: string
  readonly name: string
  readonly resourceId: string
}

export interface Receiver {
  readonly url: URL
  readonly secret: string
  /** Do not check the receiver's certificate. */
  readonly skipVerify: boolean
}

/** What came of a forward. */
export interface Forwarded {
  /** Null if no answer came in time. */
  readonly status: number | null
  readonly durationMs: number
  /** True if the receiver may have got the event before. */
  readonly isRepeat: boolean
}

/** The time that the service gives a receiver. */
const TIMEOUT_MS = 10_000

const FIRST_DELAY_MS = 100
const LONGEST_DELAY_MS = 5000

type Outcome =
  | { readonly _tag: "Answered"; readonly status: number | null; readonly durationMs: number }
  | { readonly _tag: "Away"; readonly reason: string; readonly wasConnected: boolean }

/** Sends an event until the receiver answers. `onAway` is called once, with the reason. */
export const forward = Effect.fnUntraced(function* (
  event: ForwardedEvent,
  receiver: Receiver,
  wasInterrupted: boolean,
  onAway: (reason: string) => void
) {
  let isRepeat = wasInterrupted
  for (let attempt = 0; ; attempt++) {
    const outcome = yield* send(event, receiver)
    if (outcome._tag === "Answered") {
      return { status: outcome.status, durationMs: outcome.durationMs, isRepeat } satisfies Forwarded
    }
    // A connection that broke may have brought the event.
    if (outcome.wasConnected) isRepeat = true
    if (attempt === 0) onAway(outcome.reason)
    yield* Effect.sleep(Math.min(LONGEST_DELAY_MS, FIRST_DELAY_MS * 2 ** attempt))
  }
})

/** The headers of a delivery, in the order in which the service sends them. */
const headersOf = async (
  { deliveryId, name, text }: ForwardedEvent,
  secret: string,
  nowMs: number
): Promise<Readonly<Record<string, string>>> => {
  const body = utf8(text)
  const seconds = String(Math.floor(nowMs / 1000))
  const { method, resource } = partsOf(name)
  return {
    "content-type": "application/json",
    "user-agent": "pix-payments-webhooks/1",
    "X-Webhook-Event": name,
    "X-Webhook-Resource": resource,
    "X-Webhook-Method": method,
    "X-Webhook-Signature": await sign(secret, body),
    "webhook-id": deliveryId,
    "webhook-timestamp": seconds,
    "webhook-signature": await signAttempt(secret, deliveryId, seconds, body),
    "X-Webhook-Delivery": deliveryId
  }
}

const send = (event: ForwardedEvent, { secret, skipVerify, url }: Receiver): Effect.Effect<Outcome> =>
  Effect.clockWith((clock) =>
    Effect.flatMap(
      Effect.promise(() => headersOf(event, secret, clock.currentTimeMillisUnsafe())),
      (headers) =>
        Effect.callback<Outcome>((resume) => {
          const startedMs = clock.currentTimeMillisUnsafe()
          const { request: start } = url.protocol === "https:" ? Https : Http
          let wasConnected = false
          const answered = (status: number | null) =>
            resume(
              Effect.succeed({
                _tag: "Answered",
                status,
                durationMs: Math.max(0, clock.currentTimeMillisUnsafe() - startedMs)
              })
            )
          // A connection for each event: one that is kept may be that of a receiver which is gone.
          const request = start(url, {
            method: "POST",
            agent: false,
            timeout: TIMEOUT_MS,
            rejectUnauthorized: !skipVerify,
            headers: { ...headers, "content-length": Buffer.byteLength(event.text), connection: "keep-alive" }
          })
          request.once("socket", (socket) => {
            socket.once(url.protocol === "https:" ? "secureConnect" : "connect", () => {
              wasConnected = true
            })
          })
          request.once("response", (response) => {
            answered(response.statusCode ?? null)
            response.resume()
            response.once("close", () => request.destroy())
            response.once("end", () => request.destroy())
            response.on("error", () => {})
          })
          request.once("timeout", () => {
            // Without a connection there is nobody who is slow.
            if (wasConnected) answered(null)
            request.destroy(new Error("timeout"))
          })
          request.on("error", (error: NodeJS.ErrnoException) =>
            resume(Effect.succeed({ _tag: "Away", reason: error.code ?? error.message, wasConnected }))
          )
          request.end(event.text)
          return Effect.sync(() => request.destroy())
        })
    )
  )
