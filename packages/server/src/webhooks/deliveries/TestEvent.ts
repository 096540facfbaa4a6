/**
 * The event of a test delivery: one that its endpoint subscribes to, about a resource that does not exist.
 *
 * Guarantees: `test` is true in `data`, by which receivers tell it from money. The state is `canceled`, or `open` of a dispute,
 * the amount is one cent, `id` is the endpoint's, and `reference` is `webhook-test`. The event's name may be that of a payment.
 *
 * Rules: OPR-153 to OPR-155.
 */
import type { Cents } from "@pix-payments/domain/Cents"
import type { Charge } from "@pix-payments/domain/Charge"
import type { Dispute } from "@pix-payments/domain/Dispute"
import type { Payment } from "@pix-payments/domain/Event"
import { findEvent, partsOf } from "@pix-payments/domain/EventCatalog"
import { formatInstant } from "@pix-payments/domain/Instant"

interface Test {
  readonly endpointId: string
  readonly event: string
  readonly atMs: number
  readonly sequence: number
}

/** The actions that a test prefers: the first ones mean no money at all. */
const preferred = ["canceled", "created", "emitted", "failed", "message", "opened"]

/** The event of a test, of those that an endpoint subscribes to; `undefined` where none is emitted yet. */
export const testEventOf = (events: ReadonlyArray<string>): string | undefined => {
  const emitted = events.filter((event) => findEvent(event)?.dispatched === true)
  const rankOf = (event: string): number => {
    const rank = preferred.indexOf(partsOf(event).action)
    return rank === -1 ? preferred.length : rank
  }
  return emitted.toSorted((one, other) => rankOf(one) - rankOf(other))[0]
}

/** Whether a row of `deliveries` is a test: its resource is its endpoint. */
export const isTest = (deliveries: string): string =>
  `(${deliveries}.resource_id IS NOT DISTINCT FROM ${deliveries}.endpoint_id)`

/** So many attempts of a test count as made before its first one, or before a resend, that no retry follows. */
export const ATTEMPTS_BEFORE_TEST = 1000

const REFERENCE = "webhook-test"
const DESCRIPTION = "Test of a webhook endpoint. No money moved."
const ONE_CENT = 1 as Cents

/** What `data` of the event is. */
export const testDataOf = (test: Test): (Charge | Payment | Dispute) & { readonly test: true } => {
  const { method, resource } = partsOf(test.event)
  if (resource === "dispute") return disputeOf(test)
  return resource === "charge" ? chargeOf(test, method) : paymentOf(test, method)
}

const chargeOf = ({ atMs, endpointId, sequence }: Test, method: string): Charge & { readonly test: true } => ({
  id: endpointId,
  object: "charge",
  test: true,
  status: "canceled",
  amount: ONE_CENT,
  currency: "BRL",
  method: method as Charge["method"],
  description: DESCRIPTION,
  reference: REFERENCE,
  customer: null,
  pix: { br_code: null, end_to_end_id: null },
  receiver: null,
  webhook_url: null,
  expires_at: null,
  paid_at: null,
  failure_reason: null,
  created_at: formatInstant(atMs),
  sequence
})

const paymentOf = ({ atMs, endpointId, sequence }: Test, method: string): Payment & { readonly test: true } => ({
  id: endpointId,
  object: "payment",
  test: true,
  status: "canceled",
  method: method as Payment["method"],
  amount: ONE_CENT,
  fee: 0 as Cents,
  currency: "BRL",
  description: DESCRIPTION,
  reference: REFERENCE,
  recipient: { name: null, document: null, pix_key_type: null, pix_key: null },
  end_to_end_id: null,
  failure_reason: null,
  webhook_url: null,
  processed_at: null,
  created_at: formatInstant(atMs),
  sequence
})

const disputeOf = ({ atMs, endpointId, event, sequence }: Test): Dispute & { readonly test: true } => ({
  object: "dispute",
  id: endpointId,
  test: true,
  charge_id: endpointId,
  status: "open",
  amount: ONE_CENT,
  currency: "BRL",
  reason: DESCRIPTION,
  reference: REFERENCE,
  opened_at: formatInstant(atMs),
  defense_deadline_at: null,
  resolved_at: null,
  arrived_resolved: false,
  ...(partsOf(event).action === "message" ? { message: DESCRIPTION } : {}),
  sequence
})
