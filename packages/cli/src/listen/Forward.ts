/**
 * One event to a receiver on this machine, as the service sends it to an endpoint: CLI-10.
 *
 * Guarantees:
 * - Body and headers are those of a delivery, signed with the secret of the session.
 * - The status line of an answer decides, as for a delivery (`ReceiverAnswer`).
 * - A receiver that is away is tried again, with growing delays up to 5 s, until it answers or the session ends.
 */
import { partsOf } from "@pix-payments/domain/EventCatalog"
import { answerReader, connectionProblem } from "@pix-payments/domain/ReceiverAnswer"
import { sign, signAttempt, utf8 } from "@pix-payments/domain/Signature"
import * as Effect from "effect/Effect"
import { validateHeaderValue } from "node:http"
import * as Net from "node:net"
import * as Tls from "node:tls"

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

/** The request of a delivery, with its headers in the order in which the service sends them. */
const requestOf = async (
  { deliveryId, name, text }: ForwardedEvent,
  { secret, url }: Receiver,
  nowMs: number
): Promise<string> => {
  const body = utf8(text)
  const seconds = String(Math.floor(nowMs / 1000))
  const { method, resource } = partsOf(name)
  const headers: Readonly<Record<string, string>> = {
    host: url.host,
    // Each event has its connection: one that is kept may be that of a receiver which is gone.
    connection: "close",
    "content-type": "application/json",
    "user-agent": "pix-payments-webhooks/1",
    "X-Webhook-Event": name,
    "X-Webhook-Resource": resource,
    "X-Webhook-Method": method,
    "X-Webhook-Signature": await sign(secret, body),
    "webhook-id": deliveryId,
    "webhook-timestamp": seconds,
    "webhook-signature": await signAttempt(secret, deliveryId, seconds, body),
    "X-Webhook-Delivery": deliveryId,
    ...(url.username !== "" && {
      authorization: `Basic ${Buffer.from(decodeURIComponent(`${url.username}:${url.password}`)).toString("base64")}`
    }),
    "content-length": String(body.length)
  }
  const lines = Object.entries(headers).map(([header, value]) => {
    validateHeaderValue(header, value)
    return `${header}: ${value}`
  })
  return [`POST ${url.pathname}${url.search} HTTP/1.1`, ...lines, "", text].join("\r\n")
}

/** A connection, which calls `onReady` once the request can be written. */
const connect = ({ skipVerify, url }: Receiver, onReady: () => void): Net.Socket => {
  const isTls = url.protocol === "https:"
  const host = url.hostname.replace(/^\[|\]$/g, "")
  const port = url.port === "" ? (isTls ? 443 : 80) : Number(url.port)
  if (!isTls) return Net.connect({ host, port }, onReady)
  const name = Net.isIP(host) === 0 ? { servername: host } : {}
  return Tls.connect({ host, port, ...name, rejectUnauthorized: !skipVerify }, onReady)
}

const send = (event: ForwardedEvent, receiver: Receiver): Effect.Effect<Outcome> =>
  Effect.clockWith((clock) =>
    Effect.flatMap(
      Effect.promise(() => requestOf(event, receiver, clock.currentTimeMillisUnsafe())),
      (request) =>
        Effect.callback<Outcome>((resume) => {
          const startedMs = clock.currentTimeMillisUnsafe()
          const answer = answerReader()
          let wasConnected = false
          const answered = (status: number | null) =>
            resume(
              Effect.succeed({
                _tag: "Answered",
                status,
                durationMs: Math.max(0, clock.currentTimeMillisUnsafe() - startedMs)
              })
            )
          const away = (reason: string) => resume(Effect.succeed({ _tag: "Away", reason, wasConnected }))
          const socket = connect(receiver, () => {
            wasConnected = true
            socket.write(request)
          })
          const timer = setTimeout(() => {
            // Without a connection there is nobody who is slow.
            if (wasConnected) answered(null)
            else away("timeout")
            socket.destroy()
          }, TIMEOUT_MS)
          socket.on("data", (bytes: Buffer) => {
            answer.push(bytes)
            const status = answer.status()
            if (status !== undefined) {
              answered(status)
              // The rest is read, so that the receiver can end its answer, but nobody waits for it.
              socket.unref()
              timer.unref()
            }
            const end = answer.end()
            if (end === undefined) return
            away(end)
            socket.destroy()
          })
          socket.on("error", (error: NodeJS.ErrnoException) => away(connectionProblem(error.code ?? error.message)))
          socket.on("close", () => {
            clearTimeout(timer)
            away("connection closed")
          })
          return Effect.sync(() => socket.destroy())
        })
    )
  )
