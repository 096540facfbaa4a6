/**
 * Verifies webhook deliveries and parses their events.
 *
 * Guarantees:
 * - The signature is checked over the raw body before parsing, in constant time, with WebCrypto only.
 * - An attempt that was sent more than five minutes ago is rejected, unless `toleranceMs` says otherwise.
 * - Several secrets can be accepted at once, so that a secret can be rotated.
 * - Errors say what to do and contain neither secrets nor bodies.
 *
 * Deliveries may be repeated, even hours later, and are not ordered (DLV-6, DLV-10). A receiver must ignore an `id` that it
 * has handled, and answer 2xx once it has accepted the work. `./receiver` does both. A late event is acted on as well: only a
 * newer state that the receiver has stored stays (ADD-1).
 *
 * @module
 */
import { attemptRefusalOf, refusalOf, utf8 } from "@pix-payments/domain/Signature"
import type {
  ChargeEvent,
  ChargeEventName,
  DisputeEvent,
  EventName,
  PaymentEvent,
  PaymentEventName,
  WebhookEvent
} from "./generated/Resources.ts"

export type * from "./generated/Resources.ts"

/**
 * Why a delivery is rejected.
 *
 * - `missing-header`, `malformed-header`, `unknown-scheme`, `wrong-length`, `not-hex`, `mismatch`: the signature.
 * - `white-space-in-secret`: a mismatch, and the secret begins or ends with white space, often a line break from a file.
 * - `no-secret`, `empty-secret`: the receiver's configuration has no usable secret.
 * - `body-not-raw`: a framework parsed the body before it was verified.
 * - `body-not-json`, `body-not-event`: the signature is valid, but the body is not an event.
 * - `too-old`, `in-the-future`: the attempt was sent outside `toleranceMs`.
 */
export type WebhookSignatureErrorReason =
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

/** The delivery is not from the service, or was modified: answer 401. */
export class WebhookSignatureError extends Error {
  /** Why the delivery is rejected. Log it, but do not send it to the caller. */
  declare readonly reason: WebhookSignatureErrorReason

  /** @internal */
  constructor(reason: WebhookSignatureErrorReason) {
    super(`${reason}: ${ADVICE.find(([pattern]) => pattern.test(reason))![1]}`)
    this.name = "WebhookSignatureError"
    this.reason = reason
  }

  /**
   * By name, so that it works across copies of this package.
   *
   * @internal
   */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return Object(value).name === "WebhookSignatureError"
  }
}

/** What to do, by a pattern of the reason. */
const ADVICE: ReadonlyArray<readonly [pattern: RegExp, advice: string]> = [
  [/white/, "trim the secret"],
  [/secret/, "set the secret"],
  [/raw/, "pass the raw body, before anything parses it"],
  [/mis/, "pass the raw body, all headers and this endpoint's secret"],
  [/old|fut/, "check the clock"],
  [/-/, "answer 401"]
]

/** A received delivery, and how to verify it. */
export interface Delivery {
  /** The raw request body, not parsed. */
  readonly body: string | ArrayBuffer | ArrayBufferView
  /** The request's headers: a `Headers`, or the object of `node:http`. */
  readonly headers?: Headers | Readonly<Record<string, string | ReadonlyArray<string> | undefined>> | undefined
  /** The value of `X-Webhook-Signature`, instead of `headers`. Needs `toleranceMs: Infinity`. */
  readonly signature?: string | null | undefined
  /** The secret of the endpoint or resource. While you rotate it: the old and the new one. */
  readonly secrets: string | undefined | ReadonlyArray<string | undefined>
  /**
   * Rejects attempts that were sent longer than this before or after now, in milliseconds. Default: 300 000. `Infinity`
   * accepts any age, `NaN` none. It protects against replays: the time of each attempt is signed in the headers of Standard
   * Webhooks (`webhook-id`, `webhook-timestamp`, `webhook-signature`), so `headers` are required. Within the tolerance, still
   * ignore an `id` that you have handled.
   */
  readonly toleranceMs?: number | undefined
}

/**
 * Verifies a delivery and returns its event. An event of an unknown resource is an `UnknownEvent`.
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
 *     default: // other events, including those of later releases
 *   }
 *   return new Response(null, { status: 204 })
 * }
 * ```
 *
 * @throws {WebhookSignatureError} if the delivery is rejected
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

/** An event with this name. */
interface Named<Name extends string> {
  /** Event name. */
  readonly event: Name
}

/** The type of an event by its name. */
export type EventNamed<Name extends EventName> = Name extends ChargeEventName
  ? ChargeEvent & Named<Name>
  : Name extends PaymentEventName
    ? PaymentEvent & Named<Name>
    : DisputeEvent & Named<Name>

/** Whether an event has this name, or one of these names. Narrows its type. */
export const isEvent = <const Name extends EventName>(
  event: Named<string>,
  names: Name | ReadonlyArray<Name>
): event is EventNamed<Name> => ([names].flat() as ReadonlyArray<string>).includes(event.event)

/**
 * Verifies a delivery and returns the bytes of its body.
 *
 * @throws {WebhookSignatureError} if the delivery is rejected
 */
export const verify = async ({
  body,
  headers = {},
  secrets,
  signature,
  toleranceMs = 300_000
}: Delivery): Promise<Uint8Array> => {
  const bytes = bytesOf(body)
  if (!bytes) throw new WebhookSignatureError("body-not-raw")
  const readHeader = (wanted: string): string | undefined => {
    for (const [name, value] of Symbol.iterator in headers ? headers : Object.entries(headers)) {
      if (name.toLowerCase() === wanted) return value && `${value}`
    }
    return undefined
  }
  // A missing environment variable is not a secret.
  const signed = { body: bytes, secrets: [secrets].flat().filter((secret) => typeof secret === "string") }
  const reason =
    (await refusalOf({ ...signed, header: signature ?? readHeader("x-webhook-signature") })) ??
    // @effect-diagnostics-next-line globalDate:off -- there is no Effect here
    (toleranceMs !== Infinity && (await attemptRefusalOf(signed, readHeader, Date.now(), toleranceMs)))
  if (reason) throw new WebhookSignatureError(reason)
  return bytes
}

// Checked without `instanceof`: test runners and workers have several realms.
const bytesOf = (body: unknown): Uint8Array | undefined => {
  if (typeof body === "string") return utf8(body)
  if (!ArrayBuffer.isView(body) && {}.toString.call(body) !== "[object ArrayBuffer]") return undefined
  const { buffer = body as ArrayBuffer, byteLength, byteOffset } = body as Partial<ArrayBufferView>
  return new Uint8Array(buffer, byteOffset, byteLength)
}
