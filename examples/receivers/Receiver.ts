/**
 * What every receiver here is: an address for webhooks, and a function that gets each event once.
 */
import type { ReceiverOptions as Options } from "@pix-payments/client/receiver"
import type { WebhookEvent } from "@pix-payments/client/webhooks"

export interface ReceiverOptions extends Pick<Options, "secrets" | "store"> {
  /** Gets every event whose signature holds, once; the answer waits for it. Store the work, and return. */
  readonly onEvent: (event: WebhookEvent) => unknown
}

export interface Receiver {
  /** Where deliveries go, on loopback. */
  readonly url: string
  readonly close: () => Promise<void>
}
