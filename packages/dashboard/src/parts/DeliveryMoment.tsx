/** A delivery in the timeline of its resource. */
import type { Delivery } from "@pix-payments/api/operator/Deliveries"
import { words } from "../words/Words.ts"
import type { Moment } from "./Timeline.tsx"

export const deliveryMoment = (delivery: Delivery): Moment => {
  const { timeline } = words()
  const verb = { delivered: timeline.delivered, failed: timeline.failed, canceled: timeline.canceled }[
    delivery.status as string
  ]
  return {
    at: delivery.created_at,
    state: delivery.status,
    title: (
      <>
        <a href={`/deliveries/${delivery.id}`}>
          <b>{delivery.event}</b>
        </a>{" "}
        {verb ?? timeline.waits} {delivery.url}
      </>
    ),
    detail: delivery.reason ?? undefined
  }
}
