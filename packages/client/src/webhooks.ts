/**
 * For receivers: is this delivery from the service, and what does it say?
 *
 * Guarantees:
 * - The signature is checked over the raw body before anything is parsed, in constant time, with WebCrypto only.
 * - An attempt that was sent more than five minutes ago is refused, unless told otherwise.
 * - Any of several secrets passes, so that a secret can be rotated.
 * - Errors say what to do, and show nothing of secrets or bodies.
 *
 * A receiver answers 2xx once it has accepted the work, and drops a delivery whose `id` it has seen: deliveries may be
 * repeated, hours later, and are not ordered. `./receiver` does that.
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
    super(`${reason}: ${REMEDIES.find(([part]) => part.test(reason))![1]}`)
    this.name = "WebhookSignatureError"
    this.reason = reason
  }

  /**
   * By name, so that copies of this package in one process agree.
   *
   * @internal
   */
  static override [Symbol.hasInstance](value: unknown): boolean {
    return Object(value).name === "WebhookSignatureError"
  }
}

/** What to do about a refusal, by a part of its reason; of the others, nothing but to refuse. */
const REMEDIES: ReadonlyArray<readonly [part: RegExp, remedy: string]> = [
  [/white/, "trim the secret"],
  [/secret/, "set the secret"],
  [/raw/, "pass the raw body: in Express, express.raw({ type: '*/*' })"],
  [/mis/, "pass the raw body, all headers, this endpoint's secret"],
  [/old|fut/, "check the clock"],
  [/-/, "answer 401"]
]

/** A delivery as it came. */
export interface Delivery {
  /** The raw request body, before any parsing. */
  readonly body: string | ArrayBuffer | ArrayBufferView
  /** The request's headers: a `Headers`, or an object as Node has it. */
  readonly headers?: Headers | Readonly<Record<string, string | ReadonlyArray<string> | undefined>> | undefined
  /** The header `X-Webhook-Signature` itself, in place of `headers`. */
  readonly signature?: string | null | undefined
  /** The secret of the resource or endpoint; the old and the new one while one replaces the other. */
  readonly secrets: string | undefined | ReadonlyArray<string | undefined>
  /**
   * Refuses what was not sent within this time of now, in milliseconds; 300 000 when absent, `Infinity` refuses nothing.
   * The time of each attempt is signed in the headers of Standard Webhooks (`webhook-id`, `webhook-timestamp`,
   * `webhook-signature`), so `headers` are needed. Nobody who has caught a delivery can send it again later; an `id` that
   * was seen before is still to be dropped. One that is no number tolerates nothing.
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

/** What has a name. */
interface Named<Name extends string> {
  /** Full name. */
  readonly event: Name
}

/** An event of one of these names. */
export type EventNamed<Name extends EventName> = Name extends ChargeEventName
  ? ChargeEvent & Named<Name>
  : Name extends PaymentEventName
    ? PaymentEvent & Named<Name>
    : DisputeEvent & Named<Name>

/** Whether an event has this name, or one of these. Narrows by names that this release knows, and takes others too. */
export const isEvent: {
  <const Name extends EventName>(
    event: { readonly event: string },
    names: Name | ReadonlyArray<Name>
  ): event is EventNamed<Name>
  (event: { readonly event: string }, names: string | ReadonlyArray<string>): boolean
} = (event: { readonly event: string }, names: string | ReadonlyArray<string>): event is never =>
  [names].flat().includes(event.event)

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
  toleranceMs = 300_000
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
    (toleranceMs !== Infinity && (await attemptRefusalOf(signed, read, Date.now(), toleranceMs)))
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
