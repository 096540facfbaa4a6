/**
 * What every receiver here is: an address for webhooks, and a function that is told of each event once.
 */
import type { WebhookEvent } from "@pix-payments/client/webhooks"

export interface ReceiverOptions {
  /** The secret of the endpoint; the old and the new one while it is rotated. */
  readonly secrets: string | ReadonlyArray<string>
  /** Gets every event whose signature holds, after it was answered, repeats dropped. */
  readonly onEvent: (event: WebhookEvent) => void
}

export interface Receiver {
  /** Where deliveries go, on loopback. */
  readonly url: string
  readonly close: () => Promise<void>
}

/**
 * Tells each event once. In production this is a table with a unique key on the event's id, written before the answer:
 * what is answered 2xx is not sent again.
 */
export const once = (onEvent: ReceiverOptions["onEvent"]): ReceiverOptions["onEvent"] => {
  const seen = new Set<string>()
  return (event) => {
    if (seen.has(event.id)) return
    seen.add(event.id)
    onEvent(event)
  }
}
