/**
 * For receivers: is this webhook ours, and what does it say?
 *
 * Guarantees: the signature is checked over the raw body before anything is parsed, in constant time, with
 * WebCrypto only; any of several secrets passes, so that a secret can be rotated.
 *
 * A receiver answers 2xx first and works afterwards, and drops a delivery whose id (`event.id`) it has seen:
 * deliveries may be repeated.
 */
import type { WebhookEvent } from "@pix-payments/domain/Event"
import { type SignatureRefusal, verify } from "@pix-payments/domain/Signature"

export type { SignatureRefusal, WebhookEvent }

/** The delivery is not ours, or was changed on its way: answer 401. */
export class WebhookSignatureError extends Error {
  override readonly name = "WebhookSignatureError"
  readonly reason: SignatureRefusal | "body-not-raw" | "body-not-json"
  constructor(reason: WebhookSignatureError["reason"]) {
    super(`The webhook is refused: ${reason}`)
    this.reason = reason
  }
}

/**
 * Verifies a delivery and gives its event.
 *
 * @param delivery.body the raw request body, before any parsing
 * @param delivery.signature the header `X-Webhook-Signature`
 * @param delivery.secrets the secret of the resource or endpoint; the old and the new one while rotating
 * @throws {WebhookSignatureError} with the reason
 */
export const unwrap = async (delivery: {
  readonly body: string | Uint8Array
  readonly signature: string | null | undefined
  readonly secrets: string | ReadonlyArray<string>
}): Promise<WebhookEvent> => {
  const body = typeof delivery.body === "string" ? new TextEncoder().encode(delivery.body) : delivery.body
  if (!(body instanceof Uint8Array)) throw new WebhookSignatureError("body-not-raw")
  const verdict = await verify({
    body,
    header: delivery.signature ?? undefined,
    secrets: typeof delivery.secrets === "string" ? [delivery.secrets] : delivery.secrets
  })
  if (verdict._tag === "Refused") throw new WebhookSignatureError(verdict.reason)
  try {
    return JSON.parse(new TextDecoder().decode(body))
  } catch {
    throw new WebhookSignatureError("body-not-json")
  }
}
