/**
 * For receivers: is this delivery from the service, and what does it say?
 *
 * Guarantees: the signature is checked over the raw body before anything is parsed, in constant time, with WebCrypto
 * only; any of several secrets passes, so that a secret can be rotated. Errors say nothing of secrets or bodies.
 *
 * A receiver answers 2xx first and works afterwards, and drops a delivery whose `id` it has seen: deliveries may be
 * repeated, hours later, and are not ordered.
 *
 * @module
 */
import { attemptRefusalOf, refusalOf, sign, signAttempt, utf8 } from "@pix-payments/domain/Signature"
import type { WebhookEvent } from "./generated/Resources.ts"

export type * from "./generated/Resources.ts"

/**
 * Why a delivery is refused. `missing-header` to `mismatch` are about the signature; `white-space-in-secret` is a
 * mismatch with a secret that begins or ends with white space, often a line break from a file; `empty-secret` and
 * `no-secret` (none, or none but `undefined`) are about what it was to be verified with; `body-not-raw` is a body that was
 * parsed before, `body-not-json` and `body-not-event` one that was signed but is no event; `too-old` and `in-the-future`
 * are about `toleranceMs`.
 */
export type WebhookRefusal =
  | "missing-header"
  | "malformed-header"
  | "unknown-scheme"
  | "wrong-length"
  | "not-hex"
  | "mismatch"
  | "white-space-in-secret"
  | "empty-secret"
  | "no-secret"
  | "body-not-raw"
  | "body-not-json"
  | "body-not-event"
  | "too-old"
  | "in-the-future"

/** The delivery is not from the service, or was changed on its way: answer 401. */
export class WebhookSignatureError extends Error {
  /** Why; for a log. The sender need not know. */
  declare readonly reason: WebhookRefusal

  /** @internal */
  constructor(reason: WebhookRefusal) {
    super(`Webhook refused: ${reason}`)
    this.name = "WebhookSignatureError"
    this.reason = reason
  }
}

/** A delivery as it came. */
export interface Delivery {
  /** The raw request body, before any parsing. */
  readonly body: string | ArrayBuffer | ArrayBufferView
  /** The request's headers: a `Headers`, or an object as Node has it. */
  readonly headers?: Headers | Readonly<Record<string, string | ReadonlyArray<string> | undefined>> | undefined
  /** The header `X-Webhook-Signature` itself, in place of `headers`. */
  readonly signature?: string | null | undefined
  /** The secret of the resource or endpoint; the old and the new one while one replaces the other. */
  readonly secrets: string | ReadonlyArray<string>
  /**
   * Refuses what was not sent within this time of now, in milliseconds; 300 000 is usual. It is told by the headers of
   * Standard Webhooks (`webhook-id`, `webhook-timestamp`, `webhook-signature`), which sign the time of each attempt, so
   * `headers` are needed. It keeps who has caught a delivery from sending it again later; an `id` that was seen before
   * is still to be dropped. One that is no number tolerates nothing.
   */
  readonly toleranceMs?: number | undefined
}

/**
 * Verifies a delivery and gives its event. An event that this release does not know is an `UnknownEvent`.
 *
 * @example
 * ```ts
 * import { unwrap } from "@pix-payments/client/webhooks"
 *
 * const receive = async (request: Request): Promise<Response> => {
 *   const event = await unwrap({
 *     body: await request.text(),
 *     headers: request.headers,
 *     secrets: "the secret of the endpoint"
 *   })
 *   switch (event.event) {
 *     case "charge.pix.paid":
 *       console.log(`${event.data.reference} is paid: ${event.data.amount} cents`)
 *       break
 *     default: // events that are of no interest, or that come one day
 *   }
 *   return new Response(null, { status: 204 })
 * }
 * ```
 *
 * @throws {WebhookSignatureError} with the reason
 */
export const unwrap = async (delivery: Delivery): Promise<WebhookEvent> => {
  const body = await verify(delivery)
  let event: WebhookEvent
  try {
    event = JSON.parse(new TextDecoder().decode(body))
  } catch {
    throw new WebhookSignatureError("body-not-json")
  }
  const { data, event: name, id } = Object(event)
  if (typeof name !== "string" || typeof id !== "string" || Object(data) !== data) {
    throw new WebhookSignatureError("body-not-event")
  }
  return event
}

/** A delivery to send to a receiver under test. */
export interface TestDelivery {
  /** The body, byte for byte as it is signed. */
  readonly body: string
  /** The content type, `X-Webhook-Signature`, and the headers that sign the time. */
  readonly headers: Readonly<
    Record<"content-type" | "x-webhook-signature" | "webhook-id" | "webhook-timestamp" | "webhook-signature", string>
  >
}

/**
 * Signs an event as the service does, for tests of a receiver.
 *
 * @example
 * ```ts
 * import { signForTest } from "@pix-payments/client/webhooks"
 *
 * const { body, headers } = await signForTest({
 *   event: { id: "1", event: "charge.pix.paid", resource: "charge", data: { object: "charge" } },
 *   secret: "the secret of the endpoint"
 * })
 * await fetch("http://127.0.0.1:8080/webhooks", { method: "POST", body, headers })
 * ```
 */
export const signForTest = async (delivery: {
  /** An event, or a body as it is. `webhook-id` is its `id`, `msg_test` where it tells none. */
  readonly event: object | string
  /** The secret of the receiver. */
  readonly secret: string
}): Promise<TestDelivery> => {
  const body = typeof delivery.event === "string" ? delivery.event : JSON.stringify(delivery.event)
  const bytes = utf8(body)
  let id = "msg_test"
  try {
    id = `${JSON.parse(body).id ?? id}`
  } catch {
    // It is no event, and is signed all the same.
  }
  // @effect-diagnostics-next-line globalDate:off -- there is no Effect here
  const timestamp = `${Math.floor(Date.now() / 1000)}`
  return {
    body,
    headers: {
      "content-type": "application/json",
      "x-webhook-signature": await sign(delivery.secret, bytes),
      "webhook-id": id,
      "webhook-timestamp": timestamp,
      "webhook-signature": await signAttempt(delivery.secret, id, timestamp, bytes)
    }
  }
}

/**
 * Verifies a delivery and gives the bytes of its body.
 *
 * @throws {WebhookSignatureError} with the reason
 */
export const verify = async ({
  body,
  headers = {},
  secrets,
  signature,
  toleranceMs
}: Delivery): Promise<Uint8Array> => {
  const bytes = bytesOf(body)
  if (!bytes) throw new WebhookSignatureError("body-not-raw")
  const read = (wanted: string): string | undefined => {
    for (const [name, value] of Symbol.iterator in headers ? headers : Object.entries(headers)) {
      if (name.toLowerCase() === wanted) return value && `${value}`
    }
    return undefined
  }
  // What a configuration lacks is no secret.
  const signed = { body: bytes, secrets: [secrets].flat().filter((secret) => typeof secret === "string") }
  const reason =
    (await refusalOf({ ...signed, header: signature ?? read("x-webhook-signature") })) ??
    // @effect-diagnostics-next-line globalDate:off -- there is no Effect here
    (toleranceMs !== undefined && (await attemptRefusalOf(signed, read, Date.now(), toleranceMs)))
  if (reason) throw new WebhookSignatureError(reason)
  return bytes
}

// Told by their kind, not by their class: test runners and workers have several worlds.
const bytesOf = (body: unknown): Uint8Array | undefined => {
  if (typeof body === "string") return utf8(body)
  if (!ArrayBuffer.isView(body) && {}.toString.call(body) !== "[object ArrayBuffer]") return undefined
  const { buffer = body as ArrayBuffer, byteLength, byteOffset } = body as Partial<ArrayBufferView>
  return new Uint8Array(buffer, byteOffset, byteLength)
}
