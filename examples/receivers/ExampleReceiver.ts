/**
 * The interface of the example receivers: a URL for webhooks, and a function that is called once per event.
 */
import type { WebhookReceiverOptions } from "@pix-payments/client/receiver"
import type { WebhookEvent } from "@pix-payments/client/webhooks"

export interface ExampleReceiverOptions extends Pick<WebhookReceiverOptions, "secrets" | "store"> {
  /** Called once per verified event. The delivery is answered after it resolves: store the work, and return. */
  readonly onEvent: (event: WebhookEvent) => unknown
}

export interface ExampleReceiver {
  /** The URL for deliveries, on loopback. */
  readonly url: string
  readonly close: () => Promise<void>
}
