/**
 * Compile-time tests of the public types. This module is never run.
 *
 * Guarantees:
 * - Enumerations of responses are open: a `switch` without a `default` does not compile.
 * - Known names and codes narrow, and so do states: a paid charge has its payment.
 * - The generated types match the types of the API's declaration.
 */
import type { Account as DeclaredAccount } from "@pix-payments/domain/Account"
import type { Balance as DeclaredBalance } from "@pix-payments/domain/Balance"
import type { Charge as DeclaredCharge } from "@pix-payments/domain/Charge"
import type { WebhookEvent as DeclaredEvent } from "@pix-payments/domain/Event"
import type { Payout as DeclaredPayout } from "@pix-payments/domain/Payout"
import type { WebhookEndpoint as DeclaredEndpoint } from "@pix-payments/domain/WebhookEndpoint"
import { type ProxyAgent, fetch as undiciFetch } from "undici"
import {
  type Account,
  type ApiError,
  type Balance,
  type Charge,
  hasStatus,
  isCode,
  type Page,
  Payments,
  type Payout,
  type WebhookEndpoint
} from "../src/index.ts"
import type { ChargeEvent, DisputeEvent, PaymentEvent, UnknownEvent, WebhookEvent } from "../src/webhooks.ts"

// @ts-expect-error -- an unknown status returns nothing
export const withoutDefault = (charge: Charge): string => {
  switch (charge.status) {
    case "processing":
    case "pending":
      return "wait"
    case "paid":
      return "ship"
    case "expired":
    case "canceled":
    case "failed":
    case "refunded":
    case "charged_back":
    case "infraction":
      return "do not ship"
  }
}

// @ts-expect-error -- an unknown code returns nothing
export const codeWithoutDefault = (error: ApiError): string => {
  switch (error.code) {
    case "INSUFFICIENT_BALANCE":
      return "later"
  }
}

// @ts-expect-error -- an unknown event returns nothing
export const eventWithoutDefault = (event: WebhookEvent): string => {
  switch (event.resource) {
    case "charge":
    case "payment":
    case "dispute":
      return "known"
  }
}

export const withDefault = (charge: Charge): string => {
  switch (charge.status) {
    case "paid":
      return "ship"
    default:
      return charge.status
  }
}

// A status of a later release can be compared.
export const fromTheFuture = (charge: Charge): boolean => charge.status === "partially_paid"

export const narrowed = (event: WebhookEvent): ChargeEvent | PaymentEvent | DisputeEvent | UnknownEvent => {
  const name: string = event.event
  if (event.event === "charge.pix.paid") return event satisfies ChargeEvent
  switch (event.resource) {
    case "charge":
      return event satisfies ChargeEvent
    case "payment":
      return event satisfies PaymentEvent
    case "dispute":
      return event satisfies DisputeEvent
    default:
      return event satisfies UnknownEvent & (typeof name extends string ? unknown : never)
  }
}

export const rejectedCharge = (error: unknown): string => {
  if (isCode(error, "ACQUIRER_REJECTED")) return error.charge_id
  // @ts-expect-error -- this code has no charge_id
  if (isCode(error, "INSUFFICIENT_BALANCE")) return error.charge_id satisfies string
  if (isCode(error, "A_LATER_CODE")) return error.message
  return ""
}

/** Events of a later release, by unknown names. */
export const later = (event: WebhookEvent): number => {
  switch (event.event) {
    case "charge.pix.partially_paid":
      return (event satisfies ChargeEvent).data.amount
    case "payment.wire.created":
      return (event satisfies PaymentEvent).data.amount
    case "charge.pix.paid":
      return (event satisfies ChargeEvent).data.amount
    default:
      return 0
  }
}

// Received values can be sent.
export const sentAgain = async (payments: Payments, charge: Charge, payout: Payout): Promise<void> => {
  await payments.charges.list({ status: charge.status, method: charge.method })
  await payments.payouts.list({ status: payout.status, method: payout.method })
  const { pix_key, pix_key_type } = payout.recipient
  // A TED has no Pix key (PAY-15).
  if (pix_key !== null && pix_key_type !== null) {
    await payments.payouts.create({ amount: payout.amount, pix_key, pix_key_type })
  }
  const catalog = await payments.webhooks.events()
  const events = catalog.data.filter(({ dispatched }) => dispatched).map(({ event }) => event)
  await payments.webhooks.create({ url: "https://example.com", events })
  await payments.webhooks.update("1", { events })
}

// The type of undici's `fetch` differs from the global one.
export const throughAProxy = (dispatcher: ProxyAgent) => [
  new Payments({ fetch: undiciFetch }),
  new Payments({ fetch: (url, init) => undiciFetch(url, { ...init, dispatcher }) })
]

// A wrapper needs to accept only a string URL. The `fetch` of some runtimes accepts and has more.
export const wrapped = (fetch: typeof globalThis.fetch & { readonly preconnect: (url: string) => void }) => {
  const counted = (input: string, init?: RequestInit): Promise<Response> => fetch(input, init)
  return [counted, fetch].map((own) => new Payments({ baseUrl: "", apiKey: "", fetch: own }))
}

// The generated types match the declaration.

type Fits<Declared, Generated> = Declared extends Generated ? true : never

export const fits: readonly [
  Fits<DeclaredCharge, Charge>,
  Fits<DeclaredPayout, Payout>,
  Fits<DeclaredBalance, Balance>,
  Fits<DeclaredAccount, Account>,
  Fits<DeclaredEndpoint, WebhookEndpoint>,
  Fits<DeclaredEvent["data"], WebhookEvent["data"]>
] = [true, true, true, true, true, true]

export const page: Page<Charge> = { object: "list", data: [], has_more: false }

export const narrowedByState = async (
  payments: Payments,
  charge: Charge,
  payout: Payout
): Promise<ReadonlyArray<string>> => {
  const paid = await payments.charges.waitUntil(charge.id, "paid")
  const ended = await payments.payouts.waitUntil(payout.id, ["completed", "failed"])
  // @ts-expect-error -- a charge that satisfies a predicate may have no payment
  const byPredicate: string = (await payments.charges.waitUntil(charge.id, ({ amount }) => amount > 0)).paid_at
  // @ts-expect-error -- no charge is ever `completed`
  hasStatus(charge, "completed")
  return [
    byPredicate,
    paid.paid_at,
    paid.pix.end_to_end_id,
    hasStatus(charge, "failed") ? charge.failure_reason : "",
    hasStatus(payout, "completed") ? payout.end_to_end_id : "",
    hasStatus(ended, "failed") ? ended.failure_reason : ""
  ]
}
