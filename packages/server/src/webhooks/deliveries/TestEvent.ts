/**
 * The event of a test delivery: one that its endpoint subscribes to, about a resource that does not exist.
 *
 * Guarantees: `test` is true in `data`, by which receivers tell it from money. The state is `canceled`, or `open` of a dispute,
 * the amount is one cent, `id` is the endpoint's, and `reference` is `webhook-test`. The event's name may be that of a payment.
 *
 * Rules: OPR-153 to OPR-155.
 */
import type { Cents } from "@pix-payments/domain/Cents"
import { Charge } from "@pix-payments/domain/Charge"
import { Dispute } from "@pix-payments/domain/Dispute"
import { Payment } from "@pix-payments/domain/Event"
import { findEvent, partsOf } from "@pix-payments/domain/EventCatalog"
import { formatInstant } from "@pix-payments/domain/Instant"
import * as Schema from "effect/Schema"

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
export const testDataOf = ({ atMs, endpointId, event, sequence }: Test): (Charge | Payment | Dispute) & Tested => {
  const { action, method, resource } = partsOf(event)
  const common = { id: endpointId, amount: ONE_CENT, currency: "BRL", reference: REFERENCE, sequence } as const
  const at = formatInstant(atMs)
  switch (resource) {
    case "charge":
      return tested<Charge>(Charge, {
        ...common,
        object: "charge",
        status: "canceled",
        method: method as Charge["method"],
        description: DESCRIPTION,
        pix: { br_code: null, end_to_end_id: null },
        refunded_amount: 0 as Cents,
        created_at: at
      })
    case "payment":
      return tested<Payment>(Payment, {
        ...common,
        object: "payment",
        status: "canceled",
        method: method as Payment["method"],
        fee: 0 as Cents,
        description: DESCRIPTION,
        recipient: { name: null, document: null, pix_key_type: null, pix_key: null },
        created_at: at
      })
    default:
      return tested<Dispute>(Dispute, {
        ...common,
        object: "dispute",
        charge_id: endpointId,
        status: "open",
        reason: DESCRIPTION,
        opened_at: at,
        arrived_resolved: false,
        ...(action === "message" ? { message: DESCRIPTION } : {})
      })
  }
}

interface Tested {
  readonly test: true
}

/** The fields that cannot be null. */
type Given<Resource> = Partial<Resource> & {
  readonly [Name in keyof Resource as null extends Resource[Name] ? never : Name]: Resource[Name]
}

/** A resource in the order of its wire form, `test` after `id` and `object`. What is not given is null, or absent. */
const tested = <Resource extends object>(
  { fields }: { readonly fields: Readonly<Record<string, Schema.ConstraintDecoder<unknown>>> },
  given: Given<Resource>
): Resource & Tested => {
  const known: ReadonlyMap<string, unknown> = new Map(Object.entries(given))
  const values = Object.entries(fields).flatMap(([name, field]): ReadonlyArray<readonly [string, unknown]> =>
    known.has(name) ? [[name, known.get(name)]] : Schema.is(field)(null) ? [[name, null]] : []
  )
  return Object.fromEntries(values.toSpliced(2, 0, ["test", true])) as Resource & Tested
}
